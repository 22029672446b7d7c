package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// stated is the kind of node that the caller means. Two answers that differ
// are refused.
func (c *cli) stated() (inventory.Kind, error) {
	expected, _ := c.env("EXPECTED_TARGET_KIND")
	kind := c.targetKind
	switch {
	case kind != "" && expected != "" && kind != expected:
		return "", fail(exitRefused, fmt.Errorf("--target-kind %s, but EXPECTED_TARGET_KIND is %s", kind, expected))
	case kind == "":
		kind = expected
	}
	switch k := inventory.Kind(kind); k {
	case "", inventory.Lima, inventory.Prod:
		return k, nil
	}
	return "", fmt.Errorf("target kind %q: want lima or prod", kind)
}

// loadInventory reads the inventory that the flags, the environment and the
// current folder name.
func (c *cli) loadInventory() (*inventory.Inventory, error) {
	kind, err := c.stated()
	if err != nil {
		return nil, err
	}
	fromEnv, _ := c.env("NESTOR_INVENTORY")
	name, err := inventory.Find(inventory.Choice{Flag: c.inventory, Env: fromEnv, Kind: kind, Exists: func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	}})
	if err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	return inventory.Open(inventory.Options{
		FS: os.DirFS(filepath.Dir(abs)), Name: filepath.Base(abs), Shown: filepath.Dir(name), Dir: filepath.Dir(abs), Env: c.env,
	})
}

// open opens the node that the target describes, over a shared connection.
func (c *cli) open(t inventory.Target) *nodeexec.Node {
	shim, _ := c.env("NODE_EXEC_SHIM")
	return nodeexec.Open(t, nodeexec.Options{
		Shim:              shim,
		ControlDir:        c.controlDir(),
		AcceptNewHostKeys: c.hostKeys == "accept-new",
	})
}

// controlDir is a short path that only this user can write to: a socket's
// path may not exceed some hundred bytes.
func (c *cli) controlDir() string {
	if dir, ok := c.env("XDG_RUNTIME_DIR"); ok && filepath.IsAbs(dir) && len(dir) < 40 {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return filepath.Join(dir, "nestor")
		}
	}
	return filepath.Join("/tmp", "nestor-"+strconv.Itoa(os.Getuid()))
}
