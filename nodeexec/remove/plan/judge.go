package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/mapping/disks"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

var machineID = regexp.MustCompile(`^[0-9a-f]{32}$`)

func (m *maker) judgeNode() {
	in := &m.Inspection
	if !machineID.MatchString(in.MachineID) {
		m.refuse("", RuleNode, in.MachineID, "is its machine-id, which tells it from no other node")
	}
	for _, what := range in.Unread {
		m.refuse("", RuleUnknown, what, "failed on the node, so what is on the disks is not known")
	}
	for _, p := range in.Processes {
		m.refuse("", RuleRunning, p, "runs on the node; end Ceph there first")
	}
	switch in.Rook.State {
	case "absent", "present":
	default:
		m.refuse("", RuleRook, in.Rook.State, "is what /var/lib/rook is; only a folder is removed")
	}
	for _, at := range in.Rook.Mounts {
		m.refuse("", RuleRook, at, "is mounted at or below /var/lib/rook; unmount it")
	}
	for _, fsid := range in.Rook.FSIDs {
		if !m.Profile.expects(fsid) {
			m.refuse("", RuleForeign, fsid, "is the cluster whose state is in /var/lib/rook; if it is meant, say --ceph-fsid %s", fsid)
		}
	}
}

// judgeDisk compares a chosen disk with what discover saw, and asks for its
// identity.
func (m *maker) judgeDisk(c Choice) {
	d, ok := m.Inspection.byPath(c.Path)
	if !ok {
		m.refuse(c.Disk.Name, RuleChanged, c.Path, "was here a moment ago, and is gone")
		return
	}
	switch {
	case d.Name != c.Disk.Name && d.DMName != c.Disk.Name:
		m.refuse(d.Name, RuleChanged, d.Name, "is what %s leads to, and it was %s a moment ago", c.Path, c.Disk.Name)
	case d.SizeBytes != c.Disk.SizeBytes:
		m.refuse(d.Name, RuleChanged, fmt.Sprint(d.SizeBytes), "bytes is its size, and it was %d a moment ago", c.Disk.SizeBytes)
	case d.Serial != c.Disk.Serial && d.Serial != "" && c.Disk.Serial != "":
		m.refuse(d.Name, RuleChanged, d.Serial, "is its serial number, and it was %q a moment ago", c.Disk.Serial)
	case d.Partition || d.SizeBytes == 0:
		m.refuse(d.Name, RuleProfile, c.Path, "is no whole disk")
	case c.Disk.Role == disks.System || c.Disk.Role == disks.Unknown || c.Disk.Role == "":
		m.refuse(d.Name, RuleUnknown, string(c.Disk.Role), "is its role; only disks whose use is known, and is not the system's, are wiped")
	}
	if what := networkVolume(d.Name, d.Transport, "", d.LoopFile); what != "" {
		m.refuse(d.Name, RuleNetwork, what, "is another machine's volume, not a disk of this node")
	}
	if d.Fabric != "" && d.Fabric != "pcie" && d.Fabric != "apple-nvme" {
		m.refuse(d.Name, RuleNetwork, d.Fabric, "is how it is attached: another machine's volume")
	}
	if d.Removable && c.Entry.ByID == "" {
		m.refuse(d.Name, RuleRemovable, c.Path, "is removable; if it is meant, name it by_id")
	}
	switch loop := strings.HasPrefix(d.Name, "loop"); {
	case loop && (c.Entry.Glob || c.Entry.ByID != ""):
		m.refuse(d.Name, RuleLoop, c.Entry.String(), "meets a loop device, which is named by its path only")
	case loop && (d.LoopFile == "" || d.LoopInode == ""):
		m.refuse(d.Name, RuleLoop, d.LoopFile, "is its backing file, which cannot be looked at on the node")
	case loop, lasting(d):
	case m.Kind != inventory.Lima:
		m.refuse(d.Name, RuleIdentity, d.Name, "has neither a name in /dev/disk/by-id nor a WWN nor a serial number")
	case d.Ends == "" || m.Inspection.BootID == "":
		m.refuse(d.Name, RuleIdentity, d.Name, "has no lasting identity, and its ends could not be read for one of this boot")
	}
	for _, o := range m.Choices {
		other, ok := m.Inspection.byPath(o.Path)
		if ok && o.Path != c.Path && (other.Name == d.Name || usableWWN(d.WWN) && other.WWN == d.WWN) {
			m.refuse(d.Name, RuleDuplicate, c.Path, "is the same disk as %s", o.Path)
		}
	}
}

