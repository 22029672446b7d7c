package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/nestor-tools/nestor/bench/nodes"
	"github.com/nestor-tools/nestor/mapping"
	"github.com/nestor-tools/nestor/mapping/fact"
)

// invocation is one run of the command line, as a user would see it.
type invocation struct {
	code        int
	out, stderr string
}

func nestor(t *testing.T, args ...string) invocation {
	t.Helper()
	var out, stderr bytes.Buffer
	c := &cli{in: strings.NewReader(""), out: &out, err: &stderr, env: func(string) (string, bool) { return "", false }}
	code := run(t.Context(), args, c)
	return invocation{code, out.String(), stderr.String()}
}

func topologyOf(t *testing.T, text string) mapping.Topology {
	t.Helper()
	var tree any
	require.NoError(t, yaml.Unmarshal([]byte(text), &tree))
	asJSON, err := json.Marshal(tree)
	require.NoError(t, err)
	var topology mapping.Topology
	require.NoError(t, json.Unmarshal(asJSON, &topology))
	require.Equal(t, mapping.Schema, topology.Schema)
	require.Equal(t, "nestor discover", topology.GeneratedBy)
	return topology
}

func TestDiscover_RealNodes(t *testing.T) {
	bench := nodes.Start(t, nodes.Spec{Fast: true, Nodes: []nodes.Node{
		{Name: "bash1"},
		{Name: "dash1", User: "debian", Shell: "dash"},
		{Name: "fish1", User: "debian", Shell: "fish"},
		{Name: "zsh1", User: "debian", Shell: "zsh", Noisy: true},
		{Name: "box1", Busybox: true},
		{Name: "nobash1", NoBash: true, Shell: "dash"},
		{Name: "force1", ForceCommand: true},
		{Name: "gone1", Fault: nodes.NoListener},
	}})
	dir := t.TempDir()
	file, raw := filepath.Join(dir, "topology.yaml"), filepath.Join(dir, "raw")
	got := nestor(t, "discover", "-i", bench.InventoryPath, "all", "--out", file, "--raw", raw)
	require.Equal(t, exitUnreachable, got.code, got.stderr)
	require.Equal(t, 1, strings.Count(got.stderr, "\n"), "one line, of the one that is missing: %s", got.stderr)
	require.Contains(t, got.stderr, "gone1")
	require.Contains(t, got.stderr, "refused")
	require.Equal(t, 11, strings.Count(got.out, "\n"), "a table: %s", got.out)

	text, err := os.ReadFile(file)
	require.NoError(t, err)
	topology := topologyOf(t, string(text))
	require.Len(t, topology.Nodes, 8)
	for _, n := range topology.Nodes {
		if n.Name == "gone1" {
			require.Nil(t, n.Facts)
			require.Equal(t, "unreachable", n.Error.Kind)
			require.NoFileExists(t, filepath.Join(raw, "gone1.probe"))
			continue
		}
		oracle := func(argv ...string) string {
			t.Helper()
			out, err := bench.Exec(t.Context(), n.Name, argv...)
			require.NoError(t, err)
			return strings.TrimSpace(string(out))
		}
		require.Nil(t, n.Error, n.Name)
		require.Equal(t, oracle("hostname"), n.Facts.Hostname.Value, n.Name)
		require.Equal(t, n.Name, n.Facts.Hostname.Value)
		require.Equal(t, oracle("cat", "/etc/machine-id"), n.Facts.MachineID.Value)
		require.Equal(t, oracle("uname", "-r"), n.Facts.Kernel.Value.Release)
		require.Equal(t, "debian", n.Facts.OS.Value.ID)
		require.Equal(t, oracle("sh", "-c", `while read -r k v _; do [ "$k" = MemTotal: ] && echo $((v * 1024)); done </proc/meminfo; true`), jsonNumber(n.Facts.Memory.Value.TotalBytes))
		require.Equal(t, oracle("sh", "-c", "grep -c ^processor /proc/cpuinfo"), jsonNumber(n.Facts.CPU.Value.Threads))
		require.Equal(t, fact.IsPresent, n.Facts.Mounts.State)
		require.Contains(t, n.Roles, "cloud")
		info, err := os.Stat(filepath.Join(raw, n.Name+".probe"))
		require.NoError(t, err)
		require.EqualValues(t, 0o600, info.Mode().Perm())
	}
	info, err := os.Stat(raw)
	require.NoError(t, err)
	require.EqualValues(t, 0o700, info.Mode().Perm())
	info, err = os.Stat(file)
	require.NoError(t, err)
	require.EqualValues(t, 0o644, info.Mode().Perm())

	again := nestor(t, "discover", "-i", bench.InventoryPath, "all:!gone1")
	require.Equal(t, exitOK, again.code, again.stderr)
	require.Empty(t, again.stderr)
	third := nestor(t, "discover", "-i", bench.InventoryPath, "all:!gone1", "--forks", "1")
	require.Equal(t, again.out, third.out, "the same reality gives the same bytes")
	left, err := bench.Exec(t.Context(), "bash1", "sh", "-c", "ls -d /dev/shm/nestor* /run/nestor* /tmp/nestor-probe* 2>/dev/null; true")
	require.NoError(t, err)
	require.Empty(t, string(left), "nothing is left on a node")
}

