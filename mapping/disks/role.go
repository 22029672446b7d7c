package disks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/mapping/fact"
	"github.com/nestor-tools/nestor/mapping/wipefs"
)

// describe makes a Disk of a node.
func (g *graph) describe(n *node) Disk {
	d := Disk{
		Name: n.Name, ByID: slices.Sorted(slices.Values(g.in.ByID[n.KName])),
		Type: n.Type, SizeBytes: n.SizeBytes, Model: n.Model, Serial: n.Serial, WWN: n.WWN, Transport: n.Transport,
		Rotational: n.Rotational, Removable: n.Removable, ReadOnly: n.ReadOnly,
		FileSystem: n.FSType, Table: g.table(n), Signatures: n.signatures.Value, Mounts: g.listed(n.mounts),
		Volumes: g.volumes(n, 0),
	}
	if n.sys != nil {
		d.BackingFile = n.sys.BackingFile
	}
	if n.Type == "mpath" {
		d.Paths = slices.SortedFunc(slices.Values(n.Parents), natural)
	}
	d.Role, d.Evidence = g.role(n)
	return d
}

func (g *graph) volumes(n *node, depth int) []Volume {
	if depth == maxDepth {
		return nil
	}
	var volumes []Volume
	for _, c := range n.children {
		v := Volume{
			Name: c.Name, Type: c.Type, SizeBytes: c.SizeBytes, Label: c.Label, FileSystem: c.FSType,
			Signatures: c.signatures.Value, Mounts: g.listed(c.mounts), Volumes: g.volumes(c, depth+1),
		}
		if c.Type == "lvm" {
			v.Group, v.LV = lvmNames(c.Name)
		}
		volumes = append(volumes, v)
	}
	return volumes
}

// lvmNames takes a device-mapper name apart: GROUP-VOLUME, where a dash within
// a name is written twice.
func lvmNames(name string) (group, volume string) {
	const dash = "\x00"
	group, volume, _ = strings.Cut(strings.ReplaceAll(name, "--", dash), "-")
	return strings.ReplaceAll(group, dash, "-"), strings.ReplaceAll(volume, dash, "-")
}

// maxDepth is more than any real stack (partition, RAID, LUKS, LVM, ...); it
// ends the walk over a listing that goes in circles.
const maxDepth = 16

// listed gives the mount points that do not come and go by themselves.
func (g *graph) listed(mounts []string) []string {
	var listed []string
	for _, m := range mounts {
		if g.in.Volatile == nil || !g.in.Volatile(m) {
			listed = append(listed, m)
		}
	}
	slices.Sort(listed)
	return listed
}

func (g *graph) table(n *node) string {
	if n.Type != "part" && n.PTType != "" {
		return n.PTType
	}
	for _, s := range n.signatures.Value {
		if s.Type == "gpt" || s.Type == "dos" {
			return s.Type
		}
	}
	return ""
}

// role weighs what the sources say of the disk and of all that is built on
// it.
func (g *graph) role(n *node) (Role, []string) {
	v := verdict{g: g, seen: map[*node]bool{}}
	v.visit(n, 0)
	for _, found := range []struct {
		role     Role
		evidence []string
	}{{System, v.system}, {Ceph, v.ceph}, {DataInUse, v.used}} {
		if len(found.evidence) > 0 {
			return found.role, found.evidence
		}
	}
	if doubts := g.doubts(n); len(doubts) > 0 {
		return Unknown, doubts
	}
	return Free, []string{"no partition, holder, mount or swap (lsblk, sysfs, mountinfo, swaps)", "no signature (wipefs) and no BlueStore label"}
}

// verdict collects the evidence of use, by what it shows.
type verdict struct {
	g                  *graph
	seen               map[*node]bool
	system, ceph, used []string
}

func (v *verdict) visit(n *node, depth int) {
	if v.seen[n] || depth > maxDepth {
		return
	}
	v.seen[n] = true
	if systemMounts := slices.DeleteFunc(slices.Clone(n.mounts), func(m string) bool { return !isSystem(m) }); len(systemMounts) > 0 {
		v.system = append(v.system, n.Name+" is mounted at "+slices.Min(systemMounts))
	}
	if n.swap {
		v.system = append(v.system, n.Name+" is active swap")
	}
	if n.FSType == cephSignature || slices.ContainsFunc(n.signatures.Value, func(s wipefs.Signature) bool { return s.Type == cephSignature }) {
		v.ceph = append(v.ceph, n.Name+" carries a BlueStore label")
	} else if len(n.labels.Value) > 0 {
		v.ceph = append(v.ceph, fmt.Sprintf("%s carries a copy of a BlueStore label at %d GiB", n.Name, n.labels.Value[0].AtGiB[0]))
	} else if cephVolume(n) {
		v.ceph = append(v.ceph, n.Name+" is a volume of ceph-volume")
	}
	switch listed := v.g.listed(n.mounts); {
	case len(listed) > 0:
		v.used = append(v.used, n.Name+" is mounted at "+listed[0])
	case len(n.mounts) > 0:
		v.used = append(v.used, n.Name+" is mounted by a workload")
	}
	for _, s := range n.signatures.Value {
		v.used = append(v.used, fmt.Sprintf("%s carries %s at %#x (wipefs)", n.Name, s.Type, s.Offset))
	}
	if n.FSType != "" && len(n.signatures.Value) == 0 {
		v.used = append(v.used, n.Name+" carries "+n.FSType+" (lsblk)")
	}
	if depth == 0 && n.PTType != "" && len(n.signatures.Value) == 0 {
		v.used = append(v.used, fmt.Sprintf("%s has a partition table, %s (lsblk)", n.Name, n.PTType))
	}
	if n.sys != nil && len(n.sys.Holders) > 0 && len(n.children) == 0 {
		v.used = append(v.used, n.Name+" is held by "+n.sys.Holders[0]+" (sysfs)")
	}
	for _, c := range n.children {
		if depth == 0 {
			v.used = append(v.used, fmt.Sprintf("%s is on it (%s)", c.Name, c.Type))
		}
		v.visit(c, depth+1)
	}
}

const cephSignature = "ceph_bluestore"

// cephVolume tells a logical volume that ceph-volume made: group ceph-UUID,
// volume osd-block-UUID, osd-data-, osd-db- or osd-wal-. Device-mapper writes
// a dash within a name twice. The partition types are those of ceph-disk.
func cephVolume(n *node) bool {
	if n.Type == "lvm" && strings.HasPrefix(n.Name, "ceph--") && strings.Contains(n.Name, "-osd--") {
		return true
	}
	for _, prefix := range []string{"4fbd7e29-9d25-41b8-afd0-", "cafecafe-9b03-4f30-b4c6-", "30cd0809-c2b2-499c-8879-", "5ce17fce-4087-4169-b7ff-"} {
		if strings.HasPrefix(strings.ToLower(n.PartType), prefix) {
			return true
		}
	}
	return false
}

// isSystem tells the mount points without which the node does not boot or
// run. /sysroot is where image-based systems have their root.
func isSystem(mountPoint string) bool {
	switch mountPoint {
	case "/", "/sysroot", "/usr", "/var", "/etc", "/boot", "/efi", "/ostree":
		return true
	}
	return strings.HasPrefix(mountPoint, "/boot/")
}

// doubts are the reasons not to call a disk free that no source shows in use.
func (g *graph) doubts(n *node) []string {
	var doubts []string
	doubt := func(when bool, format string, args ...any) {
		if when {
			doubts = append(doubts, fmt.Sprintf(format, args...))
		}
	}
	source := func(name string, state fact.State, why string) {
		doubt(state != fact.IsPresent, "%s: %s", name, why)
	}
	source("lsblk", g.in.Lsblk.State, g.in.Lsblk.Why)
	source("sysfs", g.in.Sysfs.State, g.in.Sysfs.Why)
	source("mounts", g.in.Mounts.State, g.in.Mounts.Why)
	if g.in.Swaps.State != fact.IsAbsent { // a kernel without swap has no /proc/swaps
		source("swaps", g.in.Swaps.State, g.in.Swaps.Why)
	}
	source("wipefs", n.signatures.State, n.signatures.Why)
	source("BlueStore labels", n.labels.State, n.labels.Why)
	doubt(g.in.Lsblk.State == fact.IsPresent && !n.inLsblk, "lsblk does not list it")
	doubt(g.in.Sysfs.State == fact.IsPresent && n.sys == nil, "the kernel does not list it")
	switch {
	case n.SizeBytes < 0:
		doubt(true, "its size is not known")
	case n.SizeBytes == 0:
		doubt(true, "it has no medium (size 0)")
	default:
		doubt(n.SizeBytes < MinFreeBytes && n.Type != "loop", "it is smaller than 1 GiB")
	}
	doubt(n.sys != nil && n.inLsblk && n.SizeBytes >= 0 && n.sys.SizeBytes != n.SizeBytes, "lsblk and the kernel disagree about its size")
	doubt(n.ReadOnly, "it is read-only")
	doubt(n.Removable, "it is removable")
	doubt(n.Transport == "usb", "it is attached over USB")
	doubt(!g.rootFound, "the device that carries / was not found among the disks")
	return doubts
}

// refuseDoubles takes back "free" from disks that look like one and the same
// seen twice: several paths without multipath, or a bridge that gives every
// disk one number.
func (g *graph) refuseDoubles(disks []Disk) {
	byIdentity := map[string][]int{}
	for i, d := range disks {
		if d.WWN != "" && strings.Trim(strings.TrimPrefix(d.WWN, "0x"), "0") != "" {
			byIdentity["WWN "+d.WWN] = append(byIdentity["WWN "+d.WWN], i)
		}
		if d.Serial != "" {
			key := fmt.Sprintf("serial %s, model %q and size", d.Serial, d.Model)
			byIdentity[fmt.Sprint(key, "\x00", d.SizeBytes)] = append(byIdentity[fmt.Sprint(key, "\x00", d.SizeBytes)], i)
		}
	}
	for identity, twins := range byIdentity {
		what, _, _ := strings.Cut(identity, "\x00")
		for _, i := range twins {
			if len(twins) < 2 {
				continue
			}
			var others []string
			for _, j := range twins {
				if j != i {
					others = append(others, disks[j].Name)
				}
			}
			if disks[i].Role == Free {
				disks[i].Role, disks[i].Evidence = Unknown, nil
			}
			if disks[i].Role == Unknown {
				disks[i].Evidence = append(disks[i].Evidence, fmt.Sprintf("%s has the same %s: one disk seen twice?", strings.Join(others, " and "), what))
				slices.Sort(disks[i].Evidence)
			}
		}
	}
}
