package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nestor-tools/nestor/mapping/bluestore"
	"github.com/nestor-tools/nestor/mapping/wipefs"
)

// Inspection is what "wipe.sh inspect" printed of some disks of a node: what
// they are, what is built on them, and what else a wipe must know. The same
// lines must come again just before a step is taken.
type Inspection struct {
	Lines     []string // as they were printed
	MachineID string
	BootID    string   // only where a disk has no lasting identity
	HostKeys  []string // "ssh-ed25519 HEX": the SHA-256 of the key
	Tools     []string // of lvm, cryptsetup, mdadm and dmsetup, those that are installed
	Processes []string // of Ceph, those that run
	Unread    []string // sources that failed
	Rook      Rook
	Asked     []Asked
	Devices   []Device
	PVs       []PV
	LVs       []LV
}

// Rook is what is at /var/lib/rook.
type Rook struct {
	State   string   `json:"state"` // absent, present, or link
	Entries []string `json:"entries,omitempty"`
	FSIDs   []string `json:"fsids,omitempty"` // of the clusters whose configuration is in it
	Mounts  []string `json:"mounts,omitempty"`
}

// Asked is a device that was asked for, and the kernel's name for it, "" where
// there is no such block device.
type Asked struct{ Path, Name string }

// Device is a block device.
type Device struct {
	Name        string // the kernel's
	Path        string
	Number      string // major:minor
	SizeBytes   int64
	ReadOnly    bool
	Removable   bool
	Partition   bool
	DMName      string
	DMUUID      string
	MDLevel     string
	LoopFile    string
	LoopInode   string // of the backing file, DEVICE:INODE
	Fabric      string // of an NVMe device: pcie, tcp, ...
	Transport   string // lsblk's word: sata, iscsi, usb, ...
	Serial      string
	WWN         string
	Ends        string // SHA-256 of both ends, where there is neither serial nor WWN nor name
	ByID        []string
	Parents     []string
	Mounts      []string
	Swap        bool
	Busy        bool // nothing known is built on it, and it cannot be opened exclusively
	Blank       bool // all that a wipe would write is zero already
	Signatures  []wipefs.Signature
	Labels      []bluestore.Label
	GPTs        []int64  // where the header of a GPT is
	Unread      []string // what could not be read of it
	holderCount int
}

// PV is a physical volume of a volume group on the devices, or one without a
// group. Device is no kernel's name where it is missing.
type PV struct{ Device, VG, UUID string }

// LV is a logical volume.
type LV struct{ VG, Name, Tags string }

// ParseInspection reads the lines. One that was cut, or that holds a line of
// another form, is refused: half an answer is none.
func ParseInspection(b []byte) (Inspection, error) {
	var in Inspection
	text, ok := strings.CutPrefix(string(b), "nestor-wipe\t1\n")
	if !ok {
		return in, fmt.Errorf("not the output of nestor's wipe.sh, version 1")
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		in.Lines = append(in.Lines, line)
		if line == "inspected" {
			return in, in.link()
		}
		if err := in.add(strings.Split(line, "\t")); err != nil {
			return Inspection{}, err
		}
	}
	return Inspection{}, fmt.Errorf("the inspection was cut after %d lines", len(in.Lines))
}

func (in *Inspection) add(f []string) error {
	want := map[string]int{"node": 3, "rook": 3, "disk": 3, "pv": 4, "lv": 4}[f[0]]
	if f[0] == "dev" {
		return in.addDevice(f)
	}
	if want != len(f) {
		return fmt.Errorf("the inspection holds a line that is not known: %.120q", strings.Join(f, " "))
	}
	switch f[0] + " " + f[1] {
	case "node machine-id":
		in.MachineID = f[2]
	case "node boot-id":
		in.BootID = f[2]
	case "node host-key":
		in.HostKeys = append(in.HostKeys, f[2])
	case "node tool":
		in.Tools = append(in.Tools, f[2])
	case "node process":
		in.Processes = append(in.Processes, f[2])
	case "node unread":
		in.Unread = append(in.Unread, f[2])
	case "rook state":
		in.Rook.State = f[2]
	case "rook entry":
		in.Rook.Entries = append(in.Rook.Entries, f[2])
	case "rook fsid":
		in.Rook.FSIDs = append(in.Rook.FSIDs, f[2])
	case "rook mount":
		in.Rook.Mounts = append(in.Rook.Mounts, f[2])
	default:
		switch f[0] {
		case "disk":
			in.Asked = append(in.Asked, Asked{Path: f[1], Name: strings.TrimPrefix(f[2], "-")})
		case "pv":
			in.PVs = append(in.PVs, PV{Device: f[1], VG: f[2], UUID: f[3]})
		case "lv":
			in.LVs = append(in.LVs, LV{VG: f[1], Name: f[2], Tags: f[3]})
		default:
			return fmt.Errorf("the inspection tells %s, which is not known", f[1])
		}
	}
	return nil
}

