package merge_test

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/nestor-tools/nestor/nodeexec/kubeconfig/internal/merge"
)

// bench are the entries of a cluster of that name.
func bench(name string) []merge.Entry {
	return []merge.Entry{
		{List: "clusters", Of: "cluster", Name: name, Drop: []string{"certificate-authority"}, Fields: []merge.Field{
			{Key: "certificate-authority-data", Value: "TkVXQ0E="}, {Key: "server", Value: "https://192.0.2.1:6443"}, {Key: "tls-server-name", Value: "cp1"}}},
		{List: "users", Of: "user", Name: name + "-admin", Drop: []string{"exec", "password", "username", "tokenFile"}, Fields: []merge.Field{
			{Key: "client-certificate-data", Value: "TkVXQ0VSVA=="}, {Key: "client-key-data", Value: "TkVXS0VZ"}, {Key: "token"}}},
		{List: "contexts", Of: "context", Name: name, Fields: []merge.Field{
			{Key: "cluster", Value: name}, {Key: "user", Value: name + "-admin"}}},
	}
}

// changed are the lines that differ.
func changed(before, after []byte) (lines []string) {
	for line := range strings.Lines(string(diff.Diff("before", before, "after", after))) {
		if strings.HasPrefix(line, "+") && !strings.HasPrefix(line, "+++") || strings.HasPrefix(line, "-") && !strings.HasPrefix(line, "---") {
			lines = append(lines, strings.TrimRight(line, "\r\n"))
		}
	}
	return lines
}

func five(t testing.TB) []byte {
	b, err := os.ReadFile("testdata/five.yaml")
	require.NoError(t, err)
	return b
}

func TestAnEntryThatIsThereChangesInItsOwnLines(t *testing.T) {
	old := five(t)
	now, anew, err := merge.Apply(old, bench("bench"), "bench")
	require.NoError(t, err)
	assert.False(t, anew)
	assert.Equal(t, []string{
		`+    tls-server-name: cp1`,
		`-    server: "https://127.0.0.1:6443" # keep this port`,
		`-    certificate-authority-data: Q0EtQkVOQ0g=`,
		`+    server: https://192.0.2.1:6443 # keep this port`,
		`+    certificate-authority-data: TkVXQ0E=`,
		`-    client-certificate-data: T0xEQ0VSVA==`,
		`-    client-key-data: T0xES0VZ`,
		`+    client-certificate-data: TkVXQ0VSVA==`,
		`+    client-key-data: TkVXS0VZ`,
		`-current-context: prod     # careful`,
		`+current-context: bench     # careful`,
	}, changed(old, now))
	again, anew, err := merge.Apply(now, bench("bench"), "bench")
	require.NoError(t, err)
	assert.False(t, anew)
	assert.Equal(t, string(now), string(again), "a second time changes nothing")
}

func TestANewEntryComesLast(t *testing.T) {
	old := five(t)
	now, anew, err := merge.Apply(old, bench("six"), "")
	require.NoError(t, err)
	assert.False(t, anew)
	for _, line := range changed(old, now) {
		assert.Equal(t, byte('+'), line[0], line)
	}
	assert.Contains(t, string(now), `  name: five
- cluster:
    certificate-authority-data: TkVXQ0E=
    server: https://192.0.2.1:6443
    tls-server-name: cp1
  name: six
# end of my clusters
users:
`)
	assert.Contains(t, string(now), "    tokenFile: ~/five.token\n- user:\n    client-certificate-data: TkVXQ0VSVA==\n    client-key-data: TkVXS0VZ\n  name: six-admin\n\ncontexts:\n")
	assert.Contains(t, string(now), "current-context: prod     # careful\n")
}

// What cannot be edited in place is written anew, and nothing gets lost.
func TestOtherEntriesSurviveWhatIsWrittenAnew(t *testing.T) {
	for _, name := range []string{"old", "k3s", "five"} {
		t.Run(name, func(t *testing.T) {
			old := five(t)
			now, anew, err := merge.Apply(old, bench(name), "")
			require.NoError(t, err)
			assert.Equal(t, name != "old", anew)
			assertOthersStay(t, old, now, name)
			for _, comment := range []string{"# My clusters. Ask Ana", "# for the old kubectl", "# --- production ---", "# forwarded by Lima", "# keep this port", "# where I work", "# careful"} {
				assert.Contains(t, string(now), comment)
			}
		})
	}
}

