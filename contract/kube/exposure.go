package kube

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
)

// ExposureKind is how something is reachable from outside.
type ExposureKind string

// The kinds of exposure.
const (
	NodePort             ExposureKind = "NodePort"
	LoadBalancerExposure ExposureKind = "LoadBalancer" // holds node ports as well, unless told not to
	ExternalIP           ExposureKind = "ExternalIP"
	HostPort             ExposureKind = "HostPort"
	HostNetwork          ExposureKind = "HostNetwork" // every port that the pod opens, declared or not
)

// Exposure is one way in. Two exposures are the same when all but
// their places are.
type Exposure struct {
	Source    Position // of what exposes: the type, the address, the hostPort, the hostNetwork
	PortAt    Position // of the port, the unknown place for HostNetwork
	Kind      ExposureKind
	Object    string // the kind of the object: Service, DaemonSet, ...
	Namespace string
	Name      string
	Port      int    // of the Service, or of the container; 0 for HostNetwork
	PortName  string // may be empty
	Protocol  string // TCP, UDP, SCTP
	NodePort  int    // on the node: the nodePort or the hostPort; 0 where the cluster assigns it
	HostIP    string // the node's address, or the external one; empty means all of them
	Implied   bool   // a port that no hostPort names: the pod is on the network of the host
	System    bool   // belongs to the machinery of the cluster itself
}

// Exposures gives every way in that the Services and workloads open, sorted
// by namespace, name and port.
func Exposures(services []Service, workloads []Workload) []Exposure {
	var all []Exposure
	for _, s := range services {
		all = append(all, s.Exposures()...)
	}
	for _, w := range workloads {
		all = append(all, w.Exposures()...)
	}
	slices.SortStableFunc(all, func(a, b Exposure) int {
		return cmp.Or(
			strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), strings.Compare(string(a.Kind), string(b.Kind)),
			cmp.Compare(a.Port, b.Port), strings.Compare(a.Protocol, b.Protocol),
			strings.Compare(a.Source.File, b.Source.File), cmp.Compare(a.Source.Line, b.Source.Line))
	})
	return all
}

// Exposures gives the ways in that the Service opens. A nodePort counts
// whatever the type, but on a plain ClusterIP, where the API refuses it.
func (s Service) Exposures() []Exposure {
	var all []Exposure
	for _, p := range s.Ports {
		e := Exposure{Source: s.TypeAt, PortAt: p.At, Object: "Service", Namespace: s.Namespace, Name: s.Name, Port: p.Port, PortName: p.Name,
			Protocol: p.Protocol, NodePort: p.NodePort, System: IsSystem(s.Namespace, s.Name)}
		switch s.Type {
		case NodePortType:
			e.Kind = NodePort
			all = append(all, e)
		case LoadBalancer:
			e.Kind = LoadBalancerExposure
			all = append(all, e)
		}
		for _, address := range s.ExternalIPs {
			if s.Type != ExternalName && !isLoopback(address.IP) {
				x := e
				x.Source, x.Kind, x.HostIP, x.NodePort = address.At, ExternalIP, address.IP, p.Port
				all = append(all, x)
			}
		}
	}
	return all
}

// Exposures gives the ways in that the workload's pods open. On the network
// of the host a port without a hostPort is open under its own number.
func (w Workload) Exposures() []Exposure {
	var all []Exposure
	system := IsSystem(w.Namespace, w.Name)
	if w.HostNetwork {
		all = append(all, Exposure{Source: w.HostNetworkAt, Kind: HostNetwork, Object: w.Kind, Namespace: w.Namespace, Name: w.Name, System: system})
	}
	for _, p := range w.Ports {
		host, at := p.HostPort, p.HostPortAt
		implied := host == 0 && w.HostNetwork
		if implied {
			host, at = p.Port, p.At
		}
		if host == 0 || isLoopback(p.HostIP) {
			continue
		}
		all = append(all, Exposure{Source: at, PortAt: p.At, Kind: HostPort, Object: w.Kind, Namespace: w.Namespace, Name: w.Name, Port: p.Port,
			PortName: p.Name, Protocol: p.Protocol, NodePort: host, HostIP: p.HostIP, Implied: implied, System: system})
	}
	return all
}

func isLoopback(ip string) bool {
	addr, err := netip.ParseAddr(ip)
	return err == nil && addr.IsLoopback()
}

// system lists the workloads that are the cluster itself: exposed by nature,
// reported apart and never as a failure.
var system = map[string][]string{
	"kube-system": {
		"kube-proxy", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd", "kube-vip", "kube-vip-ds",
		"cilium", "cilium-envoy", "cilium-operator", "calico-node", "calico-typha", "calico-kube-controllers",
		"kube-flannel-ds", "kube-router", "canal", "weave-net", "antrea-agent", "antrea-controller", "kube-multus-ds", "node-local-dns",
	},
	"kube-flannel":  {"kube-flannel-ds"},
	"calico-system": {"calico-node", "calico-typha"},
	"cilium":        {"cilium", "cilium-envoy", "cilium-operator"},
}

// IsSystem tells whether a workload belongs to the machinery of the cluster:
// kube-proxy, the network plug-ins, the control plane's static pods (whose
// names end with the node's) and kube-vip.
func IsSystem(namespace, name string) bool {
	for _, known := range system[namespace] {
		if name == known {
			return true
		}
		switch known {
		case "kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd", "kube-vip":
			if strings.HasPrefix(name, known+"-") {
				return true
			}
		}
	}
	return false
}
