package contract_test

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/contract/manifest"
)

// twoNamespaces has one folder with a Service of one name in two namespaces.
func twoNamespaces(name string) fstest.MapFS {
	const service = "apiVersion: v1\nkind: Service\nmetadata: {name: ui, namespace: NS}\nspec: {selector: {app: NS}, ports: [{name: http, port: 80}, {name: rpc, port: 81}]}\n---\n"
	const endpoint = "- {id: ID, service: ui, namespace: NS, port: PORT, exposed: true}\n"
	fill := func(text, ns, id, port string) string {
		return strings.NewReplacer("NS", ns, "ID", id, "PORT", port).Replace(text)
	}
	return fstest.MapFS{
		"contract/endpoints.yaml": {Data: []byte("contract_version: '1.0'\nendpoints:\n" + fill(endpoint, "a", "one", "80") + fill(endpoint, "b", "two", "80") + fill(endpoint, "a", "three", "81"))},
		name:                      {Data: []byte(fill(service, "a", "", "") + fill(service, "b", "", ""))},
	}
}

// Two namespaces that hold the same name in one folder get a file each.
func TestNodePorts_OneNameInTwoNamespaces(t *testing.T) {
	tree := twoNamespaces("apps/ui.yaml")
	set, read, options := load(t, tree)
	files, left := contract.NodePorts(set, read, options)
	assert.Empty(t, left)
	require.Len(t, files, 2)
	assert.Equal(t, "apps/b-ui-nodeport.yaml", files[0].Path)
	assert.Equal(t, []string{"two"}, files[0].Endpoints)
	assert.Equal(t, "apps/ui-nodeport.yaml", files[1].Path)
	assert.Equal(t, []string{"one", "three"}, files[1].Endpoints)
	for _, f := range files {
		tree[f.Path] = &fstest.MapFile{Data: f.Text}
	}
	assert.NotContains(t, rulesOf(check(t, tree)), "exposed-without-nodeport")
	assert.NotContains(t, rulesOf(check(t, tree)), "unpromised-nodeport")
}

// The name of a file adds nothing to what is written.
func TestGenerate_NamesOfFiles(t *testing.T) {
	set, read, options := load(t, twoNamespaces("apps/a\nkind: Evil\x1b[31m.yaml"))
	files, _ := contract.NodePorts(set, read, options)
	require.Len(t, files, 2)
	for _, f := range files {
		var got struct{ Kind string }
		require.NoError(t, yaml.Unmarshal(f.Text, &got))
		assert.Equal(t, "Service", got.Kind)
	}
	tree := fstest.MapFS{"a\ny: z.yaml": {Data: []byte("apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: n}\nspec: {type: NodePort, ports: [{port: 80}]}\n")},
		"contract/endpoints.yaml": {Data: []byte("contract_version: '1.0'\nendpoints: []\n")}}
	set, read, options = load(t, tree)
	entries, _ := contract.Adopt(set, read, options)
	text := append([]byte("contract_version: '1.0'\naccept:\n"), contract.AcceptText(entries, 2)...)
	_, bad := contract.Parse("endpoints.yaml", text)
	assert.Equal(t, []string{"accept-reason"}, rulesOf(bad))
}

// A source out of the tree is no place to write to.
func TestNodePorts_StaysInTheTree(t *testing.T) {
	for _, source := range []string{"../door.yaml", "/etc/door.yaml", "apps/../../door.yaml"} {
		set, read, options := load(t, base(t, []edit{{nodeport, "", ""}, {endpoints, "source: apps/web\n", "source: " + source + "\n"}}))
		options.Prefix = "root"
		files, _ := contract.NodePorts(set, read, options)
		for _, f := range files {
			assert.NotContains(t, f.Path, "door.yaml", source)
		}
	}
}

func TestParse_BlankReason(t *testing.T) {
	_, findings := contract.Parse("endpoints.yaml", []byte("contract_version: '1.0'\naccept:\n- {kind: NodePort, name: a, reason: '  '}\n"))
	require.Len(t, findings, 1)
	assert.Equal(t, "reason of an accept entry is missing", findings[0].Message)
}

