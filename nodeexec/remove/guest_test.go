//go:build integration && guest

package remove_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/nestor-tools/nestor/bench/guest"
	"github.com/nestor-tools/nestor/nodeexec/remove"
	"github.com/nestor-tools/nestor/nodeexec/remove/plan"
)

// One guest for all tests: each begins with Reset.
var shared = guest.Shared{Spec: guest.Spec{User: "debian", Disks: []guest.Disk{
	{Name: "raw", SizeMiB: 12 << 10, Serial: "RAW"},
	{Name: "block", Bus: guest.SCSI, SizeMiB: 2 << 10, WWN: 0x5000c500a1b2c3d4},
	{Name: "meta", Bus: guest.NVMe, SizeMiB: 4 << 10},
	{Name: "keep", SizeMiB: 64, Serial: "KEEP"},
}}}

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

const (
	fsid = "11111111-2222-3333-4444-555555555555"
	node = "guest1"
)

// user is whoever wipes a guest, with the binary that users have.
type user struct {
	*guest.Guest
	t       *testing.T
	binary  string
	dir     string
	devices map[string]string // the disks' names in the guest; asking costs a round trip
}

// MustDevice is Guest's, asked once.
func (u *user) MustDevice(t testing.TB, disk string) string {
	t.Helper()
	if u.devices[disk] == "" {
		maps.Copy(u.devices, u.MustDevices(t))
	}
	require.NotEmpty(t, u.devices[disk], "no disk %s is attached", disk)
	return u.devices[disk]
}

func newUser(t *testing.T) *user {
	t.Helper()
	began := time.Now()
	g := shared.Get(t)
	u := &user{Guest: g, t: t, dir: t.TempDir(), devices: map[string]string{}}
	t.Logf("the guest is up after %v", time.Since(began).Round(time.Second))
	u.binary = filepath.Join(u.dir, "nestor")
	out, err := exec.Command("go", "build", "-o", u.binary, "../../cmd/nestor").CombinedOutput()
	require.NoError(t, err, "%s", out)
	if used { // else it is as new already
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		require.NoError(t, g.Reset(ctx))
	}
	used = true
	// What discover asks these costs an emulated processor most of a minute
	// each time, and a wipe needs none of it.
	u.MustRun(t, "chmod -x /usr/bin/fail2ban-client /usr/bin/containerd /usr/bin/timedatectl")
	return u
}

// used says that a test has written to the guest.
var used bool

func (u *user) file(name string) string { return filepath.Join(u.dir, name) }

// lists writes the profile: disks of the guest, by its names, as data.
func (u *user) lists(disks ...string) {
	u.t.Helper()
	text := "ceph: {fsid: " + fsid + "}\nnodes:\n  - name: " + node + "\n    disks:\n"
	for _, d := range disks {
		text += "      - {device: " + u.MustDevice(u.t, d) + ", role: data}\n"
	}
	require.NoError(u.t, os.WriteFile(u.file("disks.yaml"), []byte(text), 0o600))
}

func (u *user) command(args ...string) *exec.Cmd {
	cmd := exec.Command(u.binary, append([]string{"-i", u.InventoryPath, "--target-kind", "lima"}, args...)...)
	cmd.Env = append(os.Environ(), "BANC_JETABLE=1", "NODE_EXEC_SHIM=")
	return cmd
}

// run runs nestor, and gives its exit code, stdout and stderr.
func (u *user) run(args ...string) (int, string, string) {
	u.t.Helper()
	cmd, began := u.command(args...), time.Now()
	defer func() { u.t.Logf("%s took %v", strings.Join(args[:2], " "), time.Since(began).Round(time.Second)) }()
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return e.ExitCode(), out.String(), stderr.String()
	}
	require.NoError(u.t, err)
	return 0, out.String(), stderr.String()
}

// plan plans, and gives the plan and its hash.
func (u *user) plan() (plan.Plan, string) {
	u.t.Helper()
	code, _, stderr := u.run("remove", "plan", node, "--sudo", "--timeout", "5m", "--disks", u.file("disks.yaml"), "--out", u.file("plan.json"))
	require.Zero(u.t, code, stderr)
	text, err := os.ReadFile(u.file("plan.json"))
	require.NoError(u.t, err)
	p, err := plan.Decode(text)
	require.NoError(u.t, err)
	return p, plan.Hash(text)
}

func (u *user) applyArgs(hash string) []string {
	return []string{"remove", "apply", u.file("plan.json"), "--sudo", "--confirm", hash}
}

// wipe plans, applies and verifies.
func (u *user) wipe() plan.Plan {
	u.t.Helper()
	p, hash := u.plan()
	code, out, stderr := u.run(u.applyArgs(hash)...)
	require.Zero(u.t, code, stderr+out)
	u.clean()
	return p
}

