package nodes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

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
