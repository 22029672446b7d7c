package plan

import "fmt"

// Leftover is something that a wipe should have removed and is still there, or
// of which nobody can tell.
type Leftover struct {
	Device string `json:"device"` // the kernel's name, or a path
	What   string `json:"what"`
}

func (l Leftover) String() string { return l.Device + ": " + l.What }

// Leftovers reads back what a wipe left. wiped also asks for zeros wherever a
// wipe writes, which a disk that never held anything need not have.
func Leftovers(in Inspection, wiped bool) []Leftover {
	left := []Leftover{}
	add := func(device, format string, args ...any) {
		left = append(left, Leftover{device, fmt.Sprintf(format, args...)})
	}
	for _, what := range in.Unread {
		add("node", "%s could not be asked", what)
	}
	for _, a := range in.Asked {
		if _, ok := in.device(a.Name); !ok {
			add(a.Path, "there is no such disk")
		}
	}
	for _, d := range in.Devices {
		for _, p := range d.Parents {
			if _, ok := in.device(p); ok {
				add(p, "%s is still on it", orElse(d.DMName, d.Name))
			}
		}
		for _, s := range d.Signatures {
			add(d.Name, "signature %s at %#x", s.Type, s.Offset)
		}
		for _, l := range d.Labels {
			add(d.Name, "BlueStore label of OSD %s at %v GiB", l.OSDUUID, l.AtGiB)
		}
		for _, at := range d.GPTs {
			add(d.Name, "header of a GPT at %d", at)
		}
		for _, at := range d.Mounts {
			add(d.Name, "mounted at %s", at)
		}
		for _, what := range d.Unread {
			add(d.Name, "%s", what)
		}
		if d.Swap {
			add(d.Name, "swapped on")
		}
		if d.Busy {
			add(d.Name, "cannot be opened exclusively")
		}
		if wiped && !d.Blank && d.holderCount == 0 {
			add(d.Name, "does not read back as zeros where zeros were written")
		}
	}
	for _, pv := range in.PVs {
		add(pv.Device, "physical volume of %q", pv.VG)
	}
	if in.Rook.State != "absent" {
		add("/var/lib/rook", "%s", orElse(in.Rook.State, "unknown"))
	}
	return left
}
