package inventory

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// largeInventory has n hosts in 50 groups, three variables each.
func largeInventory(n int) string {
	var b strings.Builder
	b.WriteString("all:\n  vars: {ansible_user: debian, target_kind: prod}\n  children:\n    cloud:\n      children:\n")
	for g := range 50 {
		fmt.Fprintf(&b, "        group%02d:\n          vars: {rack: %d}\n          hosts:\n", g, g)
		for i := g; i < n; i += 50 {
			fmt.Fprintf(&b, "            node%05d:\n              ansible_host: 10.%d.%d.%d\n              ansible_port: 22\n              serial: SN%08d\n", i, i>>16, i>>8&255, i&255, i)
		}
	}
	return b.String()
}

func BenchmarkLoadAndResolve(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		fsys := fstest.MapFS{"hosts.yaml": &fstest.MapFile{Data: []byte(largeInventory(n))}}
		node := fmt.Sprintf("node%05d", n-1)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				inv, err := Load(fsys, "hosts.yaml", nil)
				require.NoError(b, err)
				_, err = inv.Target(node, Prod)
				require.NoError(b, err)
			}
		})
	}
}

func BenchmarkSelect(b *testing.B) {
	fsys := fstest.MapFS{"hosts.yaml": &fstest.MapFile{Data: []byte(largeInventory(10_000))}}
	inv, err := Load(fsys, "hosts.yaml", nil)
	require.NoError(b, err)
	for _, pattern := range []string{"", "all:!group07", "node00*"} {
		b.Run("pattern "+pattern, func(b *testing.B) {
			for b.Loop() {
				_, err := inv.Select(pattern)
				require.NoError(b, err)
			}
		})
	}
}

// TestLinear: ten times the hosts cost ten times the allocations, not more.
func TestLinear(t *testing.T) {
	allocated := func(n int) float64 {
		fsys := fstest.MapFS{"hosts.yaml": &fstest.MapFile{Data: []byte(largeInventory(n))}}
		return testing.AllocsPerRun(1, func() {
			inv, err := Load(fsys, "hosts.yaml", nil)
			require.NoError(t, err)
			_, err = inv.Target("node00099", Prod)
			require.NoError(t, err)
		})
	}
	small, large := allocated(1000), allocated(10_000)
	require.Less(t, large, 11*small, "allocations for 1,000 and 10,000 hosts")
}
