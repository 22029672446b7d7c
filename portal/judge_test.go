package portal_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/portal"
)

// world is a small cluster that keeps the promise of one endpoint, web, whose
// Service app/web is exposed by app/web-nodeport.
func world() *portal.Snapshot {
	synced := portal.Source{State: portal.Synced, Since: observed}
	port := portal.ServicePort{Name: "ui", Port: 80, TargetPort: "8080"}
	exposed := port
	exposed.NodePort = 30080
	selector := map[string]string{"app": "web"}
	slice := func(service string) portal.EndpointSlice {
		return portal.EndpointSlice{Namespace: "app", Name: service + "-1", Service: service, Ports: []portal.SlicePort{{Name: "ui", Port: 8080, Protocol: "TCP"}},
			Endpoints: []portal.Endpoint{{Addresses: []string{"10.244.0.7"}, Node: "n2"}}}
	}
	node := func(name, ip string) portal.Node {
		return portal.Node{Name: name, Ready: true, Addresses: []portal.Address{{Type: "Hostname", Address: name}, {Type: "InternalIP", Address: ip}}}
	}
	return &portal.Snapshot{
		Schema: portal.SnapshotSchema, ObservedAt: observed,
		Sources: map[portal.Resource]portal.Source{portal.Services: synced, portal.EndpointSlices: synced, portal.Nodes: synced, portal.Pods: synced},
		Services: []portal.Service{
			{Namespace: "app", Name: "web", Type: "ClusterIP", Selector: selector, Ports: []portal.ServicePort{port}},
			{Namespace: "app", Name: "web-nodeport", Type: "NodePort", Selector: selector, Ports: []portal.ServicePort{exposed}},
		},
		Slices: []portal.EndpointSlice{slice("web"), slice("web-nodeport")},
		Nodes:  []portal.Node{node("n1", "192.0.2.1"), node("n2", "192.0.2.2")},
	}
}

func promise() *contract.Contract {
	return &contract.Contract{Endpoints: []contract.Endpoint{{ID: "web", Service: "web", Namespace: "app", Port: 80, Protocol: "http", Auth: "none", Layer: "apps", Exposed: true}}}
}

// scene is what a case changes.
type scene struct {
	*portal.Snapshot
	e *contract.Endpoint
	c *contract.Contract
	o *portal.Options
}

func (s scene) service(name string) *portal.Service {
	for i := range s.Services {
		if s.Services[i].Name == name {
			return &s.Services[i]
		}
	}
	return nil
}

func (s scene) drop(name string) {
	for i := range s.Services {
		if s.Services[i].Name == name {
			s.Services = append(s.Services[:i], s.Services[i+1:]...)
			return
		}
	}
}

func (s scene) source(r portal.Resource, state portal.SourceState) {
	s.Sources[r] = portal.Source{State: state, Since: observed.Add(-time.Minute)}
}

func (s scene) notReady(services ...string) {
	no := false
	for i := range s.Slices {
		for _, name := range services {
			if s.Slices[i].Service == name {
				s.Slices[i].Endpoints = []portal.Endpoint{{Ready: &no, Node: "n2"}}
			}
		}
	}
}

func (s scene) pods(ready bool) {
	s.e.Exposure.HostPort = 8443
	s.Pods = []portal.Pod{
		{Namespace: "app", Name: "web-x1", OwnerKind: "Deployment", OwnerName: "web", Labels: map[string]string{"app": "web"}, Node: "n2", Ready: ready, Ports: []portal.PodPort{{Name: "https", Port: 8443, HostPort: 8443}}},
		{Namespace: "app", Name: "web-x2", OwnerKind: "Deployment", OwnerName: "web", Labels: map[string]string{"app": "web"}, Node: "n1", Ready: false, Ports: []portal.PodPort{{Name: "https", Port: 8443, HostPort: 8443}}},
	}
	s.drop("web-nodeport")
}

func (s scene) entry(t *testing.T) portal.Entry {
	t.Helper()
	v := portal.Judge(s.c, s.Snapshot, *s.o)
	for _, layer := range v.Layers {
		for _, e := range layer.Entries {
			if e.ID == "web" {
				return e
			}
		}
	}
	require.Fail(t, "the endpoint has no entry")
	return portal.Entry{}
}