// clean makes sure that nothing is left, by nestor and by other tools.
func (u *user) clean() {
	u.t.Helper()
	code, out, stderr := u.run("remove", "verify", node, "--sudo", "--timeout", "5m", "--disks", u.file("disks.yaml"))
	require.Zero(u.t, code, stderr+out)
	p, _ := u.plan()
	require.Empty(u.t, p.Nodes[0].Steps, "nothing is left to do")
	for _, d := range p.Nodes[0].Disks {
		require.Empty(u.t, u.MustRun(u.t, "wipefs --no-act "+d.Path+"; blkid -p "+d.Path+" || :; lsblk -nro NAME "+d.Path+" | tail -n +2"), d.Path)
		require.Empty(u.t, u.MustRun(u.t, "ceph-bluestore-tool show-label --dev "+d.Path+" 2>/dev/null || :"), d.Path)
	}
	require.Equal(u.t, "gone", u.MustRun(u.t, "[ -e /var/lib/rook ] && ls -d /var/lib/rook || echo gone"))
}

func (u *user) journal() []remove.Entry {
	u.t.Helper()
	text, err := os.ReadFile(u.file("plan.json.journal"))
	require.NoError(u.t, err)
	var entries []remove.Entry
	for line := range strings.Lines(string(text)) {
		var e remove.Entry
		require.NoError(u.t, json.Unmarshal([]byte(line), &e))
		entries = append(entries, e)
	}
	return entries
}

// mkfs makes an OSD without a cluster. more are lines of sh that add to its
// folder, $d.
func (u *user) mkfs(id int, device, more string) {
	u.t.Helper()
	u.MustRun(u.t, fmt.Sprintf(`d=/root/osd%[1]d; rm -rf $d; mkdir -p $d; ln -s %[2]s $d/block
%[4]s
ceph-osd --mkfs -i %[1]d --osd-data $d --osd-objectstore bluestore --osd-uuid aaaaaaaa-bbbb-cccc-dddd-00000000000%[1]d \
  --fsid %[3]s --no-mon-config --conf /dev/null --keyring $d/keyring --log-file /root/osd.log --setuser root --setgroup root >/root/mkfs.log 2>&1 ||
  { cat /root/mkfs.log >&2; exit 1; }`, id, device, fsid, more))
}

// benchCase is what the bench itself has: an OSD on a raw disk, one with its
// metadata on LVM, and Rook's folder.
func (u *user) benchCase() {
	u.t.Helper()
	u.lists("raw", "block", "meta")
	u.mkfs(0, u.MustDevice(u.t, "raw"), "")
	u.MustRun(u.t, fmt.Sprintf("pvcreate -q %[1]s && vgcreate -q ceph-meta %[1]s && lvcreate -q -y -W n -L 2g -n osd-db-1 ceph-meta", u.MustDevice(u.t, "meta")))
	u.mkfs(1, u.MustDevice(u.t, "block"), "ln -s /dev/ceph-meta/osd-db-1 $d/block.db")
	u.MustRun(u.t, fmt.Sprintf(`mkdir -p /var/lib/rook/rook-ceph /var/lib/rook/mon-a/data
printf '[global]\nfsid = %s\n' >/var/lib/rook/rook-ceph/rook-ceph.config
mkfs.ext4 -q %s; sync`, fsid, u.MustDevice(u.t, "keep")))
}

// sum is the SHA-256 of what a disk holds and where, read on this machine: the
// guest is slow, and the disks are mostly holes.
func (u *user) sum(disk string) string {
	u.t.Helper()
	u.MustRun(u.t, "sync; blockdev --flushbufs "+u.MustDevice(u.t, disk))
	f, err := os.Open(u.DiskFile(disk))
	require.NoError(u.t, err)
	defer f.Close()
	h, chunk := sha256.New(), make([]byte, 1<<20)
	for at := int64(0); ; at += int64(len(chunk)) {
		data, err := f.Seek(at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) { // nothing but a hole is left
			return hex.EncodeToString(h.Sum(nil))
		}
		require.NoError(u.t, err)
		at = data &^ int64(len(chunk)-1)
		n, err := f.ReadAt(chunk, at)
		if err != nil {
			require.ErrorIs(u.t, err, io.EOF)
		}
		if held := bytes.TrimRight(chunk[:n], "\x00"); len(held) > 0 {
			fmt.Fprintf(h, "%d %x\n", at, held)
		}
	}
}

// cheap is content that is made in seconds: a volume group with two volumes, a
// partition with a file system, and Rook's folder.
func (u *user) cheap() {
	u.t.Helper()
	u.lists("raw", "block")
	u.MustRun(u.t, fmt.Sprintf(`pvcreate -q %[1]s && vgcreate -q vg %[1]s
lvcreate -q -y -W n -L 64m -n a vg && lvcreate -q -y -W n -L 64m -n b vg
mkfs.ext4 -q /dev/vg/a && mkswap /dev/vg/b >/dev/null
sgdisk -n 1:0:+64M %[2]s >/dev/null && udevadm settle && mkfs.ext4 -q $(lsblk -nrpo NAME %[2]s | tail -n 1)
mkdir -p /var/lib/rook/mon-a
mkfs.ext4 -q -F %[3]s && sync`, u.MustDevice(u.t, "raw"), u.MustDevice(u.t, "block"), u.MustDevice(u.t, "keep")))
}

