// Package disks says what each disk of a node is used for.
//
//	disks.Assess(disks.Input{Lsblk: ..., Sysfs: ..., Mounts: ..., Swaps: ..., Signatures: ...})
//
// A disk is free only when every source agrees: lsblk and the kernel see no
// partition, holder, mount or swap on it, wipefs, which reads the device
// itself, finds no signature, and no copy of a BlueStore label is left. One source that could not be read makes it
// unknown, never free; one that shows use is enough to make it used.
//
// It refuses to call free: what is read-only, removable or smaller than
// [MinFreeBytes]; one of several disks with the same identity; and anything
// at all while the disk that carries "/" was not found.
package disks

import (
	"github.com/nestor-tools/nestor/mapping/bluestore"
	"github.com/nestor-tools/nestor/mapping/fact"
	"github.com/nestor-tools/nestor/mapping/lsblk"
	"github.com/nestor-tools/nestor/mapping/mountinfo"
	"github.com/nestor-tools/nestor/mapping/swaps"
	"github.com/nestor-tools/nestor/mapping/sysfs"
	"github.com/nestor-tools/nestor/mapping/wipefs"
)

// Role is what a disk is used for. The list is closed.
type Role string

// The roles. Where several hold, the first of this list is given.
const (
	System    Role = "system"      // it carries /, /boot, /usr, /var, /etc or active swap
	Ceph      Role = "ceph"        // it carries a Ceph OSD, running or not
	DataInUse Role = "data-in-use" // it is mounted, held, partitioned or carries a signature
	Free      Role = "free"        // every source agrees that nothing is on it
	Unknown   Role = "unknown"     // no source shows use, and not all could be asked
)

// MinFreeBytes is the size from which an empty disk is taken for a disk: below
// 1 GiB it is a floppy, a virtual medium or a test device.
const MinFreeBytes = 1 << 30

// Disk is a whole disk, or the multipath device over its paths.
type Disk struct {
	Name        string             `json:"name"` // sda, mpatha; may change at the next boot
	ByID        []string           `json:"by_id,omitempty"`
	Paths       []string           `json:"paths,omitempty"` // of a multipath device: its disks
	Type        string             `json:"type"`
	SizeBytes   int64              `json:"size_bytes"`
	Model       string             `json:"model,omitempty"`
	Serial      string             `json:"serial,omitempty"`
	WWN         string             `json:"wwn,omitempty"`
	Transport   string             `json:"transport,omitempty"`
	Rotational  *bool              `json:"rotational,omitempty"`
	Removable   bool               `json:"removable,omitempty"`
	ReadOnly    bool               `json:"read_only,omitempty"`
	BackingFile string             `json:"backing_file,omitempty"` // of a loop device
	Role        Role               `json:"role"`
	Evidence    []string           `json:"evidence"`
	FileSystem  string             `json:"file_system,omitempty"`
	Table       string             `json:"partition_table,omitempty"`
	Signatures  []wipefs.Signature `json:"signatures,omitempty"`
	Mounts      []string           `json:"mounts,omitempty"`
	Volumes     []Volume           `json:"volumes,omitempty"`
}

// Volume is what is built on a disk: a partition, a RAID array, a logical
// volume, an opened LUKS container. What lies over several disks is listed
// under each of them.
type Volume struct {
	Name       string             `json:"name"` // sda1, vg-lv
	Type       string             `json:"type"`
	SizeBytes  int64              `json:"size_bytes"`
	Group      string             `json:"volume_group,omitempty"`   // of LVM: what it is named there
	LV         string             `json:"logical_volume,omitempty"` //
	Label      string             `json:"label,omitempty"`
	FileSystem string             `json:"file_system,omitempty"`
	Signatures []wipefs.Signature `json:"signatures,omitempty"`
	Mounts     []string           `json:"mounts,omitempty"`
	Volumes    []Volume           `json:"volumes,omitempty"`
}

// Input is what the sources said.
type Input struct {
	Lsblk      fact.Observed[lsblk.Listing]
	Sysfs      fact.Observed[[]sysfs.Device]
	Mounts     fact.Observed[[]mountinfo.Mount]
	Swaps      fact.Observed[[]swaps.Swap]
	Signatures func(kernelName string) fact.Observed[[]wipefs.Signature]
	Labels     func(kernelName string) fact.Observed[[]bluestore.Label]
	ByID       map[string][]string // names in /dev/disk/by-id, by kernel name

	// Loops makes disks of loop devices, for benches whose disks are files.
	// Otherwise they are left out: they are how snap and image mounts work.
	Loops bool

	// Volatile says of a mount point that it comes and goes by itself. Such
	// mounts count as use but are not listed.
	Volatile func(mountPoint string) bool
}

// Assess gives the node's disks, sorted by name.
func Assess(in Input) []Disk {
	g := build(in)
	disks := []Disk{}
	for _, d := range g.disks() {
		disks = append(disks, g.describe(d))
	}
	g.refuseDoubles(disks)
	return disks
}
