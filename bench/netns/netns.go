//go:build linux

package netns

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pool is where the addresses come from: the network that RFC 2544 sets aside
// for benchmarks, which no one routes.
var pool = netip.MustParsePrefix("198.18.0.0/15")

// Net is a network namespace and the link to it. Its /28 holds this machine
// (.1), Nodes, and addresses that nobody has.
type Net struct {
	Nodes  []netip.Addr
	Nobody netip.Addr // of the same network, and no one's
	pid    int
}

// New makes a namespace with addresses for so many nodes (at most 10). It ends
// with the test.
func New(t testing.TB, nodes int) *Net {
	t.Helper()
	missing := ""
	for _, program := range []string{"ip", "nsenter", "nft", "sleep"} {
		if _, err := exec.LookPath(program); err != nil {
			missing = program + " is missing"
		}
	}
	if os.Geteuid() != 0 {
		missing = "network namespaces need root"
	}
	if missing != "" {
		if os.Getenv("CI") != "" {
			t.Fatalf("NOT RUN: %s", missing)
		}
		t.Skipf("NOT RUN: %s", missing)
	}
	// The process does nothing but hold the namespace, which goes with it.
	holder := exec.Command("sleep", "3600")
	holder.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	done := make(chan struct{})
	go func() { // Pdeathsig is of the thread that started it, which must stay
		runtime.LockOSThread()
		started <- holder.Start()
		<-done
		runtime.UnlockOSThread()
	}()
	if err := <-started; err != nil {
		t.Fatalf("netns: %v", err)
	}
	t.Cleanup(func() {
		_ = holder.Process.Kill() // it does not end by itself
		_ = holder.Wait()
		close(done)
	})

	network := free(t)
	n := &Net{pid: holder.Process.Pid, Nobody: at(network, 14)}
	link := "nn" + suffix()
	run(t, "ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", strconv.Itoa(n.pid))
	run(t, "ip", "addr", "add", at(network, 1).String()+"/28", "dev", link)
	run(t, "ip", "link", "set", link, "up")
	n.Exec(t, "ip", "link", "set", "lo", "up")
	n.Exec(t, "ip", "link", "set", "eth0", "up")
	for i := range nodes {
		node := at(network, i+2)
		n.Exec(t, "ip", "addr", "add", node.String()+"/28", "dev", "eth0")
		n.Nodes = append(n.Nodes, node)
	}
	// where pods would be
	n.Exec(t, "ip", "addr", "add", "10.244.0.1/24", "dev", "lo")
	return n
}

// Exec runs a program in the namespace and gives what it prints.
func (n *Net) Exec(t testing.TB, argv ...string) string {
	t.Helper()
	return run(t, append([]string{"nsenter", "-t", strconv.Itoa(n.pid), "-n"}, argv...)...)
}

// Listen opens a port in the namespace, for a server of the test's own
// process. ":0" is any port of every address; it is closed with the test.
func (n *Net) Listen(t testing.TB, address string) net.Listener {
	t.Helper()
	type result struct {
		net.Listener
		error
	}
	out := make(chan result)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		ns, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", n.pid))
		if err != nil {
			out <- result{nil, err}
			return
		}
		defer ns.Close()
		if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			out <- result{nil, err}
			return
		}
		l, err := net.Listen("tcp", address)
		out <- result{l, err}
	}()
	r := <-out
	if r.error != nil {
		t.Fatalf("netns: listen on %s: %v", address, r.error)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r.Listener
}

// Rules gives the kernel of the namespace rules of nftables.
func (n *Net) Rules(t testing.TB, rules string) {
	t.Helper()
	n.Exec(t, "nft", rules)
}

// Forward leads a port of every node to one of the namespace, as kube-proxy
// and Cilium lead a nodePort to a pod: the kernel rewrites the destination.
func (n *Net) Forward(t testing.TB, nodePort int, to net.Listener) {
	t.Helper()
	_, port, err := net.SplitHostPort(to.Addr().String())
	if err != nil {
		t.Fatalf("netns: %v", err)
	}
	n.Rules(t, fmt.Sprintf("add table ip nodeports; add chain ip nodeports in { type nat hook prerouting priority -100; }; "+
		"add rule ip nodeports in tcp dport %d dnat to 10.244.0.1:%s", nodePort, port))
}

// Filter treats a port of every node: "drop", "reject with tcp reset",
// "reject with icmp host-unreachable".
func (n *Net) Filter(t testing.TB, nodePort int, verdict string) {
	t.Helper()
	n.Rules(t, fmt.Sprintf("add table ip doors; add chain ip doors input { type filter hook input priority 0; }; "+
		"add rule ip doors input tcp dport %d %s", nodePort, verdict))
}

// free finds a /28 of the pool that no interface has.
func free(t testing.TB) netip.Prefix {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatalf("netns: %v", err)
	}
	for range 100 {
		var b [2]byte
		_, _ = rand.Read(b[:]) // never fails
		base := pool.Addr().As4()
		base[1] += b[0] & 1
		base[2], base[3] = b[1], b[0]&0xF0
		network := netip.PrefixFrom(netip.AddrFrom4(base), 28)
		taken := false
		for _, a := range addresses {
			if p, err := netip.ParsePrefix(a.String()); err == nil && p.Overlaps(network) {
				taken = true
			}
		}
		if !taken {
			return network
		}
	}
	t.Fatalf("netns: no /28 of %s is free", pool)
	return netip.Prefix{}
}

func at(network netip.Prefix, i int) netip.Addr {
	b := network.Addr().As4()
	b[3] += byte(i)
	return netip.AddrFrom4(b)
}

func suffix() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

func run(t testing.TB, argv ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("netns: %s: %v: %s", strings.Join(argv, " "), err, out)
	}
	return string(out)
}
