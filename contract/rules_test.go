package contract_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/contract/manifest"
)

// edit changes one file of the base: old becomes new; with old "" new is
// added at its end, and a file that is not there is created; with both ""
// the file is removed.
type edit struct{ file, old, new string }

// place is a line of a file, named by the text that it holds.
type place struct{ file, text string }

var day = time.Date(2027, 3, 1, 9, 30, 0, 0, time.UTC)

// base reads the sample that keeps its contract, and applies the edits.
func base(t *testing.T, edits []edit) fstest.MapFS {
	t.Helper()
	tree := fstest.MapFS{}
	root := os.DirFS("testdata/base")
	require.NoError(t, fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(root, name)
		tree[name] = &fstest.MapFile{Data: b}
		return err
	}))
	for _, e := range edits {
		switch f := tree[e.file]; {
		case e.old == "" && e.new == "":
			delete(tree, e.file)
		case e.old == "" && f == nil:
			tree[e.file] = &fstest.MapFile{Data: []byte(e.new)}
		case e.old == "":
			f.Data = append(f.Data, e.new...)
		default:
			require.Equal(t, 1, strings.Count(string(f.Data), e.old), "%s must hold %q once", e.file, e.old)
			f.Data = []byte(strings.Replace(string(f.Data), e.old, e.new, 1))
		}
	}
	return tree
}

func check(t *testing.T, tree fs.FS) []contract.Finding {
	t.Helper()
	set, findings, err := contract.Load(tree, "contract", "")
	require.NoError(t, err)
	if set.Contract == nil {
		return findings
	}
	read, err := manifest.Read(context.Background(), tree, manifest.Options{Skip: []string{"contract"}})
	require.NoError(t, err)
	return append(findings, contract.Check(set, read, contract.Options{Root: tree, Today: day})...)
}

// line finds the only line that holds the text.
func line(t *testing.T, tree fstest.MapFS, p place) int {
	t.Helper()
	require.Contains(t, tree, p.file)
	found := 0
	for i, l := range strings.Split(string(tree[p.file].Data), "\n") {
		if strings.Contains(l, p.text) {
			require.Zero(t, found, "%s holds %q on lines %d and %d", p.file, p.text, found, i+1)
			found = i + 1
		}
	}
	require.NotZero(t, found, "%s holds no %q", p.file, p.text)
	return found
}

func rulesOf(findings []contract.Finding) []string {
	var ids []string
	for _, f := range findings {
		ids = append(ids, f.Rule)
	}
	return ids
}

const (
	endpoints = "contract/endpoints.yaml"
	platform  = "contract/namespaces-secrets.yaml"
	classes   = "contract/storage-classes.yaml"
	web       = "apps/web/web.yaml"
	nodeport  = "apps/web/nodeport.yaml"
	mail      = "apps/mail/mail.yaml"
	extra     = "apps/extra.yaml"
)

// service is a Service of its own, for cases about Services.
func service(typ, rest string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: extra, namespace: front}\nspec:\n  type: %s\n%s", typ, rest)
}

const onePort = "  ports:\n    - port: 8080\n"

// accept is an entry of accept:, at the end of the list.
func accept(entry string) edit {
	return edit{endpoints, "network_access:\n", "  - " + entry + "\n\nnetwork_access:\n"}
}

