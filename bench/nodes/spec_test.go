package nodes_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/nestor-tools/nestor/bench/nodes"
)

func TestUpRefuses(t *testing.T) {
	one := nodes.Node{Name: "node1"}
	for want, spec := range map[string]nodes.Spec{
		"at least one node":             {},
		`two nodes are named "node1"`:   {Nodes: []nodes.Node{one, one}},
		"the name is no host name":      {Nodes: []nodes.Node{{Name: "../x"}}},
		`user "-oX" is no user name`:    {Nodes: []nodes.Node{{Name: "a", User: "-oX"}}},
		"port 70000 is not 1 to 65535":  {Nodes: []nodes.Node{{Name: "a", Port: 70000}}},
		`unknown sudo "maybe"`:          {Nodes: []nodes.Node{{Name: "a", User: "u", Sudo: "maybe"}}},
		"sudo needs a user other than":  {Nodes: []nodes.Node{{Name: "a", Sudo: nodes.SudoFree}}},
		`unknown fault "x"`:             {Nodes: []nodes.Node{{Name: "a", Fault: "x"}}},
		"wrong host key behind another": {Nodes: []nodes.Node{one, {Name: "a", Behind: "node1", Fault: nodes.WrongHostKey}}},
		`it is behind "nobody"`:         {Nodes: []nodes.Node{{Name: "a", Behind: "nobody"}}},
		`it is behind "b"`:              {Nodes: []nodes.Node{one, {Name: "b", Behind: "node1"}, {Name: "a", Behind: "b"}}},
		`file "etc/x" is not a clean`:   {Nodes: []nodes.Node{{Name: "a", Files: map[string]string{"etc/x": ""}}}},
		`file "/a/../b" is not a clean`: {Nodes: []nodes.Node{{Name: "a", Files: map[string]string{"/a/../b": ""}}}},
		`file "/proc/x" is not a clean`: {Nodes: []nodes.Node{{Name: "a", Files: map[string]string{"/proc/x": ""}}}},
		`"a b" is no variable name`:     {Nodes: []nodes.Node{{Name: "a", Vars: map[string]string{"a b": ""}}}},
	} {
		t.Run(want, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "bench")
			_, err := nodes.Up(t.Context(), dir, spec)
			assert.ErrorContains(t, err, want)
			assert.NoDirExists(t, dir)
		})
	}
}

func TestUpCleansAfterItself(t *testing.T) {
	needRoot(t)
	for want, spec := range map[string]nodes.Spec{
		"no IPv4 network of /8 to /22":           {Network: "10.77.0.0/24", Nodes: []nodes.Node{{Name: "a"}}},
		"Bad configuration option: NoSuchOption": {Nodes: []nodes.Node{{Name: "a", SSHD: []string{"NoSuchOption yes"}}}},
	} {
		t.Run(want, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "bench")
			_, err := nodes.Up(t.Context(), dir, spec)
			assert.ErrorContains(t, err, want)
			assert.NoDirExists(t, dir)
		})
	}
	_, err := nodes.Up(context.Background(), filepath.Join(t.TempDir(), "a b"), nodes.Spec{Nodes: []nodes.Node{{Name: "a"}}})
	assert.ErrorContains(t, err, "choose a plain one")
	var missing *nodes.MissingError
	_, err = nodes.Up(context.Background(), filepath.Join(t.TempDir(), "x"), nodes.Spec{Nodes: []nodes.Node{{Name: "a", Shell: "no-such-shell"}}})
	assert.True(t, errors.As(err, &missing), "%v", err)
	_, err = nodes.Open(t.TempDir())
	assert.ErrorIs(t, err, os.ErrNotExist)
}
