package mapping

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/nestor-tools/nestor/mapping/cni"
	"github.com/nestor-tools/nestor/mapping/cpuinfo"
	"github.com/nestor-tools/nestor/mapping/disks"
	"github.com/nestor-tools/nestor/mapping/fact"
	"github.com/nestor-tools/nestor/mapping/meminfo"
	"github.com/nestor-tools/nestor/mapping/mountinfo"
	"github.com/nestor-tools/nestor/mapping/osrelease"
	"github.com/nestor-tools/nestor/mapping/probe"
	"github.com/nestor-tools/nestor/mapping/swaps"
	"github.com/nestor-tools/nestor/mapping/units"
)

// Observed is a fact: a value, or why there is none. See package fact.
type Observed[T any] = fact.Observed[T]

// NodeFacts is what a node really is.
type NodeFacts struct {
	Hostname         Observed[string]            `json:"hostname"`
	MachineID        Observed[string]            `json:"machine_id"`
	SystemUUID       Observed[string]            `json:"system_uuid"` // the firmware's; read as root only
	OS               Observed[osrelease.Release] `json:"os"`
	Kernel           Observed[Kernel]            `json:"kernel"`
	Virtualization   Observed[string]            `json:"virtualization"` // systemd's word for it; none: bare metal
	CPU              Observed[cpuinfo.CPU]       `json:"cpu"`
	Memory           Observed[meminfo.Memory]    `json:"memory"`
	Swap             Observed[[]swaps.Swap]      `json:"swap"`
	Cgroup           Observed[string]            `json:"cgroup"` // v2, v1 or hybrid
	TimeSync         Observed[TimeSync]          `json:"time_sync"`
	Mounts           Observed[[]Mount]           `json:"mounts"`
	Disks            Observed[[]disks.Disk]      `json:"disks"`
	Ceph             Observed[Ceph]              `json:"ceph"`
	ContainerRuntime Observed[Runtime]           `json:"container_runtime"`
	CNI              Observed[cni.Selection]     `json:"cni"`
	Kubelet          Observed[Kubelet]           `json:"kubelet"`
	ControlPlane     Observed[bool]              `json:"control_plane"`
}

// Kernel is the running kernel.
type Kernel struct {
	Release string `json:"release"` // as uname says it: 6.1.0-18-cloud-amd64
	Machine string `json:"machine"` // x86_64, aarch64, ...
}

// Options change what FromProbe makes of a probe.
type Options struct {
	Loops bool // loop devices are disks, as on a bench; see disks.Input
}

// FromProbe maps one probe. Name and roles of the node are the caller's to
// add.
func FromProbe(out probe.Output, o Options) Node {
	mounts := fact.Then(out.Bytes("host:/proc/self/mountinfo"), mountinfo.Parse)
	active := fact.Then(out.Bytes("host:/proc/swaps"), swaps.Parse)
	if active.State == fact.IsAbsent { // a kernel without swap has no such file
		active = fact.Present([]swaps.Swap{})
	}
	services := fact.Then(out.Bytes("units"), units.Parse)
	kube := readKubelet(out)
	runtime := findRuntime(out, kube)
	f := &NodeFacts{
		Hostname:         fact.Then(out.Bytes("host:/proc/sys/kernel/hostname"), oneWord("the hostname")),
		MachineID:        fact.Then(out.Bytes("host:/etc/machine-id"), parseMachineID),
		SystemUUID:       fact.Then(out.Bytes("virt:/sys/class/dmi/id/product_uuid"), parseSystemUUID),
		OS:               fact.Then(osReleaseFile(out), osrelease.Parse),
		Kernel:           fact.Then(out.Bytes("kernel"), parseKernel),
		CPU:              fact.Then(out.Bytes("host:/proc/cpuinfo"), cpuinfo.Parse),
		Memory:           fact.Then(out.Bytes("host:/proc/meminfo"), meminfo.Parse),
		Swap:             active,
		Cgroup:           fact.Then(mounts, cgroupVersion),
		TimeSync:         timeSync(out, services),
		Mounts:           fact.Then(mounts, listMounts),
		Disks:            diskFacts(out, mounts, active, o),
		Ceph:             cephFacts(out),
		ContainerRuntime: runtime,
		CNI:              cniFact(out, runtime),
		Kubelet:          kube.facts,
		ControlPlane:     kube.controlPlane,
	}
	f.Virtualization = virtualization(out, f.CPU)
	return Node{Facts: f, Hardening: hardening(services), Baseline: judge(out, services, kube)}
}

