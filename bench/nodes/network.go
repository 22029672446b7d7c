package nodes

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// claimNetwork takes a free network, gives each node its address, and lays the
// uplink.
func (b *Bench) claimNetwork(ctx context.Context) (netip.Prefix, error) {
	// The network namespace itself is the lock on its addresses: no two
	// benches look for a free network at once.
	lock, err := os.Open("/proc/self/ns/net")
	if err != nil {
		return netip.Prefix{}, err
	}
	defer lock.Close()
	if err := flock(ctx, lock); err != nil {
		return netip.Prefix{}, err
	}
	network, err := freeNetwork(ctx, b.state.Spec.Network)
	if err != nil {
		return netip.Prefix{}, err
	}
	b.address(network)
	b.state.Uplink = "nb" + randomHex(4)
	if err := b.save(); err != nil {
		return netip.Prefix{}, err
	}
	return network, b.uplink(ctx, network)
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

// writeLinks writes what the hub and each node feed to ip: the hub makes
// every link, each node sets up its own end.
func (b *Bench) writeLinks(network netip.Prefix) error {
	hub := []string{"link add bridge type bridge", "link set bridge up", "link set uplink master bridge up"}
	for _, n := range b.Nodes {
		hub = append(hub, "netns add "+n.Name)
	}
	own := make([][]string, len(b.Nodes))
	for i, n := range b.Nodes {
		addr := b.state.Members[i].Addr
		if n.Behind == "" {
			hub = append(hub,
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
		hub = append(hub, fmt.Sprintf("link add %s netns %s type veth peer name eth0 netns %s", linkName(i), n.Behind, n.Name))
		own[i] = append(own[i], "link set lo up", fmt.Sprintf("addr add %s peer %s dev eth0", addr, jump), "link set eth0 up")
		own[j] = append(own[j], fmt.Sprintf("addr add %s peer %s dev %s", jump, addr, linkName(i)), "link set "+linkName(i)+" up")
	}
	write := func(dir string, lines []string) error {
		return os.WriteFile(filepath.Join(dir, "links"), []byte(strings.Join(lines, "\n")+"\n"), 0o600)
	}
	err := write(b.Dir, hub)
	for i, n := range b.Nodes {
		err = errors.Join(err, write(b.nodeDir(n.Name), own[i]))
	}
	return err
}
