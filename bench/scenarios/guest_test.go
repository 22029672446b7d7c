//go:build integration

package scenarios_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/cptest"
	"github.com/nestor-tools/nestor/bench/guest"
	"github.com/nestor-tools/nestor/bench/lima"
	"github.com/nestor-tools/nestor/bench/scenarios"
)

// onGuests is a bench of two real Debian guests behind the stand-in for
// limactl: cp1, whose admin.conf leads to a control plane on this machine, and
// node1 with two extra disks.
func onGuests(t *testing.T) *scenarios.Bench {
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
	disks := []guest.Disk{{Name: "data1", SizeMiB: 256}, {Name: "data2", SizeMiB: 128}}
	for _, spec := range []guest.Spec{{Name: "cp1"}, {Name: "node1", Disks: disks}} {
		spec.Hostname, spec.User = "lima-"+spec.Name, "debian"
		g := guest.Start(t, spec)
		l.Add(t, spec.Name, lima.VM{SSH: g.SSHArgs()})
		if spec.Name == "cp1" {
			content, err := os.ReadFile(api.Kubeconfig)
			require.NoError(t, err)
			conf := strings.ReplaceAll(string(content), api.URL, "https://cluster-api:6443")
			g.MustRun(t, "umask 077; mkdir -p -m 755 /etc/kubernetes; cat >/etc/kubernetes/admin.conf <<'END'\n"+conf+"END\n")
		}
	}
	inventory := filepath.Join(dir, "inventory.yaml")
	port := api.URL[strings.LastIndex(api.URL, ":")+1:]
	require.NoError(t, os.WriteFile(inventory, fmt.Appendf(nil, `all:
  vars: {target_kind: lima, stack_id: bench}
  children:
    cloud:
      children:
        control: {hosts: {cp1: {api_port: %s}}}
        workers: {hosts: {node1: {}}}
`, port), 0o600))
	b, err := scenarios.Open(root, nestor, inventory, t.TempDir())
	require.NoError(t, err)
	b.Emulated = []string{
		"limactl is the stand-in of bench/lima",
		"the VMs are the guests of bench/guest, under qemu without hardware virtualization",
		"the control plane runs on the workstation, without kubelets",
	}
	return b
}

func TestScenariosOnGuests(t *testing.T) {
	b := onGuests(t)
	for _, s := range scenarios.All {
		if s.Name == "ui-reachable" { // its NodePorts are not forwarded from a guest
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			results, err := scenarios.Run(t.Output(), b, s.Name)
			require.NoError(t, err)
			require.Equal(t, scenarios.Pass, results[0].Verdict)
		})
	}
}
