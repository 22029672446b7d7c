package discover_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/mapping"
	"github.com/nestor-tools/nestor/mapping/baseline"
	"github.com/nestor-tools/nestor/mapping/disks"
	"github.com/nestor-tools/nestor/mapping/fact"
	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/nodeexec/discover"
)

// These tests ask this machine, and compare with what other tools say of it.

// needRoot ends the test where it cannot run: loudly, and in CI as a failure.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() == 0 {
		return
	}
	if os.Getenv("CI") != "" {
		t.Fatal("NOT RUN: needs root")
	}
	t.Skip("NOT RUN: needs root")
}

func output(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := exec.Command(argv[0], argv[1:]...).Output()
	require.NoError(t, err, "%v", argv)
	return strings.TrimSpace(string(out))
}

func factsOf(t *testing.T, node fake, o discover.Options) mapping.NodeFacts {
	t.Helper()
	topology, failures := discover.Run(t.Context(), nodes(node), o)
	require.Empty(t, failures)
	return *topology.Nodes[0].Facts
}

func TestMachine_AgainstOtherTools(t *testing.T) {
	f := factsOf(t, here("here"), discover.Options{})
	require.Equal(t, output(t, "uname", "-n"), f.Hostname.Value)
	require.Equal(t, output(t, "cat", "/etc/machine-id"), f.MachineID.Value)
	require.Equal(t, output(t, "uname", "-r"), f.Kernel.Value.Release)
	require.Equal(t, output(t, "uname", "-m"), f.Kernel.Value.Machine)
	require.Equal(t, output(t, "getconf", "_NPROCESSORS_ONLN"), strconv.Itoa(f.CPU.Value.Threads))
	pages, err := strconv.ParseInt(output(t, "getconf", "_PHYS_PAGES"), 10, 64)
	require.NoError(t, err)
	require.Equal(t, pages*int64(os.Getpagesize()), f.Memory.Value.TotalBytes)
	require.Equal(t, output(t, "sh", "-c", ". /etc/os-release; echo $ID $VERSION_ID"), strings.TrimSpace(f.OS.Value.ID+" "+f.OS.Value.VersionID))
	require.Equal(t, output(t, "sh", "-c", "tail -n +2 /proc/swaps | wc -l"), strconv.Itoa(len(f.Swap.Value)))
	require.Equal(t, output(t, "stat", "-fc", "%T", "/sys/fs/cgroup") == "cgroup2fs", f.Cgroup.Value == "v2")
	require.Equal(t, fact.IsPresent, f.Swap.State)
	require.Equal(t, fact.IsPresent, f.Mounts.State)

	for _, m := range f.Mounts.Value {
		require.Equal(t, m.FSType, output(t, "findmnt", "-n", "-o", "FSTYPE", "--mountpoint", m.Target), m.Target)
	}
	root := output(t, "findmnt", "-n", "-o", "SOURCE", "/")
	require.Contains(t, f.Mounts.Value, mapping.Mount{Target: "/", Source: root, FSType: output(t, "findmnt", "-n", "-o", "FSTYPE", "/")})

	require.Equal(t, fact.IsPresent, f.Disks.State)
	sizes := map[string]int64{}
	for _, d := range f.Disks.Value {
		sizes[d.Name] = d.SizeBytes
	}
	for name, size := range sizes {
		sectors, err := os.ReadFile(filepath.Join("/sys/block", name, "size"))
		require.NoError(t, err)
		require.Equal(t, strings.TrimSpace(string(sectors)), strconv.FormatInt(size/512, 10))
	}
	blocks, err := os.ReadDir("/sys/block")
	require.NoError(t, err)
	for _, b := range blocks {
		if name := b.Name(); !strings.HasPrefix(name, "loop") && !strings.HasPrefix(name, "zram") && !strings.HasPrefix(name, "ram") &&
			!strings.HasPrefix(name, "sr") && !strings.HasPrefix(name, "fd") && !strings.HasPrefix(name, "dm-") && !strings.HasPrefix(name, "md") && !strings.HasPrefix(name, "nbd") {
			require.Contains(t, sizes, name)
		}
	}
}

