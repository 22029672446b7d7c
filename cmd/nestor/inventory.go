package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// kind returns the kind that the caller stated, by flag or by
// EXPECTED_TARGET_KIND, "" for none.
func (c *cli) kind() (inventory.Kind, error) {
	stated := inventory.Kind(c.targetKind)
	if v, ok := c.env("EXPECTED_TARGET_KIND"); ok && v != "" {
		if stated != "" && inventory.Kind(v) != stated {
			return "", fail(exitRefused, fmt.Errorf("--target-kind %s and EXPECTED_TARGET_KIND=%s contradict each other", stated, v))
		}
		stated = inventory.Kind(v)
	}
	switch stated {
	case "", inventory.Lima, inventory.Prod:
		return stated, nil
	}
	return "", fmt.Errorf("target kind %q is neither lima nor prod", stated)
}

// stack returns the stack that the caller stated, by flag or by STACK_ID.
func (c *cli) stack() (string, error) {
	v, _ := c.env("STACK_ID")
	if c.stackID != "" && v != "" && c.stackID != v {
		return "", fail(exitRefused, fmt.Errorf("--stack-id %s and STACK_ID=%s contradict each other", c.stackID, v))
	}
	if c.stackID != "" {
		return c.stackID, nil
	}
	return v, nil
}

// openInventory finds the inventory and reads it. Its error matches
// inventory.ErrNoInventory where there is none.
func (c *cli) openInventory() (*inventory.Inventory, error) {
	kind, err := c.kind()
	if err != nil {
		return nil, err
	}
	fromEnv, _ := c.env("NESTOR_INVENTORY")
	name, err := inventory.Find(inventory.Choice{Flag: c.inventory, Env: fromEnv, Kind: kind, Exists: exists})
	if err != nil {
		return nil, err
	}
	return c.readInventory(name)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, os.ErrNotExist) // one that cannot be looked at exists, and reading it will tell
}

// readInventory reads the inventory at a path, as the caller wrote it.
func (c *cli) readInventory(name string) (*inventory.Inventory, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	o := inventory.Options{Env: c.env}
	if info, statErr := os.Stat(abs); statErr == nil && info.IsDir() {
		o.Dir, o.Name, o.Shown = abs, ".", name
	} else {
		o.Dir, o.Name, o.Shown = filepath.Dir(abs), filepath.Base(abs), filepath.Dir(name)
	}
	o.FS = os.DirFS(o.Dir)
	if o.VaultPassword, err = c.vaultPassword(); err != nil {
		return nil, err
	}
	return inventory.Open(o)
}

// vaultPassword reads the file that Ansible's own setting names. Ansible runs
// the file where it is executable; nestor refuses to.
func (c *cli) vaultPassword() ([]byte, error) {
	name := c.vaultPasswordFile
	if name == "" {
		name, _ = c.env("ANSIBLE_VAULT_PASSWORD_FILE")
	}
	if name == "" {
		return nil, nil
	}
	if home, ok := c.env("HOME"); ok && strings.HasPrefix(name, "~/") {
		name = filepath.Join(home, name[2:])
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("vault password: %w", err)
	}
	if info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
		return nil, fmt.Errorf("vault password: %s is executable, and is not run; name a file that holds the password", name)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("vault password: %w", err)
	}
	password := strings.TrimSpace(string(b))
	if password == "" {
		return nil, fmt.Errorf("vault password: %s is empty", name)
	}
	return []byte(password), nil
}

// target resolves a node under what the caller stated: kind and stack.
func (c *cli) target(inv *inventory.Inventory, node string) (inventory.Target, error) {
	kind, err := c.kind()
	if err != nil {
		return inventory.Target{}, err
	}
	t, err := inv.Target(node, kind)
	if _, ok := errors.AsType[*inventory.KindError](err); ok {
		return inventory.Target{}, fail(exitRefused, err)
	}
	if err != nil {
		return inventory.Target{}, err
	}
	stack, err := c.stack()
	if err != nil {
		return inventory.Target{}, err
	}
	if stack != "" && t.StackID != "" && stack != t.StackID {
		return inventory.Target{}, fail(exitRefused, fmt.Errorf("%s: node %q belongs to stack %q, and %q was stated", t.Origins["stack_id"], node, t.StackID, stack))
	}
	return t, nil
}

// completeNodes completes the names of nodes and groups, for verbs that take
// a pattern, or of nodes alone.
func (c *cli) completeNodes(groups bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		inv, err := c.openInventory()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		candidates := inv.Hosts()
		if groups {
			candidates = append(candidates, inv.Groups()...)
		}
		var matching []cobra.Completion
		for _, name := range candidates {
			if strings.HasPrefix(name, toComplete) {
				matching = append(matching, name)
			}
		}
		return matching, cobra.ShellCompDirectiveNoFileComp
	}
}

// format checks --output against what a verb has.
func (c *cli) format(known ...string) error {
	for _, k := range known {
		if c.output == k {
			return nil
		}
	}
	return fmt.Errorf("--output %q is not one of %s", c.output, strings.Join(known, ", "))
}
