package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// group and host are the nodes of the inventory's graph. Variables are kept
// as assignments in reading order: the last one of a name counts, the others
// are what it beat.
type group struct {
	name     string
	hosts    []*host
	hostSet  map[*host]bool
	children []*group
	childSet map[*group]Origin // where each child was named
	parents  []*group
	vars     []assignment
	priority int
	depth    int
}

type host struct {
	name   string
	groups []*group // those that name it
	vars   []assignment
	source string // the file in Options.FS that named it first, for inventory_dir
}

type assignment struct {
	name  string
	value Value
}

// graph is the inventory under construction.
type graph struct {
	groups     map[string]*group
	groupOrder []*group
	hosts      map[string]*host
	hostOrder  []*host

	source string // the file being read
}

func newGraph() *graph {
	g := &graph{groups: map[string]*group{}, hosts: map[string]*host{}}
	// Both exist in every inventory, in this order.
	all, ungrouped := g.addGroup("all"), g.addGroup("ungrouped")
	addChild(all, ungrouped, Origin{})
	return g
}

func (g *graph) addGroup(name string) *group {
	if have := g.groups[name]; have != nil {
		return have
	}
	added := &group{name: name, priority: 1, hostSet: map[*host]bool{}, childSet: map[*group]Origin{}}
	g.groups[name] = added
	g.groupOrder = append(g.groupOrder, added)
	return added
}

// addHost adds the host where it is new, and puts it into the group. A port
// written behind a name counts only where the name first stands.
func (g *graph) addHost(name string, in *group, port string, o Origin) (*host, error) {
	if name == "" {
		return nil, &ReadError{Origin: o, Why: "a host's name is empty"}
	}
	if strings.ContainsRune(name, 0) {
		return nil, &ReadError{Origin: o, Why: fmt.Sprintf("the host name %q holds a NUL byte", name)}
	}
	h := g.hosts[name]
	if h == nil {
		h = &host{name: name, source: g.source}
		g.hosts[name] = h
		g.hostOrder = append(g.hostOrder, h)
		if port != "" {
			h.set("ansible_port", Value{typ: Int, text: port, origin: o})
		}
	}
	in.addHost(h)
	return h, nil
}

func (in *group) addHost(h *host) {
	if !in.hostSet[h] {
		in.hostSet[h] = true
		in.hosts = append(in.hosts, h)
		h.groups = append(h.groups, in)
	}
}

func (h *host) set(name string, v Value) { h.vars = append(h.vars, assignment{name, v}) }

// set gives a group a variable. ansible_group_priority is not one: it orders
// groups of equal depth, and only where it stands inline.
func (in *group) set(name string, v Value) error {
	if name != "ansible_group_priority" {
		in.vars = append(in.vars, assignment{name, v})
		return nil
	}
	n, err := strconv.Atoi(strings.TrimSpace(v.text))
	switch {
	case v.typ == Bool:
		n, err = map[string]int{"True": 1}[v.text], nil
	case v.typ == Float:
		var f float64
		f, err = strconv.ParseFloat(v.text, 64)
		n = int(f)
	case v.typ != Int && v.typ != String:
		err = strconv.ErrSyntax
	}
	if err != nil {
		return &ReadError{Origin: v.origin, Why: fmt.Sprintf("ansible_group_priority of group %q is %q, not a number", in.name, v)}
	}
	in.priority = n
	return nil
}

// addChild makes child a part of parent. Loops are found by finish.
func addChild(parent, child *group, o Origin) {
	if _, again := parent.childSet[child]; again {
		return
	}
	parent.childSet[child] = o
	parent.children = append(parent.children, child)
	child.parents = append(child.parents, parent)
}

