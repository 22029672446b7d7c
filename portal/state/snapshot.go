package state

import (
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/portal"
)

// Snapshot is what was observed of a cluster.
type Snapshot struct {
	// Cluster holds the Services, and the Pods that hold ports of their node.
	// Nothing else of it is looked at.
	Cluster portal.Snapshot
	// Groups says of each API group of Families whether it is known which of
	// its kinds the server has. A group that is not listed was not asked for.
	Groups map[string]portal.Source
	// Kinds are those that the server has, of the groups that are Synced.
	Kinds  []Kind
	Cilium Cilium
}

// Kind is a kind of object of the way through a gateway or a load balancer.
type Kind struct {
	Group, Resource, Kind string // gateway.networking.k8s.io, httproutes, HTTPRoute
	Source                portal.Source
	Objects               []Object
}

// Object names an object; its namespace is empty where the kind has none.
type Object struct{ Namespace, Name string }

// Cilium is what its ConfigMap says.
type Cilium struct {
	Source portal.Source
	// Namespace is where it was found. Empty, in a Source that is Synced:
	// there is none, and no Cilium.
	Namespace string
	Config    map[string]string
}

// ConfigMap is the name of Cilium's configuration.
const ConfigMap = "cilium-config"

// Family is a way of exposing that plain node ports replace.
type Family struct {
	Name   string
	Group  string
	What   string // that is looked for
	wanted func(kind string) bool
}

// Families lists them in the order in which people look.
func Families() []Family {
	one := func(kinds ...string) func(string) bool {
		return func(kind string) bool {
			return slices.ContainsFunc(kinds, func(k string) bool { return strings.EqualFold(k, kind) })
		}
	}
	return []Family{
		{"Gateway API", "gateway.networking.k8s.io", "Gateway, GatewayClass or route", func(kind string) bool {
			// A ReferenceGrant or a policy does nothing by itself, and kinds
			// are added to this group each year.
			lower := strings.ToLower(kind)
			return strings.HasSuffix(lower, "route") || strings.HasSuffix(lower, "listenerset") || lower == "gateway" || lower == "gatewayclass"
		}},
		{"Ingress", "networking.k8s.io", "Ingress", one("Ingress")},
		{"Cilium load balancing", "cilium.io", "CiliumLoadBalancerIPPool or CiliumL2AnnouncementPolicy",
			one("CiliumLoadBalancerIPPool", "CiliumL2AnnouncementPolicy")},
		{"MetalLB", "metallb.io", "IPAddressPool or advertisement", one("IPAddressPool", "L2Advertisement", "BGPAdvertisement")},
	}
}

// Wants tells whether objects of a kind belong to the family, however its
// letters are written.
func (f Family) Wants(kind string) bool { return f.wanted(kind) }

// CiliumNamespace is where Cilium's agents run, by the label that its chart
// gives them; "" where there are none.
func CiliumNamespace(pods []portal.Pod) string {
	for _, p := range pods {
		if p.Labels["k8s-app"] == "cilium" {
			return p.Namespace
		}
	}
	return ""
}
