package mapping

import (
	"cmp"
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/mapping/baseline"
	"github.com/nestor-tools/nestor/mapping/cluster"
)

// Schema names the format of a topology. Fields may be added; a changed
// meaning changes the name.
const Schema = "nestor.topology/v1"

// Topology is what a cluster really is: its API half, where the API was read,
// and its nodes.
type Topology struct {
	Schema      string `json:"schema"`
	GeneratedBy string `json:"generated_by"`

	// API is nil where it was not asked, and absent where there is none.
	API *Observed[cluster.API] `json:"api,omitempty"`

	// Cluster is what the API says; its fields stand beside these. Nil where
	// API is not present.
	*cluster.Cluster

	Nodes []Node `json:"nodes"`
}

// Node is one node: its facts, or why there are none.
type Node struct {
	Name    string   `json:"name"`
	Roles   []string `json:"roles"` // the inventory's groups
	Address string   `json:"-"`     // the inventory's, to find the node in the API

	// Kubernetes is what the API says of it; nil where the API was not read.
	Kubernetes *Observed[Kubernetes] `json:"kubernetes,omitempty"`
	Facts      *NodeFacts            `json:"facts,omitempty"`

	// Hardening is the short signal: hardened when auditd and fail2ban are
	// both active, partial when one is, plain when none is, unknown.
	Hardening string           `json:"hardening"`
	Baseline  []baseline.Check `json:"baseline,omitempty"`
	Error     *Failure         `json:"error,omitempty"`
}

// Failure is why a node has no facts.
type Failure struct {
	Kind    string `json:"kind"`    // as in nodeexec: unreachable, auth, ...; or NotInInventory
	Message string `json:"message"` // one line
}

// NewTopology puts the nodes into the order of their names, so that the order
// of the inventory and of the answers does not matter.
func NewTopology(nodes []Node) Topology {
	t := Topology{Schema: Schema, GeneratedBy: "nestor discover", Nodes: slices.Clone(nodes)}
	for i := range t.Nodes {
		t.Nodes[i].Roles = slices.Sorted(slices.Values(t.Nodes[i].Roles))
		t.Nodes[i].Hardening = cmp.Or(t.Nodes[i].Hardening, "unknown")
		if t.Nodes[i].Roles == nil {
			t.Nodes[i].Roles = []string{}
		}
	}
	slices.SortStableFunc(t.Nodes, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	if t.Nodes == nil {
		t.Nodes = []Node{}
	}
	return t
}
