package guard

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Effective is what a target really leads to.
//
// Jumps holds every host of ProxyJump, and the one that a ProxyCommand of the
// shape "ssh -W %h:%p gate" goes through, by its name as it is written there,
// with or without "user@" and ":port". The caller asks "ssh -G" of each jump
// host too, since ssh's configuration may rename it, and gives the addresses
// of the hostname in the answer. A jump that has a proxy of its own in that
// answer, or that resolves to nothing, gets an empty list, which refuses it. A
// jump that is written as an address needs no entry, and is judged by both
// where there is one.
type Effective struct {
	SSH       SSH                     // what "ssh -G" says; zero for the transport lima
	Addresses []netip.Addr            // what SSH.Hostname resolves to here
	Jumps     map[string][]netip.Addr // where the jump hosts are, see below
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

// ParseSSH reads the output of "ssh -G": one keyword and its value a line, see
// ssh(1). Keywords that say nothing of where a connection goes are left out.
// Two lines that contradict each other are no output of ssh, and an error.
func ParseSSH(text string) (SSH, error) {
	values := map[string]string{"hostname": "", "port": "", "proxyjump": "", "proxycommand": ""}
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		end := strings.IndexAny(line, " \t")
		if end < 0 {
			end = len(line)
		}
		keyword, value := strings.ToLower(line[:end]), strings.TrimSpace(line[end:])
		if _, known := values[keyword]; !known {
			continue
		}
		if seen[keyword] && values[keyword] != value {
			return SSH{}, fmt.Errorf("ssh -G: %s is both %q and %q; one of them is not ssh's", keyword, values[keyword], value)
		}
		seen[keyword], values[keyword] = true, value
	}
	s := SSH{Hostname: values["hostname"], ProxyJump: orNone(values["proxyjump"]), ProxyCommand: orNone(values["proxycommand"])}
	if seen["port"] {
		port, err := strconv.Atoi(values["port"])
		if err != nil || port < 1 || port > 65535 {
			return SSH{}, fmt.Errorf("ssh -G: port %q is not a port", values["port"])
		}
		s.Port = port
	}
	if s.Hostname == "" {
		return SSH{}, errors.New("ssh -G: no hostname in its output")
	}
	return s, nil
}

// orNone gives "" for the word with which ssh says that there is nothing.
func orNone(value string) string {
	if strings.EqualFold(value, "none") {
		return ""
	}
	return value
}