// assertOthersStay checks that two texts differ in the entries of a name alone.
func assertOthersStay(t testing.TB, old, now []byte, name string) {
	t.Helper()
	without := func(b []byte) map[string]any {
		var m map[string]any
		require.NoError(t, yaml.Unmarshal(b, &m), string(b))
		for _, list := range []string{"clusters", "users", "contexts"} {
			items, _ := m[list].([]any)
			items = slices.DeleteFunc(items, func(item any) bool {
				n := item.(map[string]any)["name"]
				return n == name || n == name+"-admin"
			})
			if delete(m, list); len(items) > 0 {
				m[list] = items
			}
		}
		delete(m, "current-context")
		return m
	}
	assert.Equal(t, without(old), without(now))
	var m struct {
		Clusters []struct {
			Name    string
			Cluster map[string]any
		}
	}
	require.NoError(t, yaml.Unmarshal(now, &m))
	found := 0
	for _, c := range m.Clusters {
		if c.Name == name {
			found++
			assert.Equal(t, "https://192.0.2.1:6443", c.Cluster["server"])
			assert.NotContains(t, c.Cluster, "certificate-authority")
		}
	}
	assert.Equal(t, 1, found)
}

func TestLayouts(t *testing.T) {
	for _, test := range []struct {
		name, old, want string
		anew            bool
	}{
		{name: "kubectl's empty file", old: "apiVersion: v1\nclusters: []\ncontexts: null\ncurrent-context: \"\"\nkind: Config\nusers:\n",
			want: "apiVersion: v1\nclusters:\n- cluster:\n    server: s\n  name: b\ncontexts:\n- context:\n    cluster: b\n  name: b\ncurrent-context: b\nkind: Config\nusers:\n- user:\n    token: t\n  name: b\n"},
		{name: "no lists at all", old: "apiVersion: v1 # mine",
			want: "apiVersion: v1 # mine\nclusters:\n- cluster:\n    server: s\n  name: b\nusers:\n- user:\n    token: t\n  name: b\ncontexts:\n- context:\n    cluster: b\n  name: b\ncurrent-context: b\n"},
		{name: "lines of Windows", old: "clusters:\r\n- name: a\r\n  cluster:\r\n    server: x\r\nusers: []\r\ncontexts: [] # none\r\ncurrent-context: a\r\n",
			want: "clusters:\r\n- name: a\r\n  cluster:\r\n    server: x\r\n- cluster:\r\n    server: s\r\n  name: b\r\nusers:\r\n- user:\r\n    token: t\r\n  name: b\r\ncontexts: # none\r\n- context:\r\n    cluster: b\r\n  name: b\r\ncurrent-context: b\r\n"},
		{name: "a mark at the beginning, lists set in, no newline at the end", old: "\ufeffcurrent-context: é\nclusters:\n  - cluster:\n      server: y\n    name: b\nusers:\n  - name: b\n    user:\n      token: 't'\ncontexts:\n  - name: a\n    context: {}",
			want: "\ufeffcurrent-context: b\nclusters:\n  - cluster:\n      server: s\n    name: b\nusers:\n  - name: b\n    user:\n      token: 't'\ncontexts:\n  - name: a\n    context: {}\n  - context:\n      cluster: b\n    name: b\n"},
		{name: "a document's marks", old: "---\nclusters:\n- name: b\n  cluster:\n    server: y\nusers:\n- name: b\n  user:\n    token: x\ncontexts:\n- name: b\n  context:\n    cluster: y\ncurrent-context: y\n...\n",
			want: "---\nclusters:\n- name: b\n  cluster:\n    server: s\nusers:\n- name: b\n  user:\n    token: t\ncontexts:\n- name: b\n  context:\n    cluster: b\ncurrent-context: b\n...\n"},
		{name: "JSON", old: `{"clusters": [{"name": "a", "cluster": {"server": "x"}}], "users": null, "kind": "Config"}`, anew: true},
		{name: "an anchor in the way", old: "clusters:\n- name: b\n  cluster:\n    server: &s y\n- name: c\n  cluster:\n    server: z\n", anew: true},
		{name: "a carriage return alone", old: "clusters: []\rusers: []\r", anew: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			now, anew, err := merge.Apply([]byte(test.old), []merge.Entry{
				{List: "clusters", Of: "cluster", Name: "b", Fields: []merge.Field{{Key: "server", Value: "s"}}},
				{List: "users", Of: "user", Name: "b", Fields: []merge.Field{{Key: "token", Value: "t"}}},
				{List: "contexts", Of: "context", Name: "b", Fields: []merge.Field{{Key: "cluster", Value: "b"}}},
			}, "b")
			require.NoError(t, err)
			assert.Equal(t, test.anew, anew)
			if !test.anew {
				assert.Equal(t, test.want, string(now))
			}
			var m struct {
				Clusters []struct {
					Name    string
					Cluster struct{ Server string }
				}
				Current string `yaml:"current-context"`
			}
			require.NoError(t, yaml.Unmarshal(now, &m))
			assert.Equal(t, "b", m.Current)
			assert.True(t, slices.ContainsFunc(m.Clusters, func(c struct {
				Name    string
				Cluster struct{ Server string }
			}) bool {
				return c.Name == "b" && c.Cluster.Server == "s"
			}))
		})
	}
}