func jsonNumber(n any) string {
	b, _ := json.Marshal(n)
	return string(b)
}

func TestDiscover_Sudo(t *testing.T) {
	bench := nodes.Start(t, nodes.Spec{Fast: true, Nodes: []nodes.Node{
		{Name: "free1", User: "debian", Sudo: nodes.SudoFree},
		{Name: "asks1", User: "debian", Sudo: nodes.SudoPassword},
	}})
	for _, name := range []string{"free1", "asks1"} {
		_, err := bench.Exec(t.Context(), name, "sh", "-c", `mkdir -p /etc/cni/net.d && chmod 700 /etc/cni/net.d && echo '{"name":"n","type":"bridge"}' >/etc/cni/net.d/10-x.conf`)
		require.NoError(t, err)
	}
	user := topologyOf(t, nestor(t, "discover", "-i", bench.InventoryPath, "free1").out).Nodes[0].Facts
	require.Equal(t, fact.IsDenied, user.CNI.State, user.CNI.Why)
	root := topologyOf(t, nestor(t, "discover", "-i", bench.InventoryPath, "free1", "--sudo").out).Nodes[0].Facts
	require.Equal(t, "n", root.CNI.Value.Network)

	got := nestor(t, "discover", "-i", bench.InventoryPath, "--sudo")
	require.Equal(t, exitUnevaluated, got.code)
	require.Contains(t, got.stderr, "asks1")
	require.Contains(t, got.stderr, "password")
	topology := topologyOf(t, got.out)
	require.Equal(t, "sudo", topology.Nodes[0].Error.Kind)
	require.NotNil(t, topology.Nodes[1].Facts, "the other is written all the same")
}

func TestDiscover_ThisMachine(t *testing.T) {
	t.Chdir(t.TempDir())
	got := nestor(t, "discover")
	require.Equal(t, exitOK, got.code, got.stderr)
	require.Equal(t, "nestor: no inventory here: reading this machine\n", got.stderr)
	topology := topologyOf(t, got.out)
	require.Len(t, topology.Nodes, 1)
	host, err := os.Hostname()
	require.NoError(t, err)
	require.Equal(t, host, topology.Nodes[0].Facts.Hostname.Value)

	asJSON := nestor(t, "discover", "--output", "json")
	require.Equal(t, topology.Nodes[0].Facts.Kernel, topologyOf(t, asJSON.out).Nodes[0].Facts.Kernel)

	table := nestor(t, "discover", "--output", "table")
	require.Equal(t, exitOK, table.code)
	require.Equal(t, 2, strings.Count(table.out, "\n"))
	require.Contains(t, table.out, topology.Nodes[0].Facts.Kernel.Value.Release)

	named := nestor(t, "discover", "node1")
	require.Equal(t, exitUnevaluated, named.code, "a node was named, and there is no inventory to find it in")
	require.Contains(t, named.stderr, "no inventory")
}

