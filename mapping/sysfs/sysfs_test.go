package sysfs

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/golden"
)

func TestParse(t *testing.T) { golden.Run(t, Parse) }

func FuzzParse(f *testing.F) {
	golden.Fuzz(f, Parse, func(t *testing.T, v []Device) {
		for _, d := range v {
			require.NotEmpty(t, d.Name)
			require.GreaterOrEqual(t, d.SizeBytes, int64(0))
		}
	})
}