// sameTwice runs ask until two answers in a row are the same, at most five
// times: other tests on this machine mount and unmount meanwhile.
func sameTwice(t *testing.T, ask func() []byte) {
	t.Helper()
	last := ask()
	for range 4 {
		next := ask()
		if bytes.Equal(last, next) {
			return
		}
		last = next
	}
	require.Equal(t, string(last), string(ask()))
}

func yamlOf(t *testing.T, node fake, o discover.Options) []byte {
	t.Helper()
	topology, failures := discover.Run(t.Context(), nodes(node), o)
	require.Empty(t, failures)
	text, err := topology.YAML()
	require.NoError(t, err)
	return text
}

func TestMachine_SameRealitySameBytes(t *testing.T) {
	sameTwice(t, func() []byte { return yamlOf(t, here("here"), discover.Options{}) })
}

// in runs the probe under another shell than sh.
func in(shell ...string) fake {
	f := here("here")
	run := f.run
	f.run = func(ctx context.Context, c nodeexec.Command) (nodeexec.Result, error) {
		c.Argv = append(append([]string{}, shell...), c.Argv[1:]...)
		return run(ctx, c)
	}
	return f
}

func TestMachine_EveryShell(t *testing.T) {
	shells := [][]string{{"dash"}, {"bash"}, {"bash", "--posix"}, {"busybox", "ash"}}
	i := 0
	for range 2 * len(shells) { // each beside its neighbour
		sameTwice(t, func() []byte { i++; return yamlOf(t, in(shells[i%len(shells)]...), discover.Options{}) })
	}
}

// An ordinary user learns what the world may read, and of the rest that it
// was denied.
func TestMachine_WithoutRoot(t *testing.T) {
	needRoot(t)
	loop := newLoop(t, 64<<20)
	root := factsOf(t, here("here"), discover.Options{Loops: true})
	user := factsOf(t, in("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh"), discover.Options{Loops: true})
	require.Equal(t, disks.Free, diskOf(t, root, loop).Role)
	d := diskOf(t, user, loop)
	require.Equal(t, disks.Unknown, d.Role)
	require.Contains(t, strings.Join(d.Evidence, "\n"), "wipefs: wipefs: error: /dev/"+loop)
	require.Contains(t, strings.Join(d.Evidence, "\n"), "Permission denied")
	// Labels of Ceph are read from the devices too.
	user.Disks, user.Mounts, user.Ceph = root.Disks, root.Mounts, root.Ceph
	require.Equal(t, root, user, "all else is for everyone to read")
}

// without runs the probe where the tools do not exist: in a mount namespace
// of its own, with their folders overlaid and the files taken out.
func without(tools ...string) fake {
	script := `set -e
t=$(mktemp -d)
mount -t tmpfs none "$t"
for d in /usr/bin /usr/sbin; do
  mkdir -p "$t$d/up" "$t$d/work"
  mount -t overlay none -o "lowerdir=$d,upperdir=$t$d/up,workdir=$t$d/work" "$d"
done
for tool in ` + strings.Join(tools, " ") + `; do rm -f "/usr/bin/$tool" "/usr/sbin/$tool"; done
exec /bin/sh "$@"`
	return in("unshare", "-m", "sh", "-c", script, "sh")
}

