package nodes

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// Spec says which nodes a bench is made of. The zero value of every field but
// Nodes is a sensible default.
type Spec struct {
	Nodes []Node

	// Kind is what the inventory declares as target_kind; "lima" when
	// empty. The inventory always declares transport: ssh.
	Kind string

	// Network is where the bench takes a free /22 from; "10.77.0.0/16" when
	// empty.
	Network string

	// Fast makes a cold connection cost about a tenth of its usual time: a
	// cheaper key exchange and no delayed ACK. Not for measuring.
	Fast bool
}

// Sudo says what a node's user may do with sudo.
type Sudo string

// What sudo answers to Node.User.
const (
	SudoNone     Sudo = ""         // not in sudoers
	SudoFree     Sudo = "free"     // NOPASSWD
	SudoPassword Sudo = "password" // asks for Password
)

// Password is the password of every user of SudoPassword.
const Password = "nestor"

// Fault is a way in which a node cannot be reached from the start.
type Fault string

// The faults. RefusedKey: sshd does not know the client's key. WrongHostKey:
// known_hosts holds another key for the address. NoListener: nothing listens.
const (
	RefusedKey   Fault = "refused-key"
	WrongHostKey Fault = "wrong-host-key"
	NoListener   Fault = "no-listener"
)

// Node is one node of a bench. Only Name is required.
type Node struct {
	Name string

	// User is whom the inventory logs in as; "root" when empty. Any other
	// user exists on this node alone, with a home of its own.
	User string

	// Shell is the login shell of User: bash (when empty), dash, fish, zsh,
	// busybox, or an absolute path.
	Shell string

	Sudo  Sudo
	Fault Fault
	Port  int // 22 when 0

	// Noisy prints a banner on stderr before authentication, and NoisyLines
	// lines on stdout and on stderr each before every command.
	Noisy bool

	// ForceCommand prints a line on stdout and one on stderr, and then runs
	// what the client asked for through the user's shell.
	ForceCommand bool

	// NoBash hides bash. Busybox puts busybox in the place of every tool
	// that it knows.
	NoBash, Busybox bool

	// Behind names the node that is the only way to this one. The first
	// node behind each has the same address, and so on.
	Behind string

	// SSHD holds lines for sshd_config; they come first and so win.
	SSHD []string

	// Files are files of the node, by absolute path; those that start with
	// "#!" are executable.
	Files map[string]string

	// Vars are more variables for the inventory.
	Vars map[string]string
}

// NoisyLines is how many lines a noisy node prints to each stream.
const NoisyLines = 100

// Flavours is a node of every kind, named after its trait.
func Flavours() Spec {
	return Spec{Nodes: []Node{
		{Name: "bash"},
		{Name: "dash", Shell: "dash"},
		{Name: "fish", Shell: "fish"},
		{Name: "zsh", Shell: "zsh"},
		{Name: "noisy", Noisy: true},
		{Name: "noisy-zsh", Shell: "zsh", Noisy: true},
		{Name: "noisy-fish", Shell: "fish", Noisy: true},
		{Name: "noisy-dash", Shell: "dash", Noisy: true},
		{Name: "forced", ForceCommand: true},
		{Name: "sudo-free", User: "debian", Sudo: SudoFree},
		{Name: "sudo-password", User: "debian", Sudo: SudoPassword},
		{Name: "sudo-none", User: "debian"},
		{Name: "jump1"},
		{Name: "jump2"},
		{Name: "inner1", Behind: "jump1"},
		{Name: "inner2", Behind: "jump2"},
		{Name: "no-bash", Shell: "dash", NoBash: true},
		{Name: "busybox", Shell: "busybox", NoBash: true, Busybox: true},
		{Name: "refused-key", Fault: RefusedKey},
		{Name: "wrong-host-key", Fault: WrongHostKey},
		{Name: "no-listener", Fault: NoListener},
	}}
}

var (
	nameForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?$`)
	userForm = regexp.MustCompile(`^[a-z_][a-z0-9_-]{0,30}$`)
	varForm  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// withDefaults returns a copy without empty fields, or what is wrong with it.
func (s Spec) withDefaults() (Spec, error) {
	if len(s.Nodes) == 0 {
		return s, fmt.Errorf("a bench needs at least one node")
	}
	if s.Kind == "" {
		s.Kind = "lima"
	}
	if s.Network == "" {
		s.Network = "10.77.0.0/16"
	}
	s.Nodes = append([]Node(nil), s.Nodes...)
	byName := map[string]Node{}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.User == "" {
			n.User = "root"
		}
		if n.Shell == "" {
			n.Shell = "bash"
		}
		if n.Port == 0 {
			n.Port = 22
		}
		if _, ok := byName[n.Name]; ok {
			return s, fmt.Errorf("two nodes are named %q", n.Name)
		}
		byName[n.Name] = *n
	}
	for _, n := range s.Nodes {
		if err := n.check(byName); err != nil {
			return s, fmt.Errorf("node %q: %w", n.Name, err)
		}
	}
	return s, nil
}

func (n Node) check(byName map[string]Node) error {
	switch {
	case !nameForm.MatchString(n.Name):
		return fmt.Errorf("the name is no host name")
	case !userForm.MatchString(n.User):
		return fmt.Errorf("user %q is no user name", n.User)
	case n.Port < 1 || n.Port > 65535:
		return fmt.Errorf("port %d is not 1 to 65535", n.Port)
	case n.Sudo != SudoNone && n.Sudo != SudoFree && n.Sudo != SudoPassword:
		return fmt.Errorf("unknown sudo %q", n.Sudo)
	case n.Sudo != SudoNone && n.User == "root":
		return fmt.Errorf("sudo needs a user other than root")
	case n.Fault != "" && n.Fault != RefusedKey && n.Fault != WrongHostKey && n.Fault != NoListener:
		return fmt.Errorf("unknown fault %q", n.Fault)
	case n.Fault == WrongHostKey && n.Behind != "":
		return fmt.Errorf("a wrong host key behind another node is not built")
	}
	if n.Behind != "" {
		jump, ok := byName[n.Behind]
		if !ok || jump.Behind != "" || jump.Fault != "" {
			return fmt.Errorf("it is behind %q, which is no directly reachable node", n.Behind)
		}
	}
	for file := range n.Files {
		if !path.IsAbs(file) || path.Clean(file) != file || strings.HasPrefix(file, "/proc/") ||
			strings.HasPrefix(file, "/sys/") || strings.HasPrefix(file, "/dev/") {
			return fmt.Errorf("file %q is not a clean absolute path outside /proc, /sys and /dev", file)
		}
	}
	for name := range n.Vars {
		if !varForm.MatchString(name) {
			return fmt.Errorf("%q is no variable name", name)
		}
	}
	return nil
}