func newScene() scene {
	c := promise()
	return scene{world(), &c.Endpoints[0], c, &portal.Options{}}
}

func TestJudge_Verdicts(t *testing.T) {
	const url = "http://192.0.2.1:30080"
	cases := []struct {
		name     string
		change   func(scene)
		verdict  portal.Verdict
		reason   portal.Reason
		url      string
		remedy   string
		evidence string // one of the sentences
	}{
		{name: "as promised", change: func(scene) {}, verdict: portal.Match, url: url, evidence: "nodePort 30080/TCP leads to port 80"},
		{name: "inside only", change: func(s scene) { s.e.Exposed = false; s.drop("web-nodeport") }, verdict: portal.Match, evidence: "1 of 1 endpoints behind Service app/web are ready"},
		{name: "its own Service is the NodePort", change: func(s scene) {
			s.drop("web-nodeport")
			s.service("web").Type, s.service("web").Ports[0].NodePort = "NodePort", 30081
		}, verdict: portal.Match, url: "http://192.0.2.1:30081", evidence: "Service app/web, of type NodePort, exposes it: it is the endpoint's own"},
		{name: "named by the contract", change: func(s scene) {
			s.service("web-nodeport").Name = "front"
			s.Slices[1].Service = "front"
			s.e.Exposure.Service = "front"
		}, verdict: portal.Match, url: url, evidence: "Service app/front, of type NodePort, exposes it: the contract names it"},
		{name: "named for machines, not a UI", change: func(s scene) { s.e.Exposed, s.e.Exposure.Service = false, "web-nodeport" }, verdict: portal.Match, url: url},
		{name: "a machine's protocol has no URL", change: func(s scene) { s.e.Exposed, s.e.Exposure.Service, s.e.Protocol = false, "web-nodeport", "tcp" }, verdict: portal.Match, evidence: "nodePort 30080/TCP leads to port 80"},
		// kubernetes/kubernetes#116285: ready nil is ready, which world has
		{name: "not ready", change: func(s scene) { s.notReady("web", "web-nodeport") }, verdict: portal.Drift, reason: portal.NoReadyEndpoint, url: url, remedy: "kubectl -n app describe pods -l 'app=web'", evidence: "0 of 1 endpoints behind Service app/web-nodeport are ready"},
		{name: "nothing behind what exposes it", change: func(s scene) {
			s.service("web-nodeport").Selector = map[string]string{"app": "wbe"}
			s.Slices[1].Endpoints = nil
		}, verdict: portal.Drift, reason: portal.ExposureSelectorMismatch, url: url, remedy: "kubectl -n app set selector service web-nodeport 'app=web'"},
		{name: "not ready inside", change: func(s scene) { s.e.Exposed = false; s.drop("web-nodeport"); s.notReady("web") }, verdict: portal.Drift, reason: portal.NoReadyEndpoint},
		{name: "no slice at all", change: func(s scene) { s.Slices = nil }, verdict: portal.Drift, reason: portal.NoReadyEndpoint, url: url},
		{name: "a slice of another port", change: func(s scene) { s.Slices[1].Ports[0].Name = "metrics"; s.Slices[0].Ports[0].Name = "metrics" }, verdict: portal.Drift, reason: portal.NoReadyEndpoint, url: url},
		{name: "no Service", change: func(s scene) { s.Services, s.Slices = nil, nil }, verdict: portal.Missing, reason: portal.NoService, remedy: "nestor contract explain web"},
		{name: "no Service, and a file that makes it", change: func(s scene) { s.Services = nil; s.e.Source = "apps/my web.yaml" }, verdict: portal.Missing, reason: portal.NoService, remedy: "kubectl apply -f 'apps/my web.yaml'"},
		{name: "no Service, and its NodePort answers", change: func(s scene) { s.drop("web") }, verdict: portal.Drift, reason: portal.NoService, url: url, evidence: "there is no Service app/web"},
		{name: "no Service inside", change: func(s scene) { s.e.Exposed = false; s.Services = nil }, verdict: portal.Missing, reason: portal.NoService},
		{name: "exposed by nothing", change: func(s scene) { s.drop("web-nodeport") }, verdict: portal.Drift, reason: portal.NoNodePort, remedy: "kubectl -n app expose service web --type NodePort --name web-nodeport --port 80 --target-port 8080"},
		{name: "exposed by nothing, without a selector", change: func(s scene) { s.drop("web-nodeport"); s.service("web").Selector = nil }, verdict: portal.Drift, reason: portal.NoNodePort, remedy: `kubectl -n app patch service web -p '{"spec":{"type":"NodePort"}}'`},
		{name: "no nodePort yet", change: func(s scene) { s.service("web-nodeport").Ports[0].NodePort = 0 }, verdict: portal.Drift, reason: portal.NoNodePort},
		// a hand has flipped the type, which GitOps calls Synced
		{name: "not a NodePort any more", change: func(s scene) { s.service("web-nodeport").Type = "ClusterIP" }, verdict: portal.Drift, reason: portal.TypeChanged, remedy: `kubectl -n app patch service web-nodeport -p '{"spec":{"type":"NodePort"}}'`},
		{name: "a load balancer", change: func(s scene) { s.service("web-nodeport").Type = "LoadBalancer" }, verdict: portal.Drift, reason: portal.TypeChanged, url: url, evidence: "its type is LoadBalancer where NodePort was promised"},
		{name: "the stated one is no NodePort", change: func(s scene) { s.e.Exposure.Service = "web" }, verdict: portal.Drift, reason: portal.TypeChanged, remedy: `kubectl -n app patch service web -p '{"spec":{"type":"NodePort"}}'`},
		{name: "the stated one is not there", change: func(s scene) { s.e.Exposure.Service = "front" }, verdict: portal.Drift, reason: portal.NoNodePort, remedy: "kubectl -n app expose service web --type NodePort --name front --port 80 --target-port 8080"},
		{name: "two expose it", change: func(s scene) {
			a, b := *s.service("web-nodeport"), *s.service("web-nodeport")
			a.Name, b.Name = "front", "other-front"
			s.drop("web-nodeport")
			s.Services = append(s.Services, a, b)
		}, verdict: portal.Drift, reason: portal.PortAmbiguous, remedy: "nestor contract explain web", evidence: "Service app/front exposes it as well as any other; name one under exposure: in the contract"},
		{name: "the Service lacks the port", change: func(s scene) { s.e.Port = 8025 }, verdict: portal.Drift, reason: portal.PortMismatch, url: url, remedy: "kubectl -n app edit service web", evidence: "Service app/web has no port 8025"},
		{name: "the Service lacks the port, inside", change: func(s scene) { s.e.Exposed, s.e.Port = false, 8025; s.drop("web-nodeport") }, verdict: portal.Drift, reason: portal.PortMismatch},
		{name: "its own NodePort lacks the port", change: func(s scene) { s.drop("web-nodeport"); s.service("web").Type, s.e.Port = "NodePort", 8025 }, verdict: portal.Drift, reason: portal.PortMismatch},
		{name: "what exposes it leads elsewhere", change: func(s scene) {
			s.service("web-nodeport").Ports[0].TargetPort = "9090"
			s.e.Exposure.Service = "web-nodeport"
		}, verdict: portal.Drift, reason: portal.PortMismatch, remedy: "kubectl -n app edit service web-nodeport", evidence: "no port of Service app/web-nodeport leads where port 80 does"},
		{name: "several ports, none of them it", change: func(s scene) {
			s.drop("web")
			n := s.service("web-nodeport")
			n.Ports = []portal.ServicePort{{Name: "a", Port: 81, NodePort: 30081}, {Name: "b", Port: 82, NodePort: 30082}}
		}, verdict: portal.Drift, reason: portal.PortAmbiguous, evidence: "Service app/web-nodeport has several ports, and none is 80"},
		{name: "leads out of the cluster", change: func(s scene) { s.e.Exposed = false; s.service("web").Type = "ExternalName"; s.drop("web-nodeport") }, verdict: portal.Unknown, reason: portal.OutOfCluster},

		{name: "no node Ready", change: func(s scene) { s.Nodes[0].Ready, s.Nodes[1].Ready = false, false }, verdict: portal.Drift, reason: portal.NoReachableNode, remedy: "kubectl get nodes -o wide", evidence: "none of 2 nodes is Ready and has a usable address"},
		{name: "no node at all", change: func(s scene) { s.Nodes = nil }, verdict: portal.Drift, reason: portal.NoReachableNode},
		{name: "no node at all, and a stated host", change: func(s scene) { s.Nodes = nil; s.o.AccessHosts = map[string]string{"": "ui.example.org"} }, verdict: portal.Drift, reason: portal.NoReachableNode},
		{name: "Local: the node that holds the pod", change: func(s scene) { s.service("web-nodeport").ExternalTrafficPolicy = "Local" }, verdict: portal.Match, url: "http://192.0.2.2:30080"},
		{name: "Local: that node is not Ready", change: func(s scene) { s.service("web-nodeport").ExternalTrafficPolicy = "Local"; s.Nodes[1].Ready = false }, verdict: portal.Drift, reason: portal.ETPLocalEmpty, remedy: `kubectl -n app patch service web-nodeport -p '{"spec":{"externalTrafficPolicy":"Cluster"}}'`},
		{name: "Local: nothing ready", change: func(s scene) {
			s.service("web-nodeport").ExternalTrafficPolicy = "Local"
			s.notReady("web", "web-nodeport")
		}, verdict: portal.Drift, reason: portal.NoReadyEndpoint},

		{name: "a policy may block", change: func(s scene) {
			s.o.Findings = []contract.Finding{{Rule: "policy-may-block", Endpoint: "web", Position: contract.Position{File: "deny.yaml", Line: 4}}}
		}, verdict: portal.Match, reason: portal.PolicyMayBlock, url: url, evidence: "a NetworkPolicy may block what comes in through the node port: deny.yaml:4"},
		{name: "a policy that blocks another", change: func(s scene) { s.o.Findings = []contract.Finding{{Rule: "policy-may-block", Endpoint: "other"}} }, verdict: portal.Match, url: url},

		{name: "of another profile", change: func(s scene) { s.e.Profil, s.o.Profile = "bench", "prod"; s.Services = nil }, verdict: portal.NotExpected, reason: portal.OtherProfile, evidence: "promised for profile bench; this is profile prod"},
		{name: "of another profile, and there", change: func(s scene) { s.e.Profil, s.o.Profile = "bench", "prod" }, verdict: portal.NotExpected, reason: portal.OtherProfile},
		{name: "of this profile", change: func(s scene) { s.e.Profil, s.o.Profile = "bench", "bench" }, verdict: portal.Match, url: url},
		{name: "of this profile, and absent", change: func(s scene) { s.e.Profil, s.o.Profile = "bench", "bench"; s.Services = nil }, verdict: portal.Missing, reason: portal.NoService},
		{name: "of a profile, none being stated", change: func(s scene) { s.e.Profil = "bench"; s.Services = nil }, verdict: portal.Missing, reason: portal.NoService},

		{name: "Services denied", change: func(s scene) { s.source(portal.Services, portal.Denied); s.Services = nil }, verdict: portal.Unknown, reason: portal.SourceDenied, evidence: `reading services is denied; the missing rule: {apiGroups: [""], resources: [services], verbs: [get, list, watch]}`},
		{name: "Services not read yet", change: func(s scene) { s.source(portal.Services, portal.Unsynced); s.Services = nil }, verdict: portal.Unknown, reason: portal.SourceUnsynced},
		{name: "no source listed", change: func(s scene) { s.Sources, s.Services = nil, nil }, verdict: portal.Unknown, reason: portal.SourceNotAsked},
		{name: "slices denied", change: func(s scene) { s.source(portal.EndpointSlices, portal.Denied); s.Slices = nil }, verdict: portal.Unknown, reason: portal.SourceDenied, url: url, evidence: `reading endpointslices is denied; the missing rule: {apiGroups: ["discovery.k8s.io"], resources: [endpointslices], verbs: [get, list, watch]}`},
		{name: "slices denied, and Local", change: func(s scene) {
			s.source(portal.EndpointSlices, portal.Denied)
			s.Slices = nil
			s.service("web-nodeport").ExternalTrafficPolicy = "Local"
		}, verdict: portal.Unknown, reason: portal.SourceDenied},
		{name: "slices denied, and no Service", change: func(s scene) { s.source(portal.EndpointSlices, portal.Denied); s.Slices, s.Services = nil, nil }, verdict: portal.Missing, reason: portal.NoService},
		{name: "nodes denied", change: func(s scene) { s.source(portal.Nodes, portal.Denied); s.Nodes = nil }, verdict: portal.Unknown, reason: portal.SourceDenied},
		{name: "nodes denied, and a stated host", change: func(s scene) {
			s.source(portal.Nodes, portal.Denied)
			s.Nodes = nil
			s.o.AccessHosts = map[string]string{"": "ui.example.org"}
		}, verdict: portal.Match, url: "http://ui.example.org:30080"},
		{name: "stale", change: func(s scene) { s.source(portal.Services, portal.Stale) }, verdict: portal.Unknown, reason: portal.SourceStale, url: url, evidence: "MATCH at the last sign of life, 2026-11-30 17:59:00 UTC"},
		{name: "stale and missing", change: func(s scene) { s.source(portal.Services, portal.Stale); s.Services = nil }, verdict: portal.Unknown, reason: portal.SourceStale, evidence: "MISSING at the last sign of life, 2026-11-30 17:59:00 UTC"},
		{name: "only pods stale", change: func(s scene) { s.source(portal.Pods, portal.Stale) }, verdict: portal.Match, url: url},

		{name: "a port of the host", change: func(s scene) { s.pods(true) }, verdict: portal.Match, url: "https://192.0.2.2:8443", evidence: "Deployment app/web holds hostPort 8443"},
		{name: "a port of the host, on one address", change: func(s scene) { s.pods(true); s.Pods[0].Ports[0].HostIP = "198.51.100.3" }, verdict: portal.Match, url: "https://198.51.100.3:8443"},
		{name: "a port of the host, not ready", change: func(s scene) { s.pods(false) }, verdict: portal.Drift, reason: portal.NoReadyEndpoint},
		{name: "a port of the host that no pod holds", change: func(s scene) { s.pods(true); s.Pods = nil }, verdict: portal.Missing, reason: portal.NoHostPort},
		{name: "a port of the host, of others' pods", change: func(s scene) {
			s.pods(true)
			s.Pods[0].Labels, s.Pods[1].Labels = nil, nil
		}, verdict: portal.Missing, reason: portal.NoHostPort},
		{name: "a port of the host, pods not asked for", change: func(s scene) { s.pods(true); delete(s.Sources, portal.Pods); s.Pods = nil }, verdict: portal.Unknown, reason: portal.SourceNotAsked, evidence: "pods were not asked for"},
		{name: "a port of the host, node not Ready", change: func(s scene) { s.pods(true); s.Nodes[1].Ready = false }, verdict: portal.Drift, reason: portal.NoReachableNode},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newScene()
			c.change(s)
			e := s.entry(t)
			assert.Equal(t, c.verdict, e.Verdict)
			assert.Equal(t, c.reason, e.Reason)
			assert.Equal(t, c.url, e.URL)
			if c.remedy != "" {
				assert.Equal(t, c.remedy, e.Remedy)
			}
			var said []string
			for _, text := range e.Evidence {
				said = append(said, text.String())
			}
			if c.evidence != "" {
				assert.Contains(t, said, c.evidence)
			}
			if c.verdict == portal.Drift || c.verdict == portal.Missing {
				assert.NotEmpty(t, e.Remedy, "what is wrong can be mended")
				assert.NotEmpty(t, said)
			}
		})
	}
}

