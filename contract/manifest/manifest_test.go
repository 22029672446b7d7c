package manifest_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/contract/kube"
	"github.com/nestor-tools/nestor/contract/manifest"
)

// seen writes down what a tree exposes and what it cannot judge.
func seen(tree *manifest.Tree) []string {
	var got []string
	for _, e := range kube.Exposures(tree.Services, tree.Workloads) {
		got = append(got, fmt.Sprintf("%d %s %s/%s %d->%d", e.Source.Line, e.Kind, e.Namespace, e.Name, e.Port, e.NodePort))
	}
	for _, e := range tree.Elsewhere {
		got = append(got, fmt.Sprintf("%d %s %s: %s", e.At.Line, e.By, e.Target.Name, e.What))
	}
	for _, p := range tree.Problems {
		got = append(got, fmt.Sprintf("%d %s", p.At.Line, p.Kind))
	}
	return got
}

func TestReadBytes(t *testing.T) {
	cases := []struct {
		name, in string
		want     []string
	}{
		{"the type in a comment",
			"apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec:\n  # type: LoadBalancer\n  type: NodePort # type: ClusterIP\n  ports: [{port: 80}]\n",
			[]string{"6 NodePort /a 80->0"}},
		{"a list of lists",
			"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ServiceList\n  items:\n  - metadata: {name: a, namespace: b}\n    spec: {type: LoadBalancer, ports: [{port: 80, nodePort: 30080}]}\n",
			[]string{"8 LoadBalancer b/a 80->30080"}},
		{"JSON",
			`{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"},` + "\n" + `"spec": {"type": "NodePort", "ports": [{"port": 80}]}}`,
			[]string{"2 NodePort /a 80->0"}},
		{"a Service that is not Kubernetes' own",
			"apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 80}]}\n", nil},
		{"a Service in a text",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  x.yaml: |\n    apiVersion: v1\n    kind: Service\n    spec: {type: NodePort, ports: [{port: 80}]}\n", nil},
		{"CRLF and the old kind",
			"apiVersion: v1\r\nkind: ReplicationController\r\nmetadata:\r\n  name: a\r\nspec:\r\n  template:\r\n    spec:\r\n      hostNetwork: true\r\n      containers:\r\n      - ports:\r\n        - containerPort: 6666\r\n          hostPort: 6666\r\n",
			[]string{"8 HostNetwork /a 0->0", "12 HostPort /a 6666->6666"}},
		{"hostNetwork as YAML 1.1 writes it",
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  hostNetwork: yes\n", []string{"5 HostNetwork /a 0->0"}},
		{"hostNetwork in quotes",
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  hostNetwork: \"true\"\n", []string{"5 field"}},
		{"a CronJob, an init container",
			"apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec:\n  jobTemplate:\n    spec:\n      template:\n        spec:\n          initContainers:\n          - ports: [{containerPort: 1, hostPort: 2}]\n",
			[]string{"10 HostPort /a 1->2"}},
		{"three times the type",
			"apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec:\n  type: NodePort\n  type: ClusterIP\n  type: LoadBalancer\n", []string{"6 duplicate", "7 duplicate"}},
		{"two namespaces, one name",
			"apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: x}\nspec: {type: ExternalName, externalName: b}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: y}\nspec: {type: NodePort, ports: [{port: 80, targetPort: 8080}]}\n",
			[]string{"9 NodePort y/a 80->0"}},
		{"one bad document, the last",
			"apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {type: NodePort, ports: [{port: 1, nodePort: 30001}, {port: 2, nodePort: 30002}]}\n---\napiVersion: v1\nkind: Pod\nspec:\n  image: {{.Image}}{{.Tag}}\n",
			[]string{"4 NodePort /a 1->30001", "4 NodePort /a 2->30002", "9 template"}},
		{"one bad document, the first",
			"kind: [\n---\napiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec:\n  type: NodePort\n  ports: [{port: 1}]\n", []string{"7 NodePort /a 1->0", "1 syntax"}},
		{"values of a chart", "controller:\n  service:\n    type: NodePort\n", []string{"3 values : type NodePort"}},
		{"values that switch it off", "service: {type: ClusterIP, nodePort: }\nhostPort: {enabled: false}\nhostNetwork: false\n", nil},
		{"values of a node exporter", "hostNetwork: true\nhostPort: {enabled: true}\n", []string{"1 values : hostNetwork", "2 values : hostPort"}},
		{"a patch without its kustomization",
			"- op: add\n  path: /spec/ports/0/nodePort\n  value: 32000\n- op: add\n  path: /spec/type\n  value: NodePort\n- op: remove\n  path: /spec/type\n",
			[]string{"3 patch : nodePort 32000", "6 patch : type NodePort"}},
		{"a list of anything", "- hosts: all\n  tasks: []\n", nil},
		{"a custom resource that exposes",
			"apiVersion: example.org/v1\nkind: Thing\nmetadata: {name: a}\nspec:\n  service:\n    type: LoadBalancer\n", []string{"6 operator a: type LoadBalancer"}},
		{"a policy that forbids", "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: a}\nspec: {validate: {pattern: {spec: {type: NodePort}}}}\n", nil},
		{"a configuration of a tool", "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\nnodes:\n- extraPortMappings:\n  - {containerPort: 80, hostPort: 80}\n", []string{"5 values : hostPort 80"}},
		{"a schema", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\nspec: {x: {type: NodePort, hostNetwork: true}}\n", nil},
		{"quoted node port", "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec:\n  ports:\n  - {port: 80, nodePort: \"30080\"}\n", []string{"6 field"}},
		{"the wrong case", "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec:\n  Type: NodePort\n  ports: [{port: 80}]\n", []string{"5 field"}},
		{"a type that does not exist", "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {type: nodePort, ports: [{port: 80}]}\n", []string{"4 field"}},
		{"a node port without a port", "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec:\n  type: NodePort\n", []string{"5 field"}},
		{"a variable for the type", "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec:\n  type: ${TYPE}\n", []string{"5 template"}},
		{"a variable for the name", "apiVersion: v1\nkind: Service\nmetadata:\n  name: \"{{ .Release.Name }}\"\nspec: {type: NodePort}\n", []string{"4 template"}},
		{"a template of something else", "foo: {{ bar }}\n", nil},
		{"anchors and merge keys",
			"apiVersion: v1\nkind: Service\nmetadata: {name: a}\nx: &s {type: NodePort}\nspec:\n  <<: *s\n  ports: [{port: 80}]\n", []string{"4 NodePort /a 80->0"}},
		{"null where a mapping belongs", "apiVersion: v1\nkind: Service\nmetadata:\nspec:\n---\napiVersion: v1\nkind: Deployment\nmetadata: {name: a}\nspec: null\n", nil},
		{"a sequence where a mapping belongs", "apiVersion: v1\nkind: Service\nmetadata: [a]\nspec: [b]\n", nil},
		{"UTF-16", "\xff\xfek\x00", []string{"1 unread"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.want, seen(manifest.ReadBytes("x.yaml", []byte(c.in))))
		})
	}
}

func TestReadBytes_TemplateHints(t *testing.T) {
	tree := manifest.ReadBytes("x.yaml", []byte("apiVersion: v1\nkind: Service\nspec:\n  {{ if .X }}\n  type: NodePort\n  {{ end }}\n---\napiVersion: v1\nkind: Pod\n{{ x }}\nspec:\n  hostNetwork: true\n  # hostPort: 1\n"))
	require.Len(t, tree.Problems, 1, "one for the file")
	assert.Contains(t, tree.Problems[0].Message, "type: NodePort at line 5, hostNetwork: true at line 12")
	assert.NotContains(t, tree.Problems[0].Message, "hostPort", "it is in a comment")
	assert.Equal(t, 4, tree.Problems[0].At.Line)
}

func read(t *testing.T, files map[string]string) *manifest.Tree {
	t.Helper()
	tree := fstest.MapFS{}
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	got, err := manifest.Read(context.Background(), tree, manifest.Options{})
	require.NoError(t, err)
	return got
}

const clusterIP = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 80}]}\n"

func TestRead_Kustomize(t *testing.T) {
	const ops = "- op: replace\n  path: /spec/type\n  value: NodePort\n"
	strategic := strings.Replace(clusterIP, "spec: {", "spec: {type: NodePort, ", 1)
	cases := []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"a JSON patch in a file", map[string]string{
			"o/kustomization.yaml": "resources: [../base]\npatchesJson6902:\n- target: {version: v1, kind: Service, name: a, namespace: n}\n  path: p.yaml\n", "o/p.yaml": ops, "base/a.yaml": clusterIP},
			[]string{"3 patch a: type NodePort"}},
		{"a strategic patch in a file", map[string]string{"o/kustomization.yaml": "patches:\n- path: p.yaml\n", "o/p.yaml": strategic, "base/a.yaml": clusterIP},
			[]string{"4 patch a: type NodePort"}},
		{"a strategic patch of the old kind", map[string]string{"o/kustomization.yaml": "patchesStrategicMerge: [p.yaml]\n", "o/p.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {template: {spec: {hostNetwork: true}}}\n"},
			[]string{"4 patch d: hostNetwork"}},
		{"a strategic patch in place", map[string]string{"kustomization.yaml": "patches:\n- patch: |-\n    apiVersion: v1\n    kind: Service\n    metadata: {name: a}\n    spec:\n      type: LoadBalancer\n"},
			[]string{"7 patch a: type LoadBalancer"}},
		{"a patch in place that is broken", map[string]string{"kustomization.yaml": "patches:\n- target: {kind: Service, name: a}\n  patch: |-\n    - op: add\n     path: x\n"},
			[]string{"5 syntax"}},
		{"a patch that exposes nothing", map[string]string{"kustomization.yaml": "patches:\n- target: {kind: Service, name: a}\n  patch: |-\n    - op: add\n      path: /metadata/labels/x\n      value: y\n"}, nil},
		{"charts", map[string]string{"kustomization.yaml": "helmCharts:\n- name: c\n  valuesInline:\n    service:\n      type: NodePort\n"}, []string{"5 values c: type NodePort"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.want, seen(read(t, c.files))) })
	}
}

