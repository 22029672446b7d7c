//go:build integration

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/loops"
	"github.com/nestor-tools/nestor/nodeexec/remove"
)

func TestRemove_WipesEveryContent(t *testing.T) {
	for _, c := range []content{
		{"ext4", 300, "mkfs.ext4", func(w *wiper) { w.on("mkfs.ext4", "-q") }, "ext4 at 0x438"},
		{"swap", 64, "mkswap", func(w *wiper) { w.on("mkswap") }, "swap at 0xff6"},
		{"lvm", 200, "pvcreate", func(w *wiper) { w.on("pvcreate", "-q", "--metadatacopies", "2") }, "LVM2_member"},
		{"group", 200, "vgcreate", func(w *wiper) { w.on("vgcreate", "-q", "vgloop"+strings.TrimPrefix(w.Device("data"), "/dev/loop")) }, "volume group vgloop"},
		{"luks2", 64, "cryptsetup", func(w *wiper) {
			w.Exec(w.t, "sh", "-c", "echo secret | cryptsetup luksFormat --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 -q "+w.Device("data"))
		}, "crypto_LUKS at 0x4000"},
		{"luks2 without its first header", 64, "cryptsetup", func(w *wiper) {
			w.Exec(w.t, "sh", "-c", "echo secret | cryptsetup luksFormat --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 -q $1 && dd if=/dev/zero of=$1 bs=4096 count=1 conv=notrunc,fsync", "sh", w.Device("data"))
		}, "crypto_LUKS at 0x4000"},
		{"lone backup gpt", 64, "sgdisk", func(w *wiper) {
			w.on("sgdisk", "-n", "1:0:+10M")
			w.on("dd", "if=/dev/zero", "bs=1M", "count=1", "conv=notrunc,fsync", "of="+w.Device("data"))
		}, "gpt at 0x3fffe00"},
		{"copies of a label", 11 << 10, "sh", func(w *wiper) {
			for _, gib := range []int{1, 10} {
				w.label(gib << 30)
			}
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) { wipes(t, c) })
	}
}

// label writes a copy of a BlueStore label, as Ceph 19.2.1 and later keep them.
func (w *wiper) label(at int) {
	w.t.Helper()
	w.Own(w.t, w.Device("data"))
	text := "bluestore block device\naaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee\n\x02\x01ceph_fsid$\x00\x00\x00" + fsid + "\x06whoami\x01\x00\x00\x000"
	f, err := os.OpenFile(w.Device("data"), os.O_WRONLY, 0)
	require.NoError(w.t, err)
	_, err = f.WriteAt([]byte(text), int64(at))
	require.NoError(w.t, err)
	require.NoError(w.t, f.Sync())
	require.NoError(w.t, f.Close())
}

// slow puts a pause before each call of the tools that write, on the node, so
// that a test can meet a step.
func (w *wiper) slow(seconds string) {
	w.t.Helper()
	for _, tool := range []string{"wipefs", "dd", "rm", "blockdev"} {
		w.Exec(w.t, "sh", "-c", `real=$(command -v "$1"); printf '#!/bin/sh\nsleep %s\nexec %s "$@"\n' "$2" "$real" >/usr/local/sbin/$1; chmod +x /usr/local/sbin/$1`, "sh", tool, seconds)
	}
}

// entries reads the journal.
func (w *wiper) entries() []remove.Entry {
	w.t.Helper()
	text, err := os.ReadFile(w.plan + ".journal")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	require.NoError(w.t, err)
	var entries []remove.Entry
	for line := range strings.Lines(string(text)) {
		var e remove.Entry
		if json.Unmarshal([]byte(line), &e) == nil { // the last one may be on its way
			entries = append(entries, e)
		}
	}
	return entries
}

