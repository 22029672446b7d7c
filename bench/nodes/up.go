package nodes

import (
	"bufio"
	"cmp"
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

//go:embed hub.sh
var hubScript string

//go:embed node.sh
var nodeScript string

// Up starts the namespaced nodes of spec, described in folder dir, and
// returns when all of them listen. They run until Down, or until the machine
// stops. When the folder holds this very bench, running, it is given back as
// it is; a dead one is replaced. The caller must be root on Linux
// (ErrNeedsRoot); a *MissingError says what else is missing.
func Up(ctx context.Context, dir string, spec Spec) (*Bench, error) {
	return up(ctx, dir, spec, false)
}

// up starts a bench; leashed, it ends with this process.
func up(ctx context.Context, dir string, spec Spec, leashed bool) (*Bench, error) {
	spec, err := spec.withDefaults()
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		return nil, ErrNeedsRoot
	}
	if err := spec.needs(); err != nil {
		return nil, err
	}
	b, running, err := claim(ctx, dir, state{Namespaced: true, Spec: spec})
	if err != nil || running {
		return b, err
	}
	if err := b.start(ctx, leashed); err != nil {
		// The context may be what failed.
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		return nil, errors.Join(err, b.Down(clean))
	}
	return b, nil
}

// needs looks for every program of the machine that the bench will run.
func (s Spec) needs() error {
	programs := []string{"ip", "unshare", "nsenter", "setpriv", "sshd", "ssh", "ssh-keygen"}
	for _, n := range s.Nodes {
		if n.Sudo != SudoNone {
			programs = append(programs, "sudo")
		}
		if n.Busybox {
			programs = append(programs, "busybox")
		}
		if _, err := shellPath(n.Shell); err != nil {
			return err
		}
	}
	for _, program := range programs {
		if _, err := need(program); err != nil {
			return err
		}
	}
	return nil
}

func (b *Bench) start(ctx context.Context, leashed bool) error {
	// The network namespace itself is the lock on its addresses: no two
	// benches look for a free network at once.
	lock, err := os.Open("/proc/self/ns/net")
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := b.made("id", "id.pub", "stranger", "stranger.pub", "known_hosts", "inventory.yaml",
		"nodes", "links", "hub.sh", "node.sh", "hub.log"); err != nil {
		return err
	}
	if err := b.keys(ctx); err != nil {
		return err
	}
	hub, err := b.startHub(leashed)
	if err != nil {
		return err
	}
	defer hub.stdout.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := hub.stdout.SetReadDeadline(deadline); err != nil {
			return err
		}
	}
	lines := bufio.NewScanner(hub.stdout)
	if err := b.expect(ctx, lines, "hub", func(f []string) (err error) {
		b.state.Hub, err = identifyWord(f[1])
		return err
	}); err != nil {
		return err
	}
	if err := flock(ctx, lock); err != nil {
		return err
	}
	network, err := freeNetwork(ctx, b.state.Spec.Network)
	if err != nil {
		return err
	}
	b.address(network)
	b.state.Uplink = "nb" + randomHex(4)
	if err := b.save(); err != nil {
		return err
	}
	if err := b.uplink(ctx, network); err != nil {
		return err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_UN); err != nil {
		return err
	}
	if err := b.describe(network); err != nil {
		return err
	}
	if _, err := hub.stdin.WriteString("go\n"); err != nil {
		return b.hubFailed(err)
	}
	if !leashed {
		hub.stdin.Close()
	}
	for range b.Nodes {
		if err := b.expect(ctx, lines, "node", func(f []string) (err error) {
			_, i := b.find(f[1])
			if i < 0 || len(f) != 3 {
				return fmt.Errorf("unexpected words %q", f)
			}
			b.state.Members[i].Init, err = identifyWord(f[2])
			return err
		}); err != nil {
			return err
		}
	}
	if err := b.save(); err != nil {
		return err
	}
	for _, n := range b.Nodes {
		if n.Fault == NoListener {
			continue
		}
		if err := b.wait(ctx, n.Name); err != nil {
			return err
		}
	}
	return nil
}

