package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/loops"
	"github.com/nestor-tools/nestor/nodeexec/remove/plan"
)

// bare runs nestor under an environment of its own.
func bare(t *testing.T, env map[string]string, args ...string) invocation {
	t.Helper()
	var out, stderr strings.Builder
	c := &cli{in: strings.NewReader(""), out: &out, err: &stderr, env: func(k string) (string, bool) { v, ok := env[k]; return v, ok }}
	code := run(t.Context(), args, c)
	return invocation{code, out.String(), stderr.String()}
}

// wiper is a bench node and what a user has at hand to wipe it.
type wiper struct {
	*loops.Bench
	t    *testing.T
	plan string
	env  map[string]string
}

// newWiper writes a profile that lists the named disks as data.
func newWiper(t *testing.T, b *loops.Bench, disks ...string) *wiper {
	w := &wiper{Bench: b, t: t, plan: filepath.Join(t.TempDir(), "plan.json"), env: map[string]string{"BANC_JETABLE": "1"}}
	var text strings.Builder
	text.WriteString("nodes:\n  - name: node1\n    disks:\n")
	for _, d := range disks {
		fmt.Fprintf(&text, "      - {device: %s, role: data}\n", b.Device(d))
	}
	require.NoError(t, os.WriteFile(w.profile(), []byte(text.String()), 0o600))
	return w
}

func (w *wiper) profile() string { return filepath.Join(w.Dir, "profile.yaml") }

func (w *wiper) run(args ...string) invocation {
	return bare(w.t, w.env, append([]string{"-i", w.InventoryPath, "--target-kind", "lima"}, args...)...)
}

// makePlan plans, and makes sure that what is planned is the test's own.
func (w *wiper) makePlan(args ...string) plan.Plan {
	w.t.Helper()
	got := w.run(append([]string{"remove", "plan", "node1", "--disks", w.profile(), "--out", w.plan}, args...)...)
	require.Equal(w.t, exitOK, got.code, got.stderr)
	return w.read()
}

func (w *wiper) read() plan.Plan {
	w.t.Helper()
	file, err := os.ReadFile(w.plan)
	require.NoError(w.t, err)
	p, err := plan.Decode(file)
	require.NoError(w.t, err)
	for _, n := range p.Nodes {
		for _, d := range n.Disks {
			w.Own(w.t, d.Path)
		}
	}
	return p
}

func (w *wiper) hash() string {
	w.read()
	file, err := os.ReadFile(w.plan)
	require.NoError(w.t, err)
	return plan.Hash(file)
}

func (w *wiper) apply() invocation {
	w.t.Helper()
	return w.run("remove", "apply", w.plan, "--confirm", w.hash())
}

// content is something that a disk may hold.
type content struct {
	name  string
	mib   int64
	needs string // a program of this machine
	make  func(w *wiper)
	on    string // part of what the plan says sits on it
}

// everyday is what the quick tests wipe; the rest is for make integration.
var everyday = []content{
	{"gpt with ext4", 200, "sgdisk", func(w *wiper) {
		w.on("sgdisk", "-n", "1:0:+100M", "-n", "2:0:0")
		w.on("partx", "--add")
		w.Partitions(w.t, "data")
		w.Exec(w.t, "mkfs.ext4", "-q", w.Device("data")+"p1")
	}, "partition loop"},
}

func TestRemove_Wipes(t *testing.T) {
	for _, c := range everyday {
		t.Run(c.name, func(t *testing.T) { wipes(t, c) })
	}
}

// What is in use is refused, and what changed since the plan stops the node:
// nothing is written either way.
func TestRemove_LeavesWhatIsNotAsPlanned(t *testing.T) {
	b := loops.Start(t, loops.Spec{Disks: []loops.Disk{{Name: "data", SizeMiB: 64}}})
	w := newWiper(t, b, "data")
	b.Exec(t, "mkfs.ext4", "-q", b.Device("data"))
	w.makePlan()
	b.Exec(t, "sh", "-c", "mount "+b.Device("data")+" /mnt && touch /mnt/file && sync")

	got := w.apply()
	require.Equal(t, exitRefused, got.code, got.stderr)
	require.Contains(t, got.out, "changed, 0 of 2 steps")
	require.Contains(t, got.out, "mount=/mnt")
	got = w.run("remove", "plan", "node1", "--disks", w.profile(), "--out", w.plan)
	require.Equal(t, exitRefused, got.code, got.stderr)
	require.Contains(t, got.stderr, `profile.yaml:4: refused (rule mounted): node "node1" loop`)
	require.Contains(t, got.stderr, `"/mnt"`)
	b.Exec(t, "umount", "/mnt")

	w.makePlan()
	b.Exec(t, "mkfs.ext4", "-q", "-F", b.Device("data")) // another file system of the same kind
	before := b.Sum(t, "data")
	got = w.apply()
	require.Equal(t, exitRefused, got.code, got.stderr)
	require.Contains(t, got.out, "ext4")
	require.Equal(t, before, b.Sum(t, "data"))
}

func wipes(t *testing.T, c content) {
	needProgram(t, c.needs)
	b := loops.Start(t, loops.Spec{Disks: []loops.Disk{{Name: "data", SizeMiB: c.mib}, {Name: "other", SizeMiB: 64}}})
	w := newWiper(t, b, "data")
	c.make(w)
	b.Exec(t, "mkfs.ext4", "-q", b.Device("other"))
	other := b.Sum(t, "other")
	b.Exec(t, "mkdir", "-p", "/var/lib/rook/mon-a/data", "/var/lib/elsewhere")
	b.Exec(t, "ln", "-s", "/var/lib/elsewhere", "/var/lib/rook/link")

	before := w.run("remove", "verify", "node1", "--disks", w.profile())
	require.Equal(t, exitFindings, before.code, before.stderr)
	require.Contains(t, before.out, "left: /var/lib/rook")

	p := w.makePlan("--ceph-fsid", fsid)
	if c.on != "" {
		require.Contains(t, strings.Join(p.Nodes[0].Disks[0].OnIt, "; "), c.on)
	}
	got := w.apply()
	require.Equal(t, exitOK, got.code, got.stderr+got.out)
	require.Equal(t, other, b.Sum(t, "other"))
	require.Equal(t, "elsewhere\n", b.Exec(t, "ls", "/var/lib"))
	require.Empty(t, b.Exec(t, "wipefs", "--no-act", b.Device("data")))
	requireZeros(t, b.File("data"), c.name == "gpt with ext4" || c.name == "ext4")

	after := w.run("remove", "verify", "node1", "--disks", w.profile())
	require.Equal(t, exitOK, after.code, after.out+after.stderr)
	require.Empty(t, w.makePlan().Nodes[0].Steps, "nothing is left to do")

	again := w.run("remove", "apply", w.plan, "--confirm", w.hash())
	require.Equal(t, exitOK, again.code, again.stderr)
}

const fsid = "11111111-2222-3333-4444-555555555555"

// on runs a program with the disk "data" as its last argument, on the node.
func (w *wiper) on(argv ...string) {
	w.t.Helper()
	w.Own(w.t, w.Device("data"))
	if argv[0] != "dd" {
		argv = append(argv, w.Device("data"))
	}
	w.Exec(w.t, argv...)
}

// requireZeros reads a disk's file: nothing is left of what was on it, except
// within an ext4, whose blocks a wipe need not reach.
func requireZeros(t *testing.T, file string, inner bool) {
	t.Helper()
	if inner {
		return
	}
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	at, buffer := int64(0), make([]byte, 1<<20)
	for {
		// Holes are skipped: files of 11 GiB are sparse.
		data, err := f.Seek(at, 3) // SEEK_DATA
		if err != nil {
			return
		}
		n, err := f.ReadAt(buffer, data)
		if rest := bytes.TrimLeft(buffer[:n], "\x00"); len(rest) > 0 {
			require.Fail(t, "not zero", "at %d", data+int64(n-len(rest)))
		}
		if at = data + int64(n); err != nil {
			return
		}
	}
}

func needProgram(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("NOT RUN: needs %s", program)
	}
	t.Skipf("NOT RUN: needs %s", program)
}