func TestJSONStaysJSON(t *testing.T) {
	old := `{"kind": "Config", "n": 1, "none": null, "clusters": [{"name": "a", "cluster": {"server": "x\u00e9\ttab"}}], "users": []}`
	require.True(t, json.Valid([]byte(old)))
	for _, name := range []string{"a", "yes", "é \"q\""} {
		now, anew, err := merge.Apply([]byte(old), bench(name), name)
		require.NoError(t, err)
		assert.True(t, anew)
		require.True(t, json.Valid(now), "%s", now)
		assertOthersStay(t, []byte(old), now, name)
	}
}

func TestWhatIsNoListIsRefused(t *testing.T) {
	for old, want := range map[string]string{
		"clusters: x\n":              "clusters is no plain list (line 1)",
		"clusters: {a: b}\n":         "clusters is no plain list (line 1)",
		"kind: x\nclusters:\n- one":  "clusters holds an entry that is no plain mapping (line 3)",
		"x: &x []\nclusters: *x\n":   "clusters is no plain list (line 2)",
		"- a\n":                      "it is no YAML mapping",
		"a: SECRET\n b: SECRET\n":    "it is no YAML mapping",
		"clusters:\n- name: bench\n": `clusters: the entry "bench" has no cluster (line 2)`,
		"clusters:\n- {name: bench, cluster: {a: b}}\n- {name: bench, cluster: {a: b}}\n": `clusters holds the entry "bench" twice (lines 2 and 3)`,
	} {
		_, _, err := merge.Apply([]byte(old), bench("bench"), "bench")
		assert.EqualError(t, err, want, old)
	}
}

// Whatever the text is, the result holds the entry and the rest, or there is
// an error.
func FuzzApply(f *testing.F) {
	f.Add(string(five(f)), "bench")
	f.Add("clusters:\n- name: bench\n  cluster:\n    server: |\n      x\n      # y\n", "bench")
	f.Add("clusters: []\r\nusers: [] # x\r\n", "é\" '")
	f.Add("\ufeffclusters:\n  -\n    name: a\n    cluster: {server: x}\n", "a")
	f.Add("a: &a {b: c}\nclusters:\n- name: x\n  cluster: *a\n", "- x")
	f.Fuzz(func(t *testing.T, text, name string) {
		now, _, err := merge.Apply([]byte(text), bench(name), name)
		if err != nil {
			return
		}
		again, _, err := merge.Apply(now, bench(name), name)
		require.NoError(t, err, "%q", now)
		require.True(t, bytes.Equal(now, again), "once\n%q\ntwice\n%q", now, again)
	})
}
