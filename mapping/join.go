package mapping

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/mapping/cluster"
	"github.com/nestor-tools/nestor/mapping/fact"
)

// NotInInventory is the kind of Failure of a node that only the API has.
const NotInInventory = "not-in-inventory"

// Kubernetes is what the API says of a node.
type Kubernetes struct {
	Name         string            `json:"name"`
	JoinedBy     string            `json:"joined_by,omitempty"` // machine-id, system-uuid, name, hostname or address
	Roles        []string          `json:"roles"`               // of its labels: control-plane
	Addresses    []cluster.Address `json:"addresses"`
	Taints       []string          `json:"taints,omitempty"`
	Kubelet      string            `json:"kubelet"`
	Runtime      string            `json:"runtime"` // containerd://2.1.5
	OSImage      string            `json:"os_image"`
	Kernel       string            `json:"kernel"`
	Architecture string            `json:"architecture"`
}

// WithoutAPI is the topology where the API was to be read and could not, or
// where there is none.
func (t Topology) WithoutAPI(why Observed[cluster.API]) Topology {
	t.API = &why
	return t
}

// JoinOptions say what else is known of the nodes.
type JoinOptions struct {
	// Others are nodes of the inventory that were not asked: their name and
	// Address count. The API's nodes that are theirs are left out.
	Others []Node

	// Chosen tells that somebody chose which nodes to ask. As long as one of
	// Others is not found in the API, a node of the API that nobody is may be
	// that one, and is left out as well.
	Chosen bool

	// Alone tells that no node was asked at all, so that a node of the API
	// that the topology does not have is nothing to remark on.
	Alone bool
}

// WithAPI adds what the API says: its half of the topology, and each node's
// place in it. A node of the API that none of the topology's is, is added
// without facts.
func (t Topology) WithAPI(s cluster.Snapshot, o JoinOptions) Topology {
	api := fact.Present(cluster.About(s))
	half := cluster.Map(s)
	t.API, t.Cluster = &api, &half
	t.Nodes = slices.Clone(t.Nodes)
	all, ok := s.Nodes.Get()
	if !ok {
		unread := fact.Then(s.Nodes, func([]cluster.Node) (Kubernetes, error) { return Kubernetes{}, nil })
		for i := range t.Nodes {
			t.Nodes[i].Kubernetes = &unread
		}
		return t
	}
	joined := joinNodes(append(slices.Clone(t.Nodes), o.Others...), all)
	names := map[string]bool{}
	for i, n := range t.Nodes {
		j := joined.of[i]
		place := j.fact(all)
		t.Nodes[i].Kubernetes = &place
		names[n.Name] = true
	}
	lost := slices.ContainsFunc(joined.of[len(t.Nodes):], func(m match) bool { return m.at < 0 })
	for i, n := range all {
		if joined.taken[i] || o.Chosen && lost {
			continue
		}
		place := fact.Present(kubernetes(n, ""))
		name := n.Name
		if names[name] { // an inventory's node of this name is another machine
			name = "api:" + name
		}
		added := Node{Name: name, Kubernetes: &place}
		if !o.Alone {
			added.Error = &Failure{Kind: NotInInventory, Message: n.Name + ": a node of the API that the inventory does not have"}
		}
		t.Nodes = append(t.Nodes, added)
	}
	t.Nodes = NewTopology(t.Nodes).Nodes
	return t
}

// NodesOnly is the topology without its API half.
func (t Topology) NodesOnly() Topology {
	t.API, t.Cluster = nil, nil
	t.Nodes = slices.DeleteFunc(slices.Clone(t.Nodes), func(n Node) bool { return n.Error != nil && n.Error.Kind == NotInInventory })
	for i := range t.Nodes {
		t.Nodes[i].Kubernetes = nil
	}
	return t
}

// APIOnly is the topology as one would be for which no node was asked: its
// API half, and the nodes as the API knows them.
func (t Topology) APIOnly() Topology {
	var nodes []Node
	for _, n := range t.Nodes {
		if n.Kubernetes != nil && n.Kubernetes.State == fact.IsPresent {
			nodes = append(nodes, Node{Name: n.Kubernetes.Value.Name, Kubernetes: n.Kubernetes})
		}
	}
	t.Nodes = NewTopology(nodes).Nodes
	return t
}

