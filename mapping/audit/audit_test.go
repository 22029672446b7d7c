package audit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/golden"
)

func TestParse(t *testing.T) { golden.Run(t, Parse) }

func FuzzParse(f *testing.F) {
	golden.Fuzz(f, Parse, func(t *testing.T, v Status) {
		require.GreaterOrEqual(t, v.Enabled, 0)
	})
}

func TestCountRules(t *testing.T) {
	require.Equal(t, 0, CountRules([]byte("No rules\n")))
	require.Equal(t, 2, CountRules([]byte("-w /etc/passwd -p wa -k id\n-a always,exit -S all\n")))
}
