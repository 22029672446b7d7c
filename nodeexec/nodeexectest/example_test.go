package nodeexectest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
	"github.com/nestor-tools/nestor/nodeexec/nodeexectest"
)

func ExampleNode() {
	node := &nodeexectest.Node{NodeName: "node1", Answer: func(c nodeexectest.Call) nodeexectest.Reply {
		if c.Argv[0] == "hostname" {
			return nodeexectest.Reply{Stdout: "node1\n"}
		}
		return nodeexectest.Reply{Stderr: c.Argv[0] + ": not found\n", ExitCode: 127}
	}}
	res, err := node.Run(context.Background(), nodeexec.Command{Argv: []string{"hostname"}})
	fmt.Print(res.Stdout)
	fmt.Println(err)
	// Output:
	// node1
	// <nil>
}

// An importer's test: three lines of bash are a node.
func TestStubShim(t *testing.T) {
	shim := nodeexectest.StubShim(t, `case "$*" in
*lsblk*) printf '{"blockdevices": []}' ;;
*) echo "$1 knows no such command" >&2; exit 127 ;; esac`)
	node := nodeexec.Open(inventory.Target{Node: "node1", Transport: inventory.TransportSSH, Host: "192.0.2.1"}, nodeexec.Options{Shim: shim})

	res, err := node.Run(context.Background(), nodeexec.Command{Argv: []string{"lsblk", "--json"}})
	require.NoError(t, err)
	assert.Equal(t, `{"blockdevices": []}`, res.Stdout.String())

	res, err = node.Run(context.Background(), nodeexec.Command{Argv: []string{"reboot"}})
	require.NoError(t, err)
	assert.Equal(t, 127, res.ExitCode)
	assert.Equal(t, "node1 knows no such command\n", res.Stderr.String())
}

// A stub may read its stdin, as a command would.
func TestStubShimStdin(t *testing.T) {
	shim := nodeexectest.StubShim(t, `tr a-z A-Z; echo end`)
	node := nodeexec.Open(inventory.Target{Node: "node1", Transport: inventory.TransportSSH, Host: "192.0.2.1"}, nodeexec.Options{Shim: shim})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	res, err := node.Run(ctx, nodeexec.Command{Argv: []string{"x"}})
	require.NoError(t, err)
	assert.Equal(t, "end\n", res.Stdout.String())
	res, err = node.Run(ctx, nodeexec.Command{Argv: []string{"x"}, Stdin: strings.NewReader("abc\n")})
	require.NoError(t, err)
	assert.Equal(t, "ABC\nend\n", res.Stdout.String())
}

// What fails on a real node without being sent fails alike on a fake one.
func TestNodeFailsAsRealOnesDo(t *testing.T) {
	late, cancel := context.WithTimeout(context.Background(), 0)
	defer cancel()
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	for name, n := range map[string]nodeexec.Runner{
		"real": nodeexec.Open(inventory.Target{Node: "node1", Transport: inventory.TransportLocal}, nodeexec.Options{}),
		"fake": &nodeexectest.Node{NodeName: "node1"},
	} {
		_, err := n.Run(late, nodeexec.Command{Argv: []string{"true"}})
		assert.ErrorIs(t, err, context.DeadlineExceeded, name)
		assert.Equal(t, nodeexec.KindDeadline, nodeexec.KindOf(err), name)
		_, err = n.Run(canceled, nodeexec.Command{Argv: []string{"true"}})
		assert.Equal(t, nodeexec.KindCanceled, nodeexec.KindOf(err), name)
		_, err = n.Run(context.Background(), nodeexec.Command{})
		assert.Equal(t, nodeexec.KindInvalid, nodeexec.KindOf(err), name)
		assert.EqualError(t, err, "node1: no command", name)
	}
}

func TestNodeKeepsStderrBesideAWriter(t *testing.T) {
	var to strings.Builder
	n := &nodeexectest.Node{Answer: func(nodeexectest.Call) nodeexectest.Reply { return nodeexectest.Reply{Stderr: "oops\n"} }}
	res, err := n.Run(context.Background(), nodeexec.Command{Argv: []string{"x"}, Stderr: &to})
	require.NoError(t, err)
	assert.Equal(t, "oops\n", res.Stderr.String())
	assert.Equal(t, "oops\n", to.String())
}
