package inventory

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// open reads an inventory made of the files.
func open(t *testing.T, files map[string]string) *Inventory {
	t.Helper()
	inv, err := tryOpen(files)
	require.NoError(t, err)
	return inv
}

func tryOpen(files map[string]string) (*Inventory, error) {
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	name := "." // a directory, unless one of the files is the inventory
	for _, inventory := range []string{"hosts.yaml", "hosts", "hosts.json"} {
		if _, ok := files[inventory]; ok {
			name = inventory
		}
	}
	env := map[string]string{"HOME": "/home/me", "NODE_IP": "192.0.2.9"}
	return Load(fsys, name, func(k string) (string, bool) { v, ok := env[k]; return v, ok })
}

func TestTarget(t *testing.T) {
	inv := open(t, map[string]string{"hosts.yaml": `
all:
  vars:
    target_kind: prod
    ansible_user: debian
    ansible_ssh_private_key_file: ~/.ssh/id
  children:
    cloud:
      hosts:
        node1: {ansible_host: 192.0.2.11, ansible_port: 2222, ansible_ssh_common_args: '-o ProxyJump="a b"'}
        node[2:3]:
`})
	got, err := inv.Target("node1", Prod)
	require.NoError(t, err)
	require.Equal(t, Target{
		Node: "node1", Kind: Prod, Transport: TransportSSH, Host: "192.0.2.11", Port: 2222, User: "debian",
		IdentityFile: "/home/me/.ssh/id", SSHArgs: []string{"-o", "ProxyJump=a b"},
		Origins: map[string]Origin{
			"target_kind":                  {"hosts.yaml", 4},
			"ansible_user":                 {"hosts.yaml", 5},
			"ansible_host":                 {"hosts.yaml", 10},
			"ansible_port":                 {"hosts.yaml", 10},
			"ansible_ssh_common_args":      {"hosts.yaml", 10},
			"ansible_ssh_private_key_file": {"hosts.yaml", 6},
		},
	}, got)

	_, err = inv.Target("node1", Lima)
	require.EqualError(t, err, `hosts.yaml:4: node "node1" is declared prod, and lima was stated`)
	_, err = inv.Target("nod1", "")
	require.EqualError(t, err, `hosts.yaml: no host "nod1"; nearest: node1, node2, node3`)

	all, err := inv.Select("")
	require.NoError(t, err)
	require.Equal(t, []string{"node1", "node2", "node3"}, all)
}