func TestMachine_ToolMissing(t *testing.T) {
	needRoot(t)
	loop := newLoop(t, 64<<20)
	for tool, c := range map[string]struct {
		why   string
		clear func(f *mapping.NodeFacts) // what the tool is for
		check func(t *testing.T, f mapping.NodeFacts)
	}{
		"uname": {
			clear: func(f *mapping.NodeFacts) { f.Kernel = fact.Observed[mapping.Kernel]{} },
			check: func(t *testing.T, f mapping.NodeFacts) {
				require.Equal(t, fact.Unknown[mapping.Kernel]("uname is not installed"), f.Kernel)
			},
		},
		"lsblk": {
			clear: func(f *mapping.NodeFacts) { f.Disks = fact.Observed[[]disks.Disk]{} },
			check: func(t *testing.T, f mapping.NodeFacts) {
				d := diskOf(t, f, loop)
				require.Equal(t, disks.Unknown, d.Role)
				require.Equal(t, []string{"lsblk: lsblk is not installed"}, d.Evidence)
			},
		},
		"wipefs": {
			clear: func(f *mapping.NodeFacts) { f.Disks = fact.Observed[[]disks.Disk]{} },
			check: func(t *testing.T, f mapping.NodeFacts) {
				d := diskOf(t, f, loop)
				require.Equal(t, disks.Unknown, d.Role)
				require.Equal(t, []string{"wipefs: wipefs is not installed"}, d.Evidence)
			},
		},
	} {
		t.Run(tool, func(t *testing.T) {
			all := factsOf(t, without("no-such-tool"), discover.Options{Loops: true})
			less := factsOf(t, without(tool), discover.Options{Loops: true})
			c.check(t, less)
			for _, f := range []*mapping.NodeFacts{&all, &less} {
				c.clear(f)
				f.Mounts = fact.Observed[[]mapping.Mount]{} // the two overlays
			}
			require.Equal(t, all, less, "nothing else changed")
		})
	}
}

// A tool that hangs, with children of its own, costs its facts and nothing
// else, and nothing of it is left.
func TestMachine_HangingTool(t *testing.T) {
	dir := t.TempDir()
	// A number that no other process on this machine sleeps for.
	mark := fmt.Sprintf("9%d.%d", os.Getpid(), time.Now().Nanosecond())
	script := "#!/bin/sh\nsleep " + mark + " &\n(sleep " + mark + "; true) | cat\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "lsblk"), []byte(script), 0o755))
	began := time.Now()
	f := factsOf(t, in("env", "PATH="+dir+":"+os.Getenv("PATH"), "sh"), discover.Options{SectionTimeout: 5 * time.Second})
	require.Less(t, time.Since(began), 25*time.Second)
	require.Equal(t, fact.IsPresent, f.Disks.State, "the kernel still lists them")
	for _, d := range f.Disks.Value {
		if d.Role == disks.Unknown {
			require.Contains(t, strings.Join(d.Evidence, "\n"), "lsblk: disks did not answer in time")
		}
	}
	all := factsOf(t, here("here"), discover.Options{})
	all.Disks, all.Mounts, f.Mounts = f.Disks, fact.Observed[[]mapping.Mount]{}, fact.Observed[[]mapping.Mount]{}
	require.Equal(t, all, f)
	require.Eventually(t, func() bool { return len(processesWith(t, mark)) == 0 }, 5*time.Second, 50*time.Millisecond, "nothing of it is left")
}

// processesWith lists the processes that have the word on their command line.
func processesWith(t *testing.T, word string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	var found []string
	for _, file := range files {
		if b, err := os.ReadFile(file); err == nil && bytes.Contains(b, []byte(word)) {
			found = append(found, file+": "+string(bytes.ReplaceAll(b, []byte{0}, []byte(" "))))
		}
	}
	return found
}