func TestRead_KustomizeNamespace(t *testing.T) {
	tree := read(t, map[string]string{
		"one/kustomization.yaml": "namespace: n\nresources: [a.yaml]\n", "one/a.yaml": clusterIP,
		"two/kustomization.yaml": "namespace: n\nresources: [../shared.yaml]\n", "three/kustomization.yaml": "namespace: m\nresources: [../shared.yaml]\n", "shared.yaml": clusterIP,
	})
	require.Len(t, tree.Services, 2)
	assert.Equal(t, "n", tree.Services[0].Namespace)
	assert.Equal(t, "", tree.Services[1].Namespace, "two kustomizations disagree")
}

func TestRead_WhatIsEntered(t *testing.T) {
	tree := read(t, map[string]string{
		"a.yaml": clusterIP, "b.yml": clusterIP, "c.json": `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}}`, "package.json": `{"kind": "x"}`,
		"d.yaml.tmpl": clusterIP, "e.txt": clusterIP, ".git/f.yaml": clusterIP, "node_modules/g.yaml": clusterIP,
		"charts/c/Chart.yaml": "name: c\n", "charts/c/templates/h.yaml": clusterIP, "charts/c/values.yaml": "service: {type: NodePort}\n", "charts/c/crds/i.yaml": clusterIP,
		"templates/j.yaml": clusterIP, "k.yaml.j2": "foo: [{{ x }}\n",
	})
	var files []string
	for _, s := range tree.Services {
		files = append(files, s.At.File)
	}
	assert.Equal(t, []string{"a.yaml", "b.yml", "c.json", "charts/c/crds/i.yaml", "d.yaml.tmpl", "templates/j.yaml"}, files)
	require.Len(t, tree.Charts, 1)
	assert.Equal(t, "charts/c/Chart.yaml", tree.Charts[0].At.File)
	assert.Empty(t, tree.Elsewhere, "the chart is reported as a whole")
	assert.Empty(t, tree.Problems, "a template of something else is no manifest")
}

