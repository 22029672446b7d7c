package platform_test

import (
	"github.com/nestor-tools/nestor/contract"
	"github.com/stretchr/testify/assert"
	"slices"
	"testing"
)

// Cases in which the rules do not give the right answer yet; they move into
// the table as they do.
func init() {
	defects = append(defects, []defect{
		{
			name:  "second port opened by a promised Service",
			edits: []edit{{mailpit, "---\napiVersion: apps/v1", "    - name: smtp\n      port: 1025\n      targetPort: smtp\n---\napiVersion: apps/v1"}},
			want:  []want{{"unpromised-nodeport", mailpit, line("- name: smtp", after("type: NodePort"))}},
		},
		{
			name:  "external address",
			edits: []edit{{prometheus, "spec:\n  selector:\n    app: prometheus\n  ports:", "spec:\n  externalIPs:\n    - 192.0.2.10\n  selector:\n    app: prometheus\n  ports:"}},
			want:  []want{{"unpromised-externalip", prometheus, line("- 192.0.2.10")}},
		},
		{ // the container's port is the accepted number, the host's is not
			name:  "accepted hostPort moved",
			edits: []edit{{mailpit, "hostPort: 1025", "hostPort: 1026"}},
			want: []want{
				{"unpromised-hostport", mailpit, line("hostPort: 1026")},
				{"accept-unused", endpoints, line("- kind: HostPort")},
			},
		},
		{
			name:  "NodePort Service between markers and comments",
			edits: []edit{{added, "", "%YAML 1.2\n--- # first\n" + nodePort + "...\n# end\n"}},
			want:  []want{{"unpromised-nodeport", added, line("type: NodePort")}},
		},
		{
			name:  "backend Service renamed",
			edits: []edit{{grafana, "  name: grafana\n  namespace: monitoring\n  labels", "  name: grafan\n  namespace: monitoring\n  labels"}},
			want:  []want{{"service-missing", endpoints, line("service: grafana")}},
		},
		{
			name:  "portal's namespace may read Secrets, as a group",
			edits: []edit{{added, "", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: all}\nroleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: ClusterRole\n  name: admin\nsubjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: \"system:serviceaccounts:portal\"}]\n"}},
			want:  []want{{"portal-reads-secrets", added, line("apiGroup: rbac")}},
		},
		{
			name:  "strict key of a secret changed",
			edits: []edit{{"apps/dagster/pg-secret.example.yaml", "postgresql-password:", "password:"}},
			want:  []want{{"secret-key", secrets, line("key: postgresql-password")}},
		},
		{ // what it promises still stands
			name:  "id of a UI given twice",
			edits: []edit{{endpoints, "  - id: marquez-web", "  - id: gitea"}},
			want:  []want{{"endpoint-duplicate", endpoints, line("- id: gitea", after("source: apps/gitea"))}},
		},
		{
			name:  "port is a text",
			edits: []edit{{endpoints, "port: 5432", "port: \"5432\""}},
			want:  []want{{"contract-field", endpoints, line(`port: "5432"`)}},
		},
		{
			name:  "port out of range",
			edits: []edit{{endpoints, "port: 5432", "port: 65536"}},
			want:  []want{{"contract-field", endpoints, line("port: 65536")}},
		},
		{
			name:  "no namespace",
			edits: []edit{{endpoints, "    namespace: postgres\n", ""}},
			want:  []want{{"contract-field", endpoints, line("- id: postgres-rw")}},
		},
		{
			name:  "accepted until a day that is over",
			edits: []edit{{endpoints, "    reason: machines", "    until: 2026-01-31\n    reason: machines"}},
			want:  []want{{"accept-expired", endpoints, line("until: 2026-01-31")}},
		},
		{
			name:  "type given twice",
			edits: []edit{{registry, "spec:\n  selector:\n    app: registry\n  ports:", "spec:\n  type: ClusterIP\n  type: NodePort\n  selector:\n    app: registry\n  ports:"}},
			want:  []want{{"manifest-duplicate-key", registry, line("type: NodePort")}},
		},
	}...)
	harmless = append(harmless, []defect{
		{name: "exposed by its pods' hostPort, as a text", edits: []edit{
			{portal, "  type: NodePort\n", ""},
			{portal, "containerPort: 8080", "containerPort: 8080\n              hostPort: 8080"},
			{endpoints, "    source: apps/portal", "    exposure: \"hostPort: 8080\"\n    source: apps/portal"},
		}},
	}...)
}

// Every rule is shown firing once at least; TestDefects shows the others silent
// beside it.
func TestEveryRuleHasItsDefect(t *testing.T) {
	fired := map[string]bool{"l7-leftover": true} // below
	for _, d := range defects {
		for _, x := range slices.Concat(d.want, d.infos) {
			fired[x.rule] = true
		}
	}
	for _, r := range contract.Rules() {
		assert.True(t, fired[r.ID], "no defect is found by rule %s", r.ID)
		delete(fired, r.ID)
	}
	assert.Empty(t, fired, "rules that no longer exist")
}
