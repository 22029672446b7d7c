package state_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/portal"
	"github.com/nestor-tools/nestor/portal/state"
)

var today = time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)

func promised(t testing.TB, accept string) *contract.Contract {
	t.Helper()
	c, findings := contract.Parse("contract/endpoints.yaml", []byte(`contract_version: "1.0"
endpoints:
  - {id: web, service: web, namespace: shop, fqdn: web.shop.svc.cluster.local, port: 80, protocol: http, auth: none, exposed: true}
  - {id: mail, service: mail, namespace: shop, fqdn: mail.shop.svc.cluster.local, port: 25, protocol: tcp, auth: none, exposed: true, exposure: {hostPort: 25}}
`+accept))
	require.Empty(t, findings)
	return c
}

var synced = portal.Source{State: portal.Synced}

// world is a cluster where all is as promised.
func world() *state.Snapshot {
	s := &state.Snapshot{Groups: map[string]portal.Source{}, Cilium: state.Cilium{Source: synced, Namespace: "kube-system", Config: map[string]string{"kube-proxy-replacement": "true"}}}
	s.Cluster.Sources = map[portal.Resource]portal.Source{portal.Services: synced, portal.Pods: synced}
	s.Cluster.Services = []portal.Service{
		{Namespace: "shop", Name: "mail", Type: "ClusterIP", Selector: map[string]string{"app": "mail"}, Ports: []portal.ServicePort{{Port: 25}}},
		{Namespace: "shop", Name: "web", Type: "NodePort", Selector: map[string]string{"app": "web"}, Ports: []portal.ServicePort{{Name: "http", Port: 80, NodePort: 30080}}},
	}
	s.Cluster.Pods = []portal.Pod{{Namespace: "shop", Name: "mail-1", OwnerKind: "DaemonSet", OwnerName: "mail", Labels: map[string]string{"app": "mail"}, Ports: []portal.PodPort{{Port: 25, HostPort: 25}}}}
	for _, f := range state.Families() {
		s.Groups[f.Group] = synced
	}
	s.Kinds = []state.Kind{{Group: "gateway.networking.k8s.io", Resource: "gateways", Kind: "Gateway", Source: synced}, {Group: "networking.k8s.io", Resource: "ingresses", Kind: "Ingress", Source: synced}}
	return s
}

// While the Gateway is accepted, nothing that is printed ends it.
func TestJudge_AcceptedGateway(t *testing.T) {
	s := world()
	s.Kinds[0].Objects = []state.Object{{"shop", "a"}}
	s.Cluster.Services = append(s.Cluster.Services, portal.Service{Namespace: "shop", Name: "cilium-gateway-a", Type: "LoadBalancer", Ports: []portal.ServicePort{{Port: 443, NodePort: 30443}}})
	r := state.Judge(promised(t, "accept:\n  - {kind: Gateway, namespace: shop, name: a, reason: old, until: 2027-09-30}\n"), s, state.Options{Today: time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC)})
	assert.Equal(t, []string{"unpromised-loadbalancer", "cohabitation"}, rulesOf(r))
	for _, g := range r.Groups {
		for _, l := range g.Lines {
			assert.Empty(t, l.Command)
		}
	}
	assert.Contains(t, r.Findings()[0].Remedy, "goes with Gateway shop/a")
}

func rulesOf(r state.Report) (all []string) {
	for _, f := range r.Findings() {
		all = append(all, f.Rule)
	}
	return all
}

