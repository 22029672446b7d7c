package mapping_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"

	"github.com/nestor-tools/nestor/mapping"
	"github.com/nestor-tools/nestor/mapping/fact"
	"github.com/nestor-tools/nestor/mapping/probe"
)

func ExampleTopology_YAML() {
	out, _ := probe.Parse([]byte("5f nestor-probe 1\n5f begin host:/proc/sys/kernel/hostname\nnode1\n\n5f end 0\n5f done 0\n"))
	node := mapping.FromProbe(out, mapping.Options{})
	node.Name, node.Roles = "node1", []string{"control", "cloud"}
	text, err := mapping.NewTopology([]mapping.Node{node}).YAML()
	fmt.Println(strings.Join(strings.SplitN(string(text), "\n", 10)[:9], "\n"), err)
	// Output:
	// schema: nestor.topology/v1
	// generated_by: nestor discover
	// nodes:
	//   - name: node1
	//     roles:
	//       - cloud
	//       - control
	//     facts:
	//       hostname: {state: present, value: node1} <nil>
}

// record reads a recorded answer of a probe.
func record(t testing.TB, name string) probe.Output {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".probe"))
	require.NoError(t, err)
	out, err := probe.Parse(b)
	require.NoError(t, err)
	return out
}

func TestTopology_SameBytesInAnyOrder(t *testing.T) {
	a := mapping.Node{Name: "a", Roles: []string{"x", "y"}, Error: &mapping.Failure{Kind: "auth", Message: "no"}}
	b := mapping.Node{Name: "b", Roles: []string{"y", "x"}}
	one, err := mapping.NewTopology([]mapping.Node{a, b}).YAML()
	require.NoError(t, err)
	a.Roles = []string{"y", "x"}
	two, err := mapping.NewTopology([]mapping.Node{b, a}).YAML()
	require.NoError(t, err)
	require.Equal(t, string(one), string(two))
	none, err := mapping.NewTopology(nil).YAML()
	require.NoError(t, err)
	require.Equal(t, "schema: nestor.topology/v1\ngenerated_by: nestor discover\nnodes: []\n", string(none))
}

// Any text survives, and reads as text for a YAML 1.1 reader too.
func TestYAML_AnyText(t *testing.T) {
	check := func(t require.TestingT, s string) {
		n := mapping.Node{Name: s, Roles: []string{s}, Facts: &mapping.NodeFacts{Hostname: fact.Present(s), MachineID: fact.Unknown[string](s)}}
		text, err := mapping.NewTopology([]mapping.Node{n}).YAML()
		require.NoError(t, err)
		var back struct {
			Nodes []struct {
				Name  yaml.Node
				Roles []string
				Facts struct {
					Hostname  struct{ State, Value string }
					MachineID struct{ State, Why string } `yaml:"machine_id"`
				}
			}
		}
		require.NoError(t, yaml.Unmarshal(text, &back), "%s", text)
		require.Equal(t, "!!str", back.Nodes[0].Name.Tag)
		require.Equal(t, s, back.Nodes[0].Name.Value)
		require.Equal(t, []string{s}, back.Nodes[0].Roles)
		require.Equal(t, s, back.Nodes[0].Facts.Hostname.Value)
		require.Equal(t, s, back.Nodes[0].Facts.MachineID.Why)
		require.True(t, utf8.Valid(text))
	}
	for _, s := range []string{"", "no", "Yes", "on", "~", "null", "1.20", "0644", "1:20", "0x1f", "1e3", ".inf", "2026-01-01", "a: b", "#x", "- x", "[a]", "{a}", "*a", "&a", "!x",
		"%x", "@x", "`x", "a\nb", "a\n", " a", "a ", "\t", "\x7f", "\u0085", "\u2028", "\ufeff", "été", "🦉", "'", `"`, `\`, "<<", "=", "node1", "/dev/sda", "a  b", "key:", "?", "|", ">"} {
		t.Run(fmt.Sprintf("%q", s), func(t *testing.T) {
			check(t, s)
			// What the writer leaves without quotes is nothing but text.
			text, err := mapping.NewTopology([]mapping.Node{{Name: s}}).YAML()
			require.NoError(t, err)
			if name := strings.TrimPrefix(strings.Split(string(text), "\n")[3], "  - name: "); !strings.HasPrefix(name, `"`) {
				require.Regexp(t, `^[A-Za-z/]`, name)
				require.NotRegexp(t, `(?i)^(y|n|yes|no|on|off|true|false|null)$`, name)
			}
		})
	}
	rapid.Check(t, func(t *rapid.T) { check(t, rapid.String().Draw(t, "text")) })
}

// YAML and JSON are one document, and both read back as what was written.
func TestYAML_IsTheJSON(t *testing.T) {
	for _, name := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			topology := mapping.NewTopology([]mapping.Node{mapping.FromProbe(record(t, name), mapping.Options{Loops: true})})
			text, err := topology.YAML()
			require.NoError(t, err)
			var tree any
			require.NoError(t, yaml.Unmarshal(text, &tree))
			fromYAML, err := json.Marshal(tree)
			require.NoError(t, err)
			asJSON, err := json.Marshal(topology)
			require.NoError(t, err)
			require.JSONEq(t, string(asJSON), string(fromYAML))
			var back mapping.Topology
			require.NoError(t, json.Unmarshal(asJSON, &back))
			again, err := back.YAML()
			require.NoError(t, err)
			require.Equal(t, string(text), string(again))
		})
	}
}

func recorded(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.probe")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for i, f := range files {
		files[i] = strings.TrimSuffix(filepath.Base(f), ".probe")
	}
	return files
}

// eachFact calls visit with every fact of a node, by its name in JSON.
func eachFact(t testing.TB, facts *mapping.NodeFacts, visit func(name string, state fact.State, why string)) {
	t.Helper()
	text, err := json.Marshal(facts)
	require.NoError(t, err)
	var byName map[string]struct {
		State fact.State
		Why   string
	}
	require.NoError(t, json.Unmarshal(text, &byName))
	require.NotEmpty(t, byName)
	for name, f := range byName {
		visit(name, f.State, f.Why)
	}
}