// Each rule fires on one defect, alone and on the right line, and is silent
// on the nearest thing that is right.
func TestRules(t *testing.T) {
	cases := []struct {
		rule  string
		name  string
		fires []edit
		at    place
		other []string // rules that the same defect fires by right
		quiet []edit
	}{
		{rule: "accept-expired",
			fires: []edit{accept("{kind: Gateway, namespace: front, name: edge, reason: for a while, until: 2027-02-28}")},
			at:    place{endpoints, "until: 2027-02-28"},
			quiet: []edit{accept("{kind: Gateway, namespace: front, name: edge, reason: for a while, until: 2027-03-01}"), {extra, "", gateway}}},
		{rule: "accept-expired", name: "with what it covered",
			fires: []edit{{endpoints, "reason: the nodes send their mail through it", "reason: the nodes\n    until: 2027-02-28"}},
			at:    place{endpoints, "until: 2027-02-28"},
			quiet: []edit{{endpoints, "reason: the nodes send their mail through it", "reason: the nodes"}}},
		{rule: "accept-reason",
			fires: []edit{{endpoints, "reason: the nodes send their mail through it", "reason: TODO"}},
			at:    place{endpoints, "reason: TODO"},
			quiet: []edit{{endpoints, "reason: the nodes send their mail through it", "reason: to do their mail"}}},
		{rule: "accept-unused",
			fires: []edit{accept("{kind: NodePort, namespace: front, name: gone, reason: it was there}")},
			at:    place{endpoints, "name: gone"},
			quiet: []edit{accept("{kind: NodePort, namespace: front, name: extra, reason: it is there}"), {extra, "", service("NodePort", onePort)}}},
		{rule: "accept-unused", name: "where nothing versioned runs",
			fires: []edit{accept("{kind: NodePort, namespace: board, name: gone, reason: of its chart}")},
			at:    place{endpoints, "name: gone"},
			quiet: []edit{accept("{kind: NodePort, namespace: board, name: board-nodeport, port: 443, reason: promised as well}")}},
		{rule: "appproject-destination",
			fires: []edit{{platform, "        usage: what people see", "      - name: back"}},
			at:    place{platform, "name: back"},
			quiet: []edit{{platform, "        usage: what people see", "      - name: back"}, {"apps/project.yaml", "", "    - namespace: b*k\n"}}},
		{rule: "appproject-undeclared",
			fires: []edit{{"apps/project.yaml", "", "    - namespace: scratch\n"}},
			at:    place{"apps/project.yaml", "namespace: scratch"},
			quiet: []edit{{"apps/project.yaml", "", "    - namespace: '*'\n"}}},
		{rule: "contract-field", name: "unknown",
			fires: []edit{{endpoints, "    layer: apps", "    tier: apps"}},
			at:    place{endpoints, "tier: apps"},
			quiet: []edit{{endpoints, "    layer: apps", "    short_ref: web:80"}}},
		{rule: "contract-field", name: "exposed in quotes",
			fires: []edit{{endpoints, "    protocol: tcp\n", "    protocol: tcp\n    exposed: \"false\"\n"}},
			at:    place{endpoints, `exposed: "false"`},
			quiet: []edit{{endpoints, "    protocol: tcp\n", "    protocol: tcp\n    exposed: false\n"}}},
		{rule: "contract-field", name: "kind of an accept entry", // in a namespace of which nothing versioned runs
			fires: []edit{accept("{kind: Bogus, namespace: board, name: gone, reason: of its chart}")},
			at:    place{endpoints, "kind: Bogus"},
			quiet: []edit{accept("{kind: Kafka, namespace: board, name: log, reason: of its chart}"),
				{extra, "", "apiVersion: kafka.strimzi.io/v1\nkind: Kafka\nmetadata: {name: log, namespace: board}\nspec: {type: nodeport}\n"}}},
		{rule: "contract-field", name: "kind of an object that an accept entry may speak of",
			fires: []edit{accept("{kind: Services, namespace: board, name: gone, reason: of its chart}")},
			at:    place{endpoints, "kind: Services"},
			quiet: []edit{accept("{kind: service, namespace: front, name: extra, reason: in any case}"), {extra, "", service("NodePort", onePort)}}},
		{rule: "contract-field", name: "scheme",
			fires: []edit{{endpoints, "    layer: apps", "    scheme: ftp"}},
			at:    place{endpoints, "scheme: ftp"},
			quiet: []edit{{endpoints, "    layer: apps", "    scheme: http"}}},
		{rule: "contract-note", name: "prose",
			fires: []edit{{endpoints, "role: app", "role: primary read-write"}},
			at:    place{endpoints, "role: primary"},
			quiet: []edit{{endpoints, "role: app", "role: reader"}}},
		{rule: "contract-note", name: "several endpoints in one entry",
			fires: []edit{{endpoints, "endpoint: db", "endpoint: db / s3"}},
			at:    place{endpoints, "endpoint: db / s3"},
			quiet: []edit{{endpoints, "endpoint: db", "endpoint: s3"}}},
		{rule: "contract-syntax",
			fires: []edit{{endpoints, "    login: admin", "    login: admin\n    login: root"}},
			at:    place{endpoints, "login: root"},
			quiet: []edit{{endpoints, "    login: admin", "    login: root"}}},
		{rule: "credential-unknown",
			fires: []edit{{endpoints, "secret: web-admin", "secret: web-amin"}},
			at:    place{endpoints, "secret: web-amin"},
			quiet: []edit{{endpoints, "secret: web-admin", "secret: made-by-a-program"}}},
		{rule: "endpoint-duplicate",
			fires: []edit{{endpoints, "  - id: s3\n", "  - id: db\n"}},
			at:    place{endpoints, "  - id: db\n    service: rook"},
			quiet: []edit{{endpoints, "  - id: s3\n", "  - id: db2\n"}}},
		{rule: "exposed-without-nodeport", name: "no Service",
			fires: []edit{{nodeport, "", ""}},
			at:    place{endpoints, "exposed: true\n    source: apps/web"},
			quiet: []edit{{nodeport, "name: web-nodeport", "name: any-other"}}}, // found by its pods
		{rule: "exposed-without-nodeport", name: "another type",
			fires: []edit{{nodeport, "type: NodePort", "type: ClusterIP"}},
			at:    place{endpoints, "exposed: true\n    source: apps/web"},
			quiet: []edit{{nodeport, "", ""}, {web, "  selector:\n    app: web", "  type: NodePort\n  selector:\n    app: web"}}},
		{rule: "exposed-without-nodeport", name: "hostPort",
			fires: []edit{{mail, "              hostPort: 8025\n", ""}},
			at:    place{endpoints, "hostPort: 8025"},
			quiet: []edit{{endpoints, "exposure: {hostPort: 8025}", "exposure: {hostPort: 8026}"}, {mail, "hostPort: 8025", "hostPort: 8026"}}},
		{rule: "exposure-ambiguous",
			fires: []edit{{nodeport, "name: web-nodeport", "name: one"}, {extra, "", service("NodePort", "  selector: {app: web}\n  ports: [{port: 80, targetPort: ui}]\n")}},
			at:    place{endpoints, "exposed: true\n    source: apps/web"},
			quiet: []edit{{nodeport, "name: web-nodeport", "name: one"}, {endpoints, "    layer: apps", "    exposure: one"}}},
		{rule: "exposure-by-chart",
			fires: []edit{{extra, "", "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: rel, namespace: front}\n"}},
			at:    place{extra, "name: rel"},
			quiet: []edit{{extra, "", "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: rel, namespace: front}\n"},
				accept("{kind: HelmRelease, namespace: front, name: rel, reason: it exposes nothing}")}},
		{rule: "exposure-by-operator",
			fires: []edit{{extra, "", "apiVersion: kafka.strimzi.io/v1\nkind: Kafka\nmetadata: {name: log, namespace: front}\nspec:\n  listeners:\n    - type: nodeport\n"}},
			at:    place{extra, "type: nodeport"},
			quiet: []edit{{extra, "", "apiVersion: kafka.strimzi.io/v1\nkind: Kafka\nmetadata: {name: log, namespace: front}\nspec:\n  listeners:\n    - type: internal\n"}}},
		{rule: "exposure-by-operator", name: "values in a text",
			fires: []edit{{extra, "", "apiVersion: helm.cattle.io/v1\nkind: HelmChartConfig\nmetadata: {name: traefik, namespace: front}\nspec:\n  valuesContent: |-\n    # of the chart\n    service:\n      type: LoadBalancer\n"}},
			at:    place{extra, "type: LoadBalancer"},
			other: []string{"exposure-by-chart"},
			quiet: []edit{{extra, "", "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: x, namespace: front}\nspec: {sources: [{chart: y, helm: {values: \"service: {type: ClusterIP}\"}}]}\n"}}},
		{rule: "exposure-by-patch",
			fires: []edit{{"apps/kustomization.yaml", "", "patches:\n  - target: {kind: Service, name: other, namespace: front}\n    patch: |-\n      - op: add\n        path: /spec/type\n        value: NodePort\n"}},
			at:    place{"apps/kustomization.yaml", "value: NodePort"},
			quiet: []edit{{"apps/kustomization.yaml", "", "patches:\n  - target: {kind: Service, name: web, namespace: front}\n    patch: |-\n      - op: add\n        path: /spec/type\n        value: NodePort\n"}}},
		{rule: "exposure-by-values",
			fires: []edit{{"apps/values.yaml", "", "service:\n  type: LoadBalancer\n"}},
			at:    place{"apps/values.yaml", "type: LoadBalancer"},
			quiet: []edit{{"apps/values.yaml", "", "service:\n  type: ClusterIP\n  nodePort: null\n"}}},
		{rule: "exposure-port",
			fires: []edit{{nodeport, "targetPort: ui", "targetPort: metrics"}},
			at:    place{nodeport, "targetPort: metrics"},
			quiet: []edit{{nodeport, "targetPort: ui", "targetPort: 3000"}}}, // the number of the named port
		{rule: "exposure-selector",
			fires: []edit{{nodeport, "app: web", "app: wep"}},
			at:    place{nodeport, "app: wep"},
			quiet: []edit{{nodeport, "app: web", "tier: front"}}}, // the same pods by another label
		{rule: "fqdn-mismatch",
			fires: []edit{{endpoints, "fqdn: web.front.svc.cluster.local", "fqdn: web.back.svc.cluster.local"}},
			at:    place{endpoints, "fqdn: web.back"},
			quiet: []edit{{endpoints, "    fqdn: web.front.svc.cluster.local\n", ""}}},
		{rule: "generator-unknown",
			fires: []edit{{"apps/db/cluster.yaml", "apiVersion: postgresql.cnpg.io/v1", "apiVersion: example.org/v1"}},
			at:    place{endpoints, "service: pg-rw"},
			quiet: []edit{{endpoints, "service: pg-rw", "service: pg-ro"}, {endpoints, "fqdn: pg-rw", "fqdn: pg-ro"}}},
		{rule: "l7-leftover",
			fires: []edit{{extra, "", gateway}},
			at:    place{extra, "name: edge"},
			quiet: []edit{{extra, "", gateway}, accept("{kind: Gateway, namespace: front, name: edge, reason: cohabitation, until: 2027-12-31}")}},
		{rule: "legacy-field",
			fires: []edit{{endpoints, "    layer: apps", "    ui_hostname: web.cluster.lan"}},
			at:    place{endpoints, "ui_hostname"},
			quiet: []edit{{endpoints, "    layer: apps", "    path: /web"}}},
		{rule: "manifest-chart",
			fires: []edit{{"charts/x/Chart.yaml", "", "name: x\n"}, {"charts/x/templates/service.yaml", "", "type: {{ .Values.type }}\n"}},
			at:    place{"charts/x/Chart.yaml", "name: x"},
			quiet: []edit{{"charts/x/templates/service.yaml", "", service("ClusterIP", onePort)}}},
		{rule: "manifest-duplicate-key",
			fires: []edit{{extra, "", service("ClusterIP", "  type: NodePort\n")}},
			at:    place{extra, "type: NodePort"},
			quiet: []edit{{extra, "", service("ClusterIP", "  Type2: NodePort\n")}}},
		{rule: "manifest-field", name: "quoted",
			fires: []edit{{extra, "", service("ClusterIP", "  ports:\n    - port: \"80\"\n")}},
			at:    place{extra, "port: \"80\""},
			quiet: []edit{{extra, "", service("ClusterIP", "  ports:\n    - port: 80\n      targetPort: \"http\"\n")}}},
		{rule: "manifest-field", name: "case",
			fires: []edit{{extra, "", service("ClusterIP", "  Ports: []\n")}},
			at:    place{extra, "Ports:"},
			quiet: []edit{{extra, "", service("ClusterIP", "  portss: []\n")}}},
		{rule: "manifest-field", name: "kind",
			fires: []edit{{extra, "", "apiVersion: v1\nkind: service\nmetadata: {name: extra, namespace: front}\nspec: {type: NodePort, ports: [{port: 80}]}\n"}},
			at:    place{extra, "kind: service"},
			quiet: []edit{{extra, "", "apiVersion: v1\nkind: Service\nmetadata: {name: extra, namespace: front}\nspec: {ports: [{port: 80}]}\n"}}},
		{rule: "manifest-field", name: "kind of another group",
			fires: []edit{{extra, "", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: apps/v1\n  kind: Daemonset\n  metadata: {name: x, namespace: front}\n"}},
			at:    place{extra, "kind: Daemonset"},
			quiet: []edit{{extra, "", "apiVersion: example.org/v1\nkind: daemonset\nmetadata: {name: x, namespace: front}\n---\napiVersion: tool/v1\nkind: service\nmetadata: {name: x}\n---\nkind: service\nmetadata: {name: x}\n"}}},
		{rule: "manifest-syntax",
			fires: []edit{{web, "---\n", "---\nkind: Broken\n a: 1\n---\n"}},
			at:    place{web, " a: 1"},
			quiet: []edit{{web, "---\n", "--- # a comment\n# and nothing\n---\n"}}},
		{rule: "manifest-template",
			fires: []edit{{extra, "", service("{{ .Values.type }}", onePort)}},
			at:    place{extra, ".Values.type"},
			quiet: []edit{{extra, "", service("{{ .Values.type }}", onePort)}, accept("{kind: File, name: apps/extra.yaml, reason: a sample}")}},
		{rule: "manifest-unread",
			fires: []edit{{extra, "", strings.Repeat("[", 300) + strings.Repeat("]", 300) + "\n"}},
			at:    place{extra, "[["},
			quiet: []edit{{extra, "", strings.Repeat("[", 150) + strings.Repeat("]", 150) + "\n"}}},
		{rule: "namespace-mismatch",
			fires: []edit{{endpoints, "namespace: portal", "namespace: front"}, {endpoints, "fqdn: portal.portal", "fqdn: portal.front"}},
			at:    place{endpoints, "namespace: front\n    fqdn: portal"},
			other: []string{"unpromised-nodeport"},
			quiet: []edit{{extra, "", strings.Replace(service("ClusterIP", onePort), "extra", "portal", 1)}}}, // the same name elsewhere
		{rule: "namespace-undeclared",
			fires: []edit{{platform, "{name: mail}, ", ""}},
			at:    place{endpoints, "namespace: mail\n    fqdn"},
			quiet: []edit{{platform, "{name: mail}, ", "{name: mail}, {name: spare}, "}}},
		{rule: "namespace-unset",
			fires: []edit{{mail, "  name: mail\n  namespace: mail\nspec:\n  selector", "  name: mail\nspec:\n  selector"}},
			at:    place{mail, "  name: mail\nspec"},
			quiet: []edit{{mail, "  name: mail\n  namespace: mail\nspec:\n  selector", "  name: mail\nspec:\n  selector"},
				{"apps/mail/kustomization.yaml", "", "namespace: mail\nresources: [mail.yaml]\n"}}},
		{rule: "network-access",
			fires: []edit{{endpoints, "endpoint: db", "endpoint: bd"}},
			at:    place{endpoints, "endpoint: bd"},
			quiet: []edit{{endpoints, "endpoint: db", "endpoint: web"}}},
		{rule: "nodeport-collision",
			fires: []edit{accept("{kind: NodePort, namespace: front, name: extra, reason: yes}"), accept2("{kind: NodePort, namespace: front, name: twin, reason: yes}"),
				{extra, "", service("NodePort", "  ports: [{port: 1, nodePort: 30001}]\n") + "---\n" + strings.Replace(service("NodePort", "  ports: [{port: 2, nodePort: 30001}]\n"), "extra", "twin", 1)}},
			at: place{extra, "port: 2"},
			quiet: []edit{accept("{kind: NodePort, namespace: front, name: extra, reason: yes}"), accept2("{kind: NodePort, namespace: front, name: twin, reason: yes}"),
				{extra, "", service("NodePort", "  ports: [{port: 1, nodePort: 30001}]\n") + "---\n" + strings.Replace(service("NodePort", "  ports: [{port: 2, nodePort: 30001, protocol: UDP}]\n"), "extra", "twin", 1)}}},
		{rule: "nodeport-on-clusterip",
			fires: []edit{{web, "      targetPort: ui", "      targetPort: ui\n      nodePort: 30080"}},
			at:    place{web, "nodePort: 30080"},
			quiet: []edit{{web, "      targetPort: ui", "      targetPort: ui\n      nodePort: 0"}}},
		{rule: "nodeport-pinned",
			fires: []edit{{nodeport, "      targetPort: ui", "      targetPort: ui\n      nodePort: 30080"}},
			at:    place{nodeport, "nodePort: 30080"},
			quiet: []edit{{nodeport, "      targetPort: ui", "      targetPort: ui\n      nodePort: null"}}},
		{rule: "nodeport-range",
			fires: []edit{accept("{kind: NodePort, namespace: front, name: extra, reason: yes}"), {extra, "", service("NodePort", "  ports:\n    - port: 1\n      nodePort: 8080\n")}},
			at:    place{extra, "nodePort: 8080"},
			quiet: []edit{accept("{kind: NodePort, namespace: front, name: extra, reason: yes}"), {extra, "", service("NodePort", "  ports:\n    - port: 1\n      nodePort: 32767\n")}}},
		{rule: "policy-may-block",
			fires: []edit{{"policies/front.yaml", "port: 3000", "port: 3001"}},
			at:    place{"policies/front.yaml", "name: deny"},
			quiet: []edit{{"policies/front.yaml", "port: 3000", "port: ui"}}},
		{rule: "policy-may-block", name: "from pods only",
			fires: []edit{{"policies/front.yaml", "    - ports:\n", "    - from: [{podSelector: {}}]\n      ports:\n"}},
			at:    place{"policies/front.yaml", "name: deny"},
			quiet: []edit{{"policies/front.yaml", "    - ports:\n", "    - from: [{ipBlock: {cidr: 10.0.0.0/8}}]\n      ports:\n"}}},
		{rule: "policy-may-block", name: "a plug-in's policy beside it",
			fires: []edit{{"policies/front.yaml", "port: 3000", "port: 3001"}, {extra, "", "apiVersion: cilium.io/v2\nkind: CiliumNetworkPolicy\nmetadata: {name: x, namespace: back}\n"}},
			at:    place{"policies/front.yaml", "name: deny"},
			quiet: []edit{{"policies/front.yaml", "port: 3000", "port: 3001"}, {extra, "", "apiVersion: cilium.io/v2\nkind: CiliumNetworkPolicy\nmetadata: {name: x, namespace: front}\n"}}},
		{rule: "port-mismatch",
			fires: []edit{{endpoints, "    port: 80\n    protocol: http\n    auth: none\n    exposed: true\n    exposure", "    port: 8025\n    protocol: http\n    auth: none\n    exposed: true\n    exposure"}},
			at:    place{endpoints, "    port: 8025"},
			quiet: []edit{{mail, "    - port: 80\n", "    - port: 25\n      name: smtp\n    - port: 80\n      name: http\n"}}},
		{rule: "port-mismatch", name: "of a Service that exposes itself",
			fires: []edit{{"apps/portal/portal.yaml", "- port: 80", "- port: 81"}},
			at:    place{endpoints, "port: 80\n    protocol: http\n    auth: none\n    exposed: true\n    source: apps/portal"},
			quiet: []edit{{"apps/portal/portal.yaml", "targetPort: 8080", "name: web\n          targetPort: 8080"}}},
		{rule: "port-mismatch", name: "of an operator",
			fires: []edit{{endpoints, "port: 5432", "port: 5433"}},
			at:    place{endpoints, "port: 5433"},
			quiet: []edit{{"storage/lake.yaml", "    port: 80", "    port: 80\n    securePort: 443"}}},
		{rule: "port-twice",
			fires: []edit{{extra, "", service("ClusterIP", "  ports:\n    - {name: a, port: 53}\n    - {name: b, port: 53, protocol: UDP}\n")}},
			at:    place{extra, "protocol: UDP"},
			quiet: []edit{{extra, "", service("ClusterIP", "  ports:\n    - {name: a, port: 53}\n    - {name: b, port: 54, protocol: UDP}\n")}}},
		{rule: "portal-reads-secrets",
			fires: []edit{{"apps/portal/portal.yaml", "resources: [services, nodes]", "resources: [services, secrets]"}},
			at:    place{"apps/portal/portal.yaml", `- apiGroups: [""]`},
			quiet: []edit{{"apps/portal/portal.yaml", `- apiGroups: [""]`, `- apiGroups: [example.org]`}}},
		{rule: "portal-reads-secrets", name: "as a group",
			fires: []edit{{"apps/portal/portal.yaml", "      - kind: ServiceAccount\n        name: portal\n        namespace: portal", "      - kind: Group\n        name: system:serviceaccounts:portal"}, {"apps/portal/portal.yaml", "resources: [services, nodes]", "resources: ['*']"}},
			at:    place{"apps/portal/portal.yaml", `- apiGroups: [""]`},
			quiet: []edit{{"apps/portal/portal.yaml", "      - kind: ServiceAccount\n        name: portal\n        namespace: portal", "      - kind: Group\n        name: system:serviceaccounts:front"}, {"apps/portal/portal.yaml", "resources: [services, nodes]", "resources: ['*']"}}},
		{rule: "portal-reads-secrets", name: "by a role that Kubernetes has",
			fires: []edit{{"apps/portal/portal.yaml", "      kind: ClusterRole\n      name: portal-read", "      kind: ClusterRole\n      name: edit"}},
			at:    place{"apps/portal/portal.yaml", "apiGroup: rbac"},
			quiet: []edit{{"apps/portal/portal.yaml", "      kind: ClusterRole\n      name: portal-read", "      kind: ClusterRole\n      name: view"}}},
		{rule: "s3-endpoint",
			fires: []edit{{classes, "local:80", "local:8080"}},
			at:    place{classes, "local:8080"},
			quiet: []edit{{classes, "      endpoint: rook-ceph-rgw-lake.rook-ceph.svc.cluster.local:80\n", ""}}},
		{rule: "scheme-mismatch",
			fires: []edit{{web, "    - name: http\n", "    - name: https\n"}},
			at:    place{endpoints, "protocol: http\n    auth: secret-admin"},
			quiet: []edit{{web, "    - name: http\n", "    - name: https\n      appProtocol: http\n"}}},
		{rule: "scheme-mismatch", name: "beside a chart",
			fires: []edit{{"apps/board/nodeport.yaml", "name: https", "name: http"}},
			at:    place{endpoints, "protocol: https"},
			quiet: []edit{{"apps/board/nodeport.yaml", "name: https", "name: web"}}},
		{rule: "secret-example",
			fires: []edit{{"apps/web/secret.example.yaml", "", ""}},
			at:    place{platform, "apps/web/secret.example.yaml"},
			quiet: []edit{{platform, "      example_file: apps/web/secret.example.yaml\n", ""}}},
		{rule: "secret-key",
			fires: []edit{{"apps/web/secret.example.yaml", "db-password", "password"}},
			at:    place{platform, "key: db-password"},
			quiet: []edit{{"apps/web/secret.example.yaml", "stringData:", "data: {more: eA==}\nstringData:"}}},
		{rule: "secret-role",
			fires: []edit{{"apps/db/cluster.yaml", "name: pg-role-app", "name: pg-role-other"}},
			at:    place{platform, "secret: pg-role-app"},
			quiet: []edit{{"apps/db/cluster.yaml", "  managed:\n    roles:\n      - name: app\n        passwordSecret:\n          name: pg-role-app", "  bootstrap: {initdb: {secret: {name: pg-role-app}}}"}}},
		{rule: "selector-unmatched",
			fires: []edit{{"apps/portal/portal.yaml", "          labels:\n            app: portal", "          labels:\n            app: gone"}},
			at:    place{"apps/portal/portal.yaml", "        app: portal"},
			quiet: []edit{{"apps/portal/portal.yaml", "      selector:\n        app: portal\n", ""}}}, // its endpoints are written by hand
		{rule: "service-missing",
			fires: []edit{{endpoints, "service: mail", "service: mial"}, {endpoints, "fqdn: mail", "fqdn: mial"}, accept("{kind: HostPort, namespace: mail, name: mail, port: 8025, reason: no endpoint}")},
			at:    place{endpoints, "service: mial"},
			quiet: []edit{{extra, "", "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: x, namespace: front}\nspec: {defaultBackend: {service: {name: chart-ui, port: {number: 80}}}}\n"},
				{endpoints, "accept:\n", "  - {id: routed, service: chart-ui, namespace: front, port: 80, source: apps/extra.yaml}\n\naccept:\n"}}}, // a route leads to it
		{rule: "service-missing", name: "its pods and what exposes it are there",
			fires: []edit{{web, "  name: web\n  namespace: front\nspec:\n  selector:\n    app: web", "  name: weeb\n  namespace: front\nspec:\n  selector:\n    app: web"}},
			at:    place{endpoints, "service: web"},
			quiet: []edit{{web, "kind: Deployment\nmetadata:\n  name: web", "kind: Deployment\nmetadata:\n  name: weeb"}}},
		{rule: "service-not-provable",
			fires: []edit{{endpoints, "accept:\n", "  - {id: chart, service: chart, namespace: board, port: 80, source: apps/board}\n\naccept:\n"}},
			at:    place{endpoints, "id: chart"},
			quiet: []edit{{"apps/board/values.yaml", "", "more: 1\n"}}}, // a NodePort beside the values anchors it
		{rule: "source-mismatch",
			fires: []edit{{endpoints, "source: apps/mail/mail.yaml", "source: apps/web"}},
			at:    place{endpoints, "source: apps/web\n\n  - id: portal"},
			quiet: []edit{{endpoints, "source: apps/web\n", "source: apps/web/nodeport.yaml\n"}}}, // of the exposing Service
		{rule: "source-missing",
			fires: []edit{{endpoints, "source: apps/db/cluster.yaml", "source: apps/bd"}},
			at:    place{endpoints, "source: apps/bd"},
			quiet: []edit{{endpoints, "source: apps/db/cluster.yaml", "source: apps/db/"}}},
		{rule: "storageclass-default",
			fires: []edit{{"storage/classes.yaml", `"true"`, `"false"`}},
			at:    place{classes, "name: block"},
			quiet: []edit{{"storage/classes.yaml", `"true"`, `"false"`}, {classes, "default: true", "default: false"}}},
		{rule: "storageclass-missing",
			fires: []edit{{"storage/classes.yaml", "name: block", "name: blok"}},
			at:    place{classes, "name: block"},
			quiet: []edit{{classes, "      bucket_storage_class: lake\n", ""}}},
		{rule: "storageclass-provisioner",
			fires: []edit{{"storage/classes.yaml", "rbd.csi", "cephfs.csi"}},
			at:    place{classes, "provisioner: rook"},
			quiet: []edit{{classes, "        provisioner: rook-ceph.rbd.csi.ceph.com\n", ""}, {"storage/classes.yaml", "rbd.csi", "cephfs.csi"}}},
		{rule: "system-exposure",
			fires: []edit{{extra, "", hostNetwork("cilium", "kube-system")}},
			at:    place{extra, "hostNetwork: true"},
			quiet: []edit{{extra, "", strings.Replace(hostNetwork("cilium", "kube-system"), "true", "false", 1)}}},
		{rule: "targetport-undeclared",
			fires: []edit{{"apps/portal/portal.yaml", "targetPort: 8080", "targetPort: 8081"}},
			at:    place{"apps/portal/portal.yaml", "targetPort: 8081"},
			quiet: []edit{{"apps/portal/portal.yaml", "targetPort: 8080", "targetPort: 8081"}, {"apps/portal/portal.yaml", "              ports:\n                - containerPort: 8080\n", ""}}},
		{rule: "targetport-unresolved",
			fires: []edit{{"apps/portal/portal.yaml", "targetPort: 8080", "targetPort: http"}},
			at:    place{"apps/portal/portal.yaml", "targetPort: http"},
			quiet: []edit{{"apps/portal/portal.yaml", "targetPort: 8080", "targetPort: http"}, {"apps/portal/portal.yaml", "- containerPort: 8080", "- {containerPort: 8080, name: http}"}}},
		{rule: "unpromised-externalip",
			fires: []edit{{extra, "", service("ClusterIP", "  externalIPs: [192.0.2.10]\n"+onePort)}},
			at:    place{extra, "192.0.2.10"},
			quiet: []edit{{extra, "", service("ClusterIP", "  externalIPs: [127.0.0.1]\n"+onePort)}}},
		{rule: "unpromised-hostnetwork",
			fires: []edit{{extra, "", hostNetwork("agent", "front")}},
			at:    place{extra, "hostNetwork: true"},
			quiet: []edit{{extra, "", hostNetwork("agent", "front")}, accept("{kind: HostNetwork, namespace: front, name: agent, reason: it watches the node}")}},
		{rule: "unpromised-hostport",
			fires: []edit{{mail, "              hostIP: 127.0.0.1\n", ""}},
			at:    place{mail, "hostPort: 9000"},
			quiet: []edit{{mail, "hostIP: 127.0.0.1", "hostIP: \"::1\""}}},
		{rule: "unpromised-loadbalancer",
			fires: []edit{{nodeport, "type: NodePort", "type: LoadBalancer"}},
			at:    place{nodeport, "type: LoadBalancer"},
			quiet: []edit{{nodeport, "type: NodePort", "type: LoadBalancer"}, accept("{kind: LoadBalancer, namespace: front, name: web-nodeport, port: 80, reason: until the switch}")}},
		{rule: "unpromised-nodeport",
			fires: []edit{{extra, "", service("NodePort", onePort)}},
			at:    place{extra, "type: NodePort"},
			quiet: []edit{{extra, "", service("ClusterIP", onePort)}}},
		{rule: "unpromised-nodeport", name: "another port of a promised Service",
			fires: []edit{{nodeport, "      targetPort: ui", "      targetPort: ui\n    - name: metrics\n      port: 9090"}},
			at:    place{nodeport, "name: metrics"},
			quiet: []edit{{nodeport, "      targetPort: ui", "      targetPort: ui\n    - name: metrics\n      port: 9090"},
				accept("{kind: NodePort, namespace: front, name: web-nodeport, port: 9090, reason: scraped from outside}")}},
	}
	covered := map[string]bool{}
	for _, c := range cases {
		covered[c.rule] = true
		t.Run(strings.TrimSpace(c.rule+" "+c.name), func(t *testing.T) {
			tree := base(t, c.fires)
			got := check(t, tree)
			want := append([]string{c.rule}, c.other...)
			require.ElementsMatch(t, want, rulesOf(got), "%+v", got)
			for _, f := range got {
				if f.Rule == c.rule {
					assert.Equal(t, c.at.file, f.File)
					assert.Equal(t, lineOf(t, tree, c.at), f.Line, "%+v", f)
					assert.NotEmpty(t, f.Message)
					assert.NotEmpty(t, f.Remedy)
				}
			}
			for _, f := range check(t, base(t, c.quiet)) {
				// in a file that is accepted it stays in sight, as information
				assert.False(t, f.Rule == c.rule && !strings.Contains(f.Message, "(accepted"), "must be silent: %+v", f)
			}
		})
	}
	live := []string{"cohabitation", "l4-cilium", "l4-residue", "state-unread"} // of portal/state, which tests them
	for _, r := range contract.Rules() {
		assert.NotEqual(t, slices.Contains(live, r.ID), covered[r.ID], "rule %s has no case", r.ID)
	}
}

// lineOf takes a text of several lines for its first one.
func lineOf(t *testing.T, tree fstest.MapFS, p place) int {
	t.Helper()
	if !strings.Contains(p.text, "\n") {
		return line(t, tree, p)
	}
	data := string(tree[p.file].Data)
	require.Equal(t, 1, strings.Count(data, p.text), "%s must hold %q once", p.file, p.text)
	return 1 + strings.Count(data[:strings.Index(data, p.text)], "\n")
}

const gateway = "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: edge, namespace: front}\n"

// accept2 is a second entry beside the one of accept.
func accept2(entry string) edit {
	return edit{endpoints, "accept:\n", "accept:\n  - " + entry + "\n"}
}

func hostNetwork(name, namespace string) string {
	return fmt.Sprintf("apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: %s, namespace: %s}\nspec:\n  template:\n    spec:\n      hostNetwork: true\n      containers: []\n", name, namespace)
}

// What is accepted until a day may be in the cluster alone: a gateway's
// controller makes Services, too.
func TestRules_AcceptedForATime(t *testing.T) {
	for _, kind := range []string{"LoadBalancer", "NodePort", "Gateway"} {
		entry := "{kind: " + kind + ", namespace: front, name: gone, reason: the old way"
		for end, want := range map[string]contract.Severity{"}": contract.Warning, ", until: 2027-09-30}": contract.Info} {
			found := check(t, base(t, []edit{accept(entry + end)}))
			require.Len(t, found, 1)
			assert.Equal(t, "accept-unused", found[0].Rule)
			assert.Equal(t, want, found[0].Severity, "%s%s", entry, end)
		}
	}
}

func TestRules_BaseIsClean(t *testing.T) {
	assert.Empty(t, check(t, base(t, nil)))
}

func TestRules_PagesAndTable(t *testing.T) {
	previous := ""
	for _, r := range contract.Rules() {
		assert.Less(t, previous, r.ID, "sorted, without doubles")
		previous = r.ID
		title, rest, _ := strings.Cut(r.Doc, "\n\n")
		assert.Equal(t, "# "+r.ID, title)
		severity := strings.ToUpper(string(r.Severity[:1])) + string(r.Severity[1:])
		assert.True(t, strings.HasPrefix(rest, severity+": "+r.Summary+"."), "%s: the page's second line is not its severity and summary", r.ID)
		assert.Contains(t, r.Doc, "**What to do.**", r.ID)
	}
	files, err := os.ReadDir("rules")
	require.NoError(t, err)
	assert.Len(t, contract.Rules(), len(files), "a page without a rule, or a rule without a page")
}

func TestRules_GuideListsThemAll(t *testing.T) {
	guide, err := os.ReadFile("../docs/contract.md")
	require.NoError(t, err)
	for _, r := range contract.Rules() {
		assert.Contains(t, string(guide), fmt.Sprintf("| [%s](../contract/rules/%s.md) | %s | %s |\n", r.ID, r.ID, r.Severity, r.Summary))
	}
	assert.Equal(t, len(contract.Rules()), strings.Count(string(guide), "](../contract/rules/"))
}

// The guide's own sample is a contract.
func TestRules_GuideSample(t *testing.T) {
	guide, err := os.ReadFile("../docs/contract.md")
	require.NoError(t, err)
	_, sample, found := strings.Cut(string(guide), "```yaml\n")
	require.True(t, found)
	sample, _, _ = strings.Cut(sample, "```")
	got, findings := contract.Parse("sample.yaml", []byte(sample))
	assert.Empty(t, findings)
	assert.Len(t, got.Endpoints, 1)
	assert.Len(t, got.Accept, 1)
}
