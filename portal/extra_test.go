package portal_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/portal"
)

// extras gives what is exposed without a promise, one line an entry.
func (s scene) extras() []string {
	lines := []string{}
	v := portal.Judge(s.c, s.Snapshot, *s.o)
	for _, layer := range v.Layers {
		if layer.Name == portal.ExtraLayer || layer.Name == portal.SystemLayer {
			for _, e := range layer.Entries {
				lines = append(lines, fmt.Sprintf("%s %s %s %s", layer.Name, e.ID, e.Verdict, e.Reason))
			}
		}
	}
	return lines
}

func TestJudge_Extras(t *testing.T) {
	service := func(s scene, name, kind string, ports ...portal.ServicePort) {
		s.Services = append(s.Services, portal.Service{Namespace: "app", Name: name, Type: kind, Ports: ports})
	}
	pod := func(s scene, namespace, name, kind, owner string, hostNetwork bool, ports ...portal.PodPort) {
		s.Pods = append(s.Pods, portal.Pod{Namespace: namespace, Name: name, OwnerKind: kind, OwnerName: owner, HostNetwork: hostNetwork, Ports: ports, Node: "n1", Ready: true})
	}
	nodePort := portal.ServicePort{Name: "a", Port: 81, NodePort: 31081}
	cases := []struct {
		name   string
		change func(scene)
		want   []string
	}{
		{"nothing", func(scene) {}, nil},
		{"a node port", func(s scene) { service(s, "debug", "NodePort", nodePort) }, []string{"extra nodeport/app/debug EXTRA UNPROMISED_NODEPORT"}},
		{"two ports, one entry", func(s scene) {
			service(s, "debug", "NodePort", nodePort, portal.ServicePort{Name: "b", Port: 82, NodePort: 31082})
		}, []string{"extra nodeport/app/debug EXTRA UNPROMISED_NODEPORT"}},
		{"a load balancer", func(s scene) { service(s, "lb", "LoadBalancer", nodePort) }, []string{"extra loadbalancer/app/lb EXTRA UNPROMISED_LOADBALANCER"}},
		{"a load balancer without node ports", func(s scene) { service(s, "lb", "LoadBalancer", portal.ServicePort{Port: 81}) }, []string{"extra loadbalancer/app/lb EXTRA UNPROMISED_LOADBALANCER"}},
		{"an external address", func(s scene) {
			service(s, "ext", "ClusterIP", portal.ServicePort{Port: 81})
			s.service("ext").ExternalIPs = []string{"198.51.100.7"}
		}, []string{"extra externalip/app/ext EXTRA UNPROMISED_EXTERNALIP"}},
		{"inside only", func(s scene) { service(s, "in", "ClusterIP", portal.ServicePort{Port: 81}) }, nil},
		{"a second port of what is promised", func(s scene) {
			n := s.service("web-nodeport")
			n.Ports = append(n.Ports, portal.ServicePort{Name: "smtp", Port: 25, TargetPort: "25", NodePort: 31025})
		}, []string{"extra nodeport/app/web-nodeport EXTRA UNDECLARED_PORT"}},
		{"a second port of what is promised, which became a load balancer", func(s scene) {
			n := s.service("web-nodeport")
			n.Type = "LoadBalancer"
			n.Ports = append(n.Ports, portal.ServicePort{Name: "smtp", Port: 25, TargetPort: "25", NodePort: 31025})
		}, []string{"extra loadbalancer/app/web-nodeport EXTRA UNDECLARED_PORT"}},
		{"the promised Service as a load balancer is its own drift", func(s scene) { s.service("web-nodeport").Type = "LoadBalancer" }, nil},
		{"two that expose one endpoint are its own drift", func(s scene) {
			front := *s.service("web-nodeport")
			front.Name = "front"
			s.service("web-nodeport").Name = "back"
			s.Services = append(s.Services, front)
		}, nil},
		{"of another profile", func(s scene) { s.e.Profil, s.o.Profile = "bench", "prod" }, []string{"extra nodeport/app/web-nodeport EXTRA UNPROMISED_NODEPORT"}},
		{"a port of the host", func(s scene) {
			pod(s, "app", "mail-1", "DaemonSet", "mail", false, portal.PodPort{Port: 25, HostPort: 25})
		}, []string{"extra hostport/app/mail EXTRA UNPROMISED_HOSTPORT"}},
		{"on every node, one entry", func(s scene) {
			pod(s, "app", "mail-1", "DaemonSet", "mail", false, portal.PodPort{Port: 25, HostPort: 25})
			pod(s, "app", "mail-2", "DaemonSet", "mail", false, portal.PodPort{Port: 25, HostPort: 25})
		}, []string{"extra hostport/app/mail EXTRA UNPROMISED_HOSTPORT"}},
		{"a pod of nobody", func(s scene) { pod(s, "app", "mail-1", "", "", false, portal.PodPort{Port: 25, HostPort: 25}) }, []string{"extra hostport/app/mail-1 EXTRA UNPROMISED_HOSTPORT"}},
		// rancher/rancher#13743
		{"a port of the host on loopback", func(s scene) {
			pod(s, "app", "mail-1", "", "", false, portal.PodPort{Port: 25, HostPort: 25, HostIP: "127.0.0.1"})
		}, nil},
		{"the network of the host, with its ports", func(s scene) {
			pod(s, "app", "exp-1", "DaemonSet", "exp", true, portal.PodPort{Port: 9100, HostPort: 9100})
		}, []string{"extra hostnetwork/app/exp EXTRA UNPROMISED_HOSTNETWORK"}},
		{"the cluster's own", func(s scene) {
			pod(s, "kube-system", "kube-proxy-1", "DaemonSet", "kube-proxy", true)
			pod(s, "kube-system", "etcd-n1", "", "", true, portal.PodPort{Port: 2379, HostPort: 2379})
		}, []string{"system hostnetwork/kube-system/etcd-n1 MATCH SYSTEM", "system hostnetwork/kube-system/kube-proxy MATCH SYSTEM"}},
		{"one that takes the cluster's name elsewhere", func(s scene) { pod(s, "app", "kube-proxy-1", "DaemonSet", "kube-proxy", true) }, []string{"extra hostnetwork/app/kube-proxy EXTRA UNPROMISED_HOSTNETWORK"}},
		{"accepted", func(s scene) {
			service(s, "debug", "NodePort", nodePort)
			s.c.Accept = []contract.Accept{{Kind: "NodePort", Namespace: "app", Name: "debug", Port: 81, Reason: "r"}}
		}, nil},
		{"accepted for one port of two", func(s scene) {
			service(s, "debug", "NodePort", nodePort, portal.ServicePort{Name: "b", Port: 82, NodePort: 31082})
			s.c.Accept = []contract.Accept{{Kind: "NodePort", Namespace: "app", Name: "debug", Port: 81, Reason: "r"}}
		}, []string{"extra nodeport/app/debug EXTRA UNPROMISED_NODEPORT"}},
		{"accepted until yesterday", func(s scene) {
			service(s, "debug", "NodePort", nodePort)
			s.c.Accept = []contract.Accept{{Kind: "NodePort", Namespace: "app", Name: "debug", Reason: "r", Until: observed.AddDate(0, 0, -1)}}
			s.o.Today = observed
		}, []string{"extra nodeport/app/debug EXTRA UNPROMISED_NODEPORT"}},
		{"accepted elsewhere", func(s scene) {
			service(s, "debug", "NodePort", nodePort)
			s.c.Accept = []contract.Accept{{Kind: "NodePort", Namespace: "other", Name: "debug", Reason: "r"}}
		}, []string{"extra nodeport/app/debug EXTRA UNPROMISED_NODEPORT"}},
		{"a Deployment's port accepted by its name", func(s scene) {
			pod(s, "app", "mail-6f5d-q2", "Deployment", "mail", false, portal.PodPort{Port: 25, HostPort: 1025})
			s.c.Accept = []contract.Accept{{Kind: "HostPort", Namespace: "app", Name: "mail", Port: 1025, Reason: "r"}}
		}, nil},
		{"the network of the host accepted, ports and all", func(s scene) {
			pod(s, "app", "exp-1", "DaemonSet", "exp", true, portal.PodPort{Port: 9100, HostPort: 9100})
			s.c.Accept = []contract.Accept{{Kind: "HostNetwork", Namespace: "app", Name: "exp", Reason: "r"}}
		}, nil},
		{"stale", func(s scene) {
			service(s, "debug", "NodePort", nodePort)
			s.source(portal.Services, portal.Stale)
		}, []string{"extra nodeport/app/debug UNKNOWN SOURCE_STALE"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newScene()
			c.change(s)
			assert.ElementsMatch(t, c.want, s.extras())
			v := portal.Judge(s.c, s.Snapshot, *s.o)
			for _, layer := range v.Layers {
				for _, e := range layer.Entries {
					runnable(t, e.Remedy)
					if e.Verdict == portal.Extra {
						assert.NotEmpty(t, e.Remedy)
						assert.Empty(t, e.URL, "what nobody promised is not advertised")
						if e.Reason == portal.UndeclaredPort {
							assert.NotContains(t, e.Remedy, "ClusterIP", "the promised port stays open")
						}
					}
				}
			}
		})
	}
}

