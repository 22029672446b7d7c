//go:build integration

package main

import (
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/nestor-tools/nestor/bench/cptest"
	"github.com/nestor-tools/nestor/bench/faultproxy"
	"github.com/nestor-tools/nestor/bench/lima"
	"github.com/nestor-tools/nestor/bench/nodes"
)

// A real API, and real ssh nodes that hold its kubeconfig: cp1, where the API
// is on the node's own address; proxied, whose kubeconfig leads through the
// fault proxy; stale, whose token is no longer good.
func TestKubeconfig_RealAPI(t *testing.T) {
	l := lima.Install(t) // before the folder changes
	api := cptest.Start(t)
	proxy := api.Proxy(t)
	admin, err := os.ReadFile(api.Kubeconfig)
	require.NoError(t, err)
	proxied, err := os.ReadFile(api.Via(proxy).WriteKubeconfig(t))
	require.NoError(t, err)
	const file = "/etc/kubernetes/admin.conf"
	bench := nodes.Start(t, nodes.Spec{Fast: true, Nodes: []nodes.Node{
		{Name: "cp1", User: "debian", Sudo: nodes.SudoFree, SSHD: []string{"GatewayPorts yes"}, Files: map[string]string{file: string(admin)}},
		{Name: "proxied", Files: map[string]string{file: string(proxied)}},
		{Name: "stale", Files: map[string]string{file: strings.ReplaceAll(string(admin), api.Token, "0123456789abcdef0123456789")}},
		{Name: "node1"},
	}})
	server, err := url.Parse(api.URL)
	require.NoError(t, err)
	address := serveOnNode(t, bench, "cp1", server.Port())
	d := newDesk(t, bench.InventoryPath, api.Token, "0123456789abcdef0123456789")

	// Nothing is known but the inventory, and the kubeconfig works.
	got := d.runJSON(t, "--cp", "cp1", "--context", "bench")
	assert.True(t, got.Verified)
	assert.Equal(t, "https://"+address, got.Server)
	assert.Equal(t, "127.0.0.1", got.TLSServerName, "the node's address is not in the server's certificate")
	assert.Equal(t, "kube-system\n", api.Kubectl(t, "--kubeconfig", got.Path, "get", "ns", "kube-system", "-o", "jsonpath={.metadata.name}{\"\\n\"}"))
	_, err = clientcmd.BuildConfigFromFlags("", got.Path)
	require.NoError(t, err)
	worked, err := os.ReadFile(got.Path)
	require.NoError(t, err)
	assert.Equal(t, 0, d.run(t, "--cp", "cp1", "--context", "bench", "--check").code)
	assert.Equal(t, 1, d.run(t, "--cp", "cp1", "--context", "other", "--check").code)

	// Into a user's own file.
	text, err := os.ReadFile(filepath.Join(filepath.Dir(kubeconfigSchema), "..", "..", "nodeexec", "kubeconfig", "internal", "merge", "testdata", "five.yaml"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("mine", text, 0o600))
	merged := d.run(t, "--cp", "cp1", "--context", "six", "--merge", "--out", "mine")
	require.Equal(t, 0, merged.code, merged.stderr)
	assert.Equal(t, "kube-system", api.Kubectl(t, "--kubeconfig", "mine", "--context", "six", "get", "ns", "kube-system", "-o", "jsonpath={.metadata.name}"))
	now, err := os.ReadFile("mine")
	require.NoError(t, err)
	assert.Contains(t, string(now), "# end of my clusters\nusers:\n")

	// Each refusal leaves the file that worked.
	refused := func(code int, says string, args ...string) {
		t.Helper()
		got := d.run(t, append(args, "--out", "nestor.kubeconfig")...)
		assert.Equal(t, code, got.code, "%v: %s", args, got.stderr)
		assert.Contains(t, got.stderr, says)
		assert.Empty(t, got.out)
		now, err := os.ReadFile("nestor.kubeconfig")
		require.NoError(t, err)
		assert.Equal(t, string(worked), string(now), "%v", args)
	}
	refused(4, "it is another cluster", "--cp", "cp1", "--server", proxy.URL) // another authority
	refused(2, "the API refuses the credentials", "--cp", "stale", "--server", api.URL)
	refused(3, "the API does not answer", "--cp", "cp1", "--server", "127.0.0.1:1")
	proxy.Set(faultproxy.Fault{Kind: faultproxy.Aborted})
	refused(3, "the API does not answer", "--cp", "proxied", "--server", proxy.URL)
	proxy.Set(faultproxy.Fault{Kind: faultproxy.Delayed, Delay: time.Minute})
	refused(3, "the API does not answer", "--cp", "proxied", "--server", proxy.URL)
	proxy.Set(faultproxy.Fault{Kind: faultproxy.Forbidden, Resource: "namespaces"})
	assert.Equal(t, 0, d.run(t, "--cp", "proxied", "--server", proxy.URL, "--out", "p").code, "small rights are rights")
	proxy.Set()

	t.Run("fetch_kubeconfig_node", func(t *testing.T) {
		root := filepath.Join(filepath.Dir(kubeconfigSchema), "..", "..")
		nestor := filepath.Join(t.TempDir(), "nestor")
		build := exec.Command("go", "build", "-o", nestor, "./cmd/nestor")
		build.Dir = root
		out, err := build.CombinedOutput()
		require.NoError(t, err, "%s", out)
		l.Add(t, "cp1", lima.VM{SSH: bench.SSHArgs("cp1")})
		script := `set -euo pipefail; . "$1/shims/bench-compat.sh"; fetch_kubeconfig_node cp1 "$2" "$3" bench`
		kubeconfig := filepath.Join(t.TempDir(), "lima kubeconfig")
		cmd := exec.Command("bash", "-c", script, "bash", root, kubeconfig, server.Port())
		cmd.Env = append(l.Environ(os.Environ()), "NESTOR_BIN="+nestor, "NESTOR_INVENTORY=/nowhere/hosts.yaml")
		out, err = cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		assert.NotContains(t, string(out), api.Token)
		assert.Equal(t, "bench", strings.TrimSpace(api.Kubectl(t, "--kubeconfig", kubeconfig, "config", "current-context")))
		assert.Equal(t, "kube-system", api.Kubectl(t, "--kubeconfig", kubeconfig, "get", "ns", "kube-system", "-o", "jsonpath={.metadata.name}"))
	})

	api.Stop(t)
	refused(3, "the API does not answer", "--cp", "cp1")
}

// serveOnNode makes the API of this machine answer on a node's own address, as
// on a control plane, through a port that ssh forwards back.
func serveOnNode(t *testing.T, bench *nodes.Bench, node, port string) (address string) {
	t.Helper()
	address = net.JoinHostPort(bench.Node(node).Addr, port)
	cmd := exec.Command("ssh", append([]string{"-N", "-o", "ExitOnForwardFailure=yes", "-R", "*:" + port + ":127.0.0.1:" + port}, bench.SSHArgs(node)...)...)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	require.Eventually(t, func() bool {
		c, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}, 30*time.Second, 100*time.Millisecond, "%s", bench.Log(node))
	return address
}