func TestRead_PrefixSkipAndProgress(t *testing.T) {
	tree := fstest.MapFS{"a.yaml": {Data: []byte(clusterIP)}, "contract/endpoints.yaml": {Data: []byte("service: {type: NodePort}\n")}, "b/c.yaml": {Data: []byte(clusterIP)}}
	last := 0
	got, err := manifest.Read(context.Background(), tree, manifest.Options{Prefix: "deploy/x", Skip: []string{"contract"}, Jobs: 3, Progress: func(done, total int) {
		assert.Equal(t, 2, total)
		last = max(last, done)
	}})
	require.NoError(t, err)
	assert.Equal(t, 2, last)
	assert.Equal(t, []string{"deploy/x/a.yaml", "deploy/x/b/c.yaml"}, got.Files)
	assert.Empty(t, got.Elsewhere)
}

func TestRead_Fails(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := manifest.Read(ctx, fstest.MapFS{"a.yaml": {Data: []byte(clusterIP)}}, manifest.Options{})
	assert.ErrorIs(t, err, context.Canceled)

	tree, err := manifest.Read(context.Background(), unreadable{fstest.MapFS{"a.yaml": {Data: []byte(clusterIP)}, "b.yaml": {Data: []byte(clusterIP)}, "closed/c.yaml": {Data: []byte(clusterIP)}, "d/e.yaml": {Data: []byte(clusterIP)}}}, manifest.Options{})
	require.NoError(t, err)
	var files []string
	for _, p := range tree.Problems {
		assert.Equal(t, manifest.Unread, p.Kind)
		files = append(files, p.At.File)
	}
	assert.Equal(t, []string{"closed", "a.yaml"}, files, "said, and the others are read")
	assert.Len(t, tree.Services, 2)
}

func TestRead_Links(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(clusterIP), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(outside, "b.yaml"), []byte(clusterIP), 0o600))
	for link, target := range map[string]string{"inside.yaml": "a.yaml", "outside.yaml": filepath.Join(outside, "b.yaml"), "folder": outside, "broken.yaml": "none", "notes.txt": filepath.Join(outside, "b.yaml")} {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, link)))
	}
	tree, err := manifest.Read(context.Background(), os.DirFS(dir), manifest.Options{})
	require.NoError(t, err)
	assert.Len(t, tree.Services, 1, "once")
	var files []string
	for _, p := range tree.Problems {
		assert.Equal(t, manifest.Unread, p.Kind)
		files = append(files, p.At.File)
	}
	assert.Equal(t, []string{"broken.yaml", "folder", "outside.yaml"}, files)
}

// A link hides nothing: what is read nowhere else is read through it, or
// reported.
func TestRead_LinksToWhatIsLeftOut(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "..data"), 0o700)) // as a mounted ConfigMap has it
	for _, file := range []string{"..data/a.yaml", "b.txt"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(clusterIP), 0o600))
	}
	for link, target := range map[string]string{"a.yaml": "..data/a.yaml", "b.yaml": "b.txt", "folder": "..data", "loop.yaml": "loop.yaml", ".#a.yaml": "me@host.1:2", "here": "."} {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, link)))
	}
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe.yaml"), 0o600))
	tree, err := manifest.Read(context.Background(), os.DirFS(dir), manifest.Options{})
	require.NoError(t, err)
	assert.Equal(t, []string{"a.yaml", "b.yaml"}, tree.Files)
	assert.Len(t, tree.Services, 2)
	var files []string
	for _, p := range tree.Problems {
		assert.Equal(t, manifest.Unread, p.Kind)
		files = append(files, p.At.File)
	}
	assert.Equal(t, []string{"folder", "loop.yaml", "pipe.yaml"}, files)
}

