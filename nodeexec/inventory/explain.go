package inventory

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/nodeexec/internal/sshargs"
	"github.com/nestor-tools/nestor/nodeexec/inventory/internal/shlex"
)

// Explanation tells where a node's target comes from.
type Explanation struct {
	Node      string
	Inventory string
	Groups    []string // the weakest first, "all" left out
	Fields    []Field
	Warnings  []Warning
	Target    Target // meaningful where Err is nil
	Err       error  // why there is no target
}

// Field is one field of a target and its story.
type Field struct {
	Name     string   // as in nestor.target/v1: target_kind, transport, host, ...
	Value    string   // as it is used; "" where it is left to ssh
	Why      string   // where the value does not come from a variable: why it is what it is
	Variable string   // the variable that counts, "" for none
	Written  string   // that variable as written, a template unresolved
	Origin   Origin   // of that variable
	Beat     []Beaten // what it beat, the strongest first
	Err      error    // why it cannot be used

	falsy bool // the value is false to Python
}

// Beaten is a value that another one overrode.
type Beaten struct {
	Variable string
	Written  string
	Origin   Origin
}

// Explain tells the story of a node's target. Its error is of the kind that
// leaves nothing to tell: an unknown node, a file that cannot be read. What is
// wrong with single fields stands in them.
func (inv *Inventory) Explain(node string) (Explanation, error) {
	h, err := inv.host(node)
	if err != nil {
		return Explanation{}, err
	}
	if _, err := inv.layersOf(h); err != nil {
		return Explanation{}, err
	}
	x := Explanation{Node: node, Inventory: inv.Name()}
	for _, g := range h.groupsOf() {
		x.Groups = append(x.Groups, g.name)
	}
	x.Target, x.Err = inv.Target(node, "")
	r := &resolver{inv: inv, host: h, target: Target{Origins: map[string]Origin{}}}
	kind := r.explain("target_kind", "target_kind")
	if kind.Variable == "" {
		kind.Why = "undeclared: reads are allowed, mutations are refused"
	}
	x.Fields = append(x.Fields, kind, r.explainTransport(x.Target))
	if x.Err != nil || x.Target.Transport == TransportSSH {
		x.Fields = append(x.Fields, r.explainSSH(x.Target)...)
	}
	if stack := r.explain("stack_id", "stack_id"); stack.Variable != "" {
		x.Fields = append(x.Fields, stack)
	}
	x.Warnings = append(inv.nodeWarnings(h, x), inv.Warnings()...)
	return x, nil
}

// explain tells one field. Where the value is resolved it is shown resolved.
func (r *resolver) explain(field string, names ...string) Field {
	f := Field{Name: field}
	winner, v, ok, err := r.value(names...)
	f.Err = err
	if ok {
		f.Value, f.Variable, f.falsy = v.String(), winner, r.falsy
	}
	for _, name := range names {
		found, lookupErr := r.inv.lookup(r.host, name)
		if lookupErr != nil {
			continue // said by f.Err
		}
		if len(found) > 0 && f.Variable == "" && err != nil {
			f.Variable = name
		}
		for i, value := range found {
			written := r.inv.written(name, value)
			if name == f.Variable && i == 0 {
				f.Written, f.Origin = written, value.origin
				continue
			}
			f.Beat = append(f.Beat, Beaten{name, written, value.origin})
		}
	}
	return f
}

// written shows a value as it stands in the file, secrets masked.
func (inv *Inventory) written(name string, v Value) string {
	if v.typ == String && isSecret(name) {
		return "(not shown)"
	}
	return v.String()
}

func (r *resolver) explainTransport(t Target) Field {
	f := r.explain("transport", "transport", "ansible_connection")
	f.Value = string(t.Transport)
	switch {
	case t.Transport == "":
	case f.Variable == "transport", t.Transport == TransportLocal:
	case t.Kind == Lima:
		f.Why = "follows from target_kind: lima"
	default:
		f.Why = "the default"
	}
	return f
}

func (r *resolver) explainSSH(t Target) []Field {
	host := r.explain("host", hostNames...)
	if host.Variable == "" && host.Err == nil {
		host.Value, host.Why = r.host.name, "the node's name, as no ansible_host is set"
	}
	fields := []Field{host, r.explain("port", portNames...), r.explain("user", userNames...), r.explain("identity_file", identityNames...)}
	for i := range fields {
		f := &fields[i]
		if f.Variable == "" && f.Err == nil && f.Why == "" {
			f.Why = "left to ssh"
		}
		switch {
		case f.leftOut() && f.Err == nil:
			f.Value, f.Why = "", "left to ssh, as Ansible does with a value that Python takes for false"
		case f.Name == "port" && f.Value != "" && t.Port == 0 && t.Node != "", f.Name == "user" && f.Value != "" && t.User == "" && t.Node != "":
			f.Value, f.Why = "", "given way to ansible_ssh_args, which comes first in Ansible's command"
		case f.Name == "identity_file" && t.IdentityFile != "":
			f.Value = t.IdentityFile
		case f.Name == "identity_file" && f.Value != "" && t.Node != "":
			f.Value, f.Why = "", "offered behind the key of ansible_ssh_args, as in Ansible's command"
		}
	}
	for _, name := range argsNames {
		if f := r.explain("ssh_args", name); f.Variable != "" || f.Err != nil {
			fields = append(fields, f)
		}
	}
	return fields
}

// leftOut says whether the field is one that Ansible leaves out because
// its value is false to Python.
func (f Field) leftOut() bool {
	return f.falsy && (f.Name == "user" || f.Name == "identity_file")
}

var secretNames = []string{"ansible_password", "ansible_ssh_pass", "ansible_ssh_password", "ansible_become_pass", "ansible_become_password", "ansible_sudo_pass"}