// The last day lasts until midnight where the reader is.
func TestAccept_ExpiredInAnyZone(t *testing.T) {
	until := contract.Accept{Until: time.Date(2027, 2, 28, 0, 0, 0, 0, time.UTC)}
	for _, hours := range []int{-11, 0, 13} {
		zone := time.FixedZone("", hours*3600)
		assert.False(t, until.Expired(time.Date(2027, 2, 28, 23, 59, 0, 0, zone)), hours)
		assert.True(t, until.Expired(time.Date(2027, 3, 1, 0, 1, 0, 0, zone)), hours)
	}
}

// What a contract says does not move the cursor or turn the text round.
func TestExplain_IDsThatHoldEscapes(t *testing.T) {
	set, read, options := load(t, fstest.MapFS{"contract/endpoints.yaml": {Data: []byte("contract_version: '1.0'\nendpoints: [{id: \"a\\e[31m\\u202eb\\u2028\", service: a, namespace: a, port: 1, note: \"\\e\\u202e\"}]\n")}})
	_, err := contract.Explain(set, read, options, nil, "x")
	assert.EqualError(t, err, `contract/endpoints.yaml: no endpoint is called "x"; it has a [31m b`)
	story, err := contract.Explain(set, read, options, nil, set.Endpoints[0].ID)
	require.NoError(t, err)
	for _, step := range story.Steps {
		assert.NotContains(t, step.Text, "\u202e")
		assert.NotContains(t, step.Text, "\x1b")
	}
}

// Both spellings of the suffix are read, and two contracts are not guessed at.
func TestLoad_Suffixes(t *testing.T) {
	text := &fstest.MapFile{Data: []byte("contract_version: '1.0'\n")}
	for _, tree := range []fstest.MapFS{
		{"c/endpoints.yml": text, "c/namespaces-secrets.yml": text, "c/storage-classes.yml": text},
		{"c/endpoints.yaml": text, "c/namespaces-secrets.yml": text, "c/storage-classes.yaml": text},
	} {
		names := []string{"c", "c/endpoints.yml"}
		if tree["c/endpoints.yml"] == nil {
			names[1] = "c/endpoints.yaml"
		}
		for _, name := range names {
			set, _, err := contract.Load(tree, name, "")
			require.NoError(t, err)
			assert.NotNil(t, set.Platform, name)
			assert.NotNil(t, set.Storage, name)
		}
		tree["c/endpoints.yml"], tree["c/endpoints.yaml"] = text, text
		_, _, err := contract.Load(tree, "c", "at")
		assert.EqualError(t, err, "at/c/endpoints.yml: a second contract beside endpoints.yaml; keep one, or name it")
		_, _, err = contract.Load(tree, "c/endpoints.yml", "at")
		assert.NoError(t, err, "it is named")
	}
}

// An entry is one line of the allowlist, whatever it says.
func TestAllowlist_OneLineEach(t *testing.T) {
	set, findings := contract.Parse("endpoints.yaml", []byte("contract_version: '1.0'\naccept:\n- {kind: NodePort, namespace: \"n\\nNodePort\\tkube-system/x\", name: \"a\\e[31m\", reason: r}\n- {kind: NodePort, namespace: n, name: b, reason: \"r\\nmore\"}\n"))
	assert.Equal(t, []string{"contract-field", "contract-field"}, rulesOf(findings))
	var got []string
	for _, a := range contract.Allowlist(&contract.Set{Contract: set}, &manifest.Tree{}, contract.Options{}) {
		got = append(got, a.Namespace+"/"+a.Name)
	}
	assert.Equal(t, []string{"n/b"}, got, "an entry without a name allows nothing")
}

// What has no name yet cannot be accepted by one.
func TestAdopt_GenerateName(t *testing.T) {
	set, read, options := load(t, fstest.MapFS{"contract/endpoints.yaml": {Data: []byte("contract_version: '1.0'\n")},
		"a.yaml": {Data: []byte("apiVersion: v1\nkind: Service\nmetadata: {generateName: a-, namespace: n}\nspec: {type: NodePort, ports: [{port: 80}]}\n")}})
	entries, unnamed := contract.Adopt(set, read, options)
	assert.Empty(t, entries)
	require.Len(t, unnamed, 1)
	assert.Equal(t, "a.yaml", unnamed[0].File)
	assert.Equal(t, 4, unnamed[0].Line)
	assert.Contains(t, rulesOf(contract.Check(set, read, options)), "unpromised-nodeport")
}
