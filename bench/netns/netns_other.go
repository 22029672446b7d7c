//go:build !linux

package netns

import (
	"net"
	"net/netip"
	"os"
	"testing"
)

// Net is a network namespace, which Linux alone has.
type Net struct {
	Nodes  []netip.Addr
	Nobody netip.Addr
}

// New skips the test, loudly; in CI it fails.
func New(t testing.TB, _ int) *Net {
	t.Helper()
	const missing = "NOT RUN: network namespaces need Linux"
	if os.Getenv("CI") != "" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return nil
}

// Exec is of no use here.
func (n *Net) Exec(testing.TB, ...string) string { return "" }

// Listen is of no use here.
func (n *Net) Listen(testing.TB, string) net.Listener { return nil }

// Rules is of no use here.
func (n *Net) Rules(testing.TB, string) {}

// Forward is of no use here.
func (n *Net) Forward(testing.TB, int, net.Listener) {}

// Filter is of no use here.
func (n *Net) Filter(testing.TB, int, string) {}
