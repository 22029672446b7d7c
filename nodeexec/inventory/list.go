package inventory

import "fmt"

// addList reads what "ansible-inventory --list" and inventory scripts print:
// groups with lists of hosts and of children, and the hosts' variables under
// _meta. Without --export the list holds for each host all that counts for
// it, so no group has variables.
func (l *loader) addList(root Value) error {
	meta, _ := root.get("_meta")
	hostvars, _ := meta.get("hostvars")
	if hostvars.typ != Map && hostvars.typ != Null {
		return &ReadError{Origin: hostvars.origin, Why: fmt.Sprintf("_meta.hostvars is %s, not a mapping", hostvars.typ)}
	}
	for _, e := range root.entries() {
		if e.key.text == "_meta" {
			continue
		}
		if err := l.addListGroup(e.key, e.value); err != nil {
			return err
		}
	}
	for _, e := range hostvars.entries() {
		h := l.graph.hosts[e.key.text]
		if h == nil {
			continue // Ansible leaves out variables of hosts that no group names
		}
		if e.value.typ != Map && !e.value.falsy() {
			return &ReadError{Origin: e.value.origin, Why: fmt.Sprintf("the variables of host %q are %s, not a mapping", h.name, e.value.typ)}
		}
		for _, v := range e.value.entries() {
			h.set(v.key.text, v.value)
		}
	}
	return nil
}

func (l *loader) addListGroup(key, data Value) error {
	if key.text == "" {
		return &ReadError{Origin: key.origin, Why: "a group's name is empty"}
	}
	g := l.graph.addGroup(key.text)
	if data.typ == List { // the short form: only hosts
		data = Value{typ: Map, origin: data.origin, nest: &nested{entries: []entry{{stringValue("hosts", data.origin), data}}}}
	}
	if data.typ != Map {
		return &ReadError{Origin: data.origin, Why: fmt.Sprintf("group %q is %s, not a mapping with hosts, vars or children", key.text, data.typ)}
	}
	for _, e := range data.entries() {
		switch e.key.text {
		case "vars":
			if e.value.typ != Map {
				return &ReadError{Origin: e.value.origin, Why: fmt.Sprintf("vars of group %q is %s, not a mapping", key.text, e.value.typ)}
			}
			for _, v := range e.value.entries() {
				if err := g.set(v.key.text, v.value); err != nil {
					return err
				}
			}
		case "hosts", "children":
			if e.value.typ != List {
				return &ReadError{Origin: e.value.origin, Why: fmt.Sprintf("%s of group %q is %s, not a list", e.key.text, key.text, e.value.typ)}
			}
			for _, member := range e.value.items() {
				if err := l.addListMember(g, e.key.text, member); err != nil {
					return err
				}
			}
		default:
			return &ReadError{Origin: e.key.origin, Why: fmt.Sprintf("%q in group %q is none of hosts, vars and children", e.key.text, key.text)}
		}
	}
	return nil
}

func (l *loader) addListMember(g *group, section string, member Value) error {
	if member.typ != String || member.text == "" {
		return &ReadError{Origin: member.origin, Why: fmt.Sprintf("%s of group %q holds %s, %q, not a name", section, g.name, member.typ, member)}
	}
	if section == "children" {
		addChild(g, l.graph.addGroup(member.text), member.origin)
		return nil
	}
	if err := l.spend(1, member.origin); err != nil {
		return err
	}
	_, err := l.graph.addHost(member.text, g, "", member.origin)
	return err
}
