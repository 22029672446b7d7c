package nodes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// MissingError says that the machine lacks a program.
type MissingError struct{ Program string }

// Error names the program and the Debian package that holds it.
func (e *MissingError) Error() string {
	pkg := map[string]string{
		"sshd": "openssh-server", "ssh": "openssh-client", "ssh-keygen": "openssh-client", "ip": "iproute2",
		"unshare": "util-linux", "nsenter": "util-linux", "setpriv": "util-linux", "ps": "procps",
	}[e.Program]
	if pkg == "" {
		pkg = e.Program
	}
	return fmt.Sprintf("%s is missing: install the package %s", e.Program, pkg)
}

// ErrNeedsRoot says that namespaced nodes need root on Linux, with the rights
// to make namespaces, links and devices.
var ErrNeedsRoot = errors.New("namespaced nodes need root on linux")

// Bench is a set of running nodes. Its exported fields are not to be changed.
type Bench struct {
	Dir            string // absolute; all below is in it
	InventoryPath  string // an Ansible inventory (YAML) of every node
	KnownHostsPath string // the host keys of the nodes reached directly
	IdentityPath   string // the client's private key
	Nodes          []Node // as asked for, defaults filled in

	state state
	leash *os.File // closing it ends a leashed hub
}

// Place is where a node is reached.
type Place struct {
	Addr string
	Port int
	User string
	// KnownHostsPath holds the node's host key, and that of its jump host.
	KnownHostsPath string
}

// Node gives where a node is reached. An unknown name gives the zero Place.
func (b *Bench) Node(name string) Place {
	n, i := b.find(name)
	if n == nil {
		return Place{}
	}
	return Place{Addr: b.state.Members[i].Addr, Port: n.Port, User: n.User, KnownHostsPath: b.knownHosts(*n)}
}

func (b *Bench) find(name string) (*Node, int) {
	for i := range b.Nodes {
		if b.Nodes[i].Name == name {
			return &b.Nodes[i], i
		}
	}
	return nil, -1
}

func (b *Bench) member(name string) (*member, error) {
	_, i := b.find(name)
	if i < 0 {
		return nil, fmt.Errorf("the bench has no node %q", name)
	}
	return &b.state.Members[i], nil
}

// CommonArgs are the arguments of ssh that the inventory gives for a node.
func (b *Bench) CommonArgs(name string) []string {
	n, _ := b.find(name)
	if n == nil {
		return nil
	}
	args := b.hygiene(*n)
	if n.Behind != "" {
		jump := b.Node(n.Behind)
		proxy := append([]string{"ssh", "-i", b.IdentityPath, "-p", fmt.Sprint(jump.Port)}, b.hygiene(*n)...)
		proxy = append(proxy, "-o", "BatchMode=yes", "-W", "%h:%p", "--", jump.User+"@"+jump.Addr)
		args = append(args, "-o", "ProxyCommand="+strings.Join(proxy, " "))
	}
	return args
}

// hygiene keeps the configuration, agent and known hosts of the person at the
// keyboard out of it.
func (b *Bench) hygiene(n Node) []string {
	return []string{
		"-F", "none", "-o", "UserKnownHostsFile=" + b.knownHosts(n), "-o", "GlobalKnownHostsFile=/dev/null",
		"-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none",
	}
}

// SSHArgs are the arguments of a plain ssh to the node, up to and with the
// host: exec.Command("ssh", append(b.SSHArgs("node1"), "true")...).
func (b *Bench) SSHArgs(name string) []string {
	p := b.Node(name)
	args := append(b.CommonArgs(name), "-i", b.IdentityPath, "-p", fmt.Sprint(p.Port), "-l", p.User)
	return append(args, "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o", "ConnectTimeout=10", "--", p.Addr)
}

