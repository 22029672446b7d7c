package wipefs

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/golden"
)

func TestParse(t *testing.T) { golden.Run(t, Parse) }

func FuzzParse(f *testing.F) {
	golden.Fuzz(f, Parse, func(t *testing.T, v []Signature) {
		for _, s := range v {
			require.NotEmpty(t, s.Type)
			require.GreaterOrEqual(t, s.Offset, int64(0))
		}
	})
}
