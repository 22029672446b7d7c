package discover_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	nodesbench "github.com/nestor-tools/nestor/bench/nodes"
	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/nodeexec/discover"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// startContainerd starts a real containerd on a node, and waits until it has
// looked for a network.
const startContainerd = `
mkdir -p /etc/containerd
containerd >/root/containerd.log 2>&1 </dev/null &
n=0
until [ -S /run/containerd/containerd.sock ] && grep -q 'Start cni network conf syncer' /root/containerd.log; do
  n=$((n + 1))
  [ $n -lt 300 ] || { tail -n 3 /root/containerd.log >&2; exit 1; }
  sleep 0.2
done
`

// A real containerd is asked which network it loads from hand-laid folders:
// its log says at once when it loads none.
func TestRealContainerd(t *testing.T) {
	needTool(t, "containerd")
	const folder = "/etc/cni/net.d/"
	const sound = `{"cniVersion":"0.4.0","name":"sound","plugins":[{"type":"ptp"}]}`
	cases := map[string]struct {
		files   map[string]string
		network string // empty: none, and an error
	}{
		"none": {map[string]string{folder + "notes.txt": sound}, ""},
		"leftovers": {map[string]string{folder + "05-cilium.conflist.cilium_bak": sound, folder + "10-sound.conflist": sound,
			folder + "20-other.conf": `{"cniVersion":"0.4.0","name":"other","type":"ptp"}`}, "sound"},
		"hidden": {map[string]string{folder + ".00-hidden.conf": `{"cniVersion":"0.4.0","name":"hidden","type":"ptp"}`,
			folder + "10-sound.conflist": sound}, "hidden"},
		"broken": {map[string]string{folder + "00-broken.conflist": `{"name":`, folder + "10-sound.conflist": sound}, ""},
		"bytes":  {map[string]string{folder + "9.conflist": sound, folder + "10.conf": `{"cniVersion":"0.4.0","name":"ten","type":"ptp"}`}, "ten"},
	}
	var spec nodesbench.Spec
	for name, c := range cases {
		spec.Nodes = append(spec.Nodes, nodesbench.Node{Name: name, Files: c.files})
	}
	b := nodesbench.Start(t, spec)
	inv, err := inventory.Load(os.DirFS(b.Dir), filepath.Base(b.InventoryPath), os.LookupEnv)
	require.NoError(t, err)
	version, err := exec.Command("containerd", "--version").Output()
	require.NoError(t, err)

	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			_, err := b.Exec(ctx, name, "sh", "-ec", startContainerd)
			require.NoError(t, err)
			log, err := b.Exec(ctx, name, "cat", "/root/containerd.log")
			require.NoError(t, err)
			// The oracle.
			require.Equal(t, c.network == "", strings.Contains(string(log), "failed to load cni during init"), "%s", log)

			target, err := inv.Target(name, inventory.Lima)
			require.NoError(t, err)
			topology, failures := discover.Run(ctx, []discover.Node{{Runner: nodeexec.Open(target, nodeexec.Options{})}}, discover.Options{})
			require.Empty(t, failures)
			f := topology.Nodes[0].Facts
			assert.Equal(t, "containerd", f.ContainerRuntime.Value.Name)
			assert.Equal(t, "/run/containerd/containerd.sock", f.ContainerRuntime.Value.Socket)
			assert.Contains(t, string(version), f.ContainerRuntime.Value.Version.Value)
			assert.NotEmpty(t, f.ContainerRuntime.Value.Version.Value)
			assert.Equal(t, c.network, f.CNI.Value.Network)
			assert.Equal(t, c.network == "", f.CNI.Value.Error != "", f.CNI.Value.Error)
		})
	}
}