// lasting says whether a disk has an identity that outlives a boot.
func lasting(d *Device) bool {
	if d.Serial != "" || usableWWN(d.WWN) {
		return true
	}
	return slices.ContainsFunc(d.ByID, func(id string) bool {
		wwn, isWWN := strings.CutPrefix(id, "wwn-")
		return !isWWN || usableWWN(wwn)
	})
}

// judgeStack looks at every device from the chosen disks up.
func (m *maker) judgeStack() {
	in := &m.Inspection
	targets := in.targets()
	for i := range in.Devices {
		d := &in.Devices[i]
		for _, at := range d.Mounts {
			m.refuse(d.Name, RuleMounted, at, "is where it is mounted; unmount it")
		}
		if d.Swap {
			m.refuse(d.Name, RuleSwap, d.Path, "is swapped on; swap it off")
		}
		if d.ReadOnly && !d.isInternal() {
			m.refuse(d.Name, RuleReadOnly, d.Path, "is read-only")
		}
		for _, what := range d.Unread {
			m.refuse(d.Name, RuleUnknown, what, "is why nobody can tell what is on it")
		}
		if d.Busy && !d.isInternal() {
			m.refuse(d.Name, RuleBusy, d.Path, "cannot be opened exclusively: something holds it, such as a btrfs of several disks or a running OSD")
		}
		for _, s := range d.Signatures {
			if isCloudInit(s.Label) {
				m.refuse(d.Name, RuleCloudInit, s.Label, "is the label of cloud-init's configuration, without which the node does not come back")
			}
		}
		multipath := strings.HasPrefix(d.DMUUID, "mpath-")
		if multipath && !slices.Contains(targets, d.Name) {
			m.refuse(d.Name, RuleMultipath, d.DMName, "is the multipath device over it; list /dev/mapper/%s", d.DMName)
		}
		if multipath && slices.Contains(targets, d.Name) {
			continue // its paths are the same disk
		}
		for _, p := range d.Parents {
			if _, known := in.device(p); !known {
				m.refuse(d.Name, RuleSpans, p, "is under it too, and is not listed")
			}
		}
		if d.has("LVM2_member") && slices.Contains(in.Tools, "lvm") && !slices.ContainsFunc(in.PVs, func(pv PV) bool { return m.carries(d.Name, pv.Device) }) {
			m.refuse(d.Name, RuleUnknown, d.Path, "is a physical volume that LVM does not show (its filter or devices file may leave it out), so the disks of its group are not known")
		}
		if tool := d.tool(in); tool != "" && !slices.Contains(in.Tools, tool) {
			m.refuse(d.Name, RuleTool, tool, "is needed on the node for it, and is not installed; nothing is installed by nestor")
		}
	}
	names := map[string]string{}
	for _, pv := range in.PVs {
		if _, known := in.device(pv.Device); !known {
			m.refuse("", RuleSpans, pv.Device, "is a part of volume group %s too, and is not listed", pv.VG)
		}
		if uuid, twice := names[pv.VG]; twice && uuid != pv.UUID {
			m.refuse(pv.Device, RuleDuplicate, pv.VG, "is the name of two volume groups; rename one")
		}
		names[pv.VG] = pv.UUID
	}
}

// tool is the program without which a device cannot be taken down.
func (d *Device) tool(in *Inspection) string {
	switch {
	case d.isLVM() && in.groupOf(d) != "", d.has("LVM2_member"):
		return "lvm"
	case d.isCrypt():
		return "cryptsetup"
	case d.MDLevel != "" || strings.HasPrefix(d.Name, "md") && !d.Partition:
		return "mdadm"
	case d.DMUUID != "" || d.DMName != "":
		return "dmsetup"
	}
	return ""
}

