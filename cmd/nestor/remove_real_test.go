package main

import (
	"fmt"
	"os"
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

func TestRemove_Ext4(t *testing.T) {
	b := loops.Start(t, loops.Spec{Disks: []loops.Disk{{Name: "data", SizeMiB: 300}, {Name: "other", SizeMiB: 64}}})
	w := newWiper(t, b, "data")
	b.Exec(t, "mkfs.ext4", "-q", b.Device("data"))
	b.Exec(t, "mkfs.ext4", "-q", b.Device("other"))
	other := b.Sum(t, "other")
	b.Exec(t, "mkdir", "-p", "/var/lib/rook/mon-a/data")

	p := w.makePlan()
	got := w.apply()
	t.Log(got.stderr, got.out, p.Nodes[0].Steps)
	require.Equal(t, exitOK, got.code, got.stderr)
	require.Equal(t, other, b.Sum(t, "other"))
	require.NotContains(t, b.Exec(t, "ls", "/var/lib"), "rook")
}
