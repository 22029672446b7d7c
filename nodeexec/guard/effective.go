package guard

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/nestor-tools/nestor/nodeexec/internal/sshargs"
)

// Effective is what a target really leads to.
type Effective struct {
	SSH       SSH                     // what "ssh -G" says; zero for the transport lima
	Addresses []netip.Addr            // what SSH.Hostname resolves to here
	Jumps     map[string][]netip.Addr // what the hosts of ProxyJump resolve to, where known
	Local     []netip.Addr            // this machine's own addresses, loopback apart
	Others    []Other                 // the other nodes of the inventory
}

// Other is another node of the inventory.
type Other struct {
	Node      string
	Addresses []netip.Addr
	Port      int // 0: 22
}

func (o Other) port() int {
	if o.Port == 0 {
		return 22
	}
	return o.Port
}

// SSH is the part of ssh's effective configuration that says where a
// connection goes.
type SSH struct {
	Hostname     string
	Port         int
	ProxyJump    string // as written: [user@]host[:port], between commas
	ProxyCommand string
}

func (s SSH) port() int {
	if s.Port == 0 {
		return 22
	}
	return s.Port
}

// ParseSSH reads the output of "ssh -G": one keyword and its value a line,
// see ssh(1). Keywords that say nothing of where a connection goes are left
// out. The first of two lines counts, as in ssh.
func ParseSSH(text string) (SSH, error) {
	var s SSH
	fields := map[string]*string{
		"hostname": &s.Hostname, "proxyjump": &s.ProxyJump, "proxycommand": &s.ProxyCommand,
	}
	for line := range strings.Lines(text) {
		keyword, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		keyword = strings.ToLower(keyword)
		if keyword == "port" && s.Port == 0 {
			port, err := strconv.Atoi(value)
			if err != nil || port < 1 || port > 65535 {
				return SSH{}, fmt.Errorf("ssh -G: port %q is not a port", value)
			}
			s.Port = port
		}
		if field := fields[keyword]; field != nil && *field == "" && !strings.EqualFold(value, "none") {
			*field = value
		}
	}
	if s.Hostname == "" {
		return SSH{}, errors.New("ssh -G: no hostname in its output")
	}
	return s, nil
}

// jumps lists the hosts of ProxyJump.
func (s SSH) jumps() []string {
	var hosts []string
	for jump := range strings.SplitSeq(s.ProxyJump, ",") {
		if jump = strings.TrimSpace(jump); jump != "" {
			hosts = append(hosts, sshargs.Host(jump))
		}
	}
	return hosts
}

// addresses are those that the host resolves to, the host itself where it is
// one.
func (e Effective) addresses() []netip.Addr {
	var all []netip.Addr
	if a, err := netip.ParseAddr(e.SSH.Hostname); err == nil {
		all = append(all, plain(a))
	}
	for _, a := range e.Addresses {
		all = append(all, plain(a))
	}
	return all
}

// plain makes addresses comparable: no zone, no IPv4 in IPv6.
func plain(a netip.Addr) netip.Addr { return a.WithZone("").Unmap() }

func (e Effective) isLocal(a netip.Addr) bool {
	return a.IsLoopback() || a.IsUnspecified() || slices.ContainsFunc(e.Local, func(l netip.Addr) bool { return plain(l) == a })
}

func (e Effective) anyLocal(list []netip.Addr) bool {
	return slices.ContainsFunc(list, func(a netip.Addr) bool { return e.isLocal(plain(a)) })
}

// localName says whether a host names this machine, by its name or address.
func localName(host string) bool {
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if name == "localhost" || name == "localhost.localdomain" || name == "ip6-localhost" || name == "ip6-loopback" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && (plain(a).IsLoopback() || plain(a).IsUnspecified())
}

// oldNotation finds numbers that the C library takes for an IPv4 address and
// that do not read as one: 127.1, 0x7f000001, 2130706433, 0177.0.0.1. Which
// machine they are depends on who reads them.
func oldNotation(host string) string {
	if _, err := netip.ParseAddr(host); err == nil || host == "" {
		return ""
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(host, "."), ".") {
		if _, err := strconv.ParseUint(part, 0, 64); err != nil && strings.Trim(part, "0123456789") != "" || part == "" {
			return ""
		}
	}
	return "is a number that stands for an address"
}