func isSecret(name string) bool { return slices.Contains(secretNames, name) }

// lookalikes are variables that read as if they steered the connection, and
// that Ansible ignores.
var lookalikes = map[string]string{
	"connection": "ansible_connection", "ansible_connection_type": "ansible_connection",
	"ansible_username": "ansible_user", "ansible_ssh_username": "ansible_user", "ansible_remote_user": "ansible_user",
	"ansible_ip": "ansible_host", "ansible_hostname": "ansible_host", "ansible_address": "ansible_host",
	"ansible_key_file": "ansible_ssh_private_key_file", "ansible_ssh_key": "ansible_ssh_private_key_file",
	"ansible_ssh_key_file": "ansible_ssh_private_key_file", "ansible_ssh_private_key": "ansible_ssh_private_key_file",
	"ansible_ssh_common_arg": "ansible_ssh_common_args", "ansible_ssh_extra_arg": "ansible_ssh_extra_args",
}

// nodeWarnings lists what people should know of one node.
func (inv *Inventory) nodeWarnings(h *host, x Explanation) []Warning {
	var list []Warning
	add := func(o Origin, code, format string, args ...any) {
		list = append(list, Warning{Origin: o, Code: code, Message: fmt.Sprintf(format, args...)})
	}
	vars, err := inv.Vars(h.name)
	if err != nil {
		return nil // x.Err says it
	}
	for _, v := range vars {
		o := v.Value.origin
		if meant, ok := lookalikes[v.Name]; ok {
			add(o, WarnIgnored, "%s has no effect on the connection; %s does", v.Name, meant)
		}
		if isSecret(v.Name) && v.Value.typ == String && v.Value.text != "" && !isTemplate(v.Value.text) {
			add(o, WarnPassword, "%s stands here in plain text (nestor never uses it)", v.Name)
		}
		if v.Name == "ansible_connection" && x.Err == nil && x.Target.Transport == TransportSSH && strings.Contains(v.Value.text, "paramiko") {
			add(o, WarnPlugin, "%s runs no ssh in Ansible; nestor does, with ssh's own configuration", v.Value.text)
		}
		if (v.Name == "ansible_host_key_checking" || v.Name == "ansible_ssh_host_key_checking") && v.Value.falsy() {
			add(o, WarnHostKeys, "%s switches host keys off; nestor checks them all the same", v.Name)
		}
	}
	for _, f := range x.Fields {
		if f.leftOut() && f.Written != "" {
			add(f.Origin, WarnBoolean, "%s is %s, which Ansible takes for none at all; quote it if a word was meant", f.Variable, f.Written)
		}
		if f.Name != "transport" && f.Name != "ssh_args" && (f.Value == "True" || f.Value == "False") {
			add(f.Origin, WarnBoolean, "%s is the boolean %s in YAML 1.1; quote it if a word was meant", f.Variable, f.Value)
		}
	}
	if x.Err != nil || x.Target.Transport != TransportSSH {
		return list
	}
	t := x.Target
	if a, err := netip.ParseAddr(t.Host); err == nil && a.IsUnspecified() {
		add(t.Origins["ansible_host"], WarnAnyAddress, "%s is no machine's address; ssh takes it for this one", t.Host)
	}
	for name, f := range t.sshOptionsByVariable(inv) {
		switch f.Name {
		case "stricthostkeychecking":
			if v := strings.ToLower(f.Value); v == "no" || v == "off" || v == "false" {
				add(t.Origins[name], WarnHostKeys, "%s switches host keys off (%s); nestor checks them all the same", name, f.Value)
			}
		case "userknownhostsfile":
			if f.Value == "/dev/null" || strings.EqualFold(f.Value, "none") {
				add(t.Origins[name], WarnHostKeys, "%s keeps no host keys (%s), so that every host is an unknown one; strict checking refuses it", name, f.Value)
			}
		case "proxyjump":
			for _, jump := range strings.Split(f.Value, ",") {
				if at := sshargs.Host(jump); at == t.Host || at == t.Node {
					add(t.Origins[name], WarnSelfJump, "%s jumps through %s, which is the node itself", name, at)
				}
			}
		}
	}
	if others := inv.sharing(t); len(others) > 0 {
		add(t.Origins["ansible_host"], WarnShared, "%s is also the address of %s", t.Host, strings.Join(others, ", "))
	}
	return list
}

// sshOptionsByVariable yields the options among a target's arguments with the
// variable that holds each.
func (t Target) sshOptionsByVariable(inv *Inventory) func(yield func(string, sshargs.Option) bool) {
	return func(yield func(string, sshargs.Option) bool) {
		r := &resolver{inv: inv, host: inv.graph.hosts[t.Node], target: Target{Origins: map[string]Origin{}}}
		for _, name := range argsNames {
			_, v, ok, err := r.value(name)
			if !ok || err != nil {
				continue
			}
			words, err := shlex.Split(v.text)
			if err != nil {
				continue
			}
			for o := range sshargs.Options(words) {
				if !yield(name, o) {
					return
				}
			}
		}
	}
}

// sharing lists the other nodes with the same address and port. Those that
// cannot be resolved are left out.
func (inv *Inventory) sharing(t Target) []string {
	var others []string
	for _, h := range inv.graph.hostOrder {
		if h.name == t.Node {
			continue
		}
		r := &resolver{inv: inv, host: h, target: Target{Node: h.name, Origins: map[string]Origin{}}}
		if r.kind("") != nil || r.transport() != nil || r.target.Transport != TransportSSH || r.connection() != nil {
			continue
		}
		if r.target.Host == t.Host && r.target.Port == t.Port {
			others = append(others, h.name)
		}
	}
	return others
}