func TestDiscover_Usage(t *testing.T) {
	dir := t.TempDir()
	hosts := filepath.Join(dir, "hosts.yaml")
	require.NoError(t, os.WriteFile(hosts, []byte(`all:
  vars: {target_kind: lima, transport: ssh}
  hosts:
    bad1: {ansible_host: "-oProxyCommand=touch `+dir+`/touched"}
    bad2: {ansible_host: "{{ nowhere }}"}
`), 0o600))
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"unknown format":    {[]string{"discover", "-o", "sarif"}, exitUnevaluated, "sarif"},
		"unknown node":      {[]string{"discover", "-i", hosts, "node9"}, exitUnevaluated, "node9"},
		"another kind":      {[]string{"discover", "-i", hosts, "--target-kind", "prod"}, exitRefused, "prod was stated"},
		"no such inventory": {[]string{"discover", "-i", dir + "/none"}, exitUnevaluated, "none"},
		"no such folder":    {[]string{"discover", "-i", hosts, "--out", dir + "/none/t.yaml"}, exitUnevaluated, "none/t.yaml"},
		"a negative time":   {[]string{"discover", "-i", hosts, "--timeout", "-5s"}, exitUnevaluated, "--timeout -5s: want a positive one"},
		"no time":           {[]string{"discover", "-i", hosts, "--timeout", "0"}, exitUnevaluated, "--timeout 0s: want a positive one"},
		"no forks":          {[]string{"discover", "-i", hosts, "--forks", "0"}, exitUnevaluated, "--forks 0: want 1 or more"},
		"from nowhere":      {[]string{"discover", "--from", dir + "/none"}, exitUnevaluated, "nestor: --from " + dir + "/none: no such file or directory\n"},
		"from a file":       {[]string{"discover", "--from", hosts}, exitUnevaluated, "it is no folder; want one that --raw wrote"},
		"from an empty one": {[]string{"discover", "--from", t.TempDir()}, exitUnevaluated, "no raw answer (*.probe) in the folder"},
		"key and key":       {[]string{"discover", "-i", hosts, "--cp", "bad1", "--kubeconfig", "k"}, exitUnevaluated, "choose one"},
		"API and no API":    {[]string{"discover", "-i", hosts, "--cp", "bad1", "--no-api"}, exitUnevaluated, "--no-api reads no API"},
		"nothing at all":    {[]string{"discover", "-i", hosts, "--no-nodes", "--no-api"}, exitUnevaluated, "--no-api reads no API"},
		"nodes, no nodes":   {[]string{"discover", "-i", hosts, "--no-nodes", "bad1"}, exitUnevaluated, "goes with no pattern"},
		"unknown cp":        {[]string{"discover", "-i", hosts, "--cp", "node9", "bad1"}, exitUnevaluated, "node9"},
		"missing key":       {[]string{"discover", "--no-nodes", "--kubeconfig", dir + "/none"}, exitUnevaluated, "--kubeconfig " + dir + "/none: "},
		"two patterns":      {[]string{"discover", "a", "b"}, exitUnevaluated, "accepts at most 1 arg"},
	} {
		t.Run(name, func(t *testing.T) {
			got := nestor(t, c.args...)
			require.Equal(t, c.code, got.code, got.stderr)
			require.Contains(t, got.stderr, c.says)
			require.Empty(t, got.out)
		})
	}

	got := nestor(t, "discover", "-i", hosts)
	require.Equal(t, exitUnevaluated, got.code)
	for _, n := range topologyOf(t, got.out).Nodes {
		require.Equal(t, "invalid", n.Error.Kind, "a node that cannot be resolved costs the others nothing")
		require.Contains(t, got.stderr, n.Name)
	}
	require.NoFileExists(t, filepath.Join(dir, "touched"))
}

func TestDiscover_RawAndFrom(t *testing.T) {
	bench := nodes.Start(t, nodes.Spec{Fast: true, Nodes: []nodes.Node{{Name: "a1"}, {Name: "b1", User: "debian"}, {Name: "c1", Fault: nodes.NoListener}}})
	raw := filepath.Join(t.TempDir(), "raw")
	live := nestor(t, "discover", "-i", bench.InventoryPath, "--raw", raw)
	require.Equal(t, exitUnreachable, live.code, live.stderr)
	replayed := nestor(t, "discover", "--from", raw)
	require.Equal(t, live, replayed, "the same bytes, remarks and exit code, without a node")

	both := nestor(t, "discover", "--from", raw, "a1")
	require.Equal(t, exitUnevaluated, both.code)
	require.Contains(t, both.stderr, "--from asks no node")
	none := nestor(t, "discover", "--from", raw+"/none")
	require.Equal(t, exitUnevaluated, none.code)
	require.Contains(t, none.stderr, "none")
	require.Equal(t, 1, strings.Count(none.stderr, "none"), "said once")
}

func TestDiscover_Against(t *testing.T) {
	t.Chdir(t.TempDir())
	require.Equal(t, exitOK, nestor(t, "discover", "--out", "before.yaml").code)
	text, err := os.ReadFile("before.yaml")
	require.NoError(t, err)
	// Kept out of it: what other tests on this machine mount meanwhile.
	host, err := os.Hostname()
	require.NoError(t, err)
	changed := strings.Replace(string(text), "hostname: {state: present, value: "+host+"}", "hostname: {state: present, value: other}", 1)
	require.NotEqual(t, string(text), changed)
	require.NoError(t, os.WriteFile("changed.yaml", []byte(changed), 0o600))
	got := nestor(t, "discover", "--against", "changed.yaml", "--out", "after.yaml")
	require.Equal(t, exitFindings, got.code, got.stderr+got.out)
	require.Contains(t, got.out, "drift\tlocalhost\tfacts.hostname\tother -> "+host+"\n")
	require.FileExists(t, "after.yaml")

	asJSON := nestor(t, "discover", "--against", "changed.yaml", "-o", "json")
	var answer mapping.Report
	require.NoError(t, json.Unmarshal([]byte(asJSON.out), &answer))
	require.Equal(t, mapping.DriftSchema, answer.Schema)
	require.Contains(t, answer.Changes, mapping.Change{Kind: mapping.Drift, Node: "localhost", Field: "facts.hostname", Before: "other", After: host})

	unread := strings.Replace(string(text), "hostname: {state: present, value: "+host+"}", "hostname: {state: denied, why: because}", 1)
	require.NoError(t, os.WriteFile("unread.yaml", []byte(unread), 0o600))
	got = nestor(t, "discover", "--against", "unread.yaml")
	require.Equal(t, exitUnevaluated, got.code)
	require.Contains(t, got.out, "unknown\tlocalhost\tfacts.hostname\tdenied -> "+host+"\n")

	require.NoError(t, os.WriteFile("other.yaml", []byte("schema: nestor.topology/v2\n"), 0o600))
	for _, args := range [][]string{{"--against", "other.yaml"}, {"--against", "none.yaml"}, {"--against", "before.yaml", "-o", "table"}} {
		require.Equal(t, exitUnevaluated, nestor(t, append([]string{"discover"}, args...)...).code, args)
	}
}

