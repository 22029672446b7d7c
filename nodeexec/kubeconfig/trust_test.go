package kubeconfig_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/pki"
	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/nodeexec/kubeconfig"
	"github.com/nestor-tools/nestor/nodeexec/nodeexectest"
)

func TestBelongs(t *testing.T) {
	type machines = []kubeconfig.Machine
	m := func(name, id string, addresses ...string) kubeconfig.Machine {
		return kubeconfig.Machine{Name: name, MachineID: id, Addresses: addresses}
	}
	for _, test := range []struct {
		name       string
		api, nodes machines
		refused    string // "" for one that belongs
	}{
		{"the same machines", machines{m("cp1", "a"), m("node1", "b")}, machines{m("cp1", "a"), m("node1", "b")}, ""},
		{"under other names", machines{m("ip-10-0-0-1", "a")}, machines{m("cp1", "a")}, ""},
		{"one more in the API", machines{m("cp1", "a"), m("node9", "z")}, machines{m("cp1", "a")}, ""},
		{"one more in the inventory", machines{m("cp1", "a")}, machines{m("cp1", "a"), m("node9", "z")}, ""},
		{"other machines of the same names and addresses", machines{m("cp1", "x", "192.168.5.15"), m("node1", "y", "192.168.5.15")}, machines{m("cp1", "a", "192.168.5.15"), m("node1", "b", "192.168.5.15")}, "machine-id x, and node cp1 of the inventory a"},
		{"one of ours, and a stranger under another's name", machines{m("cp1", "a"), m("node1", "z")}, machines{m("cp1", "a"), m("node1", "b")}, "node node1 of its API has machine-id z"},
		{"clones prove nothing", machines{m("x1", "c"), m("x2", "c")}, machines{m("cp1", "c"), m("node1", "c")}, "node x1 of its API is none"},
		{"names alone", machines{m("cp1", ""), m("node1", "")}, machines{m("cp1", ""), m("node1", "")}, "node cp1 of its API is none"},
		{"names and addresses", machines{m("cp1", "", "10.0.0.1", "192.0.2.1")}, machines{m("cp1", "b", "192.0.2.1"), m("node1", "", "192.0.2.2")}, ""},
		{"addresses alone", machines{m("a", "", "192.0.2.1")}, machines{m("cp1", "", "192.0.2.1")}, "node a of its API is none"},
		{"one that is not ours", machines{m("cp1", "", "192.0.2.1"), m("node9", "", "192.0.2.9")}, machines{m("cp1", "", "192.0.2.1")}, "node node9 of its API is none"},
		{"no node", nil, machines{m("cp1", "a")}, "its API has no node"},
		{"no inventory", machines{m("cp1", "a")}, nil, "is none of the inventory's"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := kubeconfig.Belongs(test.api, test.nodes)
			if test.refused == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, kubeconfig.ErrOtherCluster)
			assert.ErrorContains(t, err, test.refused)
		})
	}
}

func TestReadCA(t *testing.T) {
	ca := pki.New(t, "kubernetes")
	noSudo := &nodeexec.Error{Node: "cp1", Kind: nodeexec.KindSudo, Detail: "sudo wants a password"}
	for _, test := range []struct {
		name       string
		sudo, user nodeexectest.Reply
		says       string
	}{
		{"as root", nodeexectest.Reply{Stdout: string(ca.PEM)}, nodeexectest.Reply{}, ""},
		{"as the user, where sudo is refused", nodeexectest.Reply{Err: noSudo}, nodeexectest.Reply{Stdout: string(ca.PEM)}, ""},
		{"not there", nodeexectest.Reply{}, nodeexectest.Reply{}, "cp1: the certificate authority of the control plane holds no certificate"},
		{"unreachable", nodeexectest.Reply{Err: &nodeexec.Error{Node: "cp1", Kind: nodeexec.KindUnreachable, Detail: "no route"}}, nodeexectest.Reply{Stdout: string(ca.PEM)}, "cp1: no route"},
	} {
		t.Run(test.name, func(t *testing.T) {
			node := &nodeexectest.Node{NodeName: "cp1", Answer: func(c nodeexectest.Call) nodeexectest.Reply {
				if c.Sudo {
					return test.sudo
				}
				return test.user
			}}
			got, err := kubeconfig.ReadCA(t.Context(), node, kubeconfig.Options{})
			if test.says != "" {
				require.EqualError(t, err, test.says)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, ca.PEM, got)
		})
	}
}
