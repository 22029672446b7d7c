package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/lima"
	"github.com/nestor-tools/nestor/bench/nodes"
	"github.com/nestor-tools/nestor/bench/pki"
	"github.com/nestor-tools/nestor/nodeexec/nodeexectest"
)

// desk is a place to run nestor kubeconfig: a folder, and an environment. What
// is printed there must show none of the secrets.
type desk struct {
	dir     string
	env     map[string]string
	secrets []string
}

func newDesk(t *testing.T, inventory string, secrets ...string) desk {
	sockets, err := os.MkdirTemp("/tmp", "nk")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(sockets) })
	dir := t.TempDir()
	t.Chdir(dir)
	return desk{dir, map[string]string{"NESTOR_INVENTORY": inventory, "XDG_RUNTIME_DIR": sockets, "HOME": filepath.Join(dir, "home")}, secrets}
}

func (d desk) run(t *testing.T, args ...string) invocation {
	t.Helper()
	var out, stderr bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	code := run(ctx, append([]string{"kubeconfig"}, args...), &cli{in: strings.NewReader(""), out: &out, err: &stderr, env: func(k string) (string, bool) {
		v, ok := d.env[k]
		return v, ok
	}})
	assert.Empty(t, pki.Leaked(out.String()+stderr.String(), d.secrets), "%v: a secret is printed", args)
	return invocation{code, out.String(), stderr.String()}
}

// runJSON is run with --output json, held against the schema.
func (d desk) runJSON(t *testing.T, args ...string) (v kubeconfigV1) {
	t.Helper()
	got := d.run(t, append(args, "--output", "json")...)
	require.NotEmpty(t, got.out, got.stderr)
	schema, err := jsonschema.NewCompiler().Compile(kubeconfigSchema)
	require.NoError(t, err)
	tree, err := jsonschema.UnmarshalJSON(strings.NewReader(got.out))
	require.NoError(t, err)
	require.NoError(t, schema.Validate(tree))
	require.NoError(t, json.Unmarshal([]byte(got.out), &v))
	return v
}

// kubeconfigSchema is absolute, for tests change the folder.
var kubeconfigSchema = func() string {
	file, err := filepath.Abs("../../docs/schema/kubeconfig.v1.json")
	if err != nil {
		panic(err)
	}
	return file
}()

// A stub in place of the shim is enough to try the verb by hand, without a node.
func TestKubeconfig_Stub(t *testing.T) {
	conf := pki.New(t, "kubernetes").AdminConf(t, "https://127.0.0.1:6443", pki.NextYear())
	d := newDesk(t, "hosts.yaml", pki.Secrets(conf)...)
	require.NoError(t, os.WriteFile("admin.conf", []byte(conf), 0o600))
	require.NoError(t, os.WriteFile("hosts.yaml", []byte("control: {hosts: {cp1: {ansible_host: 192.0.2.11}}, vars: {stack_id: s1, target_kind: prod}}\n"), 0o600))
	d.env["NODE_EXEC_SHIM"] = nodeexectest.StubShim(t, `case "$*" in
*"cat -- /etc/rancher/k3s/k3s.yaml") cat admin.conf ;;
*nestor-locate*) echo "sum /etc/rancher/k3s/k3s.yaml" ;;
esac`)
	got := d.runJSON(t, "--no-verify")
	assert.Equal(t, filepath.Join(d.dir, "s1.kubeconfig"), got.Path)
	assert.Equal(t, []string{"https://192.0.2.11:6443", "127.0.0.1", "cp1", "/etc/rancher/k3s/k3s.yaml"}, []string{got.Server, got.TLSServerName, got.Node, got.Source})
	assert.NotNil(t, got.Expires)
	assert.False(t, got.Verified)
	assert.Equal(t, 4, d.run(t, "--no-verify", "--stack-id", "s2").code)
	assert.Equal(t, 4, d.run(t, "--no-verify", "--target-kind", "lima").code)
	assert.Equal(t, 1, d.run(t, "--no-verify", "--server", "192.0.2.12", "--check").code)
	assert.False(t, d.runJSON(t, "--no-verify", "--check").Changed)
	text := d.run(t, "--no-verify")
	assert.Contains(t, text.out, "(unchanged)")
	assert.Contains(t, text.out, "certificate_until  2")
}

