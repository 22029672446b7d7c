package contract_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/contract/kube"
)

// svc builds a Service with one TCP port.
func svc(name string, typ kube.ServiceType, app string, port int, target kube.Target) kube.Service {
	s := kube.Service{Object: kube.Object{Kind: "Service", Namespace: "n", Name: name}, Type: typ,
		Ports: []kube.ServicePort{{Port: port, Protocol: "TCP", Target: target}}}
	if app != "" {
		s.Selector = map[string]string{"app": app}
	}
	return s
}

func TestMatch_ExposingService(t *testing.T) {
	ui := kube.Target{Name: "ui"}
	backend := svc("web", kube.ClusterIP, "web", 80, ui)
	pod := kube.Workload{Object: kube.Object{Kind: "Deployment", Namespace: "n", Name: "web"}, Labels: map[string]string{"app": "web", "tier": "front"},
		Ports: []kube.ContainerPort{{Name: "ui", Port: 3000, Protocol: "TCP"}}}
	byTier := svc("tiered", kube.NodePortType, "", 80, kube.Target{Number: 3000})
	byTier.Selector = map[string]string{"tier": "front"}
	twoPorts := svc("web-nodeport", kube.NodePortType, "web", 443, kube.Target{Name: "tls"})
	twoPorts.Ports = append(twoPorts.Ports, kube.ServicePort{Port: 8080, Protocol: "TCP", Target: ui})
	elsewhere := svc("web-nodeport", kube.NodePortType, "web", 80, ui)
	elsewhere.Namespace = "m"

	cases := []struct {
		name     string
		services []kube.Service
		stated   contract.Exposing
		want     string
		how      contract.How
		port     int
		rivals   int
	}{
		{"nothing", []kube.Service{backend}, contract.Exposing{}, "", "", 0, 0},
		{"itself", []kube.Service{svc("web", kube.NodePortType, "web", 80, ui)}, contract.Exposing{}, "web", contract.Itself, 80, 0},
		{"itself, a load balancer", []kube.Service{svc("web", kube.LoadBalancer, "web", 80, ui)}, contract.Exposing{}, "web", contract.Itself, 80, 0},
		{"the same selector, any name", []kube.Service{backend, svc("door", kube.NodePortType, "web", 8080, ui)}, contract.Exposing{}, "door", contract.SamePods, 8080, 0},
		{"the same pods by another label, and by number", []kube.Service{backend, byTier}, contract.Exposing{}, "tiered", contract.SamePods, 80, 0},
		{"the port that leads to the same", []kube.Service{backend, twoPorts}, contract.Exposing{}, "web-nodeport", contract.SamePods, 8080, 0},
		{"the convention, beside a chart", []kube.Service{svc("web-nodeport", kube.NodePortType, "chart", 443, ui)}, contract.Exposing{}, "web-nodeport", contract.Convention, 443, 0},
		{"the convention with another type", []kube.Service{backend, svc("web-nodeport", kube.ClusterIP, "web", 80, ui)}, contract.Exposing{}, "", "", 0, 0},
		{"another namespace", []kube.Service{backend, elsewhere}, contract.Exposing{}, "", "", 0, 0},
		{"the stated one first", []kube.Service{backend, svc("web-nodeport", kube.NodePortType, "web", 80, ui), svc("door", kube.NodePortType, "web", 81, ui)}, contract.Exposing{Service: "door"}, "door", contract.Stated, 81, 0},
		{"the stated one is missing", []kube.Service{svc("web", kube.NodePortType, "web", 80, ui)}, contract.Exposing{Service: "door"}, "", contract.Stated, 0, 0},
		{"two of them", []kube.Service{backend, svc("a", kube.NodePortType, "web", 80, ui), svc("b", kube.NodePortType, "web", 80, ui)}, contract.Exposing{}, "", contract.SamePods, 0, 2},
		{"two of them, one by the convention", []kube.Service{backend, svc("a", kube.NodePortType, "web", 80, ui), svc("web-nodeport", kube.NodePortType, "web", 80, ui)}, contract.Exposing{}, "web-nodeport", contract.SamePods, 80, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			promised := &contract.Contract{Endpoints: []contract.Endpoint{{ID: "web", Service: "web", Namespace: "n", Port: 80, Exposed: true, Exposure: c.stated}}}
			m := contract.Match(promised, contract.World{Services: c.services, Workloads: []kube.Workload{pod}}, day)
			require.Len(t, m.Promises, 1)
			p := m.Promises[0]
			assert.Len(t, p.Rivals, c.rivals)
			assert.Equal(t, c.how, p.How)
			if c.want == "" {
				assert.Nil(t, p.Exposing)
				return
			}
			require.NotNil(t, p.Exposing)
			assert.Equal(t, c.want, p.Exposing.Name)
			require.NotNil(t, p.Port)
			assert.Equal(t, c.port, p.Port.Port)
		})
	}
}

