package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/pki"
	"github.com/nestor-tools/nestor/mapping"
	"github.com/nestor-tools/nestor/mapping/fact"
	"github.com/nestor-tools/nestor/nodeexec/nodeexectest"
)

// What a control plane may hold in place of a good kubeconfig. Each is said in
// one line, leaves a topology that says so too, and shows nothing of the file.
func TestDiscoverAPI_KeysThatAreNone(t *testing.T) {
	ca := pki.New(t, "kubernetes")
	good := ca.AdminConf(t, "https://127.0.0.1:6443", pki.NextYear())
	expired := ca.AdminConf(t, "https://127.0.0.1:6443", time.Now().AddDate(0, 0, -3))
	user := func(line string) string { return strings.Replace(good, "  user:\n", "  user:\n    "+line+"\n", 1) }
	cluster := func(line string) string {
		return strings.Replace(good, "    server: ", "    "+line+"\n    server: ", 1)
	}
	server := func(url string) string { return strings.Replace(good, "https://127.0.0.1:6443", url, 1) }
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		from, to := string(rune('0'+i)), string(rune('1'+i))
		bomb += "a" + to + ": &a" + to + " [" + strings.TrimSuffix(strings.Repeat("*a"+from+", ", 9), ", ") + "]\n"
	}
	shim := nodeexectest.StubShim(t, `case "$*" in
*"cat -- /etc/kubernetes/admin.conf") cat "$KEY" ;;
*nestor-locate*) echo "sum /etc/kubernetes/admin.conf" ;;
esac`)
	dir := t.TempDir()
	inventory := filepath.Join(dir, "hosts.yaml")
	require.NoError(t, os.WriteFile(inventory, []byte("control: {hosts: {cp1: {ansible_host: 127.0.0.1}}}\n"), 0o600))
	for name, c := range map[string]struct {
		key, says string
		code      int
	}{
		"empty":                    {"", "it is empty", exitUnevaluated},
		"cut short":                {good[:len(good)-200], "not a usable kubeconfig", exitUnevaluated},
		"no YAML":                  {"hunter2: [hunter2", "it is no YAML", exitUnevaluated},
		"an HTML page":             {"<html>\n<p>: not found</p>", "not a usable kubeconfig", exitUnevaluated},
		"expired":                  {expired, "the client certificate is not valid now: it expired on", exitUnevaluated},
		"an exec plugin":           {user("exec: {command: /bin/sh}"), "exec (line 17) runs a program", exitUnevaluated},
		"a provider of logins":     {user("auth-provider: {name: oidc}"), "runs a plugin", exitUnevaluated},
		"somebody else":            {user("as: hunter2"), "impersonates", exitUnevaluated},
		"an unknown key":           {user("runs: hunter2"), "cannot be used elsewhere", exitUnevaluated},
		"a proxy":                  {cluster("proxy-url: http://hunter2"), "goes through a proxy", exitUnevaluated},
		"no check of certificates": {cluster("insecure-skip-tls-verify: true"), "switches off the check", exitUnevaluated},
		"a server with a newline":  {server(`"https://127.0.0.1\n:6443"`), "its server is no https URL", exitUnevaluated},
		"a server with a user":     {server("https://hunter2@127.0.0.1:6443"), "its server is no https URL", exitUnevaluated},
		"a server that is script":  {server("javascript:hunter2"), "its server is no https URL", exitUnevaluated},
		"a server without TLS":     {server("http://127.0.0.1:6443"), "its server is no https URL", exitUnevaluated},
		"too large":                {good + strings.Repeat("# x\n", 300_000), "it is larger than 1048576 bytes", exitUnevaluated},
		"a bomb of anchors":        {good + bomb, "kubernetes API: ", exitUnreachable}, // never unfolded; nobody serves an API there
	} {
		t.Run(name, func(t *testing.T) {
			key := filepath.Join(t.TempDir(), "admin.conf")
			require.NoError(t, os.WriteFile(key, []byte(c.key), 0o600))
			t.Setenv("KEY", key)
			var out, stderr bytes.Buffer
			code := run(t.Context(), []string{"discover", "-i", inventory, "--cp", "cp1", "--no-nodes", "--api-port", "1"}, &cli{in: strings.NewReader(""), out: &out, err: &stderr, env: func(k string) (string, bool) {
				return shim, k == "NODE_EXEC_SHIM"
			}})
			require.Equal(t, c.code, code, stderr.String())
			require.Contains(t, stderr.String(), c.says)
			require.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
			api := topologyOf(t, out.String()).API
			require.Equal(t, fact.IsUnknown, api.State)
			require.Contains(t, stderr.String(), api.Why)
			require.Empty(t, pki.Leaked(out.String()+stderr.String(), append(pki.Secrets(c.key), "hunter2")))
		})
	}
}

// What a hostile node or API calls itself moves no cursor.
func TestDiscover_TableObeysNobody(t *testing.T) {
	const bad = "x\x1b[2J\ny"
	topology := mapping.Topology{Nodes: []mapping.Node{
		{Name: bad, Kubernetes: &mapping.Observed[mapping.Kubernetes]{State: fact.IsPresent, Value: mapping.Kubernetes{OSImage: bad, Kernel: bad, Runtime: bad}}},
		{Name: "node1", Facts: &mapping.NodeFacts{Kernel: fact.Present(mapping.Kernel{Release: bad})}},
	}}
	var out bytes.Buffer
	require.NoError(t, writeTable(&out, topology))
	require.Equal(t, 3, strings.Count(out.String(), "\n"), out.String())
	require.NotContains(t, out.String(), "\x1b")
	require.Equal(t, 5, strings.Count(out.String(), `x\x1b[2J\ny`), out.String())
}
