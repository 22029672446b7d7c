package cluster

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
)

// Exposure is one object that opens ways in from outside.
type Exposure struct {
	// Kind is NodePort, LoadBalancer, ExternalIP, HostPort, HostNetwork, or
	// the kind of the object itself: Ingress, Gateway, HTTPRoute, ...
	Kind      string   `json:"kind"`
	Object    string   `json:"object"` // Service, DaemonSet, Gateway, ...
	Namespace string   `json:"namespace,omitempty"`
	Name      string   `json:"name"`
	Ports     []Port   `json:"ports,omitempty"`
	Addresses []string `json:"addresses,omitempty"` // of the load balancer, or the external ones
}

// Port is one open port.
type Port struct {
	Port     int    `json:"port"` // of the Service, or of the container
	Protocol string `json:"protocol"`
	NodePort int    `json:"node_port,omitempty"` // on the nodes; 0: none there
	HostIP   string `json:"host_ip,omitempty"`   // the node's address it is bound to; empty: all
}

// exposition lists the ways in. Of Services those that hold a port of the
// nodes or an address of their own; of workloads what their templates take of
// the host. Bare pods are not read.
func exposition(s Snapshot) Observed[[]Exposure] {
	list := []Exposure{}
	for _, svc := range s.Services.Value {
		list = append(list, svc.exposures()...)
	}
	workloads, states := s.workloads()
	for _, w := range workloads {
		list = append(list, w.exposures()...)
	}
	states = append(states, stateOf(s.Services))
	for _, way := range Ways() {
		for _, p := range s.Ways[way.Resource].Value {
			list = append(list, Exposure{Kind: way.Kind, Object: way.Kind, Namespace: p.Namespace, Name: p.Name})
		}
	}
	slices.SortFunc(list, func(a, b Exposure) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name),
			strings.Compare(a.Kind, b.Kind), strings.Compare(a.Object, b.Object))
	})
	return sum(list, states...)
}

// exposures counts a node port whatever the Service's type: those of a load
// balancer are open as well, and stay when its type is changed.
func (s Service) exposures() []Exposure {
	e := Exposure{Object: "Service", Namespace: s.Namespace, Name: s.Name}
	onNodes := false
	for _, p := range s.Ports {
		e.Ports = append(e.Ports, Port{Port: p.Port, Protocol: p.Protocol, NodePort: p.NodePort})
		onNodes = onNodes || p.NodePort != 0
	}
	var list []Exposure
	switch {
	case s.Type == "LoadBalancer":
		balanced := e
		balanced.Kind, balanced.Addresses = "LoadBalancer", sorted(s.Balanced)
		list = append(list, balanced)
	case onNodes:
		port := e
		port.Kind = "NodePort"
		list = append(list, port)
	}
	if len(s.ExternalIPs) > 0 && s.Type != "ExternalName" { // that is a name in DNS, and nothing else
		external := e
		external.Kind, external.Addresses, external.Ports = "ExternalIP", sorted(s.ExternalIPs), nil
		for _, p := range s.Ports {
			external.Ports = append(external.Ports, Port{Port: p.Port, Protocol: p.Protocol})
		}
		list = append(list, external)
	}
	return list
}

func (w Workload) exposures() []Exposure {
	e := Exposure{Object: w.Kind, Namespace: w.Namespace, Name: w.Name, Kind: "HostPort"}
	if w.HostNetwork {
		e.Kind = "HostNetwork" // every port that the pod opens, declared or not
	}
	for _, c := range w.Containers {
		for _, p := range c.Ports {
			if ip, err := netip.ParseAddr(p.HostIP); err != nil || !ip.IsLoopback() {
				e.Ports = append(e.Ports, Port{Port: p.Port, Protocol: p.Protocol, NodePort: p.HostPort, HostIP: p.HostIP})
			}
		}
	}
	slices.SortFunc(e.Ports, func(a, b Port) int {
		return cmp.Or(cmp.Compare(a.NodePort, b.NodePort), strings.Compare(a.Protocol, b.Protocol), strings.Compare(a.HostIP, b.HostIP), cmp.Compare(a.Port, b.Port))
	})
	if !w.HostNetwork && len(e.Ports) == 0 {
		return nil
	}
	return []Exposure{e}
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }
