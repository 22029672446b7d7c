package inventory

import (
	"errors"
	"fmt"
)

// The inventories that are looked for where none is named, from the folder in
// which nestor was started.
const (
	BenchInventory = "bench/lima/.work/inventory.yaml"
	ProdInventory  = "bootstrap/hosts.yaml"
)

// ErrNoInventory is matched by the error of [Find] where there is none.
var ErrNoInventory = errors.New("no inventory")

// Choice is what the choice of an inventory rests on.
type Choice struct {
	Flag   string // --inventory
	Env    string // NESTOR_INVENTORY
	Kind   Kind   // the kind that the caller stated, "" for none
	Exists func(path string) bool
}

// Find chooses the inventory: the flag, else the environment variable, else
// the one of [BenchInventory] and [ProdInventory] that exists. Where both do,
// the stated kind chooses, and without one it is an error: a target is named,
// never guessed. A named inventory need not exist; reading it will tell.
func Find(c Choice) (string, error) {
	switch {
	case c.Flag != "":
		return c.Flag, nil
	case c.Env != "":
		return c.Env, nil
	}
	bench, prod := c.Exists(BenchInventory), c.Exists(ProdInventory)
	switch {
	case bench && prod && c.Kind == Lima:
		return BenchInventory, nil
	case bench && prod && c.Kind == Prod:
		return ProdInventory, nil
	case bench && prod:
		return "", fmt.Errorf("both %s and %s exist; name one with --inventory, or state --target-kind lima or prod", BenchInventory, ProdInventory)
	case bench:
		return BenchInventory, nil
	case prod:
		return ProdInventory, nil
	}
	return "", fmt.Errorf("%w: name one with --inventory or NESTOR_INVENTORY (neither %s nor %s exists here)", ErrNoInventory, BenchInventory, ProdInventory)
}