// interrupt starts to apply the plan and interrupts it at a step.
func (u *user) interrupt(how, hash string, step int) {
	u.t.Helper()
	_ = os.Remove(u.file("plan.json.journal")) // of an earlier round
	cmd := u.command(u.applyArgs(hash)...)
	require.NoError(u.t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	require.Eventually(u.t, func() bool {
		text, _ := os.ReadFile(u.file("plan.json.journal"))
		return strings.Contains(string(text), fmt.Sprintf(`"event":"begin","step":%d,`, step))
	}, 10*time.Minute, 20*time.Millisecond)
	switch how {
	case "killed":
		require.NoError(u.t, cmd.Process.Kill())
	case "cut": // bash has become ssh
		children, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", cmd.Process.Pid))
		require.NoError(u.t, err)
		for _, pid := range strings.Fields(string(children)) {
			n, err := strconv.Atoi(pid)
			require.NoError(u.t, err)
			require.NoError(u.t, syscall.Kill(n, syscall.SIGKILL))
		}
	case "power":
		ctx, cancel := context.WithTimeout(u.t.Context(), 15*time.Minute)
		defer cancel()
		require.NoError(u.t, u.PowerCut(ctx))
		clear(u.devices)
	}
	select {
	case <-ended:
	case <-time.After(5 * time.Minute):
		u.t.Fatal("nestor does not end")
	}
	require.Eventually(u.t, func() bool {
		_, err := u.Run(u.t.Context(), "exec 9>/run/nestor-wipe.lock; flock -n 9")
		return err == nil
	}, 5*time.Minute, time.Second, "wipe.sh goes on")

	entries := u.journal()
	last := entries[len(entries)-1]
	require.NotEqual(u.t, remove.Verified, last.Event)
	if how == "cut" {
		require.Equal(u.t, remove.Lost, last.Event, last.Detail)
	}
}

func TestGuest_Interrupted(t *testing.T) {
	u := newUser(t)
	for _, how := range []string{"cut", "killed", "power"} {
		t.Run(how, func(t *testing.T) { u.at(t).interrupted(how, 3) })
	}
}

// at is the same user in a subtest.
func (u *user) at(t *testing.T) *user {
	v := *u
	v.t = t
	return &v
}

// interrupted interrupts a wipe at a step. The second plan must finish it, and
// nothing else be touched.
func (u *user) interrupted(how string, step int) {
	u.t.Helper()
	u.cheap()
	keep := u.sum("keep")
	p, hash := u.plan()
	steps := p.Nodes[0].Steps
	require.Len(u.t, steps, 10)
	u.interrupt(how, hash, step)
	u.t.Logf("%s at %s", how, steps[step-1])
	for _, e := range u.journal() {
		if e.Event == remove.End && e.Step == 3 { // remove-vg: what is told is true
			require.Empty(u.t, u.MustRun(u.t, "vgs --noheadings vg 2>/dev/null || :"))
		}
	}
	second, _ := u.plan()
	require.NotEmpty(u.t, second.Nodes[0].Steps)
	u.wipe()
	require.Equal(u.t, keep, u.sum("keep"))
}

// Emulated hardware: qemu's disks; real: kernel, udev, LVM and Ceph's OSD.
func TestGuest_BenchCase(t *testing.T) {
	u := newUser(t)
	began := time.Now()
	u.benchCase()
	t.Logf("the bench's case took %v to make", time.Since(began).Round(time.Second))
	keep := u.sum("keep")

	p := u.wipe()
	require.Len(t, p.Nodes[0].Disks, 3)
	text := plan.Text(p)
	t.Log("\n" + text)
	require.Contains(t, text, "OSD aaaaaaaa-bbbb-cccc-dddd-000000000000 of cluster "+fsid)
	require.Contains(t, text, "OSD aaaaaaaa-bbbb-cccc-dddd-000000000001 of cluster "+fsid)
	require.Contains(t, text, "volume group ceph-meta")
	require.Contains(t, text, "left alone: vda")
	require.Equal(t, keep, u.sum("keep"))
	require.Empty(t, u.MustRun(t, "vgs --noheadings; pvs --noheadings; dmsetup ls --target linear | grep -v 'No devices' || :"))

	u.mkfs(2, u.MustDevice(t, "raw"), "")
	u.mkfs(3, u.MustDevice(t, "block"), "ln -s "+u.MustDevice(t, "meta")+" $d/block.db")
}
