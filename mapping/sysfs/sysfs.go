// Package sysfs reads what shims/probe.sh collected from /sys/class/block.
//
//	sda<TAB>dev=8:0<TAB>size=4194304<TAB>ro=0<TAB>device/model=QEMU HARDDISK
//	sda1<TAB>dev=8:1<TAB>size=2048<TAB>partition=1<TAB>parent=8:0<TAB>holders=dm-0
//
// This is the kernel's own word: it needs neither udev nor lsblk. A line
// without a name or with a size that is no number is refused.
package sysfs

import (
	"fmt"
	"strconv"
	"strings"
)

// Device is one block device, as the kernel numbers and names it.
type Device struct {
	Name        string // sda1, dm-0, nvme0n1
	Dev         string // major:minor
	SizeBytes   int64
	ReadOnly    bool
	Removable   bool
	Rotational  *bool  // nil: not told (partitions)
	Partition   bool   // it is a partition of ParentDev
	ParentDev   string // major:minor
	DMName      string // the device-mapper name: vg-lv, mpatha
	DMUUID      string // its owner: LVM-..., mpath-..., CRYPT-...
	MDLevel     string // raid1, ...: it is an md array
	BackingFile string // of a loop device
	Model       string
	Vendor      string
	Serial      string
	WWID        string
	Holders     []string // devices that are built on it
	Slaves      []string // devices that it is built on
}

// Parse reads the section.
func Parse(b []byte) ([]Device, error) {
	devices := []Device{}
	for line := range strings.Lines(string(b)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		d := Device{Name: fields[0]}
		if d.Name == "" || strings.Contains(d.Name, "=") {
			return nil, fmt.Errorf("sysfs line without a device: %.80q", line)
		}
		for _, field := range fields[1:] {
			key, value, _ := strings.Cut(field, "=")
			if err := d.set(key, strings.TrimSpace(value)); err != nil {
				return nil, err
			}
		}
		devices = append(devices, d)
	}
	return devices, nil
}

func (d *Device) set(key, value string) error {
	switch key {
	case "dev":
		d.Dev = value
	case "size": // in sectors of 512 bytes, whatever the device's own are
		n, err := strconv.ParseInt(value, 10, 54)
		if err != nil || n < 0 {
			return fmt.Errorf("sysfs says that %s has %q sectors", d.Name, value)
		}
		d.SizeBytes = n * 512
	case "ro":
		d.ReadOnly = value != "0"
	case "removable":
		d.Removable = value != "0"
	case "queue/rotational":
		rotational := value != "0"
		d.Rotational = &rotational
	case "partition":
		d.Partition = true
	case "parent":
		d.ParentDev = value
	case "dm/name":
		d.DMName = value
	case "dm/uuid":
		d.DMUUID = value
	case "md/level":
		d.MDLevel = value
	case "loop/backing_file":
		d.BackingFile = value
	case "device/model":
		d.Model = value
	case "device/vendor":
		d.Vendor = value
	case "device/serial":
		d.Serial = value
	case "device/wwid", "wwid":
		d.WWID = value
	case "holders":
		d.Holders = append(d.Holders, value)
	case "slaves":
		d.Slaves = append(d.Slaves, value)
	}
	return nil
}
