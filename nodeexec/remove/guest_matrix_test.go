//go:build integration && guest

package remove_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The other kinds of old content. The guest's kernel, udev and tools are real;
// its disks are qemu's.
func TestGuest_EveryContent(t *testing.T) {
	u := newUser(t)
	const luks = `echo secret | cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 `
	for _, c := range []struct {
		name  string
		disks string // those that are listed
		make  string // $raw, $block and $keep are the disks
		after string // must print nothing
	}{
		{"LVM over LUKS, opened", "raw", luks + `$raw
echo secret | cryptsetup open $raw box
vgcreate -q boxed /dev/mapper/box; lvcreate -q -y -W n -L 64m -n a boxed; mkfs.ext4 -q /dev/boxed/a`, `cryptsetup isLuks $raw && echo LUKS || :; vgs --noheadings boxed 2>/dev/null || :`},
		{"LVM over LUKS, closed", "raw", luks + `$raw
echo secret | cryptsetup open $raw box
vgcreate -q boxed /dev/mapper/box; lvcreate -q -y -W n -L 64m -n a boxed
vgchange -q -an boxed; cryptsetup close box`, `cryptsetup isLuks $raw && echo LUKS || :`},
		{"md 0.90", "raw block", `mdadm --create /dev/md90 --run -q --level 1 -n 2 --metadata 0.90 $raw $block; mkfs.ext4 -q /dev/md90`, `mdadm --examine $raw 2>/dev/null || :`},
		{"md 1.0", "raw block", `mdadm --create /dev/md10 --run -q --level 1 -n 2 --metadata 1.0 $raw $block`, `mdadm --examine $block 2>/dev/null || :`},
		{"md 1.2, stopped", "raw block", `mdadm --create /dev/md12 --run -q --level 1 -n 2 --metadata 1.2 $raw $block; mdadm --stop -q /dev/md12`, `mdadm --examine $raw 2>/dev/null || :`},
		{"GPT with a file system in a partition", "raw", `sgdisk -n 1:0:+64M -n 2:0:0 $raw >/dev/null; udevadm settle
for p in $(lsblk -nrpo NAME $raw | tail -n +2); do mkfs.ext4 -q $p; done`, `sgdisk -n 1:0:+64M $raw >/dev/null; udevadm settle; blkid -p $(lsblk -nrpo NAME $raw | tail -n 1) | grep ext4 || :; sgdisk --zap-all $raw >/dev/null 2>&1; dd if=/dev/zero of=$raw bs=1M count=1 conv=fsync 2>/dev/null`},
		{"LVM with two metadata copies", "raw", `pvcreate -q --metadatacopies 2 $raw; vgcreate -q twice $raw; lvcreate -q -y -W n -L 64m -n a twice; vgchange -q -an twice`, `tail -c 4194304 $raw | tr -d '\0' | head -c 1`},
		{"LUKS2 without its first header", "raw", luks + `$raw; dd if=/dev/zero of=$raw bs=4096 count=1 conv=fsync 2>/dev/null`, `cryptsetup isLuks $raw && echo LUKS || :`},
		{"thin pool", "raw", `vgcreate -q thin $raw; lvcreate -q -y -T -L 512m thin/pool; lvcreate -q -y -V 128m -T thin/pool -n a; mkfs.ext4 -q /dev/thin/a`, `vgs --noheadings thin 2>/dev/null || :`},
		{"leftover mapping", "raw", `echo "0 131072 linear $raw 2048" | dmsetup create leftover`, `dmsetup ls | grep leftover || :`},
		{"btrfs over two disks of which one is not listed", "raw", `mkfs.btrfs -q -f $raw $block`, ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := u.at(t)
			disks := fmt.Sprintf("raw=%s block=%s keep=%s\n", u.MustDevice(t, "raw"), u.MustDevice(t, "block"), u.MustDevice(t, "keep"))
			u.MustRun(t, disks+"wipefs -aq $raw $block; dd if=/dev/urandom of=$keep bs=1M count=8 conv=fsync 2>/dev/null; mkdir -p /var/lib/rook/x\n"+c.make+"\nudevadm settle; sync")
			listed := strings.Fields(c.disks)
			u.lists(listed...)
			keep, block := u.sum("keep"), ""
			if len(listed) == 1 {
				block = u.sum("block")
			}
			u.wipe()
			require.Equal(t, keep, u.sum("keep"))
			if block != "" {
				require.Equal(t, block, u.sum("block"))
			}
			require.Empty(t, u.MustRun(t, disks+c.after))
			require.Equal(t, "/", u.MustRun(t, "findmnt -no TARGET /"))
		})
	}
}

// Mounted, and so held open: refused as a whole.
func TestGuest_MountedBtrfs(t *testing.T) {
	u := newUser(t)
	u.MustRun(t, fmt.Sprintf("mkfs.btrfs -q -f %s %s && mount %[2]s /mnt", u.MustDevice(t, "raw"), u.MustDevice(t, "block")))
	for _, disk := range []string{"raw", "block"} {
		u.lists(disk)
		code, _, stderr := u.run("remove", "plan", node, "--sudo", "--disks", u.file("disks.yaml"), "--out", u.file("plan.json"))
		require.Equal(t, 4, code, stderr)
		require.Regexp(t, "rule (in-use|mounted|spans)", stderr)
	}
}

// Cut and killed at each step; the power cut at two.
func TestGuest_InterruptedAtEachStep(t *testing.T) {
	u := newUser(t)
	for step := 1; step <= 10; step++ {
		for _, how := range []string{"cut", "killed", "power"} {
			if how == "power" && step != 5 && step != 8 {
				continue
			}
			t.Run(fmt.Sprintf("%s at step %d", how, step), func(t *testing.T) { u.at(t).interrupted(how, step) })
		}
	}
}