func TestMachine_LoopDevices(t *testing.T) {
	needRoot(t)
	run := func(argv ...string) {
		t.Helper()
		out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
		require.NoError(t, err, "%v: %s", argv, out)
	}
	write := func(loop string, at int64, b []byte) {
		t.Helper()
		f, err := os.OpenFile("/dev/"+loop, os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = f.WriteAt(b, at)
		require.NoError(t, err)
		require.NoError(t, f.Sync())
		require.NoError(t, f.Close())
	}
	const size = 64 << 20
	blank := newLoop(t, size)
	ext4 := newLoop(t, size)
	run("mkfs.ext4", "-q", "/dev/"+ext4)
	mounted := newLoop(t, size)
	run("mkfs.ext4", "-q", "/dev/"+mounted)
	where := filepath.Join(t.TempDir(), "two words")
	require.NoError(t, os.Mkdir(where, 0o755))
	run("mount", "/dev/"+mounted, where)
	t.Cleanup(func() { run("umount", where) })
	swap := newLoop(t, size)
	run("mkswap", "/dev/"+swap)
	lvm := newLoop(t, size)
	write(lvm, 512, lvmLabel(size))
	bluestore := newLoop(t, size)
	write(bluestore, 0, []byte("bluestore block device\n11111111-2222-3333-4444-555555555555\n"))
	parted := newLoop(t, size)
	write(parted, 0, masterBootRecord(size))
	run("partx", "-a", "/dev/"+parted)
	t.Cleanup(func() { run("partx", "-d", "/dev/"+parted) })
	readOnly := newLoop(t, size, "-r")

	f := factsOf(t, here("here"), discover.Options{Loops: true})
	for loop, want := range map[string]struct {
		role      disks.Role
		evidence  string
		signature string // empty: none
	}{
		blank:     {disks.Free, "no signature (wipefs) and no BlueStore label", ""},
		ext4:      {disks.DataInUse, ext4 + " carries ext4 at 0x438 (wipefs)", "ext4"},
		mounted:   {disks.DataInUse, mounted + " is mounted at " + where, "ext4"},
		swap:      {disks.DataInUse, swap + " carries swap at 0xff6 (wipefs)", "swap"},
		lvm:       {disks.DataInUse, lvm + " carries LVM2_member at 0x218 (wipefs)", "LVM2_member"},
		bluestore: {disks.Ceph, bluestore + " carries a BlueStore label", "ceph_bluestore"},
		parted:    {disks.DataInUse, parted + "p1 is on it (part)", "dos"},
		readOnly:  {disks.Unknown, "it is read-only", ""},
	} {
		d := diskOf(t, f, loop)
		require.Equal(t, want.role, d.Role, "%s: %v", loop, d.Evidence)
		require.Contains(t, strings.Join(d.Evidence, "\n"), want.evidence)
		require.EqualValues(t, size, d.SizeBytes)
		require.NotEmpty(t, d.BackingFile)
		kind := ""
		if len(d.Signatures) > 0 {
			kind = d.Signatures[0].Type
		}
		require.Equal(t, want.signature, kind, loop)
		// The independent word: wipefs called by hand, and the kernel's.
		require.Equal(t, want.signature, strings.SplitN(output(t, "wipefs", "-n", "--noheadings", "-O", "TYPE", "/dev/"+loop), "\n", 2)[0])
	}
	require.Equal(t, []string{where}, diskOf(t, f, mounted).Mounts)
	require.Equal(t, parted+"p1", diskOf(t, f, parted).Volumes[0].Name)

	for _, d := range factsOf(t, here("here"), discover.Options{}).Disks.Value {
		require.NotEqual(t, "loop", d.Type, "loop devices are no disks unless asked for")
	}
}

// Ceph 20 keeps copies of its label at 1 and 10 GiB of a device of 12. After
// the first is wiped, wipefs calls the device clean; it is not.
func TestMachine_BlueStoreCopies(t *testing.T) {
	needRoot(t)
	whole, wiped := newLoop(t, 12<<30), newLoop(t, 12<<30)
	label := blueStoreLabel("11111111-aaaa-bbbb-cccc-555555555555", "99999999-aaaa-bbbb-cccc-000000000000", "7")
	for loop, offsets := range map[string][]int64{whole: {0, 1 << 30, 10 << 30}, wiped: {1 << 30, 10 << 30}} {
		f, err := os.OpenFile("/dev/"+loop, os.O_WRONLY, 0)
		require.NoError(t, err)
		for _, at := range offsets {
			_, err = f.WriteAt(label, at)
			require.NoError(t, err)
		}
		require.NoError(t, f.Close())
	}
	var raw []byte
	f := factsOf(t, here("here"), discover.Options{Loops: true, Raw: func(_ string, b []byte) error { raw = append(raw, b...); return nil }})
	require.Empty(t, diskOf(t, f, wiped).Signatures, "wipefs sees the first copy only")
	require.Equal(t, disks.Ceph, diskOf(t, f, whole).Role)
	require.Equal(t, disks.Ceph, diskOf(t, f, wiped).Role)
	require.Equal(t, []string{wiped + " carries a copy of a BlueStore label at 1 GiB"}, diskOf(t, f, wiped).Evidence)
	for _, osd := range f.Ceph.Value.OSDs.Value {
		want := map[string][]int{whole: {0, 1, 10}, wiped: {1, 10}}[osd.Device]
		if want == nil {
			continue // another test's
		}
		require.Equal(t, want, osd.AtGiB)
		require.Equal(t, "11111111-aaaa-bbbb-cccc-555555555555", osd.OSDUUID)
		require.Equal(t, "99999999-aaaa-bbbb-cccc-000000000000", osd.ClusterFSID)
		require.Equal(t, "7", osd.OSDID)
	}
	require.GreaterOrEqual(t, len(f.Ceph.Value.OSDs.Value), 2)
	require.NotContains(t, string(raw), "AQBsecret", "the OSD's key stays on the node")
}

// blueStoreLabel is a label as Ceph encodes it (ceph, os/bluestore/
// bluestore_types.cc): a text for people, then the uuid, size, time and
// description, and a table of strings, each after its length.
func blueStoreLabel(osd, fsid, id string) []byte {
	b := []byte("bluestore block device\n" + osd + "\n")
	b = append(b, 2, 1, 0, 2, 0, 0)                  // version, compatible with, length
	b = append(b, bytes.Repeat([]byte{0xa5}, 32)...) // uuid, size and time
	text := func(s string) {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	text("main")
	pairs := []string{"bluefs", "1", "ceph_fsid", fsid, "ceph_version_when_created", "ceph version 20.2.4", "kv_backend", "rocksdb",
		"magic", "ceph osd volume v026", "osd_key", "AQBsecretsecretsecretsecretsecretsecret==", "ready", "ready", "whoami", id}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(pairs)/2))
	for _, s := range pairs {
		text(s)
	}
	return append(b, make([]byte, 4096-len(b))...)
}

