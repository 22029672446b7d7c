// Package guest gives a test a real Debian 12: a virtual machine under qemu,
// without KVM, with systemd, udev, AppArmor, auditd, LVM, md, LUKS, multipath,
// Ceph's OSD and disks on virtio, SCSI and NVMe that may be destroyed.
//
// In a test (root on Linux):
//
//	g := guest.Start(t, guest.Spec{Disks: []guest.Disk{
//		{Name: "data1", SizeMiB: 2048},
//		{Name: "data2", Bus: guest.SCSI, SizeMiB: 1024},
//	}})
//	g.MustRun(t, "pvcreate "+g.MustDevice(t, "data1")) // a shell script, as root
//	// g.InventoryPath is an Ansible inventory of it.
//	g.Reset(ctx) // the same guest, as it was: seconds, not a boot
//
// By hand: go run ./bench/guest/cmd up --dir /tmp/g --disk data1:virtio:2048
//
// # How it is made
//
// The image is built once, by image.sh, and kept in the user's cache folder
// under the digest of its recipe. The first start boots it and keeps the
// booted machine's memory beside it; every further start goes on from there.
// What a guest writes goes to overlays of its own. Extra disks are plugged in
// while it runs, as fresh overlays: Attach, Detach and Reset need no reboot.
//
// A guest sees no network but ssh's way in, which listens on 127.0.0.1. One
// that a test started ends when the test's process does, however it ends.
//
// # What it refuses
//
// A folder that holds something else; names that are no host names or disk
// names; a machine on which something is missing (a *MissingError says what,
// and the Debian package). A guest's clock is set at each start; its
// processes are slow (five to twenty times), and so no figures should be
// taken there.
package guest
