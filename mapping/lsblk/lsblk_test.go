package lsblk

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/golden"
)

func TestParse(t *testing.T) { golden.Run(t, Parse) }

func FuzzParse(f *testing.F) {
	golden.Fuzz(f, Parse, func(t *testing.T, v Listing) {
		seen := map[string]bool{}
		for _, d := range v.Devices {
			require.False(t, seen[d.KName], "each device once")
			seen[d.KName] = true
			require.GreaterOrEqual(t, d.SizeBytes, int64(-1))
		}
	})
}