func TestJudge(t *testing.T) {
	cases := []struct {
		name   string
		change func(*state.Snapshot)
		accept string
		rules  []string
		says   string
		lacks  string
	}{
		{name: "as promised", change: func(*state.Snapshot) {}, says: "port 80 is 30080/TCP"},
		{name: "the hostPort is gone", change: func(s *state.Snapshot) { s.Cluster.Pods = nil }, rules: []string{"exposed-without-nodeport"}, says: "holds hostPort 25"},
		{name: "no nodePort yet", change: func(s *state.Snapshot) { s.Cluster.Services[1].Ports[0].NodePort = 0 }, rules: []string{"exposed-without-nodeport"}, says: "no nodePort yet"},
		{name: "two Services expose it", change: func(s *state.Snapshot) {
			s.Cluster.Services[1].Type = "ClusterIP"
			for _, name := range []string{"a", "b"} {
				s.Cluster.Services = append(s.Cluster.Services, portal.Service{Namespace: "shop", Name: name, Type: "NodePort", Selector: map[string]string{"app": "web"}, Ports: []portal.ServicePort{{Port: 80, NodePort: 30081}}})
			}
		}, rules: []string{"exposure-ambiguous"}, says: "Services a, b all expose it"},
		{name: "the exposing Service leads elsewhere", change: func(s *state.Snapshot) {
			s.Cluster.Services[1].Type = "ClusterIP"
			s.Cluster.Services = append(s.Cluster.Services, portal.Service{Namespace: "shop", Name: "web-nodeport", Type: "NodePort", Selector: map[string]string{"app": "web"}, Ports: []portal.ServicePort{{Port: 90, NodePort: 30081}}})
		}, rules: []string{"exposure-port"}, says: "it has 90/TCP"},
		{name: "the promised port, for UDP as well", change: func(s *state.Snapshot) {
			s.Cluster.Services[1].Ports = append(s.Cluster.Services[1].Ports, portal.ServicePort{Name: "quic", Port: 80, Protocol: "UDP", NodePort: 30080})
		}, rules: []string{"unpromised-nodeport"}, says: `[{"op":"test","path":"/spec/ports/1/port","value":80},{"op":"test","path":"/spec/ports/1/protocol","value":"UDP"},{"op":"remove","path":"/spec/ports/1"}]`, lacks: "/spec/ports/0"},
		{name: "a LoadBalancer of which no port is known to be the promised one", change: func(s *state.Snapshot) {
			s.Cluster.Services[1].Type, s.Cluster.Services[1].Ports[0].Port = "LoadBalancer", 81
		}, rules: []string{"unpromised-loadbalancer"}},
		{name: "an ExternalName", change: func(s *state.Snapshot) { s.Cluster.Services[1].Type = "ExternalName" }, rules: []string{"exposed-without-nodeport"}, says: "leads out of the cluster", lacks: "kubectl"},
		{name: "what Cilium made for a Gateway", change: func(s *state.Snapshot) {
			s.Kinds[0].Objects = []state.Object{{"shop", "a"}}
			s.Cluster.Services = append(s.Cluster.Services, portal.Service{Namespace: "shop", Name: "cilium-gateway-a", Type: "LoadBalancer", Ports: []portal.ServicePort{{Port: 443, NodePort: 30443}}})
		}, rules: []string{"unpromised-loadbalancer", "l4-residue"}, says: "made for Gateway shop/a; ; none", lacks: "patch"},
		{name: "a Service of a hundred ports", change: func(s *state.Snapshot) {
			many := portal.Service{Namespace: "shop", Name: "many", Type: "NodePort"}
			for i := range 100 {
				many.Ports = append(many.Ports, portal.ServicePort{Port: 1000 + i, NodePort: 31000 + i})
			}
			s.Cluster.Services = append(s.Cluster.Services, many)
		}, rules: []string{"unpromised-nodeport"}, says: "1005/TCP as 31005 and 94 more on each node", lacks: "31006"},
		{name: "a Service for the same pods in another namespace", change: func(s *state.Snapshot) {
			s.Cluster.Services[1].Namespace = "other"
		}, rules: []string{"service-missing", "unpromised-nodeport"}, says: "no Service shop/web"},
		{name: "nodePorts of a LoadBalancer that is accepted", change: func(s *state.Snapshot) {
			s.Cluster.Services[0].Type = "LoadBalancer"
			s.Cluster.Services[0].Ports[0].NodePort = 30025
		}, accept: "accept:\n  - {kind: LoadBalancer, namespace: shop, name: mail, reason: old, until: 2027-06-30}\n", rules: []string{"cohabitation"}, says: "cohabitation until 2027-06-30 (old)", lacks: "kubectl"},
		{name: "a promise that is a LoadBalancer, and is accepted", change: func(s *state.Snapshot) { s.Cluster.Services[1].Type = "LoadBalancer" },
			accept: "accept:\n  - {kind: LoadBalancer, namespace: shop, name: web, reason: old, until: 2027-06-30}\n", rules: []string{"cohabitation"}, lacks: "kubectl"},
		{name: "the last day counts", change: func(s *state.Snapshot) { s.Cluster.Services[1].Type = "LoadBalancer" },
			accept: "accept:\n  - {kind: LoadBalancer, namespace: shop, name: web, reason: old, until: 2027-03-01}\n", rules: []string{"cohabitation"}},
		{name: "the day after", change: func(s *state.Snapshot) { s.Cluster.Services[1].Type = "LoadBalancer" },
			accept: "accept:\n  - {kind: LoadBalancer, namespace: shop, name: web, reason: old, until: 2027-02-28}\n", rules: []string{"accept-expired"}, says: "kubectl -n shop patch service web"},
		{name: "an entry that accepts nothing", change: func(*state.Snapshot) {}, accept: "accept:\n  - {kind: NodePort, namespace: shop, name: old, reason: old}\n", rules: []string{"accept-unused"}},
		{name: "an entry whose kind was not read", change: func(s *state.Snapshot) { delete(s.Groups, "cilium.io") }, accept: "accept:\n  - {kind: CiliumLoadBalancerIPPool, name: old, reason: old}\n", rules: []string{"state-unread"}},
		{name: "an entry about manifests", change: func(*state.Snapshot) {}, accept: "accept:\n  - {kind: File, name: charts, reason: vendored}\n"},
		{name: "a loopback hostIP is no way in", change: func(s *state.Snapshot) {
			s.Cluster.Pods = append(s.Cluster.Pods, portal.Pod{Namespace: "shop", Name: "x", Ports: []portal.PodPort{{Port: 1, HostPort: 1, HostIP: "127.0.0.1"}}})
		}},
		{name: "ports on the network of the host are one cause", change: func(s *state.Snapshot) {
			s.Cluster.Pods = append(s.Cluster.Pods, portal.Pod{Namespace: "shop", Name: "x", OwnerKind: "DaemonSet", OwnerName: "x", HostNetwork: true, Ports: []portal.PodPort{{Port: 9, HostPort: 9}, {Port: 10, HostPort: 10}}})
		}, rules: []string{"unpromised-hostnetwork"}, says: "it declares 9/TCP, 10/TCP"},
		{name: "an accepted host network", change: func(s *state.Snapshot) {
			s.Cluster.Pods = append(s.Cluster.Pods, portal.Pod{Namespace: "shop", Name: "x", OwnerKind: "DaemonSet", OwnerName: "x", HostNetwork: true, Ports: []portal.PodPort{{Port: 9, HostPort: 9}}})
		}, accept: "accept:\n  - {kind: HostNetwork, namespace: shop, name: x, reason: agent}\n"},
		{name: "an external address of which one port is accepted", change: func(s *state.Snapshot) {
			s.Cluster.Services = append(s.Cluster.Services, portal.Service{Namespace: "shop", Name: "ext", Type: "ClusterIP", ExternalIPs: []string{"198.51.100.7"}, Ports: []portal.ServicePort{{Name: "a", Port: 81}, {Name: "b", Port: 82}}})
		}, accept: "accept:\n  - {kind: ExternalIP, namespace: shop, name: ext, port: 81, reason: old}\n", rules: []string{"unpromised-externalip"}, says: "kubectl -n shop edit service ext", lacks: "null"},
		{name: "Cilium of old", change: func(s *state.Snapshot) { s.Cilium.Config = map[string]string{"kube-proxy-replacement": "strict"} }},
		{name: "Cilium, in part", change: func(s *state.Snapshot) { s.Cilium.Config = map[string]string{"kube-proxy-replacement": "partial"} }, rules: []string{"l4-cilium"}},
		{name: "Cilium's words that nobody knows", change: func(s *state.Snapshot) { s.Cilium.Config["enable-gateway-api"] = "perhaps" }, rules: []string{"l4-cilium"}},
		{name: "an Ingress controller", change: func(s *state.Snapshot) { s.Cilium.Config["enable-ingress-controller"] = "true" }, rules: []string{"l4-cilium"}},
		{name: "no Cilium", change: func(s *state.Snapshot) { s.Cilium = state.Cilium{Source: synced} }, says: "not installed"},
		{name: "odd names make no command", change: func(s *state.Snapshot) {
			s.Kinds[0].Objects = []state.Object{{Namespace: "a; rm -rf ~", Name: "--all\x1b[2J"}}
		}, rules: []string{"l4-residue"}, lacks: "kubectl"},
		{name: "what routes is removed first", change: func(s *state.Snapshot) {
			s.Kinds[0].Objects = []state.Object{{"shop", "web"}}
			s.Kinds = append(s.Kinds, state.Kind{Group: "gateway.networking.k8s.io", Resource: "tcproutes", Kind: "TCPRoute", Source: synced, Objects: []state.Object{{"shop", "web"}}},
				state.Kind{Group: "gateway.networking.k8s.io", Resource: "referencegrants", Kind: "ReferenceGrant", Source: synced, Objects: []state.Object{{"shop", "web"}}})
		}, rules: []string{"l4-residue", "l4-residue"}, says: "TCPRoute shop/web is left; kubectl -n shop delete tcproutes.gateway.networking.k8s.io web; Gateway shop/web"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := world()
			c.change(s)
			r := state.Judge(promised(t, c.accept), s, state.Options{Today: today})
			assert.Equal(t, c.rules, rulesOf(r))
			text := ""
			for _, g := range r.Groups {
				for _, l := range g.Lines {
					text += l.Text + "; " + l.Command + "; "
				}
			}
			assert.Contains(t, text, c.says)
			if c.lacks != "" {
				assert.NotContains(t, text, c.lacks)
			}
			for _, f := range r.Findings() {
				assert.NotContains(t, f.Message+f.Remedy, "\x1b")
			}
			assert.NotEmpty(t, r.Next)
		})
	}
}

