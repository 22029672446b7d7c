package mapping

import (
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/mapping/bluestore"
	"github.com/nestor-tools/nestor/mapping/fact"
	"github.com/nestor-tools/nestor/mapping/probe"
)

// Ceph is what of Ceph is on a node.
type Ceph struct {
	Rook   Observed[[]string] `json:"rook"` // what is in /var/lib/rook
	Folder Observed[[]string] `json:"var_lib_ceph"`
	OSDs   Observed[[]OSD]    `json:"osds"`             // BlueStore labels on the devices
	Unread []string           `json:"unread,omitempty"` // devices whose labels could not be read
}

// OSD is a BlueStore label and the device it is on.
type OSD struct {
	Device string `json:"device"` // the kernel's name
	bluestore.Label
}

// cephFacts are absent where nothing of Ceph is found, and nothing could hide.
func cephFacts(out probe.Output) Observed[Ceph] {
	c := Ceph{
		Rook:   fact.Then(out.Bytes("ceph:/var/lib/rook"), lines),
		Folder: fact.Then(out.Bytes("ceph:/var/lib/ceph"), lines),
	}
	c.OSDs, c.Unread = osds(out)
	if section := out.Bytes("ceph"); section.State != fact.IsPresent {
		return Observed[Ceph]{State: section.State, Why: section.Why}
	}
	if c.Rook.State == fact.IsAbsent && c.Folder.State == fact.IsAbsent && c.OSDs.State == fact.IsPresent && len(c.OSDs.Value)+len(c.Unread) == 0 {
		return fact.Absent[Ceph]("no folder and no label of Ceph's")
	}
	return fact.Present(c)
}

func lines(b []byte) ([]string, error) {
	names := []string{}
	for line := range strings.Lines(string(b)) {
		names = append(names, fact.Text(strings.TrimSuffix(line, "\n")))
	}
	slices.Sort(names)
	return names, nil
}

// osds lists the labels that were found. A label may be on any device, so
// those that could not be read are named.
func osds(out probe.Output) (found Observed[[]OSD], unread []string) {
	section := out.Bytes("labels")
	if section.State != fact.IsPresent {
		return Observed[[]OSD]{State: section.State, Why: section.Why}, nil
	}
	list := []OSD{}
	items := out.Items("labels")
	var failed Observed[[]bluestore.Label]
	for _, f := range items {
		labels := fact.Then(f.Bytes(), bluestore.Parse)
		if labels.State != fact.IsPresent {
			unread, failed = append(unread, f.Name), labels
		}
		for _, l := range labels.Value {
			list = append(list, OSD{Device: f.Name, Label: l})
		}
	}
	if len(unread) > 0 && len(unread) == len(items) {
		return Observed[[]OSD]{State: failed.State, Why: failed.Why}, nil
	}
	slices.SortFunc(list, func(a, b OSD) int { return strings.Compare(a.Device+a.OSDUUID, b.Device+b.OSDUUID) })
	slices.Sort(unread)
	return fact.Present(list), unread
}
