package seed_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/controlplane/seed"
)

func TestRead(t *testing.T) {
	objects, err := seed.Read("in.yaml", strings.NewReader(`# a comment is no document
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop, uid: from-elsewhere, resourceVersion: "7"}
spec: {type: NodePort, ports: [{port: 80}]}
--- # marker with a comment
apiVersion: v1
kind: List
items:
  - {apiVersion: v1, kind: Node, metadata: {name: node1}}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: text}, data: {a: "x\n--- y\n"}}
---
---
{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "last"}}`))
	require.NoError(t, err)
	var got []string
	for _, o := range objects {
		got = append(got, o.String())
	}
	assert.Equal(t, []string{
		"in.yaml:2: Service shop/web",
		"in.yaml:7: Node node1",
		"in.yaml:7: ConfigMap text",
		"in.yaml:14: Namespace last",
	}, got)
	assert.Equal(t, map[string]any{"name": "web", "namespace": "shop"}, objects[0].Object["metadata"], "a server's own fields are dropped")
}

func TestRead_ReadsBooleansAsKubectlDoes(t *testing.T) {
	objects, err := seed.Read("in.yaml", strings.NewReader("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nimmutable: yes\n"))
	require.NoError(t, err)
	assert.Equal(t, true, objects[0].Object["immutable"])
}

func TestRead_EmptyStreams(t *testing.T) {
	for _, in := range []string{"", "\n", "---\n", "# only a comment\n---\n", "null\n"} {
		objects, err := seed.Read("in.yaml", strings.NewReader(in))
		assert.NoError(t, err, "%q", in)
		assert.Empty(t, objects, "%q", in)
	}
}

func TestRead_Refuses(t *testing.T) {
	for in, want := range map[string]string{
		"kind: [\n":                             "in.yaml:1: ",
		"a: 1\n---\nkind: {\n":                  "in.yaml:1: ", // no kind in the first
		"apiVersion: v1\nmetadata: {name: a}\n": "in.yaml:1: ",
		"---\n# x\nkind: Node\nkind: Pod\n":     `line 4: key "kind" already set`, // the line of the file
		"apiVersion: v1\nkind: Node\n":          "Node without metadata.name",
		"just text\n":                           "in.yaml:1: ",
	} {
		_, err := seed.Read("in.yaml", strings.NewReader(in))
		assert.ErrorContains(t, err, want, "%q", in)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("apiVersion: v1\nkind: Node\nmetadata: {name: a}\n---\n")
	f.Add("kind: List\nitems: [1, {}]\n")
	f.Add("--- \n---\r\n\x00")
	f.Fuzz(func(t *testing.T, in string) {
		objects, err := seed.Read("in", strings.NewReader(in))
		if err != nil {
			return
		}
		for _, o := range objects {
			assert.NotEmpty(t, o.GetName())
			assert.NotEmpty(t, o.GetKind())
		}
	})
}
