package disks_test

import (
	"fmt"

	"github.com/nestor-tools/nestor/mapping/bluestore"
	"github.com/nestor-tools/nestor/mapping/disks"
	"github.com/nestor-tools/nestor/mapping/fact"
	"github.com/nestor-tools/nestor/mapping/lsblk"
	"github.com/nestor-tools/nestor/mapping/mountinfo"
	"github.com/nestor-tools/nestor/mapping/swaps"
	"github.com/nestor-tools/nestor/mapping/sysfs"
	"github.com/nestor-tools/nestor/mapping/wipefs"
)

// Two disks look alike to lsblk. Of one wipefs says that it is blank; the
// other it may not open.
func ExampleAssess() {
	in := disks.Input{
		Sysfs:  fact.Present([]sysfs.Device{{Name: "sda", Dev: "8:0", SizeBytes: 1 << 40}, {Name: "sdb", Dev: "8:16", SizeBytes: 1 << 40}, {Name: "sdc", Dev: "8:32", SizeBytes: 1 << 40}}),
		Mounts: fact.Present([]mountinfo.Mount{{Device: "8:0", Target: "/", FSType: "ext4", Source: "/dev/sda"}}),
		Swaps:  fact.Present([]swaps.Swap{}),
		Signatures: func(name string) fact.Observed[[]wipefs.Signature] {
			if name == "sdc" {
				return fact.Denied[[]wipefs.Signature]("not root")
			}
			return fact.Present([]wipefs.Signature{})
		},
		Labels: func(string) fact.Observed[[]bluestore.Label] { return fact.Present([]bluestore.Label{}) },
	}
	var listing lsblk.Listing
	for _, name := range []string{"sda", "sdb", "sdc"} {
		listing.Devices = append(listing.Devices, lsblk.Device{Name: name, KName: name, Type: "disk", SizeBytes: 1 << 40})
	}
	in.Lsblk = fact.Present(listing)
	for _, d := range disks.Assess(in) {
		fmt.Println(d.Name, d.Role, d.Evidence[0])
	}
	// Output:
	// sda system sda is mounted at /
	// sdb free no partition, holder, mount or swap (lsblk, sysfs, mountinfo, swaps)
	// sdc unknown wipefs: not root
}
