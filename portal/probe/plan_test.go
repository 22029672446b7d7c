package probe_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/portal"
	"github.com/nestor-tools/nestor/portal/probe"
)

func promised(t testing.TB) *contract.Contract {
	t.Helper()
	c, findings := contract.Parse("endpoints.yaml", []byte(`contract_version: "1.0"
endpoints:
  - {id: web, service: web, namespace: shop, fqdn: web.shop.svc.cluster.local, port: 80, protocol: http, auth: none, exposed: true, path: /ui}
  - {id: db, service: db, namespace: shop, fqdn: db.shop.svc.cluster.local, port: 5432, protocol: tcp, auth: none}
`))
	require.Empty(t, findings)
	return c
}

func snapshot() *portal.Snapshot {
	synced := portal.Source{State: portal.Synced}
	yes := true
	return &portal.Snapshot{
		Sources:  map[portal.Resource]portal.Source{portal.Services: synced, portal.EndpointSlices: synced, portal.Nodes: synced},
		Services: []portal.Service{{Namespace: "shop", Name: "web", Type: "NodePort", Selector: map[string]string{"a": "b"}, Ports: []portal.ServicePort{{Name: "http", Port: 80, NodePort: 30080}}}},
		Slices:   []portal.EndpointSlice{{Namespace: "shop", Service: "web", Ports: []portal.SlicePort{{Name: "http", Port: 80}}, Endpoints: []portal.Endpoint{{Ready: &yes, Node: "n2"}}}},
		Nodes: []portal.Node{
			{Name: "n1", Ready: true, Addresses: []portal.Address{{Type: "InternalIP", Address: "192.0.2.1"}}},
			{Name: "n2", Ready: true, Addresses: []portal.Address{{Type: "InternalIP", Address: "fd00::2"}}},
			{Name: "n3", Addresses: []portal.Address{{Type: "InternalIP", Address: "192.0.2.3"}}},
		},
	}
}

// plan writes targets as "URL node", or "state kind".
func plan(t *testing.T, s *portal.Snapshot, o probe.PlanOptions) (all []string) {
	t.Helper()
	for _, target := range probe.Plan(promised(t), s, o) {
		assert.Equal(t, "web", target.Endpoint)
		text := fmt.Sprintf("%s %s", target.URL, target.Node)
		if target.Result != nil {
			text = fmt.Sprintf("%s %s %s", target.Result.State, target.Result.Kind, target.Node)
		}
		if target.NotReady {
			text += " not ready"
		}
		if len(target.Hints) > 0 {
			text += " (" + strings.Join(target.Hints, " ") + ")"
		}
		all = append(all, strings.TrimSpace(text))
	}
	return all
}

