package inventory

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sync"
)

// Options is what an inventory is read from.
type Options struct {
	FS   fs.FS  // required
	Name string // the inventory in FS, a file or a directory

	// Shown stands before the names of files in messages and origins, so
	// that they can be opened from where the caller is.
	Shown string
	// Dir is the absolute path of FS's root. Without it inventory_dir and
	// inventory_file cannot be used in templates, and Target.Inventory is
	// empty.
	Dir string

	// Env looks up environment variables, for lookup('env', ...) and "~".
	// nil: there are none.
	Env func(string) (string, bool)

	// VaultPassword opens vaulted values and files. Without it they stay
	// closed, and only a call that needs one fails.
	VaultPassword []byte
}

// Inventory is an inventory that was read whole. It is safe for use by
// several goroutines.
type Inventory struct {
	opts  Options
	graph *graph

	mu       sync.Mutex // guards what is read when a host needs it
	files    varsFiles
	warnings []Warning
}

// Load reads the inventory of that name in fsys: a YAML or INI file, the JSON
// of "ansible-inventory --list", or a directory of them, with group_vars and
// host_vars beside it. See [Options] for more control.
//
// The error matches [ErrUnreadable] and names file and line.
func Load(fsys fs.FS, name string, env func(string) (string, bool)) (*Inventory, error) {
	return Open(Options{FS: fsys, Name: name, Env: env})
}

// Open reads the inventory that o describes. See [Load].
func Open(o Options) (*Inventory, error) {
	if o.Env == nil {
		o.Env = func(string) (string, bool) { return "", false }
	}
	l := &loader{opts: o, graph: newGraph()}
	base, err := l.source(o.Name, 0)
	if err != nil {
		return nil, err
	}
	if err := l.graph.finish(); err != nil {
		return nil, err
	}
	for _, g := range l.graph.groupOrder {
		if h := l.graph.hosts[g.name]; h != nil {
			l.warn(Warning{Origin: Origin{File: o.shown(h.source)}, Code: WarnName, Message: fmt.Sprintf("%q is both a group and a host; patterns take the host", g.name)})
		}
	}
	return &Inventory{opts: o, graph: l.graph, warnings: l.warnings, files: varsFiles{base: base}}, nil
}

// Hosts lists all hosts in inventory order.
func (inv *Inventory) Hosts() []string { return names(inv.graph.groups["all"].allHosts()) }

// Groups lists all groups, "all" and "ungrouped" included, in the order in
// which they were named first.
func (inv *Inventory) Groups() []string {
	groups := make([]string, len(inv.graph.groupOrder))
	for i, g := range inv.graph.groupOrder {
		groups[i] = g.name
	}
	return groups
}

// GroupsOf lists the groups of a host, "all" excepted, the weakest first: the
// order in which their variables override each other.
func (inv *Inventory) GroupsOf(node string) ([]string, error) {
	h, err := inv.host(node)
	if err != nil {
		return nil, err
	}
	var groups []string
	for _, g := range h.groupsOf() {
		groups = append(groups, g.name)
	}
	return groups, nil
}

// Members lists what a group itself names: its hosts and its child groups.
// ok is false where there is no such group.
func (inv *Inventory) Members(group string) (hosts, children []string, ok bool) {
	g := inv.graph.groups[group]
	if g == nil {
		return nil, nil, false
	}
	for _, child := range g.children {
		children = append(children, child.name)
	}
	return names(g.hosts), children, true
}

// Warnings lists what reading the inventory gave rise to, in reading order.
func (inv *Inventory) Warnings() []Warning {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	return slices.Clone(inv.warnings)
}

// Name is the inventory's name as messages show it.
func (inv *Inventory) Name() string { return inv.opts.shown(inv.opts.Name) }

// Path is the inventory's absolute path, "" where Options.Dir is not given.
func (inv *Inventory) Path() string {
	if inv.opts.Dir == "" {
		return ""
	}
	return path.Join(inv.opts.Dir, inv.opts.Name)
}

func (inv *Inventory) host(node string) (*host, error) {
	if h := inv.graph.hosts[node]; h != nil {
		return h, nil
	}
	return nil, &UnknownNodeError{Node: node, Inventory: inv.Name(), Nearest: inv.nearest(node), Group: inv.graph.groups[node] != nil}
}

func names(hosts []*host) []string {
	out := make([]string, len(hosts))
	for i, h := range hosts {
		out[i] = h.name
	}
	return out
}

func (o Options) shown(name string) string { return path.Join(o.Shown, name) }
