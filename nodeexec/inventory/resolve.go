package inventory

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/nestor-tools/nestor/nodeexec/internal/sshargs"
	"github.com/nestor-tools/nestor/nodeexec/inventory/internal/shlex"
)

// The variables behind each field. Of several that are set, the first one in
// the list wins, wherever it is set: so does Ansible's ssh plugin. A null
// value counts as not set, an empty string does not.
var (
	hostNames     = []string{"ansible_ssh_host", "ansible_host"}
	portNames     = []string{"ansible_ssh_port", "ansible_port"}
	userNames     = []string{"ansible_ssh_user", "ansible_user"}
	identityNames = []string{"ansible_ssh_private_key_file", "ansible_private_key_file"}
	// In the order in which Ansible puts them into ssh's arguments.
	argsNames = []string{"ansible_ssh_args", "ansible_ssh_common_args", "ansible_ssh_extra_args"}
)

// Target resolves a node. A want that is not empty asserts the node's kind.
//
// Errors: [*UnknownNodeError], [*KindError], [*ValueError] where a variable
// that is needed here has no usable value, [*ReadError] where a file of the
// node's variables cannot be read, and those of [Target.Check].
func (inv *Inventory) Target(node string, want Kind) (Target, error) {
	h, err := inv.host(node)
	if err != nil {
		return Target{}, err
	}
	r := &resolver{inv: inv, host: h, target: Target{Node: node, Inventory: inv.Path(), Origins: map[string]Origin{}}}
	if err := r.kind(want); err != nil {
		return Target{}, err
	}
	for _, resolve := range []func() error{r.stack, r.transport, r.connection, func() error { return r.target.Check() }} {
		if err := resolve(); err != nil {
			return Target{}, err
		}
	}
	return r.target, nil
}

type resolver struct {
	inv    *Inventory
	host   *host
	target Target
	env    bool // the value that was resolved last depends on the environment
	falsy  bool // the value that was resolved last is false to Python
}

// value resolves the variable that counts among names. ok is false where none
// is set. One that cannot be resolved is an error even where another one
// counts: it is one in Ansible.
func (r *resolver) value(names ...string) (winner string, v Value, ok bool, err error) {
	r.env, r.falsy = false, false
	for _, name := range names {
		e := &evaluation{inv: r.inv}
		found, err := e.variable(r.host, name)
		r.env = r.env || e.env
		if err != nil {
			return "", Value{}, false, r.fail(name, err)
		}
		if found.why != nil {
			return "", Value{}, false, r.fail(name, found.why)
		}
		if !ok && found.undefined == "" && found.value.typ != Null {
			winner, v, ok = name, found.value, true
			r.falsy = v.falsy()
		}
	}
	return winner, v, ok, nil
}

// fail gives an error the variable and where it is written.
func (r *resolver) fail(name string, err error) error {
	if v, ok := errors.AsType[*ValueError](err); ok && v.Variable == name && v.Node == r.host.name {
		return err
	}
	if _, ok := errors.AsType[*ReadError](err); ok {
		return err
	}
	o := Origin{}
	if found, lookupErr := r.inv.lookup(r.host, name); lookupErr == nil && len(found) > 0 {
		o = found[0].origin
	}
	return &ValueError{Node: r.host.name, Variable: name, Origin: o, Why: err.Error()}
}

// word resolves a field that is a single word: a string, or a number or
// boolean in Python's spelling. Its origin is filed under the field's name.
func (r *resolver) word(field string, names ...string) (string, error) {
	if len(names) == 0 {
		names = []string{field}
	}
	name, v, ok, err := r.value(names...)
	if err != nil || !ok {
		return "", err
	}
	switch v.typ {
	case String, Int, Float, Bool, Date:
		r.target.Origins[field] = v.origin
		return v.text, nil
	}
	return "", r.fail(name, fmt.Errorf("is %s, not a string", v.typ))
}

// wordOrNone is word for the fields that Ansible asks Python about: where the
// value is an unquoted no or zero, ssh is given nothing.
func (r *resolver) wordOrNone(field string, names ...string) (string, error) {
	word, err := r.word(field, names...)
	if r.falsy {
		word = ""
	}
	return word, err
}

// A node is declared to be the bench by whoever writes the inventory, not by
// whoever runs nestor.
var errFromEnvironment = errors.New("depends on the environment; a declaration is written in the inventory")

func (r *resolver) kind(want Kind) error {
	word, err := r.word("target_kind")
	if err != nil {
		return err
	}
	if r.env {
		return r.fail("target_kind", errFromEnvironment)
	}
	switch r.target.Kind = Kind(word); r.target.Kind {
	case "", Lima, Prod:
	default:
		return r.fail("target_kind", fmt.Errorf("is %q, not lima or prod", word))
	}
	if want != "" && want != r.target.Kind {
		return &KindError{Node: r.host.name, Want: want, Declared: r.target.Kind, Origin: r.target.Origins["target_kind"]}
	}
	return nil
}

func (r *resolver) stack() (err error) {
	if r.target.StackID, err = r.word("stack_id"); err != nil {
		return err
	}
	name, v, ok, err := r.value("local_bench")
	if err != nil || !ok {
		return err
	}
	if r.env {
		return r.fail(name, errFromEnvironment)
	}
	if v.typ != Bool {
		return r.fail(name, fmt.Errorf("is %q, not true or false", v))
	}
	r.target.LocalBench = v.text == "True"
	r.target.Origins[name] = v.origin
	return nil
}

