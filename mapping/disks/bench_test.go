package disks

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/mapping/lsblk"
)

// bigWorld is a node with n blank disks beside its own.
func bigWorld(n int) *world {
	w := newWorld()
	for i := range n {
		w.add(lsblk.Device{Name: fmt.Sprintf("sdx%dx", i), Type: "disk", SizeBytes: gib, Dev: fmt.Sprintf("65:%d", i), Serial: fmt.Sprint("S", i)})
	}
	return w
}

func BenchmarkAssess(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10000} {
		b.Run(fmt.Sprint(n, " disks"), func(b *testing.B) {
			w := bigWorld(n)
			for b.Loop() {
				w.assess()
			}
		})
	}
}

func TestAssess_GrowsLinearly(t *testing.T) {
	cost := func(n int) float64 {
		w := bigWorld(n)
		return testing.AllocsPerRun(3, func() { require.Len(t, w.assess(), n+2) })
	}
	require.Less(t, cost(2000)/cost(200), 12.0)
}
