// Package lsblk reads what lsblk(8) prints: JSON, pairs (-P) or its table.
//
//	{"blockdevices": [{"name":"sda", "type":"disk", "size":8001563222016,
//	   "children": [{"name":"sda1", "type":"part", "mountpoints":["/"]}]}]}
//
// All versions are read: those that quote every value and those that do not,
// the single mountpoint and the list with its nulls. A device that several
// others carry (a volume over two disks) is one device with several parents.
// JSON that is not valid is refused, with the version that writes such.
//
// A missing file system type proves nothing: lsblk repeats what udev noted,
// and without udev it notes nothing.
package lsblk

import (
	"errors"
	"slices"
	"strings"
)

// Device is one block device, as lsblk names it. An empty field was not asked
// for or is not known; lsblk does not tell which.
type Device struct {
	Name       string // vg-lv, sda1; without /dev/
	KName      string // dm-0, sda1: the kernel's name; Name where it was not asked for
	Path       string
	Dev        string // major:minor
	Type       string // disk, part, lvm, crypt, mpath, raid1, loop, rom, ...
	SizeBytes  int64  // -1: not told
	ReadOnly   bool
	Removable  bool
	Rotational *bool
	Mounts     []string // "[SWAP]" for active swap
	FSType     string
	Label      string
	UUID       string
	PTType     string // of the table it holds or lies in
	PartType   string
	Serial     string
	WWN        string
	Model      string
	Transport  string
	Parents    []string // KNames of what it is built on, in lsblk's order
}

// Listing is one run of lsblk.
type Listing struct {
	Devices  []Device // each once, parents and children in lsblk's order
	Warnings []string // lines that lsblk wrote among the others
}

// Parse reads any of the three forms.
func Parse(b []byte) (Listing, error) {
	text := strings.TrimSpace(string(b))
	switch {
	case text == "":
		return Listing{}, errors.New("lsblk printed nothing")
	case text[0] == '{':
		return parseJSON([]byte(text))
	}
	return parseText(text)
}

// baseName strips the folders that lsblk -p puts before a name, and the
// kernel's name that its table puts behind ("vg-lv (dm-3)").
func baseName(name string) string {
	name = strings.TrimPrefix(name, "/dev/")
	return strings.TrimPrefix(name, "mapper/")
}

// collector merges the rows of one device into one.
type collector struct {
	listing Listing
	index   map[string]int // by KName
	member  string         // the last row that carries a RAID, LVM, LUKS or multipath signature
}

// add takes one row. Without a parent column the parent of a partition is
// told by its name.
func (c *collector) add(d Device) {
	d.Name, d.KName = baseName(d.Name), baseName(d.KName)
	if d.KName == "" {
		d.KName = d.Name
	}
	for i := range d.Parents {
		d.Parents[i] = baseName(d.Parents[i])
	}
	if i, ok := c.index[d.KName]; ok {
		known := &c.listing.Devices[i]
		known.Parents = union(known.Parents, d.Parents)
		known.Mounts = union(known.Mounts, d.Mounts)
		return
	}
	if c.index == nil {
		c.index = map[string]int{}
	}
	c.index[d.KName] = len(c.listing.Devices)
	c.listing.Devices = append(c.listing.Devices, d)
}

// done gives the listing, partitions without a parent tied to their disk.
func (c *collector) done() Listing {
	for i := range c.listing.Devices {
		d := &c.listing.Devices[i]
		if len(d.Parents) > 0 || (d.Type != "part" && d.Type != "md") {
			continue
		}
		if disk := partitionOf(d.KName); disk != "" {
			if _, ok := c.index[disk]; ok {
				d.Parents = []string{disk}
			}
		}
	}
	return c.listing
}

// partitionOf gives sda for sda1 and nvme0n1 for nvme0n1p2; "" for a name
// that is no partition's.
func partitionOf(name string) string {
	disk := strings.TrimRight(name, "0123456789")
	if disk == name || disk == "" {
		return ""
	}
	if cut := strings.TrimSuffix(disk, "p"); cut != disk && cut != "" && cut[len(cut)-1] >= '0' && cut[len(cut)-1] <= '9' {
		return cut
	}
	return disk
}

func union(a, b []string) []string {
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(a, s)
		}
	}
	return a
}
