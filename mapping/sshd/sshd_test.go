package sshd

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/golden"
)

func TestParse(t *testing.T) { golden.Run(t, Parse) }

func FuzzParse(f *testing.F) {
	golden.Fuzz(f, Parse, func(t *testing.T, v Config) {
		require.NotEmpty(t, v.Get("permitrootlogin")+"x")
		for key := range v {
			require.Equal(t, strings.ToLower(key), key)
		}
	})
}
