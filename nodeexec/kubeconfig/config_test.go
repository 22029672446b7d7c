package kubeconfig_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/nestor-tools/nestor/bench/pki"
	"github.com/nestor-tools/nestor/nodeexec/kubeconfig"
)

// assertNoSecret checks that a text shows nothing of the secrets.
func assertNoSecret(t testing.TB, text string, secrets []string) {
	t.Helper()
	assert.Empty(t, pki.Leaked(text, secrets), "%s", text)
}

func b64(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

func TestParseRefuses(t *testing.T) {
	ca, other := pki.New(t, "kubernetes"), pki.New(t, "other")
	good := ca.AdminConf(t, "https://192.0.2.1:6443", pki.NextYear())
	now := time.Now()
	_, err := kubeconfig.Parse([]byte(good), now)
	require.NoError(t, err)
	_, foreignKey := other.Issue(t, "x", pki.NextYear())
	lines := strings.Split(good, "\n")
	swap := func(key, with string) string { // the line of a key, replaced
		out := make([]string, 0, len(lines))
		for _, line := range lines {
			if i := strings.Index(line, key+": "); i >= 0 && strings.TrimSpace(line[:i]) == "" {
				line = line[:i] + with
			}
			out = append(out, line)
		}
		return strings.Join(out, "\n")
	}
	const key, cert, authority = "client-key-data", "client-certificate-data", "certificate-authority-data"
	for _, test := range []struct {
		name, conf string
		is         error
		says       string
	}{
		{"empty", "", kubeconfig.ErrInvalid, "it is empty"},
		{"blank", " \n\n", kubeconfig.ErrInvalid, "it is empty"},
		{"a mark alone", "\ufeff\n", kubeconfig.ErrInvalid, "it is empty"},
		{"a comment alone", "# nothing\n", kubeconfig.ErrInvalid, "it is empty"},
		{"zeros, as after a crash", strings.Repeat("\x00", 400), kubeconfig.ErrInvalid, "it is no YAML"},
		{"a list", "- a\n", kubeconfig.ErrInvalid, "it is no mapping"},
		{"text", "Permission denied\n", kubeconfig.ErrInvalid, "it is no mapping"},
		{"two documents", good + "---\n" + good, kubeconfig.ErrInvalid, "more than one YAML document"},
		{"broken YAML", strings.Replace(good, "  user:", " user", 1), kubeconfig.ErrInvalid, "it is no YAML (line"},
		{"without a current context", swap("current-context", ""), kubeconfig.ErrInvalid, "no current-context"},
		{"an unknown current context", swap("current-context", "current-context: other"), kubeconfig.ErrInvalid, "contexts lacks the entry of the current context"},
		{"without the cluster", strings.Replace(good, "  name: kubernetes\ncontexts", "  name: other\ncontexts", 1), kubeconfig.ErrInvalid, "clusters lacks the entry"},
		{"the cluster twice", strings.Replace(good, "contexts:", "- cluster: {server: x}\n  name: kubernetes\ncontexts:", 1), kubeconfig.ErrInvalid, "two entries of one name"},
		{"a key twice", swap("server", "server: https://a\n    server: https://b"), kubeconfig.ErrInvalid, "server stands twice"},
		{"a server that is a list", swap("server", "server: [x]"), kubeconfig.ErrInvalid, "server is no string"},
		{"no server", swap("server", ""), kubeconfig.ErrInvalid, "no https URL"},
		{"http", swap("server", "server: http://192.0.2.1"), kubeconfig.ErrInvalid, "no https URL"},
		{"a password in the URL", swap("server", "server: https://me:SECRETSECRETSECRET@192.0.2.1"), kubeconfig.ErrInvalid, "no https URL"},
		{"more than an address", swap("server", "server: https://192.0.2.1?x=1"), kubeconfig.ErrInvalid, "no https URL"},
		{"a token with a newline", swap(key, "token: \"SECRETSECRETSECRET\\n\""), kubeconfig.ErrInvalid, "its token holds what no token can"},
		{"no authority", swap(authority, ""), kubeconfig.ErrInvalid, "no certificate-authority-data"},
		{"an authority that is no base64", swap(authority, authority+": '*'"), kubeconfig.ErrInvalid, "is no base64"},
		{"an authority that is no certificate", swap(authority, authority+": "+b64([]byte("hello"))), kubeconfig.ErrInvalid, "is damaged or cut short"},
		{"a key in place of the authority", swap(authority, authority+": "+b64(foreignKey)), kubeconfig.ErrInvalid, "is damaged or cut short"},
		{"no credentials", swap(key, "")[:strings.Index(swap(key, ""), cert)] + "{}", kubeconfig.ErrInvalid, ""},
		{"no key", swap(key, ""), kubeconfig.ErrInvalid, "a certificate and no key"},
		{"no certificate", swap(cert, ""), kubeconfig.ErrInvalid, "a key and no certificate"},
		{"another's key", swap(key, key+": "+b64(foreignKey)), kubeconfig.ErrInvalid, "damaged or not that of its client certificate"},
		{"a damaged certificate", swap(cert, cert+": "+b64([]byte("-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n"))), kubeconfig.ErrInvalid, "damaged certificate"},
		{"a file as authority", swap(authority, "certificate-authority: /etc/kubernetes/pki/ca.crt"), kubeconfig.ErrNotPortable, "its certificate-authority (line 4) names a file"},
		{"a file as certificate", swap(cert, "client-certificate: admin.crt"), kubeconfig.ErrNotPortable, "names a file"},
		{"a file as key", swap(key, "client-key: admin.key"), kubeconfig.ErrNotPortable, "names a file"},
		{"a file as token", swap(key, "tokenFile: /var/token"), kubeconfig.ErrNotPortable, "names a file"},
		{"an exec plugin", swap(key, "exec: {command: SECRETSECRETSECRET}"), kubeconfig.ErrNotPortable, "runs a program"},
		{"an auth provider", swap(key, "auth-provider: {name: gcp}"), kubeconfig.ErrNotPortable, "runs a plugin"},
		{"a proxy", swap("server", "server: https://192.0.2.1\n    proxy-url: http://10.0.0.1"), kubeconfig.ErrNotPortable, "proxy"},
		{"an unchecked server", swap("server", "server: https://192.0.2.1\n    insecure-skip-tls-verify: true"), kubeconfig.ErrNotPortable, "switches off the check"},
		{"impersonation", swap(key, "as: root"), kubeconfig.ErrNotPortable, "impersonates"},
		{"a password", swap(key, "password: SECRETSECRETSECRET"), kubeconfig.ErrNotPortable, "password login"},
		{"a key nobody knows", swap(key, "SECRETSECRETSECRET: x"), kubeconfig.ErrNotPortable, "a key that nestor does not know (line 18)"},
		{"a merge key", swap(key, "<<: {exec: {command: x}}"), kubeconfig.ErrNotPortable, "does not know"},
		{"an expired certificate", ca.AdminConf(t, "https://192.0.2.1", now.AddDate(0, 0, -1)), kubeconfig.ErrExpired, "it expired on "},
		{"a certificate of tomorrow", ca.AdminConf(t, "https://192.0.2.1", now.AddDate(1, 0, 1)), kubeconfig.ErrExpired, "compare the clocks"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := kubeconfig.Parse([]byte(test.conf), now)
			require.ErrorIs(t, err, test.is)
			assert.ErrorContains(t, err, test.says)
			assertNoSecret(t, err.Error(), append(pki.Secrets(good), strings.Repeat("SECRET", 3)))
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

// A copy that broke off is refused wherever it did.
func TestParseRefusesEveryPieceOfAFile(t *testing.T) {
	conf := pki.New(t, "kubernetes").AdminConf(t, "https://192.0.2.1:6443", pki.NextYear())
	secrets := pki.Secrets(conf)
	for n := range len(conf) - 1 { // the last byte is a newline
		_, err := kubeconfig.Parse([]byte(conf[:n]), time.Now())
		if !assert.ErrorIs(t, err, kubeconfig.ErrInvalid, "the first %d of %d bytes", n, len(conf)) {
			break
		}
		assertNoSecret(t, err.Error(), secrets)
	}
}

func TestParseTakes(t *testing.T) {
	ca := pki.New(t, "kubernetes")
	good := ca.AdminConf(t, "https://192.0.2.1:6443", pki.NextYear())
	asJSON := func(text string) string {
		var tree any
		require.NoError(t, yaml.Unmarshal([]byte(text), &tree))
		b, err := json.Marshal(tree)
		require.NoError(t, err)
		return string(b)
	}
	folded := func(text string) string { // base64 over several lines, as base64 without -w0 writes it
		var b strings.Builder
		for line := range strings.Lines(text) {
			if key, v, ok := strings.Cut(line, "-data: "); ok {
				fmt.Fprintf(&b, "%s-data: |\n        %s\n        %s", key, v[:60], v[60:])
			} else {
				b.WriteString(line)
			}
		}
		return b.String()
	}
	for name, conf := range map[string]string{
		"kubeadm":             good,
		"lines of Windows":    strings.ReplaceAll(good, "\n", "\r\n"),
		"a mark in front":     "\ufeff" + good,
		"JSON":                asJSON(good),
		"folded base64":       folded(good),
		"anchors":             strings.Replace(strings.Replace(good, "- context:\n    cluster", "- context: &x\n    cluster", 1), "current-context", "- {name: again, context: *x}\ncurrent-context", 1),
		"other clusters":      strings.Replace(good, "clusters:", "clusters:\n- name: other\n  cluster: {server: http://x, certificate-authority: f}", 1),
		"extensions":          strings.Replace(good, "    server:", "    extensions: [{name: minikube}]\n    insecure-skip-tls-verify: false\n    server:", 1),
		"a document's marks":  "---\n" + good + "...\n",
		"unknown keys around": "x-new: 1\n" + good,
	} {
		t.Run(name, func(t *testing.T) {
			c, err := kubeconfig.Parse([]byte(conf), time.Now())
			require.NoError(t, err)
			assert.Equal(t, "https://192.0.2.1:6443", c.Server())
			assert.Equal(t, []string{"kubernetes-admin@kubernetes", "kubernetes", "kubernetes-admin"}, []string{c.Context(), c.Cluster(), c.User()})
			assert.WithinDuration(t, pki.NextYear(), c.Expires(), time.Minute)
			text, err := c.YAML()
			require.NoError(t, err)
			again, err := kubeconfig.Parse(text, time.Now())
			require.NoError(t, err)
			assert.Equal(t, c.REST(), again.REST())
			assert.Equal(t, pki.Secrets(good), pki.Secrets(string(text)))
		})
	}
}

func TestNamed(t *testing.T) {
	c, err := kubeconfig.Parse([]byte(pki.New(t, "x").AdminConf(t, "https://192.0.2.1:6443", pki.NextYear())), time.Now())
	require.NoError(t, err)
	for _, name := range []string{"bench", "yes", "012", "a: b", `q"'`, "é", "- x", "#1", "arn:aws:eks:eu:1:cluster/x"} {
		text, err := c.Named(name).YAML()
		require.NoError(t, err)
		again, err := kubeconfig.Parse(text, time.Now())
		require.NoError(t, err, "%s", text)
		assert.Equal(t, []string{name, name, name + "-admin"}, []string{again.Context(), again.Cluster(), again.User()})
	}
	assert.Equal(t, "kubernetes", c.Cluster(), "c itself stays")
}

func TestAConfigPrintsNoSecret(t *testing.T) {
	conf := pki.New(t, "x").AdminConf(t, "https://192.0.2.1:6443", pki.NextYear())
	c, err := kubeconfig.Parse([]byte(conf), time.Now())
	require.NoError(t, err)
	fetched := kubeconfig.Fetched{Node: "cp1", Config: c}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%q"} {
		for _, value := range []any{c, *c, fetched, &fetched, []*kubeconfig.Config{c}} {
			text := fmt.Sprintf(verb, value)
			assertNoSecret(t, text, pki.Secrets(conf))
			key := c.REST().KeyData
			assert.NotContains(t, text, string(key[40:60]))
			assert.NotContains(t, text, fmt.Sprint(key[40:60])[1:60], verb)
			assert.NotContains(t, text, fmt.Sprintf("%x", key[40:60]), verb)
		}
	}
	b, err := json.Marshal(fetched)
	require.NoError(t, err)
	assertNoSecret(t, string(b), pki.Secrets(conf))
}

func FuzzParse(f *testing.F) {
	conf := pki.New(f, "x").AdminConf(f, "https://192.0.2.1:6443", pki.NextYear())
	f.Add(conf)
	f.Add(conf[:len(conf)/2])
	f.Add("a: &a [*a]\nclusters: *a\n")
	f.Add("contexts: [{name: x, context: {cluster: x, user: x}}]\ncurrent-context: x\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := kubeconfig.Parse([]byte(text), time.Now())
		if err != nil {
			assert.NotContains(t, err.Error(), "\n")
			return
		}
		out, err := c.YAML()
		require.NoError(t, err)
		again, err := kubeconfig.Parse(out, time.Now())
		require.NoError(t, err)
		assert.Equal(t, c.REST(), again.REST())
	})
}