func TestPlan(t *testing.T) {
	no := false
	for _, c := range []struct {
		name    string
		change  func(*portal.Snapshot)
		options probe.PlanOptions
		want    []string
	}{
		{name: "one node", want: []string{"http://192.0.2.1:30080/ui n1"}},
		{name: "all nodes", options: probe.PlanOptions{AllNodes: true}, want: []string{"http://192.0.2.1:30080/ui n1", "http://[fd00::2]:30080/ui n2"}},
		{name: "all nodes, of which one has the pod", change: func(s *portal.Snapshot) { s.Services[0].ExternalTrafficPolicy = "Local" }, options: probe.PlanOptions{AllNodes: true},
			want: []string{"skipped not-on-node n1", "http://[fd00::2]:30080/ui n2"}},
		{name: "all nodes, of which one is of another family", change: func(s *portal.Snapshot) { s.Services[0].IPFamilies = []string{"IPv4"} }, options: probe.PlanOptions{AllNodes: true},
			want: []string{"http://192.0.2.1:30080/ui n1", "skipped not-on-node n2"}},
		{name: "a host in place of a node", options: probe.PlanOptions{Judge: portal.Options{AccessHosts: map[string]string{"": "ui.example.org"}}}, want: []string{"http://ui.example.org:30080/ui n1"}},
		{name: "no node is Ready", change: func(s *portal.Snapshot) { s.Nodes[0].Ready, s.Nodes[1].Ready = false, false },
			want: []string{"http://192.0.2.1:30080/ui n1 not ready", "http://[fd00::2]:30080/ui n2 not ready", "http://192.0.2.3:30080/ui n3 not ready"}},
		{name: "no node at all", change: func(s *portal.Snapshot) { s.Nodes = nil }, want: []string{"failed no-node"}},
		{name: "no ready pod", change: func(s *portal.Snapshot) { s.Slices[0].Endpoints[0].Ready = &no },
			want: []string{"http://192.0.2.1:30080/ui n1 (no pod behind it is ready: kubectl -n shop describe pods -l 'a=b')"}},
		{name: "no ready pod, and no node that would answer", change: func(s *portal.Snapshot) {
			s.Slices[0].Endpoints[0].Ready = &no
			s.Services[0].ExternalTrafficPolicy = "Local"
		}, want: []string{"failed not-on-node"}},
		{name: "not deployed", change: func(s *portal.Snapshot) { s.Services = nil }, want: []string{"skipped not-deployed"}},
		{name: "not deployed, strictly", change: func(s *portal.Snapshot) { s.Services = nil }, options: probe.PlanOptions{Strict: true}, want: []string{"failed not-deployed"}},
		{name: "a ClusterIP", change: func(s *portal.Snapshot) { s.Services[0].Type, s.Services[0].Ports[0].NodePort = "ClusterIP", 0 }, want: []string{"failed not-exposed"}},
		{name: "Services not read", change: func(s *portal.Snapshot) {
			s.Services, s.Sources[portal.Services] = nil, portal.Source{State: portal.Denied}
		}, options: probe.PlanOptions{Strict: true}, want: []string{"unknown unread"}},
		{name: "Nodes not read", change: func(s *portal.Snapshot) {
			s.Nodes, s.Sources[portal.Nodes] = nil, portal.Source{State: portal.Unsynced}
		}, want: []string{"unknown unread"}},
		{name: "EndpointSlices not read", change: func(s *portal.Snapshot) {
			s.Slices, s.Sources[portal.EndpointSlices] = nil, portal.Source{State: portal.Denied}
		}, want: []string{"http://192.0.2.1:30080/ui n1"}},
		{name: "a policy may block", options: probe.PlanOptions{Judge: portal.Options{Findings: []contract.Finding{{Rule: "policy-may-block", Endpoint: "web", Position: contract.Position{File: "p.yaml", Line: 3}}}}},
			want: []string{"http://192.0.2.1:30080/ui n1 (a NetworkPolicy of the manifests may block it: nestor contract explain web)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := snapshot()
			if c.change != nil {
				c.change(s)
			}
			assert.Equal(t, c.want, plan(t, s, c.options))
		})
	}
	assert.Empty(t, probe.Plan(nil, nil, probe.PlanOptions{}))
}

func ExampleRun() {
	targets := []probe.Target{{Endpoint: "web", URL: "http://127.0.0.1:1/"}}
	for _, r := range probe.Run(context.Background(), targets, probe.Options{}) {
		fmt.Println(r.Endpoint, r.State, r.Kind)
	}
	// Output: web failed refused
}

// What stands beside a target that is not tried is about what keeps it.
func TestPlan_WhyNot(t *testing.T) {
	s := snapshot()
	s.Nodes = nil
	r := probe.Plan(promised(t), s, probe.PlanOptions{})[0].Result
	assert.Equal(t, probe.NoNode, r.Kind)
	assert.Empty(t, r.Hints, "no pod is at fault")

	s = snapshot()
	s.Services[0].Type = "ClusterIP"
	s.Services = append(s.Services, portal.Service{Namespace: "shop", Name: "web-nodeport", Type: "NodePort", Selector: map[string]string{"a": "b"},
		Ports: []portal.ServicePort{{Port: 81, TargetPort: "8181", NodePort: 30081}}})
	r = probe.Plan(promised(t), s, probe.PlanOptions{})[0].Result
	require.NotNil(t, r)
	assert.Equal(t, probe.NotExposed, r.Kind)
	assert.Equal(t, "the Services do not agree about the port", r.Message)
}
