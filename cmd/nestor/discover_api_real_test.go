//go:build integration

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/cptest"
	"github.com/nestor-tools/nestor/bench/faultproxy"
	"github.com/nestor-tools/nestor/bench/nodes"
	"github.com/nestor-tools/nestor/bench/pki"
	"github.com/nestor-tools/nestor/mapping"
	"github.com/nestor-tools/nestor/mapping/fact"
)

// built is the nestor that a user has.
func built(t *testing.T) func(env []string, args ...string) invocation {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "nestor")
	out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	return func(env []string, args ...string) invocation {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, binary, args...)
		cmd.Dir = t.TempDir()
		cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir}, env...)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		if _, ok := errors.AsType[*exec.ExitError](err); !ok {
			require.NoError(t, err)
		}
		return invocation{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
	}
}

// seedNodes gives the API a Node for each node of the bench.
func seedNodes(t *testing.T, cluster *cptest.Cluster, bench *nodes.Bench, names ...string) {
	t.Helper()
	for _, name := range names {
		id, err := bench.Exec(t.Context(), name, "cat", "/etc/machine-id")
		require.NoError(t, err)
		cluster.Seed(t, fmt.Sprintf(`apiVersion: v1
kind: Node
metadata: {name: k8s-%s, labels: {node-role.kubernetes.io/control-plane: ""}}
status:
  addresses: [{type: InternalIP, address: 192.0.2.9}, {type: Hostname, address: k8s-%s}]
  conditions: [{type: Ready, status: "True", reason: KubeletReady}]
  nodeInfo: {machineID: %s, systemUUID: "", bootID: "", kernelVersion: 6.1.0, osImage: Debian GNU/Linux 12, containerRuntimeVersion: "containerd://2.1.5", kubeletVersion: v1.35.4, kubeProxyVersion: "", operatingSystem: linux, architecture: amd64}
`, name, name, strings.TrimSpace(string(id))))
	}
}