func TestOwner(t *testing.T) {
	cases := []struct {
		kind, name, hash   string
		wantKind, wantName string
	}{
		{"ReplicaSet", "mail-6f5d", "6f5d", "Deployment", "mail"},
		{"ReplicaSet", "mail-6f5d", "", "ReplicaSet", "mail-6f5d"},
		{"ReplicaSet", "mail", "6f5d", "ReplicaSet", "mail"},
		{"DaemonSet", "exp", "", "DaemonSet", "exp"},
		{"Node", "n1", "", "", ""},
		{"", "", "", "", ""},
	}
	for _, c := range cases {
		kind, name := portal.Owner(c.kind, c.name, map[string]string{"pod-template-hash": c.hash})
		assert.Equal(t, []string{c.wantKind, c.wantName}, []string{kind, name}, "%v", c)
	}
}

func TestHost(t *testing.T) {
	for in, want := range map[string]string{
		"10.0.0.1": "10.0.0.1", "::ffff:10.0.0.1": "10.0.0.1", "[2001:DB8::1]": "2001:db8::1", "Node1.Example.org.": "node1.example.org", "my_node": "my_node",
	} {
		got, ok := portal.Host(in)
		assert.True(t, ok, in)
		assert.Equal(t, want, got)
	}
	for _, in := range []string{"", "127.0.0.1", "[::1]", "0.0.0.0", "::", "fe80::1%eth0", "224.0.0.1", "a b", "a/b", "user@host", "host:80", "http://host", "-a", "a-", "a..b", "256.1.1.1", "0x7f.1", "1", "é.example", "[a]b", "javascript:alert(1)"} {
		_, ok := portal.Host(in)
		assert.False(t, ok, in)
	}
}

// What mends one way in takes nothing away that is accepted.
func TestJudge_ExternalIPs(t *testing.T) {
	remedy := func(accept ...contract.Accept) string {
		s := newScene()
		s.c.Accept = accept
		s.Services = append(s.Services, portal.Service{Namespace: "app", Name: "ext", Type: "ClusterIP", ExternalIPs: []string{"198.51.100.7", "198.51.100.8"}, Ports: []portal.ServicePort{{Name: "a", Port: 81}, {Name: "b", Port: 82}}})
		for _, layer := range portal.Judge(s.c, s.Snapshot, *s.o).Layers {
			if layer.Name == portal.ExtraLayer {
				return layer.Entries[0].Remedy
			}
		}
		return ""
	}
	assert.Equal(t, `kubectl -n app patch service ext -p '{"spec":{"externalIPs":null}}'`, remedy(), "none of them is promised")
	accept := contract.Accept{Kind: "ExternalIP", Namespace: "app", Name: "ext", Port: 81}
	assert.Equal(t, "kubectl -n app edit service ext", remedy(accept))
	accept.Port = 0
	assert.Empty(t, remedy(accept))
}