func TestJudge_Addresses(t *testing.T) {
	cases := []struct {
		name   string
		change func(scene)
		url    string
		others []string
	}{
		{"the first Ready node", func(s scene) { s.Nodes[0].Ready = false }, "http://192.0.2.2:30080", []string{"http://n2:30080"}},
		{"further addresses", func(scene) {}, "http://192.0.2.1:30080", []string{"http://n1:30080", "http://192.0.2.2:30080"}},
		// kubernetes/kubernetes#90823: a cordoned node still forwards
		{"cordoned last", func(s scene) { s.Nodes[0].Cordoned = true }, "http://192.0.2.2:30080", []string{"http://n2:30080", "http://192.0.2.1:30080"}},
		{"all cordoned", func(s scene) { s.Nodes[0].Cordoned, s.Nodes[1].Cordoned = true, true }, "http://192.0.2.1:30080", []string{"http://n1:30080", "http://192.0.2.2:30080"}},
		{"the outside address first", func(s scene) {
			s.Nodes[1].Addresses = append(s.Nodes[1].Addresses, portal.Address{Type: "ExternalIP", Address: "203.0.113.9"})
		}, "http://203.0.113.9:30080", []string{"http://192.0.2.2:30080", "http://n2:30080", "http://192.0.2.1:30080"}},
		{"IPv6 in brackets", func(s scene) {
			s.Nodes = s.Nodes[:1]
			s.Nodes[0].Addresses = []portal.Address{{Type: "InternalIP", Address: "2001:db8::1"}}
		}, "http://[2001:db8::1]:30080", nil},
		{"the Service's family", func(s scene) {
			s.Nodes = s.Nodes[:1]
			s.Nodes[0].Addresses = append(s.Nodes[0].Addresses, portal.Address{Type: "InternalIP", Address: "2001:db8::1"})
			s.service("web-nodeport").IPFamilies = []string{"IPv6"}
		}, "http://[2001:db8::1]:30080", []string{"http://n1:30080"}},
		{"both families", func(s scene) {
			s.Nodes = s.Nodes[:1]
			s.Nodes[0].Addresses = append(s.Nodes[0].Addresses, portal.Address{Type: "InternalIP", Address: "2001:db8::1"})
			s.service("web-nodeport").IPFamilies = []string{"IPv6", "IPv4"}
		}, "http://[2001:db8::1]:30080", []string{"http://192.0.2.1:30080", "http://n1:30080"}},
		{"no address that others reach", func(s scene) {
			s.Nodes[0].Addresses = []portal.Address{{Type: "InternalIP", Address: "127.0.0.1"}, {Type: "InternalIP", Address: "fe80::1"}, {Type: "ExternalIP", Address: "0.0.0.0"}, {Type: "Hostname", Address: "-evil"}, {Type: "Hostname", Address: "a b"}, {Type: "Hostname", Address: "1.2.3"}}
		}, "http://192.0.2.2:30080", []string{"http://n2:30080"}},
		{"a stated host", func(s scene) { s.o.AccessHosts = map[string]string{"": "UI.example.org."} }, "http://ui.example.org:30080", []string{"http://192.0.2.1:30080", "http://n1:30080", "http://192.0.2.2:30080"}},
		{"one stated for it", func(s scene) { s.o.AccessHosts = map[string]string{"": "ui.example.org", "web": "[2001:db8::9]"} }, "http://[2001:db8::9]:30080", []string{"http://192.0.2.1:30080", "http://n1:30080", "http://192.0.2.2:30080"}},
		{"one stated for another", func(s scene) { s.o.AccessHosts = map[string]string{"other": "ui.example.org"} }, "http://192.0.2.1:30080", []string{"http://n1:30080", "http://192.0.2.2:30080"}},
		{"a stated host that is none", func(s scene) { s.o.AccessHosts = map[string]string{"": "javascript:alert(1)//"} }, "http://192.0.2.1:30080", []string{"http://n1:30080", "http://192.0.2.2:30080"}},
		// homer#746: one machine, several names
		{"the browser's", func(s scene) { s.o.BrowserHost = "192.0.2.2" }, "http://192.0.2.2:30080", []string{"http://192.0.2.1:30080", "http://n1:30080"}},
		{"the browser's, a name", func(s scene) { s.o.BrowserHost = "N2" }, "http://n2:30080", []string{"http://192.0.2.1:30080", "http://n1:30080", "http://192.0.2.2:30080"}},
		{"the browser's, through a tunnel", func(s scene) { s.o.BrowserHost = "localhost" }, "http://192.0.2.1:30080", []string{"http://n1:30080", "http://192.0.2.2:30080"}},
		{"the browser's, of no node", func(s scene) { s.o.BrowserHost = "198.51.100.77" }, "http://192.0.2.1:30080", []string{"http://n1:30080", "http://192.0.2.2:30080"}},
		{"the browser's, of a node that is not Ready", func(s scene) { s.o.BrowserHost = "192.0.2.2"; s.Nodes[1].Ready = false }, "http://192.0.2.1:30080", []string{"http://n1:30080"}},
		{"the browser's, where Local keeps out", func(s scene) {
			s.o.BrowserHost = "192.0.2.1"
			s.service("web-nodeport").ExternalTrafficPolicy = "Local"
		}, "http://192.0.2.2:30080", []string{"http://n2:30080"}},
		{"a stated scheme", func(s scene) { s.e.Scheme = "https" }, "https://192.0.2.1:30080", nil},
		{"the protocol's", func(s scene) { s.e.Protocol = "https" }, "https://192.0.2.1:30080", nil},
		{"appProtocol's", func(s scene) { s.service("web-nodeport").Ports[0].AppProtocol = "https" }, "https://192.0.2.1:30080", nil},
		{"a scheme that runs", func(s scene) { s.e.Scheme = "javascript" }, "", nil},
		{"a path", func(s scene) { s.e.Path = "/console" }, "http://192.0.2.1:30080/console", nil},
		{"a path without its slash", func(s scene) { s.e.Path = "console/" }, "http://192.0.2.1:30080/console/", nil},
		{"a path with more", func(s scene) { s.e.Path = "/a%20b/?x=1&y#/home" }, "http://192.0.2.1:30080/a%20b/?x=1&y#/home", nil},
		{"a path that is a host", func(s scene) { s.e.Path = "//evil.example/x" }, "http://192.0.2.1:30080", nil},
		{"a path that is a script", func(s scene) { s.e.Path = "javascript:alert(1)" }, "http://192.0.2.1:30080", nil},
		{"a path that climbs", func(s scene) { s.e.Path = "/../../x" }, "http://192.0.2.1:30080/x", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newScene()
			c.change(s)
			e := s.entry(t)
			assert.Equal(t, c.url, e.URL)
			if c.others != nil {
				assert.Equal(t, c.others, e.Others)
			}
		})
	}
}