func TestJudge_OtherProfile(t *testing.T) {
	c := promised(t, "")
	c.Endpoints[0].Profil = "bench"
	r := state.Judge(c, world(), state.Options{Today: today, Profile: "prod"})
	assert.Equal(t, state.NotApplicable, r.Groups[0].Lines[0].Status)
	assert.Equal(t, []string{"unpromised-nodeport"}, rulesOf(r), "what exposes it all the same is promised by nobody")
}

func TestJudge_Nothing(t *testing.T) {
	r := state.Judge(nil, nil, state.Options{})
	assert.True(t, contract.Unevaluated(r.Findings()))
	assert.Zero(t, r.Count(state.OK), "nothing was read, and nothing is conform")
}

// Whatever source is not whole, the report says that it was not read, no
// absence is claimed of what rests on it, and the rest is judged as before.
func TestJudge_UnreadIsNeverConform(t *testing.T) {
	c := promised(t, "")
	rapid.Check(t, func(t *rapid.T) {
		s := world()
		bad := portal.Source{State: rapid.SampledFrom([]portal.SourceState{portal.Denied, portal.Unsynced, portal.Stale, portal.NotAsked, ""}).Draw(t, "state"), Why: rapid.StringN(0, 20, 60).Draw(t, "why")}
		sources := []string{"services", "pods", "cilium", "kind"}
		for _, f := range state.Families() {
			sources = append(sources, f.Group)
		}
		which := rapid.SampledFrom(sources).Draw(t, "source")
		switch which {
		case "services":
			s.Cluster.Sources[portal.Services], s.Cluster.Services = bad, nil
		case "pods":
			s.Cluster.Sources[portal.Pods], s.Cluster.Pods = bad, nil
		case "cilium":
			s.Cilium = state.Cilium{Source: bad}
		case "kind":
			s.Kinds[0].Source = bad
		default:
			s.Groups[which] = bad
		}
		r := state.Judge(c, s, state.Options{Today: today})
		if !contract.Unevaluated(r.Findings()) {
			t.Fatalf("%s is %q, and the report is whole", which, bad.State)
		}
		for _, rule := range rulesOf(r) {
			if rule != "state-unread" {
				t.Fatalf("%s is %q, which is taken for %s", which, bad.State, rule)
			}
		}
		if !strings.Contains(r.Next, "first") {
			t.Fatalf("next: %s", r.Next)
		}
	})
}

