package nodeexectest_test

import (
	"context"
	"fmt"
	"testing"

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
