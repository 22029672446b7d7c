package timesync

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/golden"
)

func TestParse(t *testing.T) { golden.Run(t, Parse) }

func FuzzParse(f *testing.F) {
	golden.Fuzz(f, Parse, func(*testing.T, bool) {

	})
}

func TestParseChrony(t *testing.T) {
	on, err := ParseChrony([]byte("Reference ID    : A29FC87B (162.159.200.123)\nLeap status     : Normal\n"))
	require.NoError(t, err)
	require.True(t, on)
	on, err = ParseChrony([]byte("Leap status     : Not synchronised\n"))
	require.NoError(t, err)
	require.False(t, on)
	_, err = ParseChrony([]byte("506 Cannot talk to daemon\n"))
	require.Error(t, err)
}