// inNetwork runs the probe in a network of its own, after the script.
func inNetwork(script string) fake {
	return in("unshare", "-n", "sh", "-c", "set -e; pids=\n"+script+"\n/bin/sh \"$@\"\n[ -z \"$pids\" ] || kill $pids", "sh")
}

func checkOf(t *testing.T, node fake, id string) baseline.Check {
	t.Helper()
	topology, failures := discover.Run(t.Context(), nodes(node), discover.Options{})
	require.Empty(t, failures)
	for _, c := range topology.Nodes[0].Baseline {
		if c.ID == id {
			return c
		}
	}
	t.Fatal("no such check")
	return baseline.Check{}
}

// Real rules of nftables. Which front-end is responsible only systemd tells,
// and this machine may have none: a closed input then leaves the check
// unknown for that reason alone.
func TestMachine_RealFirewall(t *testing.T) {
	needRoot(t)
	needTool(t, "nft")
	nft := func(rules string) baseline.Check {
		return checkOf(t, inNetwork("nft '"+rules+"'"), "H4")
	}
	const open4, open6 = "nft: input over IPv4 is open by default", "nft: input over IPv6 is open by default"
	kube := "add table ip filter; add chain ip filter INPUT { type filter hook input priority 0; policy accept; }; add chain ip filter KUBE; add rule ip filter INPUT jump KUBE; "
	for rules, open := range map[string][]string{
		"add table inet t": {open4, open6},
		kube:               {open4, open6},
		"add table inet t; add chain inet t out { type filter hook output priority 0; policy drop; }":                                                               {open4, open6},
		"add table ip t; add chain ip t in { type filter hook input priority 0; policy drop; }":                                                                     {open6},
		kube + "add table inet t; add chain inet t in { type filter hook input priority 0; policy drop; }; add rule inet t in ct state established accept":          nil,
		"add table inet t; add chain inet t in { type filter hook input priority 0; }; add rule inet t in tcp dport 22 accept; add rule inet t in counter reject":   nil,
		"add table inet t; add chain inet t in { type filter hook input priority 0; }; add rule inet t in counter drop; add rule inet t in ip saddr 192.0.2.1 drop": {open4, open6},
	} {
		c := nft(rules)
		for _, e := range []string{open4, open6} {
			require.Equal(t, slices.Contains(open, e), slices.Contains(c.Evidence, e), "%s: %v", rules, c.Evidence)
		}
		require.Equal(t, len(open) > 0, c.State == baseline.Fail && slices.ContainsFunc(c.Evidence, func(e string) bool { return strings.HasPrefix(e, "nft:") }), "%s: %v", rules, c)
	}
}

