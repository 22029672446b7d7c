package contract_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/contract/manifest"
)

func load(t *testing.T, tree fstest.MapFS) (*contract.Set, *manifest.Tree, contract.Options) {
	t.Helper()
	set, findings, err := contract.Load(tree, "contract", "")
	require.NoError(t, err)
	require.NotNil(t, set.Contract, "%+v", findings)
	read, err := manifest.Read(context.Background(), tree, manifest.Options{Skip: []string{"contract"}})
	require.NoError(t, err)
	return set, read, contract.Options{Root: tree, Today: day}
}

// What is written mends what check reports, and nothing else is touched.
func TestNodePorts(t *testing.T) {
	tree := base(t, []edit{{nodeport, "", ""}, {"apps/board/nodeport.yaml", "", ""}, {web, "    app: web\n  ports", "    app: web\n    version: \"1.0\"\n    on: \"yes\"\n  ports"},
		{web, "labels: {app: web, tier: front}", "labels: {app: web, tier: front, version: '1.0', on: 'yes'}"}})
	assert.ElementsMatch(t, []string{"exposed-without-nodeport", "exposed-without-nodeport", "service-not-provable"}, rulesOf(check(t, tree)))
	set, read, options := load(t, tree)
	files, left := contract.NodePorts(set, read, options)
	require.Len(t, files, 1)
	assert.Equal(t, "apps/web/web-nodeport.yaml", files[0].Path)
	assert.Equal(t, []string{"web"}, files[0].Endpoints)
	assert.Equal(t, `# Exposes Service web of web.yaml on every node. The cluster assigns the
# nodePort; the portal observes it. Written by: nestor contract nodeports
apiVersion: v1
kind: Service
metadata:
  name: web-nodeport
  namespace: front
spec:
  type: NodePort
  selector:
    app: web
    "on": "yes"
    version: "1.0"
  ports:
    - name: http
      port: 80
      targetPort: ui
      protocol: TCP
`, string(files[0].Text))
	require.Len(t, left, 1)
	assert.Equal(t, "board", left[0].Endpoint)
	assert.Contains(t, left[0].Reason, "by hand")

	tree[files[0].Path] = &fstest.MapFile{Data: files[0].Text}
	assert.ElementsMatch(t, []string{"exposed-without-nodeport", "service-not-provable"}, rulesOf(check(t, tree)))
	set, read, options = load(t, tree)
	files, _ = contract.NodePorts(set, read, options)
	assert.Empty(t, files, "a second time there is nothing to write")
}

// Where the contract names the file that is not there, it is that file.
func TestNodePorts_AtTheSource(t *testing.T) {
	set, read, options := load(t, base(t, []edit{{nodeport, "", ""}, {endpoints, "source: apps/web\n", "source: apps/web/door.yaml\n"}}))
	files, left := contract.NodePorts(set, read, options)
	require.Len(t, files, 1)
	assert.Empty(t, left)
	assert.Equal(t, "apps/web/door.yaml", files[0].Path)
	assert.Contains(t, string(files[0].Text), "name: web-nodeport\n")
}

func TestNodePorts_Unwritten(t *testing.T) {
	cases := []struct {
		name  string
		edits []edit
		want  string
	}{
		{"no such port", []edit{{nodeport, "", ""}, {endpoints, "port: 80\n    protocol: http\n    auth: secret-admin", "port: 81\n    protocol: http\n    auth: secret-admin"}}, "no port 81"},
		{"no selector", []edit{{nodeport, "", ""}, {web, "  selector:\n    app: web\n", ""}}, "no selector"},
		{"another type", []edit{{nodeport, "type: NodePort", "type: ClusterIP"}}, "apps/web/nodeport.yaml:7: Service front/web-nodeport exists and is a ClusterIP"},
		{"an external name", []edit{{nodeport, "", ""}, {web, "  selector:\n    app: web\n", "  type: ExternalName\n"}}, "ExternalName"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			set, read, options := load(t, base(t, c.edits))
			files, left := contract.NodePorts(set, read, options)
			assert.Empty(t, files)
			require.Len(t, left, 1)
			assert.Contains(t, left[0].Reason, c.want)
		})
	}
}

// With the entries that Adopt gives, nothing but their reasons is reported.
func TestAdopt(t *testing.T) {
	edits := []edit{
		{extra, "", service("LoadBalancer", "  externalIPs: [192.0.2.1]\n  ports: [{port: 80}, {port: 53, protocol: UDP}]\n") + "---\n" + hostNetwork("agent", "front") + "---\n" + hostNetwork("cilium", "kube-system") + "---\n" + gateway},
		{"apps/broken.yaml", "", "a: [\n"}, {"charts/y/Chart.yaml", "", "name: y\n"},
		{"apps/kafka.yaml", "", "apiVersion: kafka.strimzi.io/v1\nkind: Kafka\nmetadata: {name: log, namespace: front}\nspec: {type: nodeport}\n"},
		{mail, "              hostIP: 127.0.0.1\n", ""},
	}
	tree := base(t, edits)
	before := check(t, tree)
	assert.True(t, contract.Unevaluated(before))
	set, read, options := load(t, tree)
	entries, _ := contract.Adopt(set, read, options)
	text := string(contract.AcceptText(entries, 2))
	tree[endpoints].Data = []byte(strings.Replace(string(tree[endpoints].Data), "accept:\n", "accept:\n"+text, 1))

	after := check(t, tree)
	assert.False(t, contract.Unevaluated(after), "%+v", after)
	reasons := 0
	for _, f := range after {
		switch f.Rule {
		case "accept-reason":
			reasons++
		default:
			assert.Equal(t, contract.Info, f.Severity, "%+v", f)
		}
	}
	assert.Equal(t, len(entries), reasons)
	set, read, options = load(t, tree)
	again, _ := contract.Adopt(set, read, options)
	assert.Empty(t, again)
	var plain struct{ Accept []map[string]any }
	require.NoError(t, yaml.Unmarshal(tree[endpoints].Data, &plain))
	assert.Len(t, plain.Accept, len(entries)+1)
}

func TestAllowlist(t *testing.T) {
	set, read, options := load(t, base(t, []edit{{extra, "", service("NodePort", onePort)}, accept("{kind: hostport, namespace: mon, name: exporter, port: 9100, reason: its chart is not versioned}"),
		accept2("{kind: NodePort, namespace: front, name: over, reason: it was, until: 2027-01-01}")}))
	var got []string
	for _, a := range contract.Allowlist(set, read, options) {
		got = append(got, strings.Join([]string{string(a.Kind), a.Namespace, a.Name, a.By}, " "))
	}
	assert.Equal(t, []string{"HostPort mail mail accept", "HostPort mail mail mail", "HostPort mon exporter accept", "NodePort board board-nodeport board", "NodePort front web-nodeport web", "NodePort portal portal portal"}, got,
		"what nobody promised is not allowed")
}

func TestExplain(t *testing.T) {
	tree := base(t, []edit{{"policies/front.yaml", "port: 3000", "port: 3001"}})
	set, read, options := load(t, tree)
	findings := contract.Check(set, read, options)
	tell := func(id string) string {
		story, err := contract.Explain(set, read, options, findings, id)
		require.NoError(t, err)
		var steps []string
		for _, s := range story.Steps {
			steps = append(steps, s.Text)
		}
		for _, f := range story.Findings {
			steps = append(steps, f.Rule)
		}
		return strings.Join(steps, "\n")
	}
	story := tell("web")
	for _, want := range []string{"web is promised: Service front/web, port 80, exposed on the nodes", "a ClusterIP with ports http 80/TCP", "web-nodeport exposes it, a NodePort (it selects the same pods)",
		"http://<node>:<nodePort>, the scheme from port name", "Deployment web answers", "NetworkPolicy deny isolates the pods, and does not open port 3000 to the outside", "Secret web-admin", "policy-may-block"} {
		assert.Contains(t, story, want)
	}
	assert.Contains(t, tell("db"), "Cluster pg makes its operator create it")
	assert.Contains(t, tell("s3"), "profile ceph only")
	assert.Contains(t, tell("mail"), "holds port 8025 of its node")
	assert.Contains(t, tell("board"), "by its name, <service>-nodeport")
	_, err := contract.Explain(set, read, options, findings, "wbe")
	assert.ErrorContains(t, err, "web, board")
}
