package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// Input is what a node's part of a plan is made from.
type Input struct {
	Node       string
	Choices    []Choice
	Inspection Inspection
	Profile    Profile
	Kind       inventory.Kind // Lima lets disks without a lasting identity pass, for this boot
	Discard    bool           // discard each disk before it is cleared; never trusted to zero it
}

// Make plans the wipe of the chosen disks, and of /var/lib/rook, from what the
// node itself said of them. There is either a plan, possibly without a step, or
// there are refusals.
func Make(in Input) (Node, []Refusal) {
	m := &maker{Input: in, visited: map[string]bool{}, removed: map[string]bool{}}
	m.judgeNode()
	for _, c := range in.Choices {
		m.judgeDisk(c)
	}
	m.judgeStack()
	m.judgeCeph()
	if len(m.refusals) > 0 {
		return Node{}, m.refusals
	}
	n := Node{
		Node: in.Node, Rook: in.Inspection.Rook, State: in.Inspection.Lines, Steps: []Step{}, Disks: []Disk{},
		Identity: Identity{MachineID: in.Inspection.MachineID, HostKeys: in.Inspection.HostKeys, BootID: in.Inspection.BootID},
	}
	for _, c := range in.Choices {
		d, _ := in.Inspection.byPath(c.Path)
		n.Disks = append(n.Disks, m.describe(c, d))
		if d.Blank && d.holderCount == 0 {
			n.LeftAlone = append(n.LeftAlone, Left{Name: d.Name, Why: "it is blank already"})
			continue
		}
		m.visit(d)
	}
	if in.Inspection.Rook.State == "present" {
		m.step(RemoveFolder)
	} else {
		n.LeftAlone = append(n.LeftAlone, Left{Name: "/var/lib/rook", Why: "it is not there"})
	}
	n.Steps = append(n.Steps, m.steps...)
	return n, nil
}

type maker struct {
	Input
	refusals []Refusal
	steps    []Step
	visited  map[string]bool // devices
	removed  map[string]bool // volume groups, by UUID
}

func (m *maker) refuse(disk string, rule Rule, value, format string, args ...any) {
	r := Refusal{Node: m.Node, Disk: disk, Rule: rule, Value: value, Why: fmt.Sprintf(format, args...)}
	for _, c := range m.Choices {
		if d, ok := m.Inspection.byPath(c.Path); c.Disk.Name == disk || ok && m.carries(d.Name, disk) {
			r.Origin = c.Entry.Origin
		}
	}
	m.refusals = append(m.refusals, r)
}

// carries says whether a device is another, or under it.
func (m *maker) carries(below, name string) bool {
	if below == name {
		return true
	}
	return slices.ContainsFunc(m.Inspection.children(below), func(d *Device) bool { return d.Name != below && m.carries(d.Name, name) })
}

// describe tells people and machines what a disk is.
func (m *maker) describe(c Choice, d *Device) Disk {
	disk := Disk{
		Path: c.Path, Name: d.Name, ByID: d.ByID, WWN: d.WWN, Serial: d.Serial, SizeBytes: d.SizeBytes,
		LoopFile: d.LoopFile, LoopInode: d.LoopInode, Ends: d.Ends, Role: c.Entry.Role, OnIt: []string{},
		Why: fmt.Sprintf("%s lists it as %s (%s)", c.Entry.Origin, c.Entry.Role, c.Entry),
	}
	clusters := m.clusters()
	for i := range m.Inspection.Devices {
		e := &m.Inspection.Devices[i]
		if !m.carries(d.Name, e.Name) {
			continue
		}
		if e.Name != d.Name {
			disk.OnIt = append(disk.OnIt, e.kind()+" "+orElse(e.DMName, e.Name))
		}
		for _, s := range e.Signatures {
			disk.OnIt = append(disk.OnIt, fmt.Sprintf("%s: %s at %#x", e.Name, s.Type, s.Offset))
		}
		for _, l := range e.Labels {
			disk.OSDs = append(disk.OSDs, OSD{Device: e.Name, UUID: l.OSDUUID, FSID: orElse(l.ClusterFSID, clusters[l.OSDUUID])})
		}
	}
	for _, pv := range m.Inspection.PVs {
		if pv.VG != "" && m.carries(d.Name, pv.Device) {
			disk.OnIt = append(disk.OnIt, "volume group "+pv.VG)
		}
	}
	return disk
}

func (d *Device) kind() string {
	switch {
	case d.Partition:
		return "partition"
	case d.isLVM():
		return "logical volume"
	case d.isCrypt():
		return "opened LUKS"
	case d.MDLevel != "":
		return "md array"
	}
	return "device"
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func (m *maker) step(verb Verb, args ...string) {
	m.steps = append(m.steps, Step{ID: len(m.steps) + 1, Verb: verb, Args: args})
}

// visit plans the steps of a device: first what is built on it, leaf to root.
// Where only the table of a disk is cleared, what was in it comes back with the
// table.
func (m *maker) visit(d *Device) {
	if m.visited[d.Name] {
		return
	}
	m.visited[d.Name] = true
	under := false // a part of a larger logical volume, which has the content
	for _, child := range m.Inspection.children(d.Name) {
		m.visit(child)
		under = under || d.isLVM() && child.isLVM()
	}
	for _, pv := range m.Inspection.PVs {
		if pv.Device == d.Name {
			m.removeGroup(pv)
			m.step(RemovePV, d.Name)
		}
	}
	switch {
	case slices.Contains(m.Inspection.targets(), d.Name):
		if m.Discard {
			m.step(Discard, d.Name)
		}
		m.step(ClearDisk, d.Name)
		m.step(Reread, d.Name)
		return
	case !under && !d.isInternal():
		m.step(ClearInner, d.Name)
	}
	switch {
	case d.isLVM() && m.Inspection.groupOf(d) != "": // goes with its group
	case d.Partition: // goes with its table
	case d.isCrypt():
		m.step(CloseLUKS, d.Name)
	case d.MDLevel != "" || strings.HasPrefix(d.Name, "md"):
		m.step(StopMD, d.Name)
	default:
		m.step(RemoveDM, d.Name)
	}
}

// removeGroup plans the end of a volume group, once, after all that is on any
// of its parts.
func (m *maker) removeGroup(pv PV) {
	if pv.UUID == "" || m.removed[pv.UUID] {
		return
	}
	m.removed[pv.UUID] = true
	for _, other := range m.Inspection.PVs {
		if other.UUID != pv.UUID {
			continue
		}
		for _, child := range m.Inspection.children(other.Device) {
			m.visit(child)
		}
	}
	m.step(RemoveVG, pv.VG, pv.UUID)
}
