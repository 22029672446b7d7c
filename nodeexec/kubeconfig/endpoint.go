package kubeconfig

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// Place says from where a fetched kubeconfig is to be used.
type Place struct {
	// Server is what the caller wants, whatever the rest says: a URL, or a
	// host with or without a port.
	Server string
	// Transport and Host are how the node is reached. With Lima the API is
	// on 127.0.0.1, where the instance's port is forwarded to.
	Transport inventory.Transport
	Host      string
	// ClusterEndpoint is the inventory's cluster_endpoint: the address that
	// all control planes share.
	ClusterEndpoint string
	// APIPort is the API's port; 0 means that of the kubeconfig, or 6443
	// with Lima.
	APIPort int
}

// Servers are the URLs under which the API should answer from the place, the
// best first: what the caller wants; with Lima the forwarded port; the
// inventory's cluster endpoint; the address in the kubeconfig itself where it
// is neither loopback nor the node's, for that is one which the control planes
// share; the node's own.
func (f Fetched) Servers(p Place) ([]string, error) {
	if p.APIPort < 0 || p.APIPort > 65535 {
		return nil, fmt.Errorf("API port %d is none", p.APIPort)
	}
	own, err := url.Parse(f.Config.server)
	if err != nil {
		return nil, invalid("its server is no URL")
	}
	port := own.Port()
	if port == "" {
		port = "443"
	}
	if p.APIPort != 0 {
		port = strconv.Itoa(p.APIPort)
	}
	switch {
	case p.Server != "":
		return one(endpoint(p.Server, port))
	case p.Transport == inventory.TransportLima:
		if p.APIPort == 0 {
			port = "6443"
		}
		return one(endpoint("127.0.0.1", port))
	case p.ClusterEndpoint != "":
		s, err := endpoint(p.ClusterEndpoint, port)
		if err != nil {
			err = fmt.Errorf("cluster_endpoint: %w", err)
		}
		return one(s, err)
	case p.Transport == inventory.TransportLocal:
		return []string{f.Config.server}, nil
	}
	node, err := endpoint(p.Host, port)
	if err != nil {
		return nil, fmt.Errorf("%s: its address: %w", f.Node, err)
	}
	if loopback(own.Hostname()) || own.Hostname() == p.Host {
		return []string{node}, nil
	}
	return []string{f.Config.server, node}, nil
}

func one(s string, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	return []string{s}, nil
}

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && (addr.Unmap().IsLoopback() || addr.IsUnspecified())
}

// endpoint makes a URL of a URL, a host, or a host and a port.
func endpoint(s, port string) (string, error) {
	bad := func(why string) (string, error) { return "", fmt.Errorf("%q %s", s, why) }
	if strings.Contains(s, "://") {
		u, err := url.Parse(s)
		switch {
		case err != nil || u.Hostname() == "" || !hostName(u.Hostname()):
			return bad("is no URL")
		case u.User != nil:
			return "", fmt.Errorf("a URL with a user in it is not taken")
		case u.Scheme != "https":
			return bad("is not https, and credentials travel on it")
		case u.RawQuery != "" || u.Fragment != "":
			return bad("holds more than an address")
		}
		u.Path = strings.TrimSuffix(u.Path, "/")
		return u.String(), nil
	}
	host := s
	if bare, ok := strings.CutPrefix(s, "["); ok && strings.HasSuffix(bare, "]") {
		host = strings.TrimSuffix(bare, "]")
	} else if _, err := netip.ParseAddr(s); err != nil && strings.Contains(s, ":") {
		if host, port, err = net.SplitHostPort(s); err != nil {
			return bad("is neither a host nor a host and a port")
		}
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return bad("has no good port")
	}
	if !hostName(host) {
		return bad("is no host")
	}
	u := url.URL{Scheme: "https", Host: net.JoinHostPort(host, port)}
	return u.String(), nil
}

// hostName says whether s is an address or looks like a name.
func hostName(s string) bool {
	if _, err := netip.ParseAddr(s); err == nil {
		return true
	}
	return s != "" && s[0] != '-' && strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '.' && r != '_'
	}) < 0
}
