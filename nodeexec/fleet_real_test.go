package nodeexec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/nestor-tools/nestor/bench/nodes"
	"github.com/nestor-tools/nestor/nodeexec"
)

// The jump host turns away every connection beyond eight that are not through
// with authentication, and says so in its log.
func TestFleetThroughARealJumpHost(t *testing.T) {
	spec := nodes.Spec{Fast: true, Nodes: []nodes.Node{{Name: "jump", SSHD: []string{"MaxStartups 9:100:9"}}}}
	for i := range 24 {
		spec.Nodes = append(spec.Nodes, nodes.Node{Name: fmt.Sprint("inner", i), Behind: "jump"})
	}
	f := startFleet(t, spec)
	var fleet nodeexec.Fleet
	for _, n := range spec.Nodes {
		fleet.Nodes = append(fleet.Nodes, f.cold(t, n.Name))
	}
	for _, o := range fleet.RunAll(t.Context(), same("hostname")) {
		assert.NoError(t, o.Err)
		assert.Equal(t, o.Node, strings.TrimSpace(o.Result.Stdout.String()))
	}
	assert.NotContains(t, f.Log("jump"), "MaxStartups")

	// Without the limit it does turn some away; those are tried again.
	fleet.PerJump = len(fleet.Nodes)
	fleet.RunAll(t.Context(), same("hostname"))
	assert.Contains(t, f.Log("jump"), "MaxStartups")
}
