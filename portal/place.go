package portal

import (
	"cmp"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxOthers bounds the further URLs of an entry: a cluster may have a thousand
// nodes, and a person tries two or three.
const maxOthers = 5

// candidate is a node that should answer, with the hosts to reach it by, the
// best first.
type candidate struct {
	node  *Node
	hosts []string
	tier  int // how good it is, 0 being best
}

// addressRank is the order in which a node's addresses are tried: what the
// outside knows, then the inside, then names.
var addressRank = map[string]int{"ExternalIP": 0, "InternalIP": 1, "ExternalDNS": 2, "InternalDNS": 3, "Hostname": 4}

// cordonedTier is worse than any address: a cordoned node still forwards, and
// comes last (kubernetes/kubernetes#90823).
const cordonedTier = 100

// candidates gives the Ready nodes that pass the filter and have an address of
// one of the families, the best first.
func (j *judge) candidates(families []string, pass func(node string) bool) []candidate {
	kind := strings.Join(families, " ")
	all, ok := j.answering[kind]
	if !ok {
		for i := range j.snapshot.Nodes {
			n := &j.snapshot.Nodes[i]
			hosts, tier := hostsOf(n, families)
			if !n.Ready || len(hosts) == 0 {
				continue
			}
			if n.Cordoned {
				tier += cordonedTier
			}
			all = append(all, candidate{n, hosts, tier})
		}
		slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Or(a.tier-b.tier, strings.Compare(a.node.Name, b.node.Name)) })
		j.answering[kind] = all
	}
	var some []candidate
	for _, c := range all {
		if pass(c.node.Name) {
			some = append(some, c)
		}
	}
	return some
}

// hostsOf gives a node's usable addresses, the best first, and its rank.
func hostsOf(n *Node, families []string) (hosts []string, best int) {
	rank := func(a Address) int {
		if r, ok := addressRank[a.Type]; ok {
			return r
		}
		return len(addressRank)
	}
	addresses := slices.Clone(n.Addresses)
	slices.SortStableFunc(addresses, func(a, b Address) int {
		return cmp.Or(rank(a)-rank(b), familyRank(a.Address, families)-familyRank(b.Address, families))
	})
	for _, a := range addresses {
		host, ok := Host(a.Address)
		if ok && familyRank(a.Address, families) >= 0 && !slices.Contains(hosts, host) {
			if len(hosts) == 0 {
				best = rank(a)
			}
			hosts = append(hosts, host)
		}
	}
	return hosts, best
}

// familyRank is the place of an address's family in those of a Service, which
// answers on no other; 0 for names and where the Service says nothing, -1 for
// a family that it does not have.
func familyRank(address string, families []string) int {
	ip, err := netip.ParseAddr(address)
	if err != nil || len(families) == 0 {
		return 0
	}
	family := "IPv6"
	if ip.Unmap().Is4() {
		family = "IPv4"
	}
	return slices.Index(families, family)
}

// Host gives a host as it stands in a URL, without brackets: an address that
// others can reach, or a DNS name in lower case. It takes what people and
// browsers write, such as "10.0.0.1", "[fd00::1]" or "Node1.example.org.". ok is
// false for what no URL may hold, and for loopback: behind a port-forward it
// is not the node.
func Host(s string) (host string, ok bool) {
	if inner, ok := strings.CutPrefix(s, "["); ok {
		s = strings.TrimSuffix(inner, "]")
	}
	if ip, err := netip.ParseAddr(s); err == nil {
		ip = ip.Unmap()
		return ip.String(), ip.Zone() == "" && !ip.IsUnspecified() && !ip.IsLoopback() && !ip.IsMulticast() && !ip.IsLinkLocalUnicast()
	}
	s = strings.ToLower(strings.TrimSuffix(s, "."))
	return s, isName(s)
}

// isName tells a DNS name, underscores allowed, from a text that would be
// something else in a URL. A name whose last label is a number would be read
// as an IPv4 address by browsers.
func isName(s string) bool {
	if len(s) > 253 {
		return false
	}
	labels := strings.Split(s, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	last := labels[len(labels)-1]
	_, err := strconv.ParseUint(last, 0, 64)
	return err != nil && strings.Trim(last, "0123456789") != ""
}

// choose takes the best candidate, or the previous one while it is as good.
func (j *judge) choose(id string, all []candidate) candidate {
	for _, c := range all {
		if c.node.Name == j.previous[id] && c.tier == all[0].tier {
			return c
		}
	}
	return all[0]
}

// urls gives the URL of an entry, and others. The host is the one that is
// stated for it, then the one by which the browser reached the portal where
// it is one of the candidates', then the chosen node's.
func (j *judge) urls(e *Entry, all []candidate, scheme string, port int, path string) {
	host, stated := j.stated(e.ID)
	if len(all) > 0 {
		chosen := j.choose(e.ID, all)
		e.Node = chosen.node.Name
		hosts := slices.Clone(chosen.hosts)
		if j.browser != "" && slices.ContainsFunc(all, func(c candidate) bool { return c.answersTo(j.browser) }) {
			hosts = append([]string{j.browser}, hosts...)
		}
		for _, c := range all {
			hosts = append(hosts, c.hosts[0])
			if len(hosts) > 2*maxOthers+len(chosen.hosts) {
				break
			}
		}
		if !stated {
			host = hosts[0]
		}
		for _, other := range hosts {
			u := join(scheme, other, port, path)
			if other != host && !slices.Contains(e.Others, u) && len(e.Others) < maxOthers {
				e.Others = append(e.Others, u)
			}
		}
	}
	if host != "" {
		e.URL = join(scheme, host, port, path)
	}
}

// stated is the host that was given for an endpoint, or for all of them.
func (j *judge) stated(id string) (string, bool) {
	for _, key := range []string{id, ""} {
		if host, ok := Host(j.options.AccessHosts[key]); ok {
			return host, true
		}
	}
	return "", false
}

func (c candidate) answersTo(host string) bool {
	if slices.Contains(c.hosts, host) {
		return true
	}
	name, ok := Host(c.node.Name)
	return ok && name == host
}

// join builds a URL. path is the contract's; one that names a host is left out.
func join(scheme, host string, port int, path string) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	u := &url.URL{Scheme: scheme, Host: host + ":" + strconv.Itoa(port)}
	ref, err := url.Parse(path)
	if err != nil || ref.IsAbs() || ref.Host != "" || ref.Opaque != "" || ref.User != nil {
		ref = &url.URL{}
	}
	u = u.JoinPath("/", ref.EscapedPath())
	u.RawQuery, u.Fragment = ref.RawQuery, ref.Fragment
	return u.String()
}