func TestMachine_RealListeners(t *testing.T) {
	needRoot(t)
	needTool(t, "ss")
	c := checkOf(t, inNetwork("ip link set lo up\nbusybox httpd -f -h / -p 9101 >/dev/null 2>&1 </dev/null &\npids=$!\nbusybox httpd -f -h / -p 127.0.0.1:9102 >/dev/null 2>&1 </dev/null &\npids=\"$pids $!\"\nfor i in 1 2 3 4 5 6 7 8 9; do [ $(ss -Hltn | wc -l) -eq 2 ] && break; sleep 0.2; done"), "H11")
	require.Equal(t, baseline.Fail, c.State)
	require.Equal(t, []string{"tcp port 9101 is open, by busybox"}, c.Evidence)
}

// needTool is needRoot for a program.
func needTool(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err == nil {
		return
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("NOT RUN: needs %s", name)
	}
	t.Skipf("NOT RUN: needs %s", name)
}

// newLoop gives the name of a loop device over a blank file of its own.
func newLoop(t *testing.T, size int64, flags ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "disk.img")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, os.Truncate(file, size))
	device := output(t, append(append([]string{"losetup", "--find", "--show"}, flags...), file)...)
	t.Cleanup(func() { _ = exec.Command("losetup", "-d", device).Run() })
	return strings.TrimPrefix(device, "/dev/")
}

func diskOf(t *testing.T, f mapping.NodeFacts, name string) disks.Disk {
	t.Helper()
	for _, d := range f.Disks.Value {
		if d.Name == name {
			return d
		}
	}
	require.Failf(t, "no such disk", "%s among %v", name, f.Disks)
	return disks.Disk{}
}

// lvmLabel is the second sector of a physical volume, as pvcreate writes it
// (lvm2, lib/label/label.h): its checksum is a CRC-32 without the final
// inversion, from a start value of LVM's own.
func lvmLabel(size int64) []byte {
	b := make([]byte, 512)
	copy(b, "LABELONE")
	binary.LittleEndian.PutUint64(b[8:], 1)
	binary.LittleEndian.PutUint32(b[20:], 32)
	copy(b[24:], "LVM2 001")
	copy(b[32:], "abcdefghijklmnopqrstuvwxyz012345")
	binary.LittleEndian.PutUint64(b[64:], uint64(size))
	const start = 0xf597a6cf
	binary.LittleEndian.PutUint32(b[16:], ^crc32.Update(^uint32(start), crc32.IEEETable, b[20:]))
	return b
}

// masterBootRecord has one Linux partition from 1 MiB to the end.
func masterBootRecord(size int64) []byte {
	b := make([]byte, 512)
	b[446+4] = 0x83
	binary.LittleEndian.PutUint32(b[446+8:], 2048)
	binary.LittleEndian.PutUint32(b[446+12:], uint32(size/512-2048))
	b[510], b[511] = 0x55, 0xaa
	return b
}
