package nodes

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// knownHosts is the file that holds the host keys on the way to a node. One
// that is behind another has a file of its own: elsewhere the same address
// may be another machine.
func (b *Bench) knownHosts(n Node) string {
	if n.Behind == "" {
		return b.KnownHostsPath
	}
	return b.KnownHostsPath + "." + n.Name
}

// writeClient writes the known hosts and the inventory.
func (b *Bench) writeClient() error {
	entries := map[string]string{}
	for i, n := range b.Nodes {
		file := b.hostKeyPath(n.Name)
		if n.Fault == WrongHostKey {
			file = b.strangerPath()
		}
		key, err := os.ReadFile(file + ".pub")
		if err != nil {
			return err
		}
		host := b.state.Members[i].Addr
		if n.Port != 22 {
			host = fmt.Sprintf("[%s]:%d", host, n.Port)
		}
		entries[n.Name] = host + " " + string(key)
	}
	files := map[string]string{}
	for _, n := range b.Nodes {
		files[b.knownHosts(n)] += entries[n.Name]
		if n.Behind != "" {
			files[b.knownHosts(n)] += entries[n.Behind]
			if err := b.made(filepath.Base(b.knownHosts(n))); err != nil {
				return err
			}
		}
	}
	for file, content := range files {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			return err
		}
	}
	return os.WriteFile(b.InventoryPath, []byte(b.inventory(b.Nodes)), 0o600)
}

// WriteInventory writes an inventory of some of the nodes to a file of the
// caller's choice: the same node may be in several.
func (b *Bench) WriteInventory(file string, names ...string) error {
	var chosen []Node
	for _, name := range names {
		n, _ := b.find(name)
		if n == nil {
			return fmt.Errorf("the bench has no node %q", name)
		}
		chosen = append(chosen, *n)
	}
	return os.WriteFile(file, []byte(b.inventory(chosen)), 0o600)
}

// inventory is YAML; strings are quoted as in JSON, which YAML reads alike.
func (b *Bench) inventory(chosen []Node) string {
	var s strings.Builder
	fmt.Fprintf(&s, "# Made by bench/nodes; goes when the bench is taken down.\nall:\n  vars:\n"+
		"    target_kind: %s\n    transport: ssh\n    ansible_ssh_private_key_file: %s\n  children:\n    cloud:\n      hosts:\n",
		quoted(b.state.Spec.Kind), quoted(b.IdentityPath))
	for _, n := range chosen {
		p := b.Node(n.Name)
		fmt.Fprintf(&s, "        %s:\n          ansible_host: %s\n          ansible_port: %d\n          ansible_user: %s\n",
			quoted(n.Name), quoted(p.Addr), p.Port, quoted(p.User))
		fmt.Fprintf(&s, "          ansible_ssh_common_args: %s\n", quoted(shellJoin(b.CommonArgs(n.Name))))
		for _, name := range slices.Sorted(maps.Keys(n.Vars)) {
			fmt.Fprintf(&s, "          %s: %s\n", name, quoted(n.Vars[name]))
		}
	}
	return s.String()
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""` // a string always marshals
	}
	return string(b)
}

// shellJoin quotes words as a POSIX shell, and Ansible, splits them.
func shellJoin(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		if w == "" || strings.ContainsFunc(w, func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%", r)
		}) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		out[i] = w
	}
	return strings.Join(out, " ")
}