func (d *Device) has(kind string) bool {
	for _, s := range d.Signatures {
		if s.Type == kind {
			return true
		}
	}
	return false
}

func (d *Device) isLVM() bool { return strings.HasPrefix(d.DMUUID, "LVM-") }

// isInternal tells a layer within a logical volume (a thin pool, a snapshot's
// origin), which LVM itself tears down: its UUID has a suffix after the 32 bytes
// each of group and volume.
func (d *Device) isInternal() bool { return d.isLVM() && len(d.DMUUID) > len("LVM-")+64 }

func (d *Device) isCrypt() bool { return strings.HasPrefix(d.DMUUID, "CRYPT-") }

// groupOf gives the UUID of the volume group whose logical volume a device is:
// device-mapper's UUID of one is LVM-, the group's and the volume's own, without
// dashes.
func (in *Inspection) groupOf(d *Device) string {
	for _, pv := range in.PVs {
		if id := strings.ReplaceAll(pv.UUID, "-", ""); id != "" && strings.HasPrefix(d.DMUUID, "LVM-"+id) {
			return pv.UUID
		}
	}
	return ""
}

// judgeCeph asks of every OSD which cluster it belongs to.
func (m *maker) judgeCeph() {
	clusters := m.clusters()
	tagged := map[string][]string{} // by volume group
	for _, lv := range m.Inspection.LVs {
		for tag := range strings.SplitSeq(lv.Tags, ",") {
			if fsid, ok := strings.CutPrefix(tag, "ceph.cluster_fsid="); ok {
				tagged[lv.VG] = append(tagged[lv.VG], fsid)
			}
		}
	}
	for vg, fsids := range tagged {
		for _, fsid := range fsids {
			if !m.Profile.expects(fsid) {
				m.foreign("", fsid, "volume group "+vg)
			}
		}
	}
	told := map[string]bool{} // the devices of whose OSD the cluster is known
	for _, d := range m.Inspection.Devices {
		for _, l := range d.Labels {
			fsid := clusters[l.OSDUUID]
			if l.ClusterFSID != "" {
				fsid = l.ClusterFSID
			}
			if !m.Profile.expects(fsid) {
				m.foreign(d.Name, fsid, "OSD "+l.OSDUUID)
			}
			told[d.Name] = true
		}
		if d.has("ceph_bluestore") && len(d.Labels) == 0 {
			m.foreign(d.Name, "", "a BlueStore label that cannot be read")
		}
	}
	for _, c := range m.Choices {
		d, ok := m.Inspection.byPath(c.Path)
		if !ok || c.Disk.Role != disks.Ceph {
			continue
		}
		known := len(tagged) > 0 && m.onTagged(d, tagged)
		for name := range told {
			known = known || m.carries(d.Name, name)
		}
		if !known {
			m.foreign(d.Name, "", strings.Join(c.Disk.Evidence, ", "))
		}
	}
}

// onTagged says whether a volume group of a known cluster is on a disk.
func (m *maker) onTagged(d *Device, tagged map[string][]string) bool {
	return slices.ContainsFunc(m.Inspection.PVs, func(pv PV) bool {
		return len(tagged[pv.VG]) > 0 && m.carries(d.Name, pv.Device)
	})
}

func (m *maker) foreign(disk, fsid, what string) {
	if fsid == "" {
		m.refuse(disk, RuleForeign, what, "does not tell its cluster, so it may be another's")
		return
	}
	m.refuse(disk, RuleForeign, fsid, "is the cluster of %s; if it is meant, say --ceph-fsid %s", what, fsid)
}

// clusters tells the cluster of each OSD. The label of a metadata device
// holds the OSD's uuid only; the label of its data device holds both.
func (m *maker) clusters() map[string]string {
	found := map[string]string{}
	for _, d := range m.Inspection.Devices {
		for _, l := range d.Labels {
			if l.ClusterFSID != "" {
				found[l.OSDUUID] = l.ClusterFSID
			}
		}
	}
	return found
}