// unreadable refuses to open the file a.yaml and the folder closed.
type unreadable struct{ fstest.MapFS }

func (u unreadable) Open(name string) (fs.File, error) {
	if name == "a.yaml" || name == "closed" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("permission denied")}
	}
	return u.MapFS.Open(name)
}

func (u unreadable) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == "closed" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("permission denied")}
	}
	return u.MapFS.ReadDir(name)
}

// Whatever the number of workers, the result is the same.
func TestRead_Deterministic(t *testing.T) {
	tree := fstest.MapFS{}
	for i := range 60 {
		tree[fmt.Sprintf("d%02d/a.yaml", i)] = &fstest.MapFile{Data: []byte(strings.Repeat(clusterIP+"---\n", 1+i%5) + "kind: [\n")}
	}
	one, err := manifest.Read(context.Background(), tree, manifest.Options{Jobs: 1})
	require.NoError(t, err)
	many, err := manifest.Read(context.Background(), tree, manifest.Options{Jobs: 16})
	require.NoError(t, err)
	assert.Equal(t, one, many)
}

func TestPolicy(t *testing.T) {
	tree := manifest.ReadBytes("x.yaml", []byte(`
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: p, namespace: n}
spec:
  podSelector:
    matchExpressions:
      - {key: app, operator: In, values: [web, api]}
      - {key: canary, operator: DoesNotExist}
  ingress:
    - from: [{podSelector: {}}, {ipBlock: {cidr: 10.0.0.0/8}}]
      ports: [{port: 8000, endPort: 8010}, {port: ui}, {port: 53, protocol: UDP}]
    - from: [{namespaceSelector: {}}]
`))
	require.Len(t, tree.Policies, 1)
	p := tree.Policies[0]
	assert.True(t, p.Ingress, "without policyTypes it is for ingress")
	assert.True(t, p.Selects(map[string]string{"app": "web"}))
	assert.False(t, p.Selects(map[string]string{"app": "web", "canary": "1"}))
	assert.False(t, p.Selects(map[string]string{"app": "db"}))
	assert.True(t, p.Opens("TCP", 8005, ""))
	assert.True(t, p.Opens("TCP", 3000, "ui"))
	assert.True(t, p.Opens("UDP", 53, ""))
	assert.False(t, p.Opens("TCP", 53, ""))
	assert.False(t, p.Opens("TCP", 9000, "other"), "the rule without ports is for pods alone")
}

func FuzzReadBytes(f *testing.F) {
	for _, seed := range []string{
		clusterIP, "apiVersion: v1\nkind: List\nitems: [{kind: List, items: [{}]}]\n", "- {op: add, path: /spec/type, value: {type: NodePort}}\n",
		"patches: [{patch: \"- {op: add, path: /x, value: y}\", target: {kind: Service}}]\nresources: [x]\npatchesStrategicMerge: [x.yaml]\n",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{ports: [{hostPort: -1, containerPort: 99999999999999999999}]}]}\n",
		"apiVersion: networking.k8s.io/v1\nkind: Ingress\nspec: {rules: [{http: {paths: [{backend: {service: {name: a}}}]}}]}\n",
		"apiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata: {name: ''}\nspec: []\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		tree := manifest.ReadBytes("kustomization.yaml", in)
		lines := 2 + strings.Count(string(in), "\n") + strings.Count(string(in), "\r")
		for _, p := range tree.Problems {
			if p.At.Line < 1 || p.Message == "" {
				t.Fatalf("%+v", p)
			}
		}
		for _, e := range kube.Exposures(tree.Services, tree.Workloads) {
			if e.Source.Line < 1 || e.Source.Line > lines {
				t.Fatalf("%+v of %d lines", e, lines)
			}
		}
		manifest.ReadBytes("x.yaml", in)
	})
}
