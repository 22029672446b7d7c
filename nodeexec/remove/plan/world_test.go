package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/mapping"
	"github.com/nestor-tools/nestor/mapping/bluestore"
	"github.com/nestor-tools/nestor/mapping/disks"
	"github.com/nestor-tools/nestor/mapping/fact"
	"github.com/nestor-tools/nestor/mapping/lsblk"
	"github.com/nestor-tools/nestor/mapping/mountinfo"
	"github.com/nestor-tools/nestor/mapping/swaps"
	"github.com/nestor-tools/nestor/mapping/sysfs"
	"github.com/nestor-tools/nestor/mapping/wipefs"
)

const (
	gib     = 1 << 30
	ours    = "11111111-2222-3333-4444-555555555555"
	theirs  = "99999999-8888-7777-6666-555555555555"
	machine = "0123456789abcdef0123456789abcdef"
)

// thing is a block device of a made-up node, as it really is.
type thing struct {
	name    string // the kernel's
	kind    string // lsblk's word: disk, part, lvm, crypt, raid1, mpath, loop
	dm      string
	dmUUID  string
	size    int64
	parents []string

	serial, wwn, transport, model string
	byID                          []string
	loopFile, loopInode           string
	ends                          string
	mounts                        []string
	swap, ro, removable, blank    bool
	held                          bool // opened by something that no list shows
	sigs                          []wipefs.Signature
	osd, fsid                     string // of a label

	unread bool // wipefs cannot read it
}

// world is a made-up node: what is true of it, and which tools fail.
type world struct {
	things    []*thing
	pvs       []PV
	lvs       []LV
	machineID string
	tools     []string
	processes []string
	rook      Rook
	// What discover could not ask.
	noLsblk, noSysfs, noMounts, noWipefs, noLabels bool
	// What the inspection could not ask.
	noPVs bool
}

// newWorld has sda, which carries "/", and sdb, with an ext4 that is not
// mounted.
func newWorld() *world {
	w := &world{machineID: machine, tools: []string{"cryptsetup", "dmsetup", "lvm", "mdadm"}, rook: Rook{State: "absent"}}
	w.add(&thing{name: "sda", kind: "disk", serial: "S-sda"})
	w.add(&thing{name: "sda1", kind: "part", parents: []string{"sda"}, mounts: []string{"/"}})
	w.add(&thing{name: "sdb", kind: "disk", serial: "S-sdb"}).sign("ext4")
	return w
}

func (w *world) add(t *thing) *thing {
	if t.size == 0 {
		t.size = 20 * gib
	}
	w.things = append(w.things, t)
	return t
}

func (t *thing) sign(kinds ...string) *thing {
	for _, k := range kinds {
		t.sigs = append(t.sigs, wipefs.Signature{Type: k})
	}
	return t
}

func (w *world) get(name string) *thing {
	i := slices.IndexFunc(w.things, func(t *thing) bool { return t.name == name })
	if i < 0 {
		return nil
	}
	return w.things[i]
}

func (w *world) number(t *thing) string {
	return fmt.Sprintf("8:%d", slices.Index(w.things, t))
}

func (w *world) children(name string) []*thing {
	var found []*thing
	for _, t := range w.things {
		if slices.Contains(t.parents, name) {
			found = append(found, t)
		}
	}
	return found
}

// tree is a thing and all that is built on it.
func (w *world) tree(t *thing) []*thing {
	all := []*thing{t}
	for i := 0; i < len(all); i++ {
		for _, c := range w.children(all[i].name) {
			if !slices.Contains(all, c) {
				all = append(all, c)
			}
		}
	}
	return all
}

// roots are the whole disks that a thing is built on.
func (w *world) roots(t *thing) []string {
	if len(t.parents) == 0 {
		return []string{t.name}
	}
	var roots []string
	for _, p := range t.parents {
		roots = append(roots, w.roots(w.get(p))...)
	}
	return roots
}

// facts are what discover makes of the node.
func (w *world) facts() mapping.NodeFacts {
	in := disks.Input{ByID: map[string][]string{}, Loops: true, Volatile: mapping.Volatile}
	var listing lsblk.Listing
	var kernel []sysfs.Device
	var mounts []mountinfo.Mount
	var active []swaps.Swap
	for _, t := range w.things {
		name := t.name
		if t.dm != "" {
			name = t.dm
		}
		listing.Devices = append(listing.Devices, lsblk.Device{
			Name: name, KName: t.name, Dev: w.number(t), Type: t.kind, SizeBytes: t.size, ReadOnly: t.ro, Removable: t.removable,
			Serial: t.serial, WWN: t.wwn, Transport: t.transport, Model: t.model, Parents: t.parents,
		})
		s := sysfs.Device{Name: t.name, Dev: w.number(t), SizeBytes: t.size, ReadOnly: t.ro, Removable: t.removable, DMName: t.dm, DMUUID: t.dmUUID, BackingFile: t.loopFile}
		if t.kind == "part" {
			s.Partition, s.ParentDev = true, w.number(w.get(t.parents[0]))
		} else {
			s.Slaves = t.parents
		}
		for _, c := range w.children(t.name) {
			if c.kind != "part" {
				s.Holders = append(s.Holders, c.name)
			}
		}
		kernel = append(kernel, s)
		in.ByID[t.name] = t.byID
		for _, m := range t.mounts {
			mounts = append(mounts, mountinfo.Mount{Device: w.number(t), Root: "/", Target: m, FSType: "ext4", Source: "/dev/" + t.name})
		}
		if t.swap {
			active = append(active, swaps.Swap{Path: "/dev/" + t.name, Type: "partition"})
		}
	}
	in.Lsblk, in.Sysfs, in.Mounts, in.Swaps = fact.Present(listing), fact.Present(kernel), fact.Present(mounts), fact.Present(active)
	if w.noLsblk {
		in.Lsblk = fact.Unknown[lsblk.Listing]("lsblk: not found")
	}
	if w.noSysfs {
		in.Sysfs = fact.Unknown[[]sysfs.Device]("cut")
	}
	listed := fact.Present([]mapping.Mount{})
	for _, m := range mounts {
		listed.Value = append(listed.Value, mapping.Mount{Target: m.Target, Source: m.Source, FSType: m.FSType})
	}
	if w.noMounts {
		in.Mounts = fact.Unknown[[]mountinfo.Mount]("cut")
		listed = fact.Unknown[[]mapping.Mount]("cut")
	}
	in.Signatures = func(name string) fact.Observed[[]wipefs.Signature] {
		if t := w.get(name); w.noWipefs || t.unread {
			return fact.Unknown[[]wipefs.Signature]("wipefs: cannot open")
		}
		return fact.Present(w.get(name).sigs)
	}
	in.Labels = func(name string) fact.Observed[[]bluestore.Label] {
		switch t := w.get(name); {
		case w.noLabels || t.unread:
			return fact.Unknown[[]bluestore.Label]("cannot open")
		case t.osd == "":
			return fact.Present([]bluestore.Label{})
		default:
			return fact.Present([]bluestore.Label{{OSDUUID: t.osd, ClusterFSID: t.fsid, AtGiB: []int{0}}})
		}
	}
	return mapping.NodeFacts{MachineID: fact.Present(w.machineID), Mounts: listed, Disks: fact.Present(disks.Assess(in))}
}