func kubernetes(n cluster.Node, by string) Kubernetes {
	k := Kubernetes{
		Name: n.Name, JoinedBy: by, Roles: n.Roles(), Taints: slices.Sorted(slices.Values(n.Taints)), Addresses: slices.Clone(n.Addresses),
		Kubelet: n.Kubelet, Runtime: n.Runtime, OSImage: n.OSImage, Kernel: n.Kernel, Architecture: n.Architecture,
	}
	slices.SortFunc(k.Addresses, func(a, b cluster.Address) int {
		return cmp.Or(strings.Compare(a.Type, b.Type), strings.Compare(a.Address, b.Address))
	})
	if k.Addresses == nil {
		k.Addresses = []cluster.Address{}
	}
	return k
}

// match is what became of one of the topology's nodes.
type match struct {
	at  int // in the API's list; -1: none
	by  string
	why string // why there is none
}

func (m match) fact(all []cluster.Node) Observed[Kubernetes] {
	switch {
	case m.at >= 0:
		return fact.Present(kubernetes(all[m.at], m.by))
	case m.why != "":
		return fact.Unknown[Kubernetes](m.why)
	}
	return fact.Absent[Kubernetes]("no node of the API has its machine id, name or address")
}

type joining struct {
	of    []match // by node of the topology
	taken []bool  // by node of the API
}

// joinKey is one way to tell that two records are of one machine.
type joinKey struct {
	by   string
	node func(Node) []string
	api  func(cluster.Node) []string
}

// joinKeys, the surest first. An identity counts only where it is one
// node's on both sides: clones share machine ids, and Lima's instances one
// address.
var joinKeys = []joinKey{
	{"machine-id", func(n Node) []string { return n.MachineIDs() }, func(n cluster.Node) []string { return words(n.MachineID) }},
	{"system-uuid", func(n Node) []string { return n.systemUUIDs() }, func(n cluster.Node) []string { return words(n.SystemUUID) }},
	{"name", func(n Node) []string { return words(n.Name) }, func(n cluster.Node) []string { return words(n.Name) }},
	{"hostname", func(n Node) []string { return n.hostnames() }, func(n cluster.Node) []string { return append(words(n.Name), n.AddressesOf("Hostname")...) }},
	{"address", func(n Node) []string { return words(n.Address) }, func(n cluster.Node) []string { return n.AddressesOf("") }},
}

// joinNodes matches the nodes of both sides. Two machine ids that are known and
// differ keep two records apart, whatever else they share.
func joinNodes(nodes []Node, all []cluster.Node) joining {
	j := joining{of: make([]match, len(nodes)), taken: make([]bool, len(all))}
	for i := range j.of {
		j.of[i].at = -1
	}
	for _, id := range joinKeys {
		ours, theirs := holders(nodes, id.node), holders(all, id.api)
		for i, n := range nodes {
			for _, word := range id.node(n) {
				if j.of[i].at >= 0 || len(ours[word]) != 1 || len(theirs[word]) != 1 || j.taken[theirs[word][0]] {
					continue
				}
				at := theirs[word][0]
				if contradicts(n, all[at]) {
					j.of[i].why = fmt.Sprintf("the API's node %s has its %s and another machine id: it is another machine", all[at].Name, id.by)
					continue
				}
				j.of[i] = match{at: at, by: id.by}
				j.taken[at] = true
			}
		}
	}
	return j
}

// holders is which records have a word.
func holders[T any](all []T, wordsOf func(T) []string) map[string][]int {
	found := map[string][]int{}
	for i, v := range all {
		for _, w := range wordsOf(v) {
			if !slices.Contains(found[w], i) {
				found[w] = append(found[w], i)
			}
		}
	}
	return found
}

func contradicts(n Node, api cluster.Node) bool {
	ours, theirs := n.MachineIDs(), words(api.MachineID)
	return len(ours) > 0 && len(theirs) > 0 && ours[0] != theirs[0]
}

// MachineIDs is the node's machine id, where it was read.
func (n Node) MachineIDs() []string {
	if n.Facts == nil {
		return nil
	}
	return words(n.Facts.MachineID.Value)
}

func (n Node) systemUUIDs() []string {
	if n.Facts == nil {
		return nil
	}
	return words(n.Facts.SystemUUID.Value)
}

func (n Node) hostnames() []string {
	if n.Facts == nil {
		return nil
	}
	return words(n.Facts.Hostname.Value)
}

// words is a word as it is compared, none where it is empty.
func words(s string) []string {
	if s == "" {
		return nil
	}
	return []string{strings.ToLower(s)}
}
