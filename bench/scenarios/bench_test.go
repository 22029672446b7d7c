//go:build integration

package scenarios_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/cptest"
	"github.com/nestor-tools/nestor/bench/lima"
	"github.com/nestor-tools/nestor/bench/nodes"
	"github.com/nestor-tools/nestor/bench/scenarios"
)

// inventory is as bench.sh writes it; PORT is the API's.
const inventory = `all:
  vars: {target_kind: lima, stack_id: bench}
  children:
    cloud:
      children:
        control: {hosts: {cp1: {api_port: PORT}}}
        workers: {hosts: {node1: {}}}
`

// open makes a bench: a stand-in for limactl whose VMs are what add adds, with
// a control plane on this machine that cp1's admin.conf leads to.
func open(t *testing.T, add func(l *lima.Lima, adminConf string)) *scenarios.Bench {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	dir := t.TempDir()
	nestor := filepath.Join(dir, "nestor")
	build := exec.Command("go", "build", "-o", nestor, "./cmd/nestor")
	build.Dir = root
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))

	api := cptest.Start(t)
	l := lima.Install(t)
	for _, kv := range l.Environ(os.Environ()) {
		if k, v, _ := strings.Cut(kv, "="); k == "PATH" || k == "LIMA_HOME" {
			t.Setenv(k, v)
		}
	}
	content, err := os.ReadFile(api.Kubeconfig)
	require.NoError(t, err)
	add(l, strings.ReplaceAll(string(content), api.URL, "https://cluster-api:6443"))
	file := filepath.Join(dir, "inventory.yaml")
	port := api.URL[strings.LastIndex(api.URL, ":")+1:]
	require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(inventory, "PORT", port)), 0o600))
	b, err := scenarios.Open(root, nestor, file, t.TempDir())
	require.NoError(t, err)
	b.StackID = "bench"
	b.Emulated = []string{"limactl is the stand-in of bench/lima", "the control plane runs on the workstation, without kubelets"}
	return b
}

func pass(t *testing.T, b *scenarios.Bench, names ...string) {
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			results, err := scenarios.Run(t.Output(), b, name)
			require.NoError(t, err)
			require.Equal(t, scenarios.Pass, results[0].Verdict)
		})
	}
}

// Two nodes that are namespaces of this machine: what is quick, and needs no
// disks.
func TestScenariosOnNodes(t *testing.T) {
	b := open(t, func(l *lima.Lima, adminConf string) {
		n := nodes.Start(t, nodes.Spec{Fast: true, Nodes: []nodes.Node{
			{Name: "lima-cp1", User: "debian", Sudo: nodes.SudoFree, Files: map[string]string{"/etc/kubernetes/admin.conf": adminConf}},
			{Name: "lima-node1", User: "debian", Sudo: nodes.SudoFree},
		}})
		for _, name := range []string{"cp1", "node1"} {
			l.Add(t, name, lima.VM{SSH: n.SSHArgs("lima-" + name)})
		}
	})
	pass(t, b, "node-exec", "run-cni", "kubeconfig", "portal")
}

// On a VM that is another than its name says, node-exec fails.
func TestScenariosOnNodesThatAreNot(t *testing.T) {
	b := open(t, func(l *lima.Lima, _ string) {
		l.Add(t, "cp1", lima.VM{}) // a shell of this machine
		l.Add(t, "node1", lima.VM{Status: "Stopped"})
	})
	results, err := scenarios.Run(t.Output(), b, "node-exec")
	require.NoError(t, err)
	require.Equal(t, scenarios.Fail, results[0].Verdict)
}