// binary builds nestor, to be killed.
func binary(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nestor")
	out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

// At each step, either the connection is cut or nestor itself is killed: the
// journal tells what was done, a second plan finishes, and nothing else is
// touched.
func TestRemove_Interrupted(t *testing.T) {
	nestor := binary(t)
	for _, how := range []string{"cut", "killed"} {
		for step := 1; step <= 5; step++ {
			t.Run(fmt.Sprintf("%s at step %d", how, step), func(t *testing.T) {
				b := loops.Start(t, loops.Spec{Disks: []loops.Disk{{Name: "data", SizeMiB: 64}, {Name: "data2", SizeMiB: 64}, {Name: "other", SizeMiB: 16}}})
				w := newWiper(t, b, "data", "data2")
				for _, d := range []string{"data", "data2", "other"} {
					b.Exec(t, "mkfs.ext4", "-q", b.Device(d))
				}
				b.Exec(t, "mkdir", "-p", "/var/lib/rook/mon-a")
				other, second := b.Sum(t, "other"), b.Sum(t, "data2")
				steps := w.makePlan().Nodes[0].Steps
				require.Len(t, steps, 5)
				w.slow("0.5")

				cmd := exec.Command(nestor, "-i", w.InventoryPath, "--target-kind", "lima", "remove", "apply", w.plan, "--confirm", w.hash())
				cmd.Env = append(os.Environ(), "BANC_JETABLE=1")
				var stderr strings.Builder
				cmd.Stderr = &stderr
				require.NoError(t, cmd.Start())
				ended := make(chan error, 1)
				go func() { ended <- cmd.Wait() }()
				require.Eventually(t, func() bool {
					return slices.ContainsFunc(w.entries(), func(e remove.Entry) bool { return e.Event == remove.Begin && e.Step == step })
				}, 2*time.Minute, 20*time.Millisecond)
				if how == "cut" {
					b.Cut(t)
				} else {
					require.NoError(t, cmd.Process.Kill())
				}
				select {
				case <-ended:
				case <-time.After(2 * time.Minute):
					t.Fatal("nestor does not end")
				}
				// What the node was doing ends too: the wrapper's watcher sees to it.
				require.Eventually(t, func() bool {
					return b.Command("sh", "-c", "exec 9>/run/nestor-wipe.lock && flock -n 9").Run() == nil
				}, time.Minute, 100*time.Millisecond, "wipe.sh goes on")

				entries := w.entries()
				done := map[int]bool{}
				for _, e := range entries {
					if e.Event == remove.End {
						done[e.Step] = true
					}
				}
				last := entries[len(entries)-1]
				if how == "cut" {
					require.Equal(t, remove.Lost, last.Event, stderr.String())
					require.NotZero(t, cmd.ProcessState.ExitCode())
				} else {
					require.NotContains(t, []remove.Event{remove.Verified, remove.Leftover}, last.Event)
				}
				info, err := os.Stat(w.plan + ".journal")
				require.NoError(t, err)
				require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
				// What the journal calls done is done; what was not begun was not.
				require.Equal(t, step > 1, done[1])
				if done[1] {
					requireZeros(t, b.File("data"), false)
				}
				if step < 3 {
					require.Equal(t, second, b.Sum(t, "data2"))
				}
				if step < 5 {
					require.Equal(t, "mon-a\n", b.Exec(t, "ls", "/var/lib/rook"))
				}

				b.Exec(t, "find", "/usr/local/sbin", "-type", "f", "-delete")
				require.NotEmpty(t, w.makePlan().Nodes[0].Steps)
				got := w.apply()
				require.Equal(t, exitOK, got.code, got.stderr+got.out)
				require.Equal(t, other, b.Sum(t, "other"))
				requireZeros(t, b.File("data"), false)
				requireZeros(t, b.File("data2"), false)
			})
		}
	}
}

// osd makes an OSD on a disk, without a cluster.
func (w *wiper) osd(id int, disk, metadata string) {
	w.t.Helper()
	w.Own(w.t, w.Device(disk))
	w.Exec(w.t, "sh", "-ec", `d=/run/osd$1; rm -rf $d; mkdir $d; ln -s $2 $d/block; [ -z "$4" ] || ln -s $4 $d/block.db
ceph-osd --mkfs -i $1 --osd-data $d --osd-objectstore bluestore --osd-uuid aaaaaaaa-bbbb-cccc-dddd-00000000000$1 --fsid $3 \
  --no-mon-config --conf /dev/null --keyring $d/keyring --log-file /run/osd.log --setuser root --setgroup root >/run/mkfs.log 2>&1 || { cat /run/mkfs.log >&2; exit 1; }`,
		"sh", fmt.Sprint(id), w.Device(disk), fsid, metadata)
}

// A real OSD on a raw disk, with its metadata on another: refused without its
// cluster, wiped with it, and the disks accepted by a new OSD.
func TestRemove_OSD(t *testing.T) {
	needProgram(t, "ceph-osd")
	b := loops.Start(t, loops.Spec{Disks: []loops.Disk{{Name: "data", SizeMiB: 11 << 10}, {Name: "meta", SizeMiB: 2 << 10}, {Name: "other", SizeMiB: 64}}})
	w := newWiper(t, b, "data", "meta")
	w.osd(0, "data", b.Device("meta"))
	w.label(10 << 30) // a copy, as newer releases keep one
	other := b.Sum(t, "other")

	got := w.run("remove", "plan", "node1", "--disks", w.profile(), "--out", w.plan)
	require.Equal(t, exitRefused, got.code)
	require.Contains(t, got.stderr, "rule foreign-ceph")
	require.Contains(t, got.stderr, fsid)
	got = w.run("remove", "plan", "node1", "--disks", w.profile(), "--out", w.plan, "--ceph-fsid", "99999999-2222-3333-4444-555555555555")
	require.Equal(t, exitRefused, got.code)
	require.NoFileExists(t, w.plan)

	p := w.makePlan("--ceph-fsid", fsid)
	require.Equal(t, fsid, p.Nodes[0].Disks[1].OSDs[0].FSID, "that of the metadata, told by the data's label")
	got = w.apply()
	require.Equal(t, exitOK, got.code, got.stderr+got.out)
	require.Equal(t, other, b.Sum(t, "other"))
	for _, disk := range []string{"data", "meta"} {
		require.Empty(t, b.Exec(t, "sh", "-c", "ceph-bluestore-tool show-label --dev $1 2>/dev/null || :", "sh", b.Device(disk)))
	}
	w.osd(1, "data", b.Device("meta"))
}
