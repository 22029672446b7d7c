package inventory

import (
	"fmt"
)

// addTree reads Ansible's YAML format: a mapping of groups, each with hosts,
// vars and children. Where Ansible warns and goes on with the rest, this is
// an error: a key that is none of the three, a group that is no mapping.
func (l *loader) addTree(root Value) error {
	if root.typ != Map {
		return &ReadError{Origin: root.origin, Why: fmt.Sprintf("an inventory is a mapping of groups; this is %s", root.typ)}
	}
	if plugin, ok := root.get("plugin"); ok && !plugin.falsy() {
		return &ReadError{Origin: plugin.origin, Why: fmt.Sprintf("this configures the inventory plugin %q, which only Ansible runs; save the output of ansible-inventory --list as a .json file and name that", plugin)}
	}
	for _, e := range root.entries() {
		if _, err := l.addTreeGroup(e.key, e.value); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) addTreeGroup(key, data Value) (*group, error) {
	if key.typ != String || key.text == "" {
		return nil, &ReadError{Origin: key.origin, Why: fmt.Sprintf("a group's name is a string, not %s (%q); quote it", key.typ, key.text)}
	}
	if data.typ != Map && data.typ != Null {
		return nil, &ReadError{Origin: data.origin, Why: fmt.Sprintf("group %q is %s, not a mapping with hosts, vars or children; Ansible would leave it out", key.text, data.typ)}
	}
	if err := l.spend(1+len(data.entries()), key.origin); err != nil {
		return nil, err
	}
	g := l.graph.addGroup(key.text)
	for _, e := range data.entries() {
		section := e.value
		switch e.key.text {
		case "hosts", "vars", "children":
		default:
			return nil, &ReadError{Origin: e.key.origin, Why: fmt.Sprintf("%q in group %q is none of hosts, vars and children; Ansible would leave it out", e.key.text, key.text)}
		}
		if section.typ == String { // a single name may stand where a mapping is expected
			name := section
			section = Value{typ: Map, origin: name.origin, nest: &nested{entries: []entry{{key: name}}}}
		}
		if section.typ != Map && section.typ != Null {
			return nil, &ReadError{Origin: section.origin, Why: fmt.Sprintf("%s of group %q is %s; it needs a mapping", e.key.text, key.text, section.typ)}
		}
		for _, part := range section.entries() {
			if err := l.addTreeEntry(g, e.key.text, part); err != nil {
				return nil, err
			}
		}
	}
	return g, nil
}

func (l *loader) addTreeEntry(g *group, section string, part entry) error {
	switch section {
	case "vars":
		return g.set(part.key.text, part.value)
	case "children":
		child, err := l.addTreeGroup(part.key, part.value)
		if err != nil {
			return err
		}
		addChild(g, child, part.key.origin)
		return nil
	}
	if part.key.typ != String {
		return &ReadError{Origin: part.key.origin, Why: fmt.Sprintf("a host's name is a string, not %s (%q); quote it", part.key.typ, part.key.text)}
	}
	vars := part.value
	if vars.typ != Map && !vars.falsy() {
		return &ReadError{Origin: vars.origin, Why: fmt.Sprintf("the variables of host %q are %s, not a mapping", part.key.text, vars.typ)}
	}
	return l.addHosts(g, part.key.text, vars.entries(), part.key.origin)
}

// addHosts adds every host that a pattern stands for and gives each the
// variables.
func (l *loader) addHosts(g *group, pattern string, vars []entry, o Origin) error {
	pattern, port := splitPort(pattern)
	names, err := expandHost(pattern)
	if err != nil {
		return &ReadError{Origin: o, Why: err.Error(), Err: err}
	}
	if err := l.spend(len(names)*(1+len(vars)), o); err != nil {
		return err
	}
	for _, name := range names {
		h, err := l.graph.addHost(name, g, port, o)
		if err != nil {
			return err
		}
		for _, e := range vars {
			h.set(e.key.text, e.value)
		}
	}
	return nil
}