// A real containerd, with a kubelet's files laid out beside it.
func TestDiscover_RealContainerd(t *testing.T) {
	if _, err := exec.LookPath("containerd"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("NOT RUN: %v", err)
		}
		t.Skipf("NOT RUN: %v", err)
	}
	bench := nodes.Start(t, nodes.Spec{Fast: true, Nodes: []nodes.Node{{Name: "cri1", Files: map[string]string{
		"/etc/containerd/config.toml": `version = 2
[plugins."io.containerd.grpc.v1.cri".registry]
  config_path = "/etc/containerd/certs.d"
[plugins."io.containerd.grpc.v1.cri".registry.configs."registry.example.org".auth]
  username = "robot"
  password = "hunter2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
    SystemdCgroup = true
`,
		"/etc/containerd/certs.d/docker.io/hosts.toml": `server = "https://registry-1.docker.io"
[host."https://robot:hunter2@mirror.example.org"]
  [host."https://robot:hunter2@mirror.example.org".header]
    Authorization = "Basic hunter2"
`,
		"/etc/cni/net.d/05-cilium.conflist":             `{"cniVersion":"0.3.1","name":"cilium","plugins":[{"type":"cilium-cni","api_token":"hunter2"}]}`,
		"/etc/cni/net.d/10-calico.conflist.cilium_bak":  `{}`,
		"/etc/cni/net.d/calico-kubeconfig":              "users: [{user: {token: hunter2}}]\n",
		"/var/lib/kubelet/config.yaml":                  "kind: KubeletConfiguration\ncgroupDriver: cgroupfs\nstaticPodURLHeader:\n  Authorization: [hunter2]\nreadOnlyPort: 0\n",
		"/etc/kubernetes/manifests/kube-apiserver.yaml": "kind: Pod\n",
	}}}})
	oracle := func(argv ...string) string {
		t.Helper()
		out, err := bench.Exec(t.Context(), "cri1", argv...)
		require.NoError(t, err)
		return strings.TrimSpace(string(out))
	}
	oracle("sh", "-c", "setsid containerd >/tmp/containerd.log 2>&1 </dev/null & for i in $(seq 300); do ctr version >/dev/null 2>&1 && exit 0; sleep 0.1; done; cat /tmp/containerd.log; exit 1")

	raw := filepath.Join(t.TempDir(), "raw")
	got := nestor(t, "discover", "-i", bench.InventoryPath, "--raw", raw)
	require.Equal(t, exitOK, got.code, got.stderr)
	f := topologyOf(t, got.out).Nodes[0].Facts
	r := f.ContainerRuntime.Value
	require.Equal(t, "containerd", r.Name)
	require.Contains(t, oracle("ctr", "version"), r.Version.Value)
	require.NotEmpty(t, r.Version.Value)
	require.Equal(t, "/run/containerd/containerd.sock", r.Socket)
	require.Equal(t, fact.Present("systemd"), r.CgroupDriver)
	require.Equal(t, "the kubelet's cgroup driver is cgroupfs, the runtime's is systemd", r.Disagreement)
	require.Equal(t, mapping.Mirror{"docker.io": {"https://mirror.example.org"}}, r.Mirrors.Value)
	require.Equal(t, "05-cilium.conflist", f.CNI.Value.File)
	require.Equal(t, []string{"10-calico.conflist.cilium_bak", "calico-kubeconfig"}, f.CNI.Value.Leftovers)
	require.False(t, f.Kubelet.Value.Running)
	require.Equal(t, "cgroupfs", f.Kubelet.Value.Config.Value.CgroupDriver)
	require.Equal(t, fact.Present(true), f.ControlPlane)

	answer, err := os.ReadFile(filepath.Join(raw, "cri1.probe"))
	require.NoError(t, err)
	require.NotContains(t, string(answer), "hunter2", "no secret leaves the node")
	require.NotContains(t, got.out, "hunter2")
}