// transport takes what the inventory names, else what follows from the kind.
func (r *resolver) transport() error {
	named, err := r.word("transport")
	if err != nil {
		return err
	}
	local, err := r.plugin(named == "")
	if err != nil {
		return err
	}
	switch t := &r.target; {
	case named != "" && named != "lima" && named != "ssh":
		return r.fail("transport", fmt.Errorf("is %q, not lima or ssh (for this machine write ansible_connection: local)", named))
	case named != "" && local:
		return r.fail("transport", fmt.Errorf("is %s while ansible_connection is local (%s); keep one", named, t.Origins["ansible_connection"]))
	case named != "":
		t.Transport = Transport(named)
	case local:
		t.Transport = TransportLocal
	case t.Kind == Lima:
		t.Transport = TransportLima
	default:
		t.Transport = TransportSSH
	}
	return nil
}

// plugin reads ansible_connection. A plugin that is no ssh matters only where
// nothing else names the transport. Paramiko is one: Ansible runs no ssh there,
// and none of ssh's own configuration counts.
func (r *resolver) plugin(needed bool) (local bool, err error) {
	word, err := r.word("ansible_connection")
	if err != nil {
		return false, err
	}
	switch strings.TrimPrefix(word, "ansible.builtin.") {
	case "local":
		return true, nil
	case "", "ssh", "smart":
		return false, nil
	}
	if needed {
		return false, r.fail("ansible_connection", fmt.Errorf("is %q; nestor reaches nodes by ssh, local and lima (write transport: ssh beside it if ssh reaches this one too)", word))
	}
	return false, nil
}

func (r *resolver) connection() (err error) {
	t := &r.target
	switch t.Transport {
	case TransportLima:
		t.Host = t.Node
		return nil
	case TransportLocal:
		return nil
	}
	if t.Host, err = r.word("ansible_host", hostNames...); err != nil {
		return err
	}
	if r.falsy && t.Host != "" { // to ssh 0 is this machine; Ansible says False, or even the template
		return &ValueError{Node: t.Node, Variable: "ansible_host", Origin: t.Origins["ansible_host"], Why: fmt.Sprintf("is %s, which is no host; quote it if a name was meant", t.Host)}
	}
	if _, set := t.Origins["ansible_host"]; !set {
		t.Host = t.Node
	}
	if t.User, err = r.wordOrNone("ansible_user", userNames...); err != nil {
		return err
	}
	if err = r.port(); err != nil {
		return err
	}
	if err = r.identity(); err != nil {
		return err
	}
	return r.sshArgs()
}

func (r *resolver) port() error {
	name, v, ok, err := r.value(portNames...)
	if err != nil || !ok {
		return err
	}
	n, err := strconv.Atoi(strings.TrimSpace(v.text))
	if v.typ != Int && v.typ != String || err != nil || n < 1 || n > 65535 {
		return r.fail(name, fmt.Errorf("is %q, not a port (1 to 65535)", v))
	}
	r.target.Port = n
	r.target.Origins["ansible_port"] = v.origin
	return nil
}

func (r *resolver) identity() error {
	key, err := r.wordOrNone("ansible_ssh_private_key_file", identityNames...)
	if err != nil {
		return err
	}
	// Without HOME the "~" stays; ssh expands it as well.
	home, _ := r.inv.opts.Env("HOME")
	switch {
	case home != "" && (key == "~" || strings.HasPrefix(key, "~/")):
		key = strings.TrimRight(home, "/") + key[1:]
	case strings.HasPrefix(key, "~") && key != "~" && !strings.HasPrefix(key, "~/"):
		return &ValueError{Node: r.host.name, Variable: "ansible_ssh_private_key_file", Origin: r.target.Origins["ansible_ssh_private_key_file"],
			Why: fmt.Sprintf("is %q: the home of another user is not looked up; write the path", key)}
	}
	r.target.IdentityFile = key
	return nil
}

// sshArgs joins the three variables of arguments. Those of ansible_ssh_args
// stand before the port and the user in Ansible's command, and the first
// value of an option counts in ssh: where they hold one, ours must go.
func (r *resolver) sshArgs() error {
	for _, name := range argsNames {
		found, v, ok, err := r.value(name)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if v.typ != String {
			return r.fail(found, fmt.Errorf("is %s, not a string", v.typ))
		}
		words, err := shlex.Split(v.text)
		if err != nil {
			return r.fail(found, fmt.Errorf("is %q: %w", v.text, err))
		}
		r.target.Origins[name] = v.origin
		args := slices.DeleteFunc(words, func(w string) bool { return strings.TrimSpace(w) == "" })
		for i := range args {
			args[i] = strings.TrimSpace(args[i])
		}
		if err := r.target.checkSSHArgs(name, args); err != nil {
			return err
		}
		r.target.SSHArgs = append(r.target.SSHArgs, args...)
		if name == argsNames[0] {
			r.yieldTo(r.target.SSHArgs)
		}
	}
	return nil
}

// Key files add up instead: ours goes behind theirs, in the order in which ssh
// offers them.
func (r *resolver) yieldTo(args []string) {
	for option := range sshargs.Options(args) {
		switch option.Name {
		case "port":
			r.target.Port = 0
		case "user":
			r.target.User = ""
		case "identityfile":
			if r.target.IdentityFile != "" {
				r.target.SSHArgs = append(r.target.SSHArgs, "-o", `IdentityFile="`+r.target.IdentityFile+`"`)
				r.target.IdentityFile = ""
			}
		}
	}
}

// isAddress says whether s is an IP address, zone included.
func isAddress(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil
}
