package inventory

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nestor-tools/nestor/nodeexec/internal/sshargs"
)

// Kind says what a node is for. It is declared in the inventory as
// target_kind, never guessed: the empty Kind is "undeclared".
type Kind string

// The declared kinds. Lima is the disposable bench, Prod is everything that
// must never be wiped.
const (
	Lima Kind = "lima"
	Prod Kind = "prod"
)

// Transport says how a node is reached. It is not its Kind: a bench may be
// reached by ssh.
type Transport string

// The transports that shims/node-exec.sh knows.
const (
	TransportLima  Transport = "lima"
	TransportSSH   Transport = "ssh"
	TransportLocal Transport = "local"
)

// Origin is where a value was written.
type Origin struct {
	File string `json:"file"` // as it was opened; empty: not from a file
	Line int    `json:"line"` // 1-based; 0: the whole file
}

// String gives "file:line", or "file" without a line.
func (o Origin) String() string {
	if o.Line == 0 {
		return o.File
	}
	return fmt.Sprintf("%s:%d", o.File, o.Line)
}

// Target is everything that is needed to reach one node, as the inventory
// states it. Port 0 and empty strings are left to ssh and its configuration.
type Target struct {
	Node         string    // the node's name in the inventory
	Kind         Kind      // "" when undeclared
	Transport    Transport // lima, ssh or local
	Host         string    // address for ssh; the instance's name for lima
	Port         int
	User         string
	IdentityFile string
	SSHArgs      []string // the inventory's own ssh arguments, split, in order
	Inventory    string   // absolute path of the inventory, "" when there is none
	StackID      string   // stack_id where the inventory names one
	LocalBench   bool     // local_bench: true, a bench on this machine by declaration

	// Origins says where each field above was written: target_kind,
	// transport, stack_id, local_bench, ansible_connection, ansible_host,
	// ansible_port, ansible_user, ansible_ssh_private_key_file (also where
	// an alias of these won), ansible_ssh_args, ansible_ssh_common_args,
	// ansible_ssh_extra_args.
	Origins map[string]Origin
}

// ErrUnsafe is matched by the errors of Target.Check.
var ErrUnsafe = errors.New("unsafe target")

// Check refuses a target whose words could turn into something else than
// what they are: a host or user that ssh would read as an option, a control
// character or an invisible one, a template that nobody resolved, a stray word among the ssh
// arguments that ssh would take for the host. It runs before any process
// starts. The error is one line and matches ErrUnsafe.
func (t Target) Check() error {
	switch t.Transport {
	case TransportLima, TransportSSH, TransportLocal:
	default:
		return t.refuse("transport", string(t.Transport), "is not lima, ssh or local")
	}
	if t.Node == "" {
		return t.refuse("name", "", "is empty")
	}
	if t.Host == "" && t.Transport != TransportLocal {
		return t.refuse("ansible_host", "", "is empty")
	}
	if t.Port < 0 || t.Port > 65535 {
		return t.refuse("ansible_port", fmt.Sprint(t.Port), "is not a port (1 to 65535)")
	}
	for _, w := range []struct {
		variable, value string
		blank           bool // a blank in it is refused
	}{
		{"name", t.Node, false}, {"ansible_host", t.Host, true}, {"ansible_user", t.User, true}, {"ansible_ssh_private_key_file", t.IdentityFile, false},
	} {
		if strings.HasPrefix(w.value, "-") {
			return t.refuse(w.variable, w.value, "starts with a dash, which ssh reads as an option")
		}
		if why := unsafeWord(w.value); why != "" {
			return t.refuse(w.variable, w.value, why)
		}
		if w.blank && strings.ContainsFunc(w.value, unicode.IsSpace) {
			return t.refuse(w.variable, w.value, "holds a blank")
		}
	}
	return t.checkSSHArgs("ansible_ssh_common_args", t.SSHArgs)
}

func (t Target) refuse(variable, value, why string) error {
	at := ""
	if o, ok := t.Origins[variable]; ok {
		at = o.String() + ": "
	}
	return fmt.Errorf("%snode %q: %s %q %s: %w", at, t.Node, variable, value, why, ErrUnsafe)
}

// unsafeWord says what makes a word unfit for a command line.
func unsafeWord(s string) string {
	switch {
	case strings.Contains(s, "{{") || strings.Contains(s, "{%"):
		return "still holds a template that nestor cannot resolve"
	case !utf8.ValidString(s):
		return "is not UTF-8"
	case strings.ContainsFunc(s, unicode.IsControl):
		return "holds a control character"
	case strings.ContainsFunc(s, invisible):
		return "holds an invisible character"
	}
	return ""
}

// checkSSHArgs walks arguments as ssh's getopt does, so that no word among
// them is read as the host. The variable is the one they come from.
func (t Target) checkSSHArgs(variable string, args []string) error {
	for _, word := range args {
		if why := unsafeWord(word); why != "" {
			return t.refuse(variable, word, why)
		}
	}
	for o := range sshargs.Options(args) {
		if o.Problem != "" {
			return t.refuse(variable, o.Word, o.Problem)
		}
		if harmless, ok := diverting[o.Name]; ok && !slices.Contains(harmless, strings.ToLower(o.Value)) {
			return t.refuse(variable, o.Word, "makes ssh run something else than the command, or in the background, or without its stdin")
		}
	}
	return nil
}

// diverting are the options of ssh(1) and ssh_config(5) with which it does not
// simply run the command it is given, with the values that are harmless.
var diverting = map[string][]string{
	"-f": nil, "-G": nil, "-N": nil, "-n": nil, "-O": nil, "-Q": nil, "-s": nil, "-V": nil, "-W": nil,
	"forkafterauthentication": {"no"}, "remotecommand": {"none"}, "sessiontype": {"default"}, "stdinnull": {"no"},
}