// osReleaseFile is the first of the two places of os-release(5).
func osReleaseFile(out probe.Output) Observed[[]byte] {
	if etc := out.Bytes("host:/etc/os-release"); etc.State != fact.IsAbsent {
		return etc
	}
	return out.Bytes("host:/usr/lib/os-release")
}

// parseMachineID reads /etc/machine-id. Before its first boot an image has an
// empty one, or the word "uninitialized".
func parseMachineID(b []byte) (string, error) {
	id, err := oneWord("/etc/machine-id")(b)
	if err == nil && !machineID.MatchString(id) {
		return "", fmt.Errorf("/etc/machine-id is %.40q, not 32 hexadecimal digits", id)
	}
	return id, err
}

// parseSystemUUID reads the firmware's uuid of the machine, which comes in
// upper or lower case by the age of the kernel.
func parseSystemUUID(b []byte) (string, error) {
	id, err := oneWord("the system uuid")(b)
	return strings.ToLower(id), err
}

var machineID = regexp.MustCompile(`^[0-9a-f]{32}$`)

// oneWord reads a file that holds one word.
func oneWord(what string) func([]byte) (string, error) {
	return func(b []byte) (string, error) {
		words := strings.Fields(string(b))
		if len(words) != 1 {
			return "", fmt.Errorf("%s is %d words, not one", what, len(words))
		}
		return fact.Text(words[0]), nil
	}
}

func parseKernel(b []byte) (Kernel, error) {
	f := strings.Fields(string(b))
	if len(f) < 3 {
		return Kernel{}, fmt.Errorf("uname says %.80q, not system, release and machine", b)
	}
	if f[0] != "Linux" {
		return Kernel{}, fmt.Errorf("the node runs %s; nestor reads Linux nodes", f[0])
	}
	return Kernel{Release: fact.Text(f[1]), Machine: fact.Text(f[2])}, nil
}

// cgroupVersion tells which hierarchy is at /sys/fs/cgroup.
func cgroupVersion(mounts []mountinfo.Mount) (string, error) {
	version := ""
	for _, m := range mounts {
		switch {
		case m.Target == "/sys/fs/cgroup" && m.FSType == "cgroup2":
			version = "v2"
		case m.Target == "/sys/fs/cgroup":
			version = "v1"
		case version == "v1" && m.Target == "/sys/fs/cgroup/unified" && m.FSType == "cgroup2":
			version = "hybrid"
		}
	}
	if version == "" {
		return "", errors.New("nothing is mounted at /sys/fs/cgroup")
	}
	return version, nil
}

// virtualization is systemd's word. It exits with 1 to say "none". Without
// systemd only x86 tells, and only that there is a hypervisor.
func virtualization(out probe.Output, cpu Observed[cpuinfo.CPU]) Observed[string] {
	if frame, ok := out.Frame("virt:detect"); ok && (frame.Status == "0" || frame.Status == "1") {
		if words := strings.Fields(string(frame.Stdout)); len(words) == 1 {
			return fact.Present(fact.Text(words[0]))
		}
	}
	if cpu.State == fact.IsPresent && cpu.Value.Hypervisor {
		return fact.Present("vm-other")
	}
	why := out.Bytes("virt:detect")
	return fact.Unknown[string](why.Why)
}