// finish brings the graph into Ansible's form: everything is below all, a
// host without a group of its own is in ungrouped and no other host is, and
// each group has the depth of the longest way to it.
func (g *graph) finish() error {
	all, ungrouped := g.groups["all"], g.groups["ungrouped"]
	for _, in := range g.groupOrder {
		if in != all && len(in.parents) == 0 {
			addChild(all, in, Origin{})
		}
	}
	ungrouped.hosts = nil
	for _, h := range g.hostOrder {
		own := slices.ContainsFunc(h.groups, func(in *group) bool { return in != all && in != ungrouped })
		switch {
		case own && ungrouped.hostSet[h]:
			delete(ungrouped.hostSet, h)
			h.groups = slices.DeleteFunc(h.groups, func(in *group) bool { return in == ungrouped })
		case !own:
			if !ungrouped.hostSet[h] {
				h.groups = append(h.groups, ungrouped)
				ungrouped.hostSet[h] = true
			}
			ungrouped.hosts = append(ungrouped.hosts, h)
		}
	}
	return g.measureDepth()
}

// maxGroupDepth bounds how deep groups may nest.
const maxGroupDepth = 1000

// measureDepth walks the groups, parents first. Groups that it does not reach
// are below a loop, or in it.
func (g *graph) measureDepth() error {
	waiting := make(map[*group]int, len(g.groupOrder))
	ready := []*group{}
	for _, in := range g.groupOrder {
		if waiting[in] = len(in.parents); len(in.parents) == 0 {
			ready = append(ready, in)
		}
	}
	reached := 0
	for ; reached < len(ready); reached++ {
		in := ready[reached]
		for _, child := range in.children {
			if child.depth = max(child.depth, in.depth+1); child.depth > maxGroupDepth {
				return &ReadError{Origin: in.childSet[child], Why: fmt.Sprintf("groups nested deeper than %d", maxGroupDepth)}
			}
			if waiting[child]--; waiting[child] == 0 {
				ready = append(ready, child)
			}
		}
	}
	if reached == len(g.groupOrder) {
		return nil
	}
	return g.loop(waiting)
}

// loop names a loop: from a group that waits for a parent, that parent waits
// too, and so on, until one comes again.
func (g *graph) loop(waiting map[*group]int) error {
	var in *group
	for _, candidate := range g.groupOrder {
		if waiting[candidate] > 0 {
			in = candidate
			break
		}
	}
	seen := map[*group]bool{}
	for !seen[in] {
		seen[in] = true
		in = in.parents[slices.IndexFunc(in.parents, func(parent *group) bool { return waiting[parent] > 0 })]
	}
	for range g.groupOrder { // an edge that stands in a file; those of "all" may not
		parent := in.parents[slices.IndexFunc(in.parents, func(parent *group) bool { return waiting[parent] > 0 })]
		if o := parent.childSet[in]; o.File != "" {
			return &ReadError{Origin: o, Why: fmt.Sprintf("group %q is a child of %q, which is below it: a loop", in.name, parent.name)}
		}
		in = parent
	}
	return &ReadError{Why: fmt.Sprintf("the groups around %q make a loop", in.name)}
}

// allHosts lists the group's hosts and those of the groups below it, level by
// level, which is Ansible's order where Ansible has one.
func (in *group) allHosts() []*host {
	var hosts []*host
	seenHost, seenGroup := map[*host]bool{}, map[*group]bool{in: true}
	for level := []*group{in}; len(level) > 0; {
		var next []*group
		for _, g := range level {
			for _, h := range g.hosts {
				if !seenHost[h] {
					seenHost[h] = true
					hosts = append(hosts, h)
				}
			}
			for _, child := range g.children {
				if !seenGroup[child] {
					seenGroup[child] = true
					next = append(next, child)
				}
			}
		}
		level = next
	}
	return hosts
}

// groupsOf lists the groups that a host is in, all excepted, the weakest
// first: by depth, then ansible_group_priority, then name.
func (h *host) groupsOf() []*group {
	var found []*group
	seen := map[*group]bool{}
	var add func(*group)
	add = func(in *group) {
		if seen[in] {
			return
		}
		seen[in] = true
		if in.name != "all" {
			found = append(found, in)
		}
		for _, parent := range in.parents {
			add(parent)
		}
	}
	for _, in := range h.groups {
		add(in)
	}
	slices.SortFunc(found, func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.depth, b.depth), cmp.Compare(a.priority, b.priority), strings.Compare(a.name, b.name))
	})
	return found
}
