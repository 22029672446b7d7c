// Package listeners reads the sockets that "ss -ltnup" lists.
//
//	tcp LISTEN 0 128   0.0.0.0:22        0.0.0.0:*  users:(("sshd",pid=612,fd=3))
//	udp UNCONN 0 0     127.0.0.53%lo:53  0.0.0.0:*
//
// A line without a local address is refused.
package listeners

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Listener is one socket that waits for others. Pids are left out: they
// change by themselves.
type Listener struct {
	Protocol string `json:"protocol"` // tcp or udp
	Address  string `json:"address"`  // "*": all, of both families
	Port     int    `json:"port"`
	Process  string `json:"process,omitempty"` // empty: not told, as for an ordinary user
}

// Parse reads the list and sorts it. Sockets that differ in nothing told here
// are one.
func Parse(b []byte) ([]Listener, error) {
	list := []Listener{}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] == "Netid" {
			continue
		}
		if len(f) < 6 {
			return nil, fmt.Errorf("ss line of %d fields: %.80q", len(f), line)
		}
		i := strings.LastIndexByte(f[4], ':')
		port, err := strconv.Atoi(f[4][i+1:])
		if i < 0 || err != nil {
			return nil, fmt.Errorf("ss line without a local port: %.80q", line)
		}
		l := Listener{Protocol: f[0], Address: strings.Trim(f[4][:i], "[]"), Port: port}
		if _, rest, ok := strings.Cut(line, `users:(("`); ok {
			l.Process, _, _ = strings.Cut(rest, `"`)
		}
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b Listener) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), strings.Compare(a.Protocol, b.Protocol), strings.Compare(a.Address, b.Address), strings.Compare(a.Process, b.Process))
	})
	return slices.Compact(list), nil
}

// IsLocal says whether only this machine can reach it.
func (l Listener) IsLocal() bool {
	address, _, zoned := strings.Cut(l.Address, "%")
	if ip, err := netip.ParseAddr(address); err == nil {
		return ip.Unmap().IsLoopback()
	}
	return zoned && strings.HasSuffix(l.Address, "%lo")
}
