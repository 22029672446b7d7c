package nodeexec_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
	"github.com/nestor-tools/nestor/nodeexec/nodeexectest"
)

// A shim that speaks the records and then loses one stream's end, as a
// connection that breaks in its last moment does.
func TestAStreamThatIsCutAtTheEndIsNoResult(t *testing.T) {
	const begin = `n=nestor:${NODE_EXEC_WRAP%%:*}; echo "$n:start:1"; echo "$n:start:1" >&2; echo out; echo err >&2; `
	for script, kind := range map[string]nodeexec.Kind{
		begin + `echo "$n:end:0"; echo "$n:end:0" >&2`: "",
		begin + `echo "$n:end:0"`:                      nodeexec.KindLost,
		begin + `echo "$n:end:0" >&2`:                  nodeexec.KindLost,
		begin:                                          nodeexec.KindLost,
	} {
		node := nodeexec.Open(inventory.Target{Node: "n", Transport: inventory.TransportSSH, Host: "192.0.2.1"}, nodeexec.Options{Shim: nodeexectest.StubShim(t, script)})
		res, err := node.Run(t.Context(), nodeexec.Command{Argv: []string{"true"}})
		assert.Equal(t, kind, nodeexec.KindOf(err), script)
		assert.Equal(t, "out\n", res.Stdout.String())
		assert.Equal(t, "err\n", res.Stderr.String())
	}
}
