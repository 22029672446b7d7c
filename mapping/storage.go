package mapping

import (
	"strings"

	"github.com/nestor-tools/nestor/mapping/bluestore"
	"github.com/nestor-tools/nestor/mapping/disks"
	"github.com/nestor-tools/nestor/mapping/fact"
	"github.com/nestor-tools/nestor/mapping/lsblk"
	"github.com/nestor-tools/nestor/mapping/mountinfo"
	"github.com/nestor-tools/nestor/mapping/probe"
	"github.com/nestor-tools/nestor/mapping/swaps"
	"github.com/nestor-tools/nestor/mapping/sysfs"
	"github.com/nestor-tools/nestor/mapping/wipefs"
)

// diskFacts are known as soon as one source lists the devices.
func diskFacts(out probe.Output, mounts Observed[[]mountinfo.Mount], active Observed[[]swaps.Swap], o Options) Observed[[]disks.Disk] {
	in := disks.Input{
		Lsblk:      fact.Then(out.Bytes("disks"), lsblk.Parse),
		Sysfs:      fact.Then(out.Bytes("sysfs"), sysfs.Parse),
		Mounts:     mounts,
		Swaps:      active,
		Signatures: perDevice(out, "signatures", wipefs.Parse),
		Labels:     perDevice(out, "labels", bluestore.Parse),
		ByID:       byID(out.Bytes("byid").Value),
		Loops:      o.Loops,
		Volatile:   Volatile,
	}
	if in.Lsblk.State != fact.IsPresent && in.Sysfs.State != fact.IsPresent {
		return fact.Unknown[[]disks.Disk]("lsblk: " + in.Lsblk.Why + "; sysfs: " + in.Sysfs.Why)
	}
	return fact.Present(disks.Assess(in))
}

// perDevice gives what a section said of a device. That the tool opened the
// device at all is half of the answer.
func perDevice[T any](out probe.Output, section string, parse func([]byte) (T, error)) func(string) Observed[T] {
	whole := out.Bytes(section)
	frames := map[string]probe.Frame{}
	for _, f := range out.Items(section) {
		frames[f.Name] = f
	}
	return func(device string) Observed[T] {
		f, ok := frames[device]
		switch {
		case ok:
			return fact.Then(f.Bytes(), parse)
		case whole.State != fact.IsPresent:
			return Observed[T]{State: whole.State, Why: whole.Why}
		}
		return fact.Unknown[T]("this device was not read")
	}
}

// byID reads "ls -l /dev/disk/by-id": the names of each device. Names of what
// is built on a disk are another device's.
func byID(b []byte) map[string][]string {
	names := map[string][]string{}
	for line := range strings.Lines(string(b)) {
		left, target, ok := strings.Cut(strings.TrimSpace(line), " -> ../../")
		if !ok {
			continue
		}
		name := left[strings.LastIndexByte(left, ' ')+1:] // udev puts no blank into a name
		names[target] = append(names[target], fact.Text(name))
	}
	return names
}