// keys makes the client's key, a stranger's, and each node's host key.
func (b *Bench) keys(ctx context.Context) error {
	jobs := []string{filepath.Join(b.Dir, "id"), filepath.Join(b.Dir, "stranger")}
	for _, n := range b.Nodes {
		dir := filepath.Join(b.Dir, "nodes", n.Name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		jobs = append(jobs, filepath.Join(dir, "ssh_host_ed25519_key"))
	}
	return inParallel(len(jobs), func(i int) error {
		_, err := run(ctx, "", "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "bench", "-f", jobs[i])
		return err
	})
}

// inParallel runs f(0) to f(n-1), as many at a time as there are processors,
// and gives the errors.
func inParallel(n int, f func(int) error) error {
	next := make(chan int)
	failed := make(chan error)
	workers := min(n, runtime.NumCPU())
	for range workers {
		go func() {
			var errs []error
			for i := range next {
				errs = append(errs, f(i))
			}
			failed <- errors.Join(errs...)
		}()
	}
	for i := range n {
		next <- i
	}
	close(next)
	var errs []error
	for range workers {
		errs = append(errs, <-failed)
	}
	return errors.Join(errs...)
}

type hubPipes struct{ stdin, stdout *os.File }

func (b *Bench) startHub(leashed bool) (*hubPipes, error) {
	for name, content := range map[string]string{"hub.sh": hubScript, "node.sh": nodeScript} {
		if err := os.WriteFile(filepath.Join(b.Dir, name), []byte(content), 0o600); err != nil {
			return nil, err
		}
	}
	log, err := os.Create(filepath.Join(b.Dir, "hub.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	stdin, ourStdin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer stdin.Close()
	ourStdout, stdout, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer stdout.Close()
	mode := "free"
	if leashed {
		mode = "leashed"
	}
	cmd := exec.Command("unshare", "--net", "--ipc", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child",
		"sh", "hub.sh", mode)
	for _, n := range b.Nodes {
		cmd.Args = append(cmd.Args, n.Name)
	}
	cmd.Dir = b.Dir
	cmd.Env = []string{"PATH=" + safePath, "HOME=/root", "LC_ALL=C"}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, log
	// A Ctrl-C at the terminal is not meant for the bench.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	b.leash = ourStdin
	outer, err := identify(cmd.Process.Pid)
	if err == nil {
		b.state.Outer = outer
		err = b.save()
	}
	go cmd.Wait() // leaves no zombie; that it ended is seen elsewhere
	if err != nil {
		return nil, b.hubFailed(err)
	}
	return &hubPipes{stdin: ourStdin, stdout: ourStdout}, nil
}

// expect reads one line of the hub.
func (b *Bench) expect(ctx context.Context, lines *bufio.Scanner, word string, use func(fields []string) error) error {
	if !lines.Scan() {
		return b.hubFailed(cmp.Or(ctx.Err(), lines.Err(), errors.New("it ended early")))
	}
	f := strings.Fields(lines.Text())
	if len(f) < 2 || f[0] != word {
		return b.hubFailed(fmt.Errorf("it said %q, want %s", lines.Text(), word))
	}
	if err := use(f); err != nil {
		return b.hubFailed(err)
	}
	return nil
}

// hubFailed adds what the hub and the nodes logged.
func (b *Bench) hubFailed(err error) error {
	logs, _ := os.ReadFile(filepath.Join(b.Dir, "hub.log"))
	said := string(logs)
	for _, n := range b.Nodes {
		if log, err := os.ReadFile(filepath.Join(b.Dir, "nodes", n.Name, "log")); err == nil && len(log) > 0 {
			said += n.Name + ": " + string(log)
		}
	}
	return fmt.Errorf("starting the bench: %w: %s", err, strings.Join(strings.Split(strings.TrimSpace(said), "\n"), " | "))
}

func identifyWord(word string) (process, error) {
	pid, err := strconv.Atoi(word)
	if err != nil {
		return process{}, err
	}
	return identify(pid)
}

// flock waits for the lock on f.
func flock(ctx context.Context, f *os.File) error {
	return poll(ctx, func() (bool, error) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return false, nil
		}
		return err == nil, err
	})
}

// freeNetwork finds a /22 in within that no interface and no route uses.
func freeNetwork(ctx context.Context, within string) (netip.Prefix, error) {
	pool, err := netip.ParsePrefix(within)
	if err != nil || !pool.Addr().Is4() || pool.Bits() > 22 || pool.Bits() < 8 {
		return netip.Prefix{}, fmt.Errorf("network %q is no IPv4 network of /8 to /22", within)
	}
	var used []netip.Prefix
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return netip.Prefix{}, err
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			used = append(used, p)
		}
	}
	routes, err := run(ctx, "", "ip", "-4", "route", "show", "table", "all")
	if err != nil {
		return netip.Prefix{}, err
	}
	for _, line := range strings.Split(string(routes), "\n") {
		for _, word := range strings.Fields(line) {
			if word == "via" || word == "dev" {
				break // the destination comes before
			}
			if p, err := netip.ParsePrefix(word); err == nil && p.Bits() > 0 {
				used = append(used, p)
			} else if a, err := netip.ParseAddr(word); err == nil {
				used = append(used, netip.PrefixFrom(a, a.BitLen()))
			}
		}
	}
	pool = pool.Masked()
	for k := range 1 << (22 - pool.Bits()) {
		candidate := netip.PrefixFrom(offset(pool.Addr(), k<<10), 22)
		free := true
		for _, u := range used {
			free = free && !u.Overlaps(candidate)
		}
		if free {
			return candidate, nil
		}
	}
	return netip.Prefix{}, fmt.Errorf("no /22 of %s is free", within)
}

func offset(a netip.Addr, by int) netip.Addr {
	b := a.As4()
	binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(b[:])+uint32(by))
	return netip.AddrFrom4(b)
}

// Within the /22: 1 is this machine, 2 and up the nodes reached directly, 900
// and up the addresses that exist only behind another node.
const (
	firstNode  = 2
	firstInner = 900
)