// A Service of the same name in another namespace is another Service.
func TestMatch_KeysHoldTheNamespace(t *testing.T) {
	a, b := svc("web", kube.NodePortType, "web", 80, kube.Target{}), svc("web", kube.NodePortType, "web", 80, kube.Target{})
	b.Namespace = "m"
	promised := &contract.Contract{Endpoints: []contract.Endpoint{{ID: "web", Service: "web", Namespace: "n", Port: 80, Exposed: true}}}
	m := contract.Match(promised, contract.World{Services: []kube.Service{b, a}}, day)
	require.Len(t, m.Exposures, 2)
	assert.False(t, m.Exposures[0].Wanted(), "m/web")
	assert.Equal(t, "web", m.Exposures[1].Endpoint, "n/web")
}

// Every exposure is judged once, and never promised where nothing is exposed.
func TestMatch_Property(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w contract.World
		types := []kube.ServiceType{kube.ClusterIP, kube.NodePortType, kube.LoadBalancer, kube.ExternalName}
		for i := range rapid.IntRange(0, 6).Draw(t, "services") {
			name := rapid.SampledFrom([]string{"a", "b", "a-nodeport", fmt.Sprint("s", i)}).Draw(t, "name")
			s := svc(name, rapid.SampledFrom(types).Draw(t, "type"), rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "app"), rapid.IntRange(1, 3).Draw(t, "port"), kube.Target{})
			s.Namespace = rapid.SampledFrom([]string{"n", "m", ""}).Draw(t, "namespace")
			w.Services = append(w.Services, s)
		}
		c := &contract.Contract{}
		for i := range rapid.IntRange(0, 3).Draw(t, "endpoints") {
			c.Endpoints = append(c.Endpoints, contract.Endpoint{ID: fmt.Sprint(i), Service: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "service"),
				Namespace: rapid.SampledFrom([]string{"n", "m"}).Draw(t, "endpoint namespace"), Port: rapid.IntRange(1, 3).Draw(t, "endpoint port"), Exposed: rapid.Bool().Draw(t, "exposed")})
		}
		m := contract.Match(c, w, day)
		if len(m.Promises) != len(c.Endpoints) || len(m.Exposures) != len(kube.Exposures(w.Services, nil)) {
			t.Fatalf("%d promises, %d exposures", len(m.Promises), len(m.Exposures))
		}
		for _, j := range m.Exposures {
			if j.Endpoint == "" {
				continue
			}
			for _, p := range m.Promises {
				if p.Endpoint.ID == j.Endpoint && !p.Endpoint.Exposed {
					t.Fatalf("%+v is promised by an endpoint that is not exposed", j)
				}
			}
			if j.Kind == kube.LoadBalancerExposure {
				t.Fatalf("a load balancer is nobody's promise: %+v", j)
			}
		}
	})
}

func ExampleMatch() {
	promised, _ := contract.Parse("endpoints.yaml", []byte(`contract_version: "1.0"
endpoints:
  - {id: grafana, service: grafana, namespace: monitoring, port: 80, exposed: true}
`))
	seen := contract.World{Services: []kube.Service{{
		Object: kube.Object{Kind: "Service", Namespace: "monitoring", Name: "grafana"},
		Type:   kube.NodePortType,
		Ports:  []kube.ServicePort{{Port: 80, Protocol: "TCP", NodePort: 31088}},
	}, {
		Object: kube.Object{Kind: "Service", Namespace: "monitoring", Name: "debug"},
		Type:   kube.NodePortType,
		Ports:  []kube.ServicePort{{Port: 9000, Protocol: "TCP", NodePort: 31089}},
	}}}
	for _, e := range contract.Match(promised, seen, day).Exposures {
		fmt.Println(e.Name, e.NodePort, e.Endpoint, e.Wanted())
	}
	// Output:
	// debug 31089  false
	// grafana 31088 grafana true
}