func TestJudge_NodeIsStable(t *testing.T) {
	s := newScene()
	s.Nodes[0].Ready = false
	previous := portal.Judge(s.c, s.Snapshot, *s.o)
	require.Equal(t, "n2", s.entry(t).Node)

	s.Nodes[0].Ready = true
	assert.Equal(t, "n1", s.entry(t).Node, "without a memory the first one")
	s.o.Previous = &previous
	assert.Equal(t, "n2", s.entry(t).Node, "kept while it is as good")
	s.o.BrowserHost = "192.0.2.1"
	e := s.entry(t)
	assert.Equal(t, "n2", e.Node, "a browser's host moves nobody's choice")
	assert.Equal(t, "http://192.0.2.1:30080", e.URL)
	s.o.BrowserHost = ""
	s.Nodes[1].Cordoned = true
	assert.Equal(t, "n1", s.entry(t).Node, "left when another one is better")
	s.Nodes[1].Cordoned, s.Nodes[1].Ready = false, false
	assert.Equal(t, "n1", s.entry(t).Node, "left when it does not answer")
}

func TestJudge_OthersAreFew(t *testing.T) {
	s := newScene()
	for i := range 200 {
		n := s.Nodes[0]
		n.Name = "m" + string(rune('a'+i%26)) + string(rune('a'+i/26))
		n.Addresses = []portal.Address{{Type: "InternalIP", Address: "198.51.100." + []string{"1", "2", "3", "4", "5", "6", "7", "8"}[i%8]}}
		s.Nodes = append(s.Nodes, n)
	}
	assert.LessOrEqual(t, len(s.entry(t).Others), 5)
}