func (b *Bench) address(network netip.Prefix) {
	direct, behind := firstNode, map[string]int{}
	for i, n := range b.Nodes {
		if n.Behind != "" {
			b.state.Members[i].Addr = offset(network.Addr(), firstInner+behind[n.Behind]).String()
			behind[n.Behind]++
			continue
		}
		b.state.Members[i].Addr = offset(network.Addr(), direct).String()
		direct++
	}
}

// uplink lays the cable between this machine and the hub.
func (b *Bench) uplink(ctx context.Context, network netip.Prefix) error {
	up, gateway := b.state.Uplink, offset(network.Addr(), 1)
	batch := []string{
		fmt.Sprintf("link add %s type veth peer name uplink netns %d", up, b.state.Hub.PID),
		fmt.Sprintf("addr add %s/22 dev %s", gateway, up),
		fmt.Sprintf("link set %s up", up),
	}
	if b.state.Spec.Fast {
		batch = append(batch, fmt.Sprintf("route replace %s dev %s src %s quickack 1", network, up, gateway))
	}
	_, err := run(ctx, strings.Join(batch, "\n")+"\n", "ip", "-batch", "-")
	return err
}

// describe writes what the hub and the nodes are built from, and what a
// client needs.
func (b *Bench) describe(network netip.Prefix) error {
	batch := []string{"link add bridge type bridge", "link set bridge up", "link set uplink master bridge up"}
	for _, n := range b.Nodes {
		batch = append(batch, "netns add "+n.Name)
	}
	own := make([][]string, len(b.Nodes))
	for i, n := range b.Nodes {
		addr := b.state.Members[i].Addr
		if n.Behind == "" {
			batch = append(batch,
				fmt.Sprintf("link add %s type veth peer name eth0 netns %s", linkName(i), n.Name),
				fmt.Sprintf("link set %s master bridge up", linkName(i)))
			own[i] = append(own[i], "link set lo up", fmt.Sprintf("addr add %s/22 dev eth0", addr), "link set eth0 up")
			if b.state.Spec.Fast {
				own[i] = append(own[i], fmt.Sprintf("route replace %s dev eth0 src %s quickack 1", network, addr))
			}
			continue
		}
		_, j := b.find(n.Behind)
		jump := b.state.Members[j].Addr
		batch = append(batch, fmt.Sprintf("link add %s netns %s type veth peer name eth0 netns %s", linkName(i), n.Behind, n.Name))
		own[i] = append(own[i], "link set lo up", fmt.Sprintf("addr add %s peer %s dev eth0", addr, jump), "link set eth0 up")
		own[j] = append(own[j], fmt.Sprintf("addr add %s peer %s dev %s", jump, addr, linkName(i)), "link set "+linkName(i)+" up")
	}
	write := func(name string, lines []string) error {
		return os.WriteFile(filepath.Join(b.Dir, name), []byte(strings.Join(lines, "\n")+"\n"), 0o600)
	}
	if err := write("links", batch); err != nil {
		return err
	}
	authorized, err := os.ReadFile(b.IdentityPath + ".pub")
	if err != nil {
		return err
	}
	stranger, err := os.ReadFile(filepath.Join(b.Dir, "stranger.pub"))
	if err != nil {
		return err
	}
	for i, n := range b.Nodes {
		dir := filepath.Join("nodes", n.Name)
		if err := write(filepath.Join(dir, "links"), own[i]); err != nil {
			return err
		}
		hosts := fmt.Sprintf("127.0.0.1 localhost\n%s %s\n", b.state.Members[i].Addr, n.Name)
		keys := string(authorized)
		if n.Fault == RefusedKey {
			keys = string(stranger)
		}
		if err := writeTree(filepath.Join(b.Dir, dir), n, b.state.Spec.Fast, hosts, keys); err != nil {
			return fmt.Errorf("node %q: %w", n.Name, err)
		}
	}
	return b.writeClient()
}

// wait returns when the node listens.
func (b *Bench) wait(ctx context.Context, name string) error {
	err := poll(ctx, func() (bool, error) { return b.listening(name) })
	if err != nil {
		return fmt.Errorf("node %s does not listen: %w: %s", name, err, strings.TrimSpace(b.Log(name)))
	}
	return nil
}

// listening looks into the node's table of sockets, whatever lies between. Of
// a loopback node it asks the socket itself.
func (b *Bench) listening(name string) (bool, error) {
	n, i := b.find(name)
	if n == nil {
		return false, fmt.Errorf("the bench has no node %q", name)
	}
	m := b.state.Members[i]
	if !m.Init.alive() {
		if b.state.Namespaced {
			return false, errors.New("it died")
		}
		return false, nil
	}
	if !b.state.Namespaced {
		c, err := net.DialTimeout("tcp", net.JoinHostPort(m.Addr, fmt.Sprint(n.Port)), time.Second)
		if err != nil {
			return false, nil
		}
		return true, c.Close()
	}
	table, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", m.Init.PID))
	if err != nil {
		return false, err
	}
	return strings.Contains(string(table), fmt.Sprintf("00000000:%04X 00000000:0000 0A", n.Port)), nil
}