func (in *Inspection) addDevice(f []string) error {
	d := Device{SizeBytes: -1}
	if len(f) > 1 {
		d.Name = f[1]
	}
	labels := ""
	for _, field := range f[min(2, len(f)):] {
		key, value, ok := strings.Cut(field, "=")
		if !ok {
			return fmt.Errorf("device %s: %.80q is not KEY=VALUE", d.Name, field)
		}
		if key == "label" {
			labels += strings.ReplaceAll(value, ":", " ") + "\n"
			continue
		}
		if err := d.set(key, value); err != nil {
			return fmt.Errorf("device %s: %w", d.Name, err)
		}
	}
	var err error
	if d.Labels, err = bluestore.Parse([]byte(labels)); err != nil {
		return fmt.Errorf("device %s: %w", d.Name, err)
	}
	if d.Name == "" || d.SizeBytes < 0 || d.Path == "" {
		return fmt.Errorf("device %q has no name, path or size", d.Name)
	}
	in.Devices = append(in.Devices, d)
	return nil
}

func (d *Device) set(key, value string) (err error) {
	switch key {
	case "node":
		d.Path = value
	case "number":
		d.Number = value
	case "size":
		d.SizeBytes, err = strconv.ParseInt(value, 10, 64)
	case "ro":
		d.ReadOnly = true
	case "removable":
		d.Removable = true
	case "partition":
		d.Partition = true
	case "dm/name":
		d.DMName = value
	case "dm/uuid":
		d.DMUUID = value
	case "md/level":
		d.MDLevel = value
	case "loop/backing_file":
		d.LoopFile = value
	case "loop/inode":
		d.LoopInode = value
	case "device/transport":
		if d.Fabric == "" || d.Fabric == "pcie" { // of several paths, the one that leads elsewhere
			d.Fabric = value
		}
	case "TRAN":
		d.Transport = value
	case "SERIAL":
		d.Serial = value
	case "WWN":
		d.WWN = value
	case "ends":
		d.Ends = value
	case "by-id":
		d.ByID = append(d.ByID, value)
	case "parent":
		d.Parents = append(d.Parents, value)
	case "mount":
		d.Mounts = append(d.Mounts, value)
	case "swap":
		d.Swap = true
	case "busy":
		d.Busy = true
	case "blank":
		d.Blank = true
	case "sig":
		var s []wipefs.Signature
		s, err = wipefs.Parse([]byte(value))
		d.Signatures = append(d.Signatures, s...)
	case "gpt":
		var at int64
		at, err = strconv.ParseInt(value, 10, 64)
		d.GPTs = append(d.GPTs, at)
	case "unread":
		d.Unread = append(d.Unread, value)
	default:
		return fmt.Errorf("tells %s, which is not known", key)
	}
	return err
}

// link counts what is built on each device, and refuses one that is built on
// itself.
func (in *Inspection) link() error {
	for i := range in.Devices {
		d := &in.Devices[i]
		above, seen := in.children(d.Name), map[string]bool{}
		d.holderCount = len(above)
		for len(above) > 0 {
			next := above[0]
			above = above[1:]
			if next.Name == d.Name {
				return fmt.Errorf("device %s is built on itself", d.Name)
			}
			if !seen[next.Name] {
				seen[next.Name] = true
				above = append(above, in.children(next.Name)...)
			}
		}
	}
	return nil
}

// device gives the device of that name.
func (in *Inspection) device(name string) (*Device, bool) {
	for i := range in.Devices {
		if in.Devices[i].Name == name && name != "" {
			return &in.Devices[i], true
		}
	}
	return nil, false
}

// byPath gives the device that was asked for by that path.
func (in *Inspection) byPath(path string) (*Device, bool) {
	for _, a := range in.Asked {
		if a.Path == path {
			return in.device(a.Name)
		}
	}
	return nil, false
}

// targets are the names of the devices that were asked for.
func (in *Inspection) targets() []string {
	var names []string
	for _, a := range in.Asked {
		names = append(names, a.Name)
	}
	return names
}

// children are the devices that are built on one.
func (in *Inspection) children(name string) []*Device {
	var found []*Device
	for i := range in.Devices {
		if slices.Contains(in.Devices[i].Parents, name) {
			found = append(found, &in.Devices[i])
		}
	}
	return found
}
