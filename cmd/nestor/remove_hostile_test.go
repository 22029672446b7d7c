//go:build integration

package main

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/loops"
)

// fake puts a program before the node's own; "$real" is that one.
func (w *wiper) fake(tool, script string) {
	w.t.Helper()
	w.Exec(w.t, "sh", "-c", `real=$(command -v "$1"); { echo '#!/bin/sh'; echo "real=$real"; printf '%s\n' "$2"; } >/usr/local/sbin/$1; chmod +x /usr/local/sbin/$1`, "sh", tool, script)
}

// Another disk takes over the name of a listed one while the first is wiped.
func TestRemove_AnotherDiskTakesOverAName(t *testing.T) {
	b := loops.Start(t, loops.Spec{Disks: []loops.Disk{{Name: "data", SizeMiB: 16}, {Name: "data2", SizeMiB: 16}, {Name: "stranger", SizeMiB: 16}}})
	w := newWiper(t, b, "data", "data2")
	for _, d := range []string{"data", "data2", "stranger"} {
		b.Exec(t, "mkfs.ext4", "-q", b.Device(d))
	}
	before := b.Sum(t, "stranger")
	require.Len(t, w.makePlan().Nodes[0].Steps, 4)
	w.fake("blockdev", `touch /run/waiting; while [ ! -e /run/go ]; do sleep 0.1; done; exec "$real" "$@"`)
	ended := make(chan invocation, 1)
	hash := w.hash()
	go func() { ended <- w.run("remove", "apply", w.plan, "--confirm", hash) }()
	require.Eventually(t, func() bool { return b.Command("test", "-e", "/run/waiting").Run() == nil }, time.Minute, 100*time.Millisecond)

	device := b.Device("data2")
	b.Own(t, device)
	require.NoError(t, exec.Command("losetup", "--detach", device).Run())
	out, err := exec.Command("losetup", device, b.File("stranger")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	b.Own(t, device)
	b.Exec(t, "touch", "/run/go")

	got := <-ended
	require.Equal(t, before, b.Sum(t, "stranger"), got.out)
	require.Equal(t, exitFindings, got.code, got.stderr)
	require.Contains(t, got.out, "is no longer the disk that was looked at")
}

// The kubelet puts one over each raw block volume of a pod: a disk beneath a
// loop device has no holder, and can be opened exclusively.
func TestRemove_ALoopDeviceOverADisk(t *testing.T) {
	b := loops.Start(t, loops.Spec{Disks: []loops.Disk{{Name: "data", SizeMiB: 16}}})
	w := newWiper(t, b, "data")
	b.Exec(t, "mkfs.ext4", "-q", b.Device("data"))
	out, err := exec.Command("losetup", "--find", "--show", b.Device("data")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	over := strings.TrimSpace(string(out))
	detached := false
	detach := func() {
		if !detached {
			require.NoError(t, exec.Command("losetup", "--detach", over).Run())
		}
		detached = true
	}
	t.Cleanup(detach)
	got := w.run("remove", "plan", "node1", "--disks", w.profile(), "--out", w.plan)
	require.Equal(t, exitRefused, got.code, got.stderr)
	require.Contains(t, got.stderr, "(rule in-use)")
	detach()
	w.makePlan()
}

// Where a folder above is a link, a mount is listed by the path behind it.
func TestRemove_AMountBehindALink(t *testing.T) {
	b := loops.Start(t, loops.Spec{Disks: []loops.Disk{{Name: "data", SizeMiB: 16}}})
	w := newWiper(t, b, "data")
	b.Exec(t, "mkfs.ext4", "-q", b.Device("data"))
	b.Exec(t, "sh", "-c", "mount -t tmpfs tmpfs /var && mkdir -p /var/real/rook/volume && ln -s real /var/lib && mount -t tmpfs tmpfs /var/real/rook/volume && touch /var/real/rook/volume/kept")
	got := w.run("remove", "plan", "node1", "--disks", w.profile(), "--out", w.plan)
	require.Equal(t, exitRefused, got.code, got.stderr)
	require.Contains(t, got.stderr, `(rule rook-folder): node "node1": "/var/real/rook/volume"`)
	require.Equal(t, "kept\n", b.Exec(t, "ls", "/var/real/rook/volume"))
}

// A disk that goes at the wrong moment does not become a file.
func TestRemove_ADiskThatGoesBecomesNoFile(t *testing.T) {
	b := loops.Start(t, loops.Spec{Disks: []loops.Disk{{Name: "data", SizeMiB: 16}}})
	w := newWiper(t, b, "data")
	b.Exec(t, "mkfs.ext4", "-q", b.Device("data"))
	w.makePlan()
	w.fake("dd", `case "$*" in *of=/dev/loop*) rm -f `+b.Device("data")+` ;; esac; exec "$real" "$@"`)
	got := w.apply()
	require.Equal(t, exitFindings, got.code, got.stderr)
	require.Contains(t, got.out, "writing zeros at 0 failed")
	require.Error(t, b.Command("test", "-e", b.Device("data")).Run())
}

// A group that is not listed has the same name as one that is.
func TestRemove_AGroupOfTheSameName(t *testing.T) {
	needProgram(t, "lvm")
	b := loops.Start(t, loops.Spec{Disks: []loops.Disk{{Name: "data", SizeMiB: 64}, {Name: "other", SizeMiB: 64}}})
	w := newWiper(t, b, "data")
	for _, d := range []string{"other", "data"} {
		only := `devices/filter=["a|^` + b.Device(d) + `$|","r|.*|"]`
		b.Exec(t, "lvm", "pvcreate", "-y", "--config", only, b.Device(d))
		b.Exec(t, "lvm", "vgcreate", "--config", only, "vg", b.Device(d))
	}
	other := b.Sum(t, "other")
	w.makePlan()
	got := w.apply()
	require.Equal(t, other, b.Sum(t, "other"), got.out)
	require.Equal(t, exitOK, got.code, got.out+got.stderr)
}

// What LVM is told not to look at may be a part of a group over other disks.
func TestRemove_AVolumeThatLVMDoesNotShow(t *testing.T) {
	needProgram(t, "lvm")
	b := loops.Start(t, loops.Spec{Disks: []loops.Disk{{Name: "data", SizeMiB: 64}, {Name: "other", SizeMiB: 64}}})
	w := newWiper(t, b, "data")
	for _, d := range []string{"data", "other"} {
		b.Exec(t, "lvm", "pvcreate", "-y", b.Device(d))
	}
	b.Exec(t, "lvm", "vgcreate", "vg", b.Device("data"), b.Device("other"))
	b.Exec(t, "sh", "-c", `printf 'devices {\n filter = [ "r|.*|" ]\n}\n' >>/etc/lvm/lvm.conf`)
	got := w.run("remove", "plan", "node1", "--disks", w.profile(), "--out", w.plan)
	require.Equal(t, exitRefused, got.code, got.stderr)
	require.Contains(t, got.stderr, "(rule unknown)")
	require.Contains(t, got.stderr, "LVM does not show")
}

// Where a disk cannot be read, nobody knows that it is empty.
func TestRemove_APlaceThatCannotBeRead(t *testing.T) {
	b := loops.Start(t, loops.Spec{Disks: []loops.Disk{{Name: "data", SizeMiB: 1100}}})
	w := newWiper(t, b, "data")
	for _, place := range []string{"skip=262144", "skip=0"} {
		w.fake("dd", `case "$*" in *bs=4096*`+place+`*) echo broken >&2; exit 1 ;; esac; exec "$real" "$@"`)
		got := w.run("remove", "verify", "node1", "--disks", w.profile())
		require.Equal(t, exitFindings, got.code, got.stderr)
		require.Contains(t, got.out, "cannot be read at")
		b.Exec(t, "find", "/usr/local/sbin", "-type", "f", "-delete")
	}
	got := w.run("remove", "verify", "node1", "--disks", w.profile())
	require.Equal(t, exitOK, got.code, got.out)
}