// Without any kubeconfig, over a real ssh node that holds admin.conf.
func TestDiscoverAPI_RealFetchesItsOwnKey(t *testing.T) {
	nestor := built(t)
	cluster, other := cptest.Start(t), cptest.Start(t)
	admin, err := os.ReadFile(cluster.Kubeconfig)
	require.NoError(t, err)
	endpoint := strings.TrimPrefix(cluster.URL, "https://")
	bench := nodes.Start(t, nodes.Spec{Fast: true, Nodes: []nodes.Node{
		{Name: "cp1", User: "debian", Sudo: nodes.SudoFree, Vars: map[string]string{"cluster_endpoint": endpoint}, Files: map[string]string{
			"/etc/kubernetes/admin.conf":                    string(admin),
			"/etc/kubernetes/pki/ca.crt":                    string(cluster.CA),
			"/etc/kubernetes/manifests/kube-apiserver.yaml": "kind: Pod\n",
		}},
		{Name: "node1"},
		{Name: "nas1"},
	}})
	_, err = bench.Exec(t.Context(), "cp1", "chmod", "600", "/etc/kubernetes/admin.conf")
	require.NoError(t, err)
	cluster.SeedFiles(t, "testdata/platform.yaml")
	seedNodes(t, cluster, bench, "cp1", "node1")
	cluster.Seed(t, "{apiVersion: v1, kind: Node, metadata: {name: stranger}, status: {conditions: [{type: Ready, status: Unknown}]}}")
	other.Seed(t, "{apiVersion: v1, kind: Node, metadata: {name: node1}, status: {addresses: [{type: InternalIP, address: 192.0.2.9}], nodeInfo: {machineID: ffffffffffffffffffffffffffffffff, systemUUID: '', bootID: '', kernelVersion: '', osImage: '', containerRuntimeVersion: '', kubeletVersion: '', kubeProxyVersion: '', operatingSystem: '', architecture: ''}}}")
	inventory := []string{"discover", "-i", bench.InventoryPath}
	with := func(args ...string) []string { return append(append([]string{}, inventory...), args...) }

	file, raw := filepath.Join(t.TempDir(), "topology.yaml"), filepath.Join(t.TempDir(), "raw")
	got := nestor(nil, with("--out", file, "--raw", raw)...)
	t.Log(got.out)
	require.Equal(t, exitOK, got.code, got.stderr)
	require.Equal(t, "nestor: nas1: no node of the API has its machine id, name or address\nnestor: stranger: a node of the API that the inventory does not have\n", got.stderr)
	require.Contains(t, got.out, "GITOPS      argo-cd v3.1.0\n")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NotContains(t, string(text), "hunter2")
	for _, secret := range []string{cluster.Token, "hunter2"} {
		require.NotContains(t, got.out+got.stderr+string(text), secret)
	}
	kept, err := os.ReadDir(raw)
	require.NoError(t, err)
	require.Len(t, kept, 5, "three nodes, their index, the API")
	for _, entry := range kept {
		answer, err := os.ReadFile(filepath.Join(raw, entry.Name()))
		require.NoError(t, err)
		require.NotContains(t, string(answer), cluster.Token, entry.Name())
	}
	topology := topologyOf(t, string(text))
	validate(t, text)
	require.Equal(t, fact.IsPresent, topology.API.State)
	require.Equal(t, "v1.35.4", topology.API.Value.Version.Value)
	require.Empty(t, topology.API.Value.Unread)
	require.Equal(t, fact.Present("ceph"), topology.Storage.Backend)
	names := map[string]mapping.Node{}
	for _, n := range topology.Nodes {
		names[n.Name] = n
	}
	require.Len(t, names, 4)
	require.Equal(t, "k8s-cp1", names["cp1"].Kubernetes.Value.Name)
	require.Equal(t, "machine-id", names["cp1"].Kubernetes.Value.JoinedBy)
	require.Equal(t, []string{"control-plane"}, names["node1"].Kubernetes.Value.Roles)
	require.Equal(t, fact.IsAbsent, names["nas1"].Kubernetes.State)
	require.Equal(t, mapping.NotInInventory, names["stranger"].Error.Kind)

	again := nestor(nil, with("--cp", "cp1")...)
	require.Equal(t, exitOK, again.code, again.stderr)
	require.Equal(t, string(text), again.out, "the same reality gives the same bytes")
	replayed := nestor(nil, "discover", "--from", raw)
	require.Equal(t, string(text), replayed.out)
	require.Equal(t, got.stderr, replayed.stderr)
	same := nestor(nil, with("--against", file)...)
	require.Equal(t, invocation{exitOK, "", got.stderr}, same)

	t.Run("a kubeconfig of the same cluster", func(t *testing.T) {
		own := nestor([]string{"KUBECONFIG=" + cluster.Kubeconfig}, inventory...)
		require.Equal(t, exitOK, own.code, own.stderr)
		require.Equal(t, string(text), own.out)
	})
	t.Run("a pattern, and a kubeconfig that is not there yet", func(t *testing.T) {
		one := nestor([]string{"KUBECONFIG=/none/yet"}, with("node1")...)
		require.Equal(t, exitOK, one.code, one.stderr)
		require.Empty(t, one.stderr, "k8s-cp1 may be one of those that were not asked")
		require.Len(t, topologyOf(t, one.out).Nodes, 1)
		require.Equal(t, fact.IsUnknown, topologyOf(t, one.out).API.State, "node1 is no control plane, and the inventory names none")
		one = nestor(nil, with("--cp", "cp1", "node1", "--against", file)...)
		require.Equal(t, invocation{exitOK, "", ""}, one)
	})
	t.Run("a kubeconfig of another cluster", func(t *testing.T) {
		for name, refused := range map[string]invocation{
			"--kubeconfig": nestor(nil, with("--kubeconfig", other.Kubeconfig)...),
			"KUBECONFIG":   nestor([]string{"KUBECONFIG=" + other.Kubeconfig}, inventory...),
		} {
			require.Equal(t, exitRefused, refused.code, refused.stderr)
			require.Empty(t, refused.out)
			require.Contains(t, refused.stderr, name+" "+other.Kubeconfig+": it is another cluster")
			require.Contains(t, refused.stderr, "--cp")
		}
	})
	t.Run("no API, no nodes", func(t *testing.T) {
		without := nestor([]string{"KUBECONFIG=" + other.Kubeconfig}, with("--no-api")...)
		require.Equal(t, invocation{exitOK, without.out, ""}, without)
		require.NotContains(t, without.out, "catalog")
		alone := nestor(nil, with("--no-nodes", "--against", file)...)
		require.Equal(t, invocation{exitOK, "", ""}, alone)
	})
	t.Run("drift", func(t *testing.T) {
		cluster.Seed(t, "{apiVersion: v1, kind: Service, metadata: {name: door, namespace: shop}, spec: {type: NodePort, ports: [{port: 80, nodePort: 31999}]}}")
		drift := nestor(nil, with("--against", file)...)
		require.Equal(t, exitFindings, drift.code, drift.stderr)
		require.Equal(t, "drift\t(cluster)\texposition.NodePort Service shop/door\tnone -> NodePort Service shop/door\n", drift.out)
	})
	t.Run("one resource forbidden", func(t *testing.T) {
		proxy := cluster.Proxy(t)
		proxy.Set(faultproxy.Fault{Kind: faultproxy.Forbidden, Resource: "deployments"}, faultproxy.Fault{Kind: faultproxy.Forbidden, Resource: "services"})
		denied := nestor(nil, with("--kubeconfig", cluster.Via(proxy).WriteKubeconfig(t), "--against", file)...)
		require.Equal(t, exitUnevaluated, denied.code, denied.stderr)
		require.Contains(t, denied.stderr, "deployments: denied")
		require.NotContains(t, denied.out, "drift", "what may not be read is no drift")
		require.Contains(t, denied.out, "unknown\t(cluster)\tcatalog.argo-cd\targo-cd -> none\n")
		require.NotContains(t, denied.out, "cilium")
	})
	t.Run("no answer where it was sent", func(t *testing.T) {
		nowhere := nestor(nil, with("--server", "127.0.0.1:1")...)
		require.Equal(t, exitUnreachable, nowhere.code, nowhere.stderr)
		require.Contains(t, nowhere.stderr, "127.0.0.1:1")
	})
	t.Run("a key that is none", func(t *testing.T) {
		ca := pki.New(t, "kubernetes")
		good := ca.AdminConf(t, cluster.URL, pki.NextYear())
		for says, key := range map[string]string{
			"it is empty":           "",
			"not a usable":          string(admin)[:len(admin)/2],
			"it expired on":         ca.AdminConf(t, cluster.URL, time.Now().AddDate(0, 0, -3)),
			"runs a program":        strings.Replace(good, "  user:\n", "  user:\n    exec: {command: /bin/sh}\n", 1),
			"it is another cluster": good,
		} {
			_, err := bench.Exec(t.Context(), "cp1", "sh", "-c", `printf %s "$1" >/etc/kubernetes/admin.conf`, "sh", key)
			require.NoError(t, err)
			bad := nestor(nil, inventory...)
			require.Empty(t, pki.Leaked(bad.out+bad.stderr, append(pki.Secrets(key), cluster.Token)))
			require.Contains(t, bad.stderr, says)
			if says == "it is another cluster" { // the address answers, and is not this key's
				require.Equal(t, invocation{exitRefused, "", bad.stderr}, bad)
				continue
			}
			require.Equal(t, exitUnevaluated, bad.code, bad.stderr)
			topology := topologyOf(t, bad.out)
			require.Equal(t, fact.IsUnknown, topology.API.State)
			require.Len(t, topology.Nodes, 3, "the nodes are written all the same")
		}
		_, err := bench.Exec(t.Context(), "cp1", "sh", "-c", `printf %s "$1" >/etc/kubernetes/admin.conf`, "sh", string(admin))
		require.NoError(t, err)
	})
	t.Run("no right to the key", func(t *testing.T) {
		out, err := bench.Exec(t.Context(), "cp1", "sh", "-c", "rm /etc/sudoers.d/* && ls -A /etc/sudoers.d")
		require.NoError(t, err, string(out))
		denied := nestor(nil, inventory...)
		require.Equal(t, exitUnevaluated, denied.code, denied.stderr)
		topology := topologyOf(t, denied.out)
		require.Equal(t, fact.IsDenied, topology.API.State, topology.API.Why)
		require.Nil(t, topology.Cluster)
		require.Contains(t, denied.stderr, "nestor: kubernetes API: cp1: ")
		require.Contains(t, denied.stderr, "--no-api\n")
		require.Equal(t, exitOK, nestor(nil, with("--no-api")...).code)
		own := nestor(nil, with("--kubeconfig", cluster.Kubeconfig)...)
		require.Equal(t, exitOK, own.code, "the machine ids prove it, without root: %s", own.stderr)
	})
	t.Run("no answer", func(t *testing.T) {
		proxy := cluster.Proxy(t)
		proxy.Set(faultproxy.Fault{Kind: faultproxy.Delayed, Delay: time.Hour})
		silent := nestor(nil, with("--kubeconfig", cluster.Via(proxy).WriteKubeconfig(t), "--timeout", "2s")...)
		require.Equal(t, exitUnreachable, silent.code, silent.stderr)
		require.Contains(t, silent.stderr, "does not answer: no answer within")
		require.Equal(t, fact.IsUnknown, topologyOf(t, silent.out).API.State)
	})
	t.Run("the server is gone", func(t *testing.T) {
		cluster.Stop(t)
		gone := nestor(nil, with("--kubeconfig", cluster.Kubeconfig)...)
		require.Equal(t, exitUnreachable, gone.code, gone.stderr)
		require.Contains(t, gone.stderr, "connection refused")
		topology := topologyOf(t, gone.out)
		require.Equal(t, fact.IsUnknown, topology.API.State)
		require.Len(t, topology.Nodes, 3, "the nodes are written all the same")
	})
}