// Whatever is exposed and promised by nobody is drift, with its namespace and
// port, whatever else is called the same.
func TestJudge_NothingExposedIsSilent(t *testing.T) {
	c := promised(t, "")
	rapid.Check(t, func(t *rapid.T) {
		s := world()
		namespace := rapid.SampledFrom([]string{"shop", "other"}).Draw(t, "namespace")
		name := rapid.SampledFrom([]string{"web2", "extra", "web-nodeport"}).Draw(t, "name")
		kind := rapid.SampledFrom([]string{"NodePort", "LoadBalancer"}).Draw(t, "type")
		port := rapid.IntRange(1, 65535).Draw(t, "port")
		s.Cluster.Services = append(s.Cluster.Services, portal.Service{Namespace: namespace, Name: name, Type: kind, Selector: map[string]string{"app": "x"}, Ports: []portal.ServicePort{{Port: port, NodePort: 31000}}})
		r := state.Judge(c, s, state.Options{Today: today})
		if !slices.ContainsFunc(r.Findings(), func(f contract.Finding) bool {
			return strings.HasPrefix(f.Rule, "unpromised-") && strings.Contains(f.Message, fmt.Sprintf("Service %s/%s", namespace, name)) && strings.Contains(f.Message, fmt.Sprintf("%d/TCP", port))
		}) {
			t.Fatalf("%s %s/%s:%d is silent: %+v", kind, namespace, name, port, r.Findings())
		}
	})
}