// print is what wipe.sh inspect prints of the paths on this node.
func (w *world) print(paths ...string) string {
	var b strings.Builder
	line := func(fields ...string) { b.WriteString(strings.Join(fields, "\t") + "\n") }
	line("nestor-wipe", "1")
	line("node", "machine-id", w.machineID)
	line("node", "host-key", "ssh-ed25519 aa")
	for _, t := range w.tools {
		line("node", "tool", t)
	}
	for _, p := range w.processes {
		line("node", "process", p)
	}
	line("rook", "state", w.rook.State)
	for _, f := range w.rook.FSIDs {
		line("rook", "fsid", f)
	}
	for _, m := range w.rook.Mounts {
		line("rook", "mount", m)
	}
	var all []*thing
	for _, p := range paths {
		i := slices.IndexFunc(w.things, func(t *thing) bool {
			id, _ := strings.CutPrefix(p, byIDFolder)
			return "/dev/"+t.name == p || "/dev/mapper/"+t.dm == p || slices.Contains(t.byID, id)
		})
		if i < 0 {
			line("disk", p, "-")
			continue
		}
		line("disk", p, w.things[i].name)
		for _, t := range w.tree(w.things[i]) {
			if !slices.Contains(all, t) {
				all = append(all, t)
			}
		}
	}
	boot := false
	for _, t := range all {
		line(w.describe(t)...)
		boot = boot || t.ends != ""
	}
	if boot {
		line("node", "boot-id", "boot-1")
	}
	if w.noPVs {
		line("node", "unread", "lvm pvs")
	} else {
		groups := []string{}
		for _, pv := range w.pvs {
			if slices.Contains(all, w.get(pv.Device)) {
				groups = append(groups, pv.VG)
			}
		}
		for _, pv := range w.pvs {
			if slices.Contains(groups, pv.VG) {
				line("pv", pv.Device, pv.VG, pv.UUID)
			}
		}
		for _, lv := range w.lvs {
			if slices.Contains(groups, lv.VG) {
				line("lv", lv.VG, lv.Name, lv.Tags)
			}
		}
	}
	line("inspected")
	return b.String()
}

func (w *world) describe(t *thing) []string {
	f := []string{"dev", t.name, "node=/dev/" + t.name, "number=" + w.number(t), fmt.Sprint("size=", t.size)}
	put := func(when bool, key, value string) {
		if when {
			f = append(f, key+"="+value)
		}
	}
	put(t.ro, "ro", "1")
	put(t.removable, "removable", "1")
	put(t.kind == "part" && t.dm == "", "partition", "1")
	put(t.dm != "", "dm/name", t.dm)
	put(t.dmUUID != "", "dm/uuid", t.dmUUID)
	put(strings.HasPrefix(t.kind, "raid"), "md/level", t.kind)
	put(t.loopFile != "", "loop/backing_file", t.loopFile)
	put(t.loopInode != "", "loop/inode", t.loopInode)
	put(t.transport != "", "TRAN", t.transport)
	put(t.serial != "", "SERIAL", t.serial)
	put(t.wwn != "", "WWN", t.wwn)
	put(t.ends != "", "ends", t.ends)
	put(t.swap, "swap", "1")
	put(t.blank, "blank", "1")
	for _, id := range t.byID {
		put(true, "by-id", id)
	}
	for _, p := range t.parents {
		put(true, "parent", p)
	}
	for _, m := range t.mounts {
		put(true, "mount", m)
	}
	put(len(w.children(t.name)) == 0 && (t.held || t.swap || t.ro || len(t.mounts) > 0), "busy", "1")
	if t.unread {
		put(true, "unread", "wipefs cannot read it")
		return f
	}
	for _, s := range t.sigs {
		put(true, "sig", fmt.Sprintf("%#x,%s,%s,%s", s.Offset, s.UUID, s.Label, s.Type))
	}
	put(t.osd != "", "label", fmt.Sprintf("0:%s:%s:-", t.osd, orElse(t.fsid, "-")))
	return f
}
