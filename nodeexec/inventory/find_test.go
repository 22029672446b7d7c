package inventory

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFind(t *testing.T) {
	const both = BenchInventory + " " + ProdInventory
	for _, c := range []struct {
		name, exists, want, err string
		choice                  Choice
	}{
		{name: "the flag first", exists: both, choice: Choice{Flag: "f", Env: "e"}, want: "f"},
		{name: "then the environment", exists: both, choice: Choice{Env: "e"}, want: "e"},
		{name: "the bench's", exists: BenchInventory, want: BenchInventory},
		{name: "the bench's, whatever is stated", exists: BenchInventory, choice: Choice{Kind: Prod}, want: BenchInventory},
		{name: "production's", exists: ProdInventory, want: ProdInventory},
		{name: "both, the bench stated", exists: both, choice: Choice{Kind: Lima}, want: BenchInventory},
		{name: "both, production stated", exists: both, choice: Choice{Kind: Prod}, want: ProdInventory},
		{name: "both, and nothing stated", exists: both, err: "both bench/lima/.work/inventory.yaml and bootstrap/hosts.yaml exist; name one with --inventory, or state --target-kind lima or prod"},
		{name: "none", err: "no inventory: name one with --inventory or NESTOR_INVENTORY (neither bench/lima/.work/inventory.yaml nor bootstrap/hosts.yaml exists here)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.choice.Exists = func(path string) bool { return path == c.exists || c.exists == both && path != "" }
			got, err := Find(c.choice)
			if c.err != "" {
				require.EqualError(t, err, c.err)
				require.Equal(t, c.name == "none", err != nil && c.exists == "")
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
	_, err := Find(Choice{Exists: func(string) bool { return false }})
	require.ErrorIs(t, err, ErrNoInventory)
}
