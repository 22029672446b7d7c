package guard

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

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

// carriers are the IPv6 prefixes whose addresses stand for an IPv4 one, with
// where its four bytes begin: RFC 4291 (compatible), 2765 (translated), 6052
// and 8215 (NAT64), 3056 (6to4).
var carriers = []struct {
	prefix netip.Prefix
	at     int
}{
	{netip.MustParsePrefix("::/96"), 12},
	{netip.MustParsePrefix("::ffff:0:0:0/96"), 12},
	{netip.MustParsePrefix("64:ff9b::/96"), 12},
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12},
	{netip.MustParsePrefix("2002::/16"), 2},
}

// plain makes addresses comparable: no zone, and IPv4 where the address only
// carries one. Several addresses may become one, never one several: whatever
// is compared afterwards is refused too often rather than too rarely.
func plain(a netip.Addr) netip.Addr {
	a = a.WithZone("").Unmap()
	if !a.Is6() || a.IsLoopback() || a.IsUnspecified() {
		return a
	}
	for _, c := range carriers {
		if c.prefix.Contains(a) {
			b := a.As16()
			return netip.AddrFrom4([4]byte(b[c.at : c.at+4]))
		}
	}
	return a
}

func (e Effective) isLocal(a netip.Addr) bool {
	a = plain(a)
	return a.IsLoopback() || noMachine(a) || slices.ContainsFunc(e.Local, func(l netip.Addr) bool { return plain(l) == a })
}

// noMachine says whether an address is nobody's. ssh takes some of these for
// this machine.
func noMachine(a netip.Addr) bool {
	return !a.IsValid() || a.IsUnspecified() || a.IsMulticast() ||
		a.Is4() && (a.As4()[0] == 0 || a == netip.AddrFrom4([4]byte{255, 255, 255, 255}))
}

var (
	plainName    = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)
	lastIsNumber = regexp.MustCompile(`(^|\.)([0-9]+|0[xX][0-9a-fA-F]*)\.*$`)
)

// badHost says what is wrong with a host that is no plain name and no plain
// address. Numbers that only the C library takes for an address (127.1,
// 0x7f000001, 2130706433, 0177.0.0.1) are another machine for another reader.
func badHost(host string) string {
	if a, err := netip.ParseAddr(host); err == nil {
		if a.Zone() != "" {
			return "is an address with a zone, which is another machine on every link; write one without"
		}
		return ""
	}
	switch {
	case !plainName.MatchString(host):
		return "is no host name and no address"
	case lastIsNumber.MatchString(host):
		return "is a number that stands for an address; write the address in full"
	}
	return ""
}

// ThisMachine says whether a host is this machine by what is written: a
// loopback address or nobody's, which ssh takes for this one, also where IPv6
// only carries it, or localhost by one of its names.
func ThisMachine(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return Effective{}.isLocal(a)
	}
	return localName(host)
}

// localName says whether a host names this machine, as the usual files of
// hosts have it.
func localName(host string) bool {
	for label := range strings.SplitSeq(strings.ToLower(host), ".") {
		if strings.HasPrefix(label, "localhost") || label == "ip6-localhost" || label == "ip6-loopback" {
			return true
		}
	}
	return false
}