func TestKubeconfig_RealNodes(t *testing.T) {
	ca := pki.New(t, "kubernetes")
	conf := func(server string, until time.Time) string { return ca.AdminConf(t, server, until) }
	good := conf("https://127.0.0.1:6443", pki.NextYear())
	secrets := pki.Secrets(good)
	node := func(name, file, text string) nodes.Node {
		secrets = append(secrets, pki.Secrets(text)...)
		n := nodes.Node{Name: name}
		if file != "" {
			n.Files = map[string]string{file: text}
		}
		return n
	}
	const kubeadm = "/etc/kubernetes/admin.conf"
	spec := nodes.Spec{Fast: true, Nodes: []nodes.Node{
		node("cp1", kubeadm, good),
		node("node1", "", ""),
		node("k3s", "/etc/rancher/k3s/k3s.yaml", good),
		node("rke2", "/etc/rancher/rke2/rke2.yaml", good),
		node("k0s", "/var/lib/k0s/pki/admin.conf", good),
		node("microk8s", "/var/snap/microk8s/current/credentials/client.config", conf("https://127.0.0.1:16443", pki.NextYear())),
		node("vip", kubeadm, conf("https://192.0.2.99:6443", pki.NextYear())),
		node("empty", kubeadm, ""),
		node("cut", kubeadm, good[:len(good)-200]),
		node("expired", kubeadm, conf("https://127.0.0.1:6443", time.Now().AddDate(0, 0, -3))),
		node("soon", kubeadm, conf("https://127.0.0.1:6443", time.Now().AddDate(0, 0, 3))),
		node("plugin", kubeadm, strings.Replace(good, "  user:\n", "  user:\n    exec: {command: /bin/sh}\n", 1)),
		node("huge", kubeadm, good+strings.Repeat("# x\n", 300_000)),
		node("other", kubeadm, pki.New(t, "kubernetes").AdminConf(t, "https://127.0.0.1:6443", pki.NextYear())),
		node("both", kubeadm, good), node("nosudo", kubeadm, good),
		node("free", kubeadm, good), node("none", kubeadm, good), node("password", kubeadm, good), node("gone", kubeadm, good),
	}}
	for i := range spec.Nodes {
		n := &spec.Nodes[i]
		switch n.Name {
		case "both":
			n.Files["/etc/rancher/k3s/k3s.yaml"] = good
		case "free":
			n.User, n.Sudo, n.Shell, n.Noisy = "debian", nodes.SudoFree, "fish", true
		case "none":
			n.User = "debian"
		case "password":
			n.User, n.Sudo = "debian", nodes.SudoPassword
		case "gone":
			n.Fault = nodes.NoListener
		}
	}
	bench := nodes.Start(t, spec)
	for _, name := range []string{"free", "none", "password"} {
		_, err := bench.Exec(t.Context(), name, "chmod", "600", kubeadm)
		require.NoError(t, err)
	}
	_, err := bench.Exec(t.Context(), "nosudo", "sh", "-c", `rm "$(command -v sudo)"`) // as on a minimal Debian
	require.NoError(t, err)
	_, err = bench.Exec(t.Context(), "node1", "mkdir", "-p", kubeadm) // a folder is none
	require.NoError(t, err)

	t.Run("what is fetched", func(t *testing.T) {
		d := newDesk(t, bench.InventoryPath, secrets...)
		for name, source := range map[string]string{
			"cp1": kubeadm, "k3s": "/etc/rancher/k3s/k3s.yaml", "rke2": "/etc/rancher/rke2/rke2.yaml", "k0s": "/var/lib/k0s/pki/admin.conf",
			"microk8s": "/var/snap/microk8s/current/credentials/client.config", "free": kubeadm, "both": kubeadm, "soon": kubeadm, "nosudo": kubeadm,
		} {
			got := d.runJSON(t, "--cp", name, "--no-verify", "--out", name+".kubeconfig", "--context", name)
			port := "6443"
			if name == "microk8s" {
				port = "16443"
			}
			assert.Equal(t, source, got.Source, name)
			assert.Equal(t, "https://"+bench.Node(name).Addr+":"+port, got.Server, name)
			assert.Equal(t, "127.0.0.1", got.TLSServerName, name)
			assert.Equal(t, []string{name, name, name + "-admin"}, []string{got.Context, got.Cluster, got.User})
			assert.Equal(t, filepath.Join(d.dir, name+".kubeconfig"), got.Path)
			info, err := os.Stat(got.Path)
			require.NoError(t, err)
			assert.Equal(t, os.FileMode(0o600), info.Mode())
		}
		assert.Contains(t, d.run(t, "--cp", "both", "--no-verify").stderr, "both also holds /etc/rancher/k3s/k3s.yaml, which was not read")
		assert.Contains(t, d.run(t, "--cp", "soon", "--no-verify").stderr, "expires soon")
		assert.Equal(t, "https://192.0.2.99:6443", d.runJSON(t, "--cp", "vip", "--no-verify").Server)
	})

	t.Run("what is refused", func(t *testing.T) {
		d := newDesk(t, bench.InventoryPath, secrets...)
		require.NoError(t, os.WriteFile("nestor.kubeconfig", []byte(good), 0o600))
		for _, test := range []struct {
			cp, says string
			code     int
		}{
			{"node1", "no kubeconfig found", 2},
			{"empty", "empty: /etc/kubernetes/admin.conf: not a usable kubeconfig: it is empty", 2},
			{"cut", "cut: /etc/kubernetes/admin.conf: not a usable kubeconfig: its client-key-data is no base64", 2},
			{"expired", "the client certificate is not valid now: it expired on", 2},
			{"plugin", "its exec (line 17) runs a program", 2},
			{"huge", "it is larger than 1048576 bytes", 2},
			{"none", "none: sudo", 2},
			{"password", "password: sudo", 2},
			{"gone", "gone: ", 3},
			{"nowhere", "nowhere", 2},
			{"cp1", "the API does not answer", 3}, // for nobody serves one there
			{"both", "(with /etc/kubernetes/admin.conf of both, which also holds /etc/rancher/k3s/k3s.yaml)", 3},
		} {
			got := d.run(t, "--cp", test.cp)
			assert.Equal(t, test.code, got.code, "%s: %s", test.cp, got.stderr)
			assert.Contains(t, got.stderr, test.says, test.cp)
			assert.Empty(t, got.out, test.cp)
			assert.Equal(t, 1, strings.Count(got.stderr, "\n"), got.stderr)
		}
		text, err := os.ReadFile("nestor.kubeconfig")
		require.NoError(t, err)
		assert.Equal(t, good, string(text), "the file that worked is there")
		entries, err := os.ReadDir(".")
		require.NoError(t, err)
		assert.Len(t, entries, 1, "and nothing beside it")
	})

	t.Run("which node is asked", func(t *testing.T) {
		write := func(names []string, more string) string {
			dir := t.TempDir()
			require.NoError(t, bench.WriteInventory(filepath.Join(dir, "a.yaml"), names...))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "b.yaml"), []byte(more), 0o600))
			return dir
		}
		for _, test := range []struct {
			names      []string
			more       string
			node, says string
			code       int
		}{
			{[]string{"cp1", "free", "node1"}, "control_plane: {hosts: {free: }}\n", "free", "", 0},
			{[]string{"cp1", "free", "node1"}, "masters: {hosts: {free: }}\nkube_control_plane: {hosts: {cp1: }}\n", "cp1", "", 0},
			{[]string{"node1", "k3s", "gone"}, "{}", "k3s", "", 0},
			{[]string{"node1", "k3s", "gone"}, "control: {hosts: {gone: , k3s: }}", "k3s", "", 0},
			{[]string{"node1", "k3s", "gone"}, "control: {hosts: }", "k3s", "", 0},
			{[]string{"node1", "cp1", "other"}, "{}", "", "cp1 and other hold kubeconfigs of different clusters: name the control plane that you mean", 2},
			{[]string{"node1", "gone"}, "{}", "", "no kubeconfig found: of 2 nodes, 1 could not be asked, first gone: ", 3},
		} {
			d := newDesk(t, write(test.names, test.more), secrets...)
			got := d.run(t, "--no-verify")
			assert.Equal(t, test.code, got.code, "%v: %s", test.names, got.stderr)
			assert.Contains(t, got.stderr, test.says)
			if test.node != "" {
				assert.Contains(t, got.out, test.node+":/etc/")
			}
		}
	})

	t.Run("where it goes", func(t *testing.T) {
		d := newDesk(t, bench.InventoryPath, secrets...)
		require.NoError(t, os.Mkdir("home", 0o755))
		d.env["STACK_ID"] = "bench7"
		assert.Equal(t, filepath.Join(d.dir, "bench7.kubeconfig"), d.runJSON(t, "--cp", "cp1", "--no-verify").Path)
		d.env["STACK_ID"] = "../x"
		assert.Contains(t, d.run(t, "--cp", "cp1", "--no-verify").stderr, "makes no file name")
		d.env["KUBECONFIG"] = "/somewhere/else"
		checked := d.run(t, "--cp", "cp1", "--no-verify", "--merge", "--context", "b", "--check")
		assert.Equal(t, 2, checked.code, "its folder is not made to look: %s", checked.stderr)
		merged := d.run(t, "--cp", "cp1", "--no-verify", "--merge", "--context", "b", "--api-port", "7443")
		require.Equal(t, 0, merged.code, merged.stderr)
		assert.Contains(t, merged.stderr, "KUBECONFIG is set and does not name it")
		assert.Contains(t, merged.out, filepath.Join(d.dir, "home", ".kube", "config"))
		assert.Contains(t, merged.out, ":7443 (not tried)")
		info, err := os.Stat("home/.kube")
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())
		for _, again := range []struct {
			args []string
			code int
		}{
			{[]string{"--check", "--api-port", "7443"}, 0},
			{[]string{"--check", "--api-port", "6443"}, 1},
			{[]string{"--cp", "other", "--api-port", "7443"}, 4}, // another authority
			{[]string{"--cp", "other", "--api-port", "7443", "--replace"}, 0},
		} {
			args := append([]string{"--no-verify", "--merge", "--context", "b", "--cp", "cp1"}, again.args...)
			got := d.run(t, args...)
			assert.Equal(t, again.code, got.code, "%v: %s", again.args, got.stderr)
		}
	})

	t.Run("what the inventory says of its address", func(t *testing.T) {
		write := func(vars string) string {
			dir := t.TempDir()
			require.NoError(t, bench.WriteInventory(filepath.Join(dir, "a.yaml"), "cp1"))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "b.yaml"), []byte("control: {hosts: {cp1: }, vars: "+vars+"}"), 0o600))
			return dir
		}
		for vars, want := range map[string]string{
			"{api_port: 7443}":                                  "https://" + bench.Node("cp1").Addr + ":7443",
			"{cluster_endpoint: k8s.example.org}":               "https://k8s.example.org:6443",
			"{cluster_endpoint: '2001:db8::1', api_port: 7443}": "https://[2001:db8::1]:7443",
			"{cluster_endpoint: , api_port: }":                  "https://" + bench.Node("cp1").Addr + ":6443",
		} {
			assert.Equal(t, want, newDesk(t, write(vars), secrets...).runJSON(t, "--no-verify").Server, vars)
		}
		for vars, says := range map[string]string{
			"{api_port: six}":                  "b.yaml:1: api_port is no port number",
			"{cluster_endpoint: '{{ vip }}'}":  "b.yaml:1: cluster_endpoint is no plain value; give --server",
			"{cluster_endpoint: 'http://vip'}": `cluster_endpoint: "http://vip" is not https`,
		} {
			d := newDesk(t, write(vars), secrets...)
			got := d.run(t, "--no-verify")
			assert.Equal(t, 2, got.code)
			assert.Contains(t, got.stderr, says)
			assert.Equal(t, 0, d.run(t, "--no-verify", "--server", "vip").code, "what the caller says comes first")
		}
	})

	t.Run("a Lima instance, without an inventory", func(t *testing.T) {
		l := lima.Install(t)
		l.Add(t, "cp1", lima.VM{SSH: bench.SSHArgs("free")})
		l.Add(t, "stopped", lima.VM{Status: "Stopped"})
		for _, kv := range l.Environ(os.Environ()) {
			if k, v, _ := strings.Cut(kv, "="); k == "PATH" || k == "LIMA_HOME" {
				t.Setenv(k, v)
			}
		}
		d := newDesk(t, "/nowhere/hosts.yaml", secrets...)
		got := d.runJSON(t, "--lima", "cp1", "--api-port", "16443", "--out", "o", "--context", "c", "--no-verify")
		assert.Equal(t, []string{"https://127.0.0.1:16443", "cp1", "c"}, []string{got.Server, got.Node, got.Context})
		assert.Empty(t, got.TLSServerName)
		assert.Equal(t, "https://127.0.0.1:6443", d.runJSON(t, "--lima", "cp1", "--no-verify").Server)
		for _, test := range []struct {
			args []string
			code int
			says string
		}{
			{[]string{"--lima", "stopped"}, 3, "stopped"},
			{[]string{"--lima", "nobody"}, 3, "nobody"},
			{[]string{"--lima", "-x"}, 2, "-x"},
			{[]string{"--lima", ""}, 2, "--lima is empty"},
			{[]string{"--lima", "cp1", "--out", ""}, 2, "--out is empty"},
			{[]string{"--lima", "cp1", "--timeout", "0s"}, 2, "want a positive one"},
			{[]string{"--lima", "cp1", "--out", "-"}, 2, "never to stdout"},
			{[]string{"--lima", "cp1", "--cp", "cp1"}, 2, "cp lima"},
			{[]string{"--lima", "cp1", "--target-kind", "prod"}, 4, "the kind stated is prod"},
			{[]string{"--lima", "cp1", "--context", " "}, 2, `--context " " is no name`},
			{[]string{"--lima", "cp1", "--api-port", "70000"}, 2, "API port 70000"},
			{[]string{"--lima", "cp1", "--output", "yaml"}, 2, "yaml"},
			{[]string{"extra"}, 2, "extra"},
		} {
			got := d.run(t, test.args...)
			assert.Equal(t, test.code, got.code, "%v: %s", test.args, got.stderr)
			assert.Contains(t, got.stderr, test.says)
		}
	})
}