func TestJudge_View(t *testing.T) {
	s := newScene()
	yes := true
	s.SecretsReadable = &yes
	s.source(portal.Nodes, portal.Stale)
	delete(s.Sources, portal.Pods)
	v := portal.Judge(s.c, s.Snapshot, *s.o)
	assert.Equal(t, portal.ViewSchema, v.Schema)
	assert.True(t, v.Stale)
	assert.Equal(t, observed.Add(-time.Minute), *v.StaleSince)
	assert.True(t, v.SecretsReadable)
	assert.Equal(t, []portal.SourceProblem{
		{Resource: portal.Nodes, Source: portal.Source{State: portal.Stale, Since: observed.Add(-time.Minute)}},
		{Resource: portal.Pods, Source: portal.Source{State: portal.NotAsked}},
	}, v.Sources)

	empty := portal.Judge(nil, nil, portal.Options{})
	assert.NotNil(t, empty.Layers)
	assert.Empty(t, empty.Layers)
	assert.Len(t, empty.Sources, 4)
}

func TestJudge_LayerOrder(t *testing.T) {
	s := newScene()
	s.c.Endpoints = nil
	for _, layer := range []string{"zoo", "dataops", "", "extra", "alpha", "gitops", "socle", "system", "monitoring"} {
		s.c.Endpoints = append(s.c.Endpoints, contract.Endpoint{ID: "in " + layer, Service: "web", Namespace: "app", Port: 80, Layer: layer})
	}
	var got []string
	v := portal.Judge(s.c, s.Snapshot, *s.o)
	for _, layer := range v.Layers {
		got = append(got, layer.Name)
	}
	assert.Equal(t, []string{"socle", "monitoring", "gitops", "dataops", "alpha", "zoo", "other", "extra"}, got, "extra holds what exposes web, and nothing of the contract")
	for _, e := range v.Layers[len(v.Layers)-1].Entries {
		assert.Equal(t, portal.Extra, e.Verdict)
	}
}

