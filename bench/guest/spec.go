package guest

import (
	"fmt"
	"regexp"
)

// Spec describes a guest. The zero value is one without further disks.
type Spec struct {
	// Name is what the inventory calls it; "guest1" when empty.
	Name string

	// Hostname is what it calls itself; Name when empty. A Lima VM's is
	// "lima-" and its name.
	Hostname string

	// Kind is what the inventory declares as target_kind; "lima" when
	// empty. The inventory always declares transport: ssh, and
	// local_bench: true, since its address is this machine's.
	Kind string

	// User is whom the inventory logs in as: "root" (when empty) or
	// "debian", who may sudo without a password.
	User string

	MemoryMiB int // 1536 when 0

	// Disks are plugged in after the start. Which of them is vdb and which
	// vdc is the guest's affair: ask Device.
	Disks []Disk

	// Forward are ports of the guest that are to be reached on 127.0.0.1;
	// Guest.Forwarded says where.
	Forward []int

	// Cold boots the guest instead of going on from the booted image.
	Cold bool
}

const defaultMemoryMiB = 1536

// Bus is how a disk is attached.
type Bus string

// The buses, with the kernel names of their disks: vdb, sda, nvme0n1, sr0.
const (
	Virtio Bus = "virtio"
	SCSI   Bus = "scsi"
	NVMe   Bus = "nvme"
	CDROM  Bus = "cdrom"
)

// Disk is a disk that is empty at first. Only Name and SizeMiB are required.
type Disk struct {
	Name    string // for Device, Attach and Detach
	Bus     Bus    // Virtio when empty
	SizeMiB int    // sparse, so 1100 GiB cost nothing

	// Serial is what the disk says of itself; nothing when empty (as a disk
	// of Lima), except on NVMe, which must: then it is Name.
	Serial string

	// WWN is the world-wide name of a SCSI disk, such as
	// 0x5000c500a1b2c3d4; none when 0.
	WWN uint64

	// SecondPath attaches a SCSI disk to both controllers, so that the
	// guest sees it twice, as multipath storage is seen. It needs a WWN or
	// a Serial.
	SecondPath bool

	// ReadOnly refuses writes. Removable says of a SCSI disk that it can be
	// taken out, as a USB stick does.
	ReadOnly, Removable bool

	// From is a raw image on this machine that the disk starts as, instead
	// of zeros; it is not written to. SizeMiB may then be 0.
	From string
}

var (
	hostForm   = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,60}[a-z0-9])?$`)
	diskForm   = regexp.MustCompile(`^[a-z][a-z0-9-]{0,15}$`)
	serialForm = regexp.MustCompile(`^[A-Za-z0-9_-]{0,20}$`)
	kindForm   = regexp.MustCompile(`^[a-z]{1,20}$`)
)

func (s Spec) withDefaults() (Spec, error) {
	if s.Name == "" {
		s.Name = "guest1"
	}
	if s.Hostname == "" {
		s.Hostname = s.Name
	}
	if s.Kind == "" {
		s.Kind = "lima"
	}
	if s.User == "" {
		s.User = "root"
	}
	if s.MemoryMiB == 0 {
		s.MemoryMiB = defaultMemoryMiB
	}
	switch {
	case !hostForm.MatchString(s.Name) || !hostForm.MatchString(s.Hostname):
		return s, fmt.Errorf("guest %q, host name %q: not a host name", s.Name, s.Hostname)
	case !kindForm.MatchString(s.Kind):
		return s, fmt.Errorf("guest %s: kind %q is no word", s.Name, s.Kind)
	case s.User != "root" && s.User != "debian":
		return s, fmt.Errorf("guest %s: user %q: there are root and debian", s.Name, s.User)
	case s.MemoryMiB < 512 || s.MemoryMiB > 16384:
		return s, fmt.Errorf("guest %s: %d MiB of memory: not 512 to 16384", s.Name, s.MemoryMiB)
	}
	for _, port := range s.Forward {
		if port < 1 || port > 65535 {
			return s, fmt.Errorf("guest %s: port %d is not 1 to 65535", s.Name, port)
		}
	}
	return s, nil
}

func (d Disk) withDefaults() (Disk, error) {
	if d.Bus == "" {
		d.Bus = Virtio
	}
	if d.Bus == NVMe && d.Serial == "" {
		d.Serial = d.Name
	}
	switch {
	case !diskForm.MatchString(d.Name):
		return d, fmt.Errorf("disk %q: a name is a letter and up to 15 of a-z, 0-9 and -", d.Name)
	case d.Bus != Virtio && d.Bus != SCSI && d.Bus != NVMe && d.Bus != CDROM:
		return d, fmt.Errorf("disk %s: unknown bus %q", d.Name, d.Bus)
	case !serialForm.MatchString(d.Serial):
		return d, fmt.Errorf("disk %s: serial %q: at most 20 letters, digits, - and _", d.Name, d.Serial)
	case d.SizeMiB < 0 || d.SizeMiB == 0 && d.From == "":
		return d, fmt.Errorf("disk %s: it has no size", d.Name)
	case d.Bus != SCSI && (d.WWN != 0 || d.SecondPath || d.Removable):
		return d, fmt.Errorf("disk %s: WWN, SecondPath and Removable are for scsi, not %s", d.Name, d.Bus)
	case d.SecondPath && d.WWN == 0 && d.Serial == "":
		return d, fmt.Errorf("disk %s: two paths to a disk without WWN and serial are two disks", d.Name)
	}
	return d, nil
}
