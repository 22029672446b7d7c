package nft

import (
	"testing"

	"github.com/nestor-tools/nestor/bench/golden"
)

func TestParse(t *testing.T) { golden.Run(t, Parse) }

func FuzzParse(f *testing.F) {
	golden.Fuzz(f, Parse, func(_ *testing.T, v Chain) {
		_ = v.Closed()
	})
}