func TestView_JSON(t *testing.T) {
	view := judgeDump(t, "troubled.yaml", portal.Options{Profile: "ceph"})
	b, err := json.Marshal(view)
	require.NoError(t, err)
	var back portal.View
	require.NoError(t, json.Unmarshal(b, &back))
	again, err := json.Marshal(back)
	require.NoError(t, err)
	assert.JSONEq(t, string(b), string(again))
}

// A large cluster: 5,000 Services, 1,000 nodes, 200 promises.
func BenchmarkJudge(b *testing.B) {
	s, c := world(), &contract.Contract{}
	node, service, slice := s.Nodes[0], s.Services[1], s.Slices[1]
	for i := range 1000 {
		node.Name = fmt.Sprintf("node%d", i)
		node.Addresses = []portal.Address{{Type: "InternalIP", Address: fmt.Sprintf("10.0.%d.%d", i/250, i%250+1)}, {Type: "Hostname", Address: node.Name}}
		s.Nodes = append(s.Nodes, node)
	}
	for i := range 5000 {
		service.Name, service.Namespace = fmt.Sprintf("web%d", i), fmt.Sprintf("ns%d", i%50)
		service.Selector = map[string]string{"app": service.Name}
		if service.Type = "ClusterIP"; i < 200 {
			service.Type = "NodePort"
			c.Endpoints = append(c.Endpoints, contract.Endpoint{ID: service.Name, Service: service.Name, Namespace: service.Namespace, Port: 80, Exposed: true, Protocol: "http"})
		}
		slice.Service, slice.Namespace = service.Name, service.Namespace
		s.Services, s.Slices = append(s.Services, service), append(s.Slices, slice)
	}
	b.ReportAllocs()
	for b.Loop() {
		v := portal.Judge(c, s, portal.Options{})
		if len(v.Layers) == 0 {
			b.Fatal("nothing was judged")
		}
	}
}
