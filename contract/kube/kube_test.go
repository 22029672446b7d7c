package kube_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/nestor-tools/nestor/contract/kube"
)

func TestService_Exposures(t *testing.T) {
	ports := []kube.ServicePort{{Name: "http", Port: 80, Protocol: "TCP", NodePort: 30080}, {Port: 53, Protocol: "UDP"}}
	cases := []struct {
		name string
		s    kube.Service
		want []string
	}{
		{"ClusterIP", kube.Service{Type: kube.ClusterIP, Ports: ports}, nil},
		{"NodePort", kube.Service{Type: kube.NodePortType, Ports: ports}, []string{"NodePort 80/TCP 30080 ", "NodePort 53/UDP 0 "}},
		{"LoadBalancer", kube.Service{Type: kube.LoadBalancer, Ports: ports}, []string{"LoadBalancer 80/TCP 30080 ", "LoadBalancer 53/UDP 0 "}},
		{"ExternalName", kube.Service{Type: kube.ExternalName, Ports: ports, ExternalIPs: []kube.Address{{IP: "192.0.2.1"}}}, nil},
		{"external address", kube.Service{Type: kube.ClusterIP, Ports: ports[:1], ExternalIPs: []kube.Address{{IP: "192.0.2.1"}, {IP: "127.0.0.1"}}}, []string{"ExternalIP 80/TCP 80 192.0.2.1"}},
		{"no port", kube.Service{Type: kube.NodePortType}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.want, texts(c.s.Exposures())) })
	}
}

func texts(all []kube.Exposure) []string {
	var got []string
	for _, e := range all {
		got = append(got, fmt.Sprintf("%s %d/%s %d %s", e.Kind, e.Port, e.Protocol, e.NodePort, e.HostIP))
	}
	return got
}

func TestWorkload_Exposures(t *testing.T) {
	port := func(n, host int, ip string) kube.ContainerPort {
		return kube.ContainerPort{Port: n, HostPort: host, HostIP: ip, Protocol: "TCP"}
	}
	cases := []struct {
		name string
		w    kube.Workload
		want []string
	}{
		{"nothing", kube.Workload{Ports: []kube.ContainerPort{port(80, 0, "")}}, nil},
		{"hostPort", kube.Workload{Ports: []kube.ContainerPort{port(80, 8080, "")}}, []string{"HostPort 80/TCP 8080 "}},
		{"on one address", kube.Workload{Ports: []kube.ContainerPort{port(80, 80, "192.0.2.1")}}, []string{"HostPort 80/TCP 80 192.0.2.1"}},
		{"loopback", kube.Workload{Ports: []kube.ContainerPort{port(80, 80, "127.0.0.1"), port(81, 81, "::1"), port(82, 82, "127.8.8.8")}}, nil},
		// kubernetes/kubernetes#117696: the port is written into the live pod alone
		{"host network without hostPort", kube.Workload{HostNetwork: true, Ports: []kube.ContainerPort{port(80, 0, "")}}, []string{"HostNetwork 0/ 0 ", "HostPort 80/TCP 80 "}},
		{"host network without ports", kube.Workload{HostNetwork: true}, []string{"HostNetwork 0/ 0 "}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.want, texts(c.w.Exposures())) })
	}
}

func TestWorkload_Resolve(t *testing.T) {
	w := kube.Workload{Ports: []kube.ContainerPort{{Name: "ui", Port: 3000, Protocol: "TCP"}, {Name: "ui", Port: 3001, Protocol: "UDP"}}}
	cases := []struct {
		name         string
		port         kube.ServicePort
		number       int
		declared, ok bool
	}{
		{"by name", kube.ServicePort{Protocol: "TCP", Target: kube.Target{Name: "ui"}}, 3000, true, true},
		{"by name and protocol", kube.ServicePort{Protocol: "UDP", Target: kube.Target{Name: "ui"}}, 3001, true, true},
		{"unknown name", kube.ServicePort{Protocol: "TCP", Target: kube.Target{Name: "web"}}, 0, false, false},
		{"by number", kube.ServicePort{Protocol: "TCP", Target: kube.Target{Number: 3000}}, 3000, true, true},
		{"undeclared number", kube.ServicePort{Protocol: "TCP", Target: kube.Target{Number: 9}}, 9, false, true},
		{"the port's own number", kube.ServicePort{Protocol: "TCP", Port: 3000}, 3000, true, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			number, declared, ok := w.Resolve(c.port)
			assert.Equal(t, c.number, number)
			assert.Equal(t, c.declared, declared)
			assert.Equal(t, c.ok, ok)
		})
	}
}

func TestService_Selects(t *testing.T) {
	assert.False(t, kube.Service{}.Selects(map[string]string{"a": "b"}), "without a selector it selects nothing")
	s := kube.Service{Selector: map[string]string{"a": "b"}}
	assert.True(t, s.Selects(map[string]string{"a": "b", "c": "d"}))
	assert.False(t, s.Selects(map[string]string{"a": "c"}))
	assert.False(t, s.Selects(nil))
}

func TestIsSystem(t *testing.T) {
	assert.True(t, kube.IsSystem("kube-system", "kube-proxy"))
	assert.True(t, kube.IsSystem("kube-system", "kube-apiserver-node1"), "a static pod")
	assert.False(t, kube.IsSystem("kube-system", "cilium-evil"))
	assert.False(t, kube.IsSystem("default", "kube-proxy"))
	assert.False(t, kube.IsSystem("kube-system", "kubernetes-dashboard"))
}

func ExampleExposures() {
	services := []kube.Service{{
		Object: kube.Object{Kind: "Service", Namespace: "monitoring", Name: "grafana-nodeport"},
		Type:   kube.NodePortType,
		Ports:  []kube.ServicePort{{Name: "http", Port: 80, Protocol: "TCP"}},
	}}
	for _, e := range kube.Exposures(services, nil) {
		fmt.Println(e.Kind, e.Namespace+"/"+e.Name, e.Port, e.Protocol)
	}
	// Output: NodePort monitoring/grafana-nodeport 80 TCP
}