// Exec runs a program as root inside a node, without ssh: an oracle for what
// the node holds. It gives stdout; a failure's error ends with stderr. On a
// loopback node it runs on this machine.
func (b *Bench) Exec(ctx context.Context, name string, argv ...string) ([]byte, error) {
	m, err := b.member(name)
	if err != nil {
		return nil, err
	}
	if b.state.Namespaced {
		if !m.Init.alive() {
			return nil, fmt.Errorf("node %s is dead", name)
		}
		argv = append([]string{"nsenter", "--target", fmt.Sprint(m.Init.PID), "--mount", "--uts", "--ipc", "--net",
			"--pid", "--root", "--wd", "--", "/usr/bin/env", "-i", "PATH=" + safePath, "HOME=/root", "LC_ALL=C.UTF-8"}, argv...)
	}
	return run(ctx, "", argv...)
}

const safePath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// run runs a program to its end and gives its stdout.
func run(ctx context.Context, stdin string, argv ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.WaitDelay = 5 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.Bytes(), fmt.Errorf("%s: %w: %s", filepath.Base(argv[0]), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.Bytes(), nil
}

// Log gives what the node's sshd has said so far.
func (b *Bench) Log(name string) string {
	log, err := os.ReadFile(filepath.Join(b.nodeDir(name), "log"))
	if err != nil {
		return err.Error()
	}
	return string(log)
}

// Kill ends a node at once with all that runs on it; open connections are cut
// and new ones refused. (For a node that falls silent, see LinkDown.)
func (b *Bench) Kill(ctx context.Context, name string) error {
	m, err := b.member(name)
	if err != nil {
		return err
	}
	if b.state.Namespaced {
		return m.Init.kill(ctx)
	}
	return killTree(ctx, m.Init)
}

// StopSSHD ends the node's listener: new connections are refused, those that
// are open live on.
func (b *Bench) StopSSHD(ctx context.Context, name string) error {
	if _, err := b.signal(ctx, name, "TERM"); err != nil {
		return err
	}
	return poll(ctx, func() (bool, error) {
		up, err := b.listening(name)
		return !up, err
	})
}

// StartSSHD starts the node's listener again.
func (b *Bench) StartSSHD(ctx context.Context, name string) error {
	if !b.state.Namespaced {
		return errors.New("a loopback node's sshd is not started again")
	}
	if _, err := b.Exec(ctx, name, "/usr/sbin/sshd", "-E", "/run/sshd.log"); err != nil {
		return err
	}
	return b.wait(ctx, name)
}

// Freeze stops the node's listener in its tracks: a new connection opens and
// then hangs. Thaw lets it go on.
func (b *Bench) Freeze(ctx context.Context, name string) error {
	_, err := b.signal(ctx, name, "STOP")
	return err
}

// Thaw ends Freeze.
func (b *Bench) Thaw(ctx context.Context, name string) error {
	_, err := b.signal(ctx, name, "CONT")
	return err
}

func (b *Bench) signal(ctx context.Context, name, sig string) ([]byte, error) {
	m, err := b.member(name)
	if err != nil {
		return nil, err
	}
	if b.state.Namespaced {
		return b.Exec(ctx, name, "sh", "-c", `kill -s "$1" "$(cat /run/sshd.pid)"`, "sh", sig)
	}
	signals := map[string]syscall.Signal{"TERM": syscall.SIGTERM, "STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT}
	return nil, m.Init.signal(signals[sig])
}

// LinkDown pulls the node's network cable: packets vanish, nobody is told.
func (b *Bench) LinkDown(ctx context.Context, name string) error { return b.link(ctx, name, "down") }

// LinkUp plugs it in again.
func (b *Bench) LinkUp(ctx context.Context, name string) error { return b.link(ctx, name, "up") }

// link works on the far end of the cable, so that the node keeps its routes.
func (b *Bench) link(ctx context.Context, name, to string) error {
	n, i := b.find(name)
	if n == nil || !b.state.Namespaced {
		return fmt.Errorf("node %q has no link of its own", name)
	}
	far := b.state.Hub
	if n.Behind != "" {
		_, j := b.find(n.Behind)
		far = b.state.Members[j].Init
	}
	if !far.alive() {
		return errors.New("the far end of the link is dead")
	}
	_, err := run(ctx, "", "nsenter", "--target", fmt.Sprint(far.PID), "--net", "--",
		"ip", "link", "set", linkName(i), to)
	return err
}

func linkName(i int) string { return fmt.Sprint("port", i) }
