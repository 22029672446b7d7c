package registries_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/golden"
	"github.com/nestor-tools/nestor/mapping/registries"
)

func TestParse(t *testing.T) { golden.Run(t, registries.Parse) }

func FuzzParse(f *testing.F) {
	golden.Fuzz(f, registries.Parse, func(t *testing.T, all []registries.Registry) {
		for _, r := range all {
			require.NotEmpty(t, r.Prefix)
			require.NotContains(t, r.Mirrors, "")
		}
	})
}

func TestMerge(t *testing.T) {
	a, b := registries.Registry{Prefix: "a", Mirrors: []string{"x"}}, registries.Registry{Prefix: "b"}
	again := registries.Registry{Prefix: "a"}
	require.Equal(t, []registries.Registry{b, again}, registries.Merge([]registries.Registry{a, b}, []registries.Registry{again}))
	require.Equal(t, []registries.Registry{a}, registries.Merge(nil, []registries.Registry{a}))
}
