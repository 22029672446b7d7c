package main

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/nodes"
)

// The first signal stops the asking, and what is there is printed; the second
// waits for no node's word.
func TestSignalsToDiscover(t *testing.T) {
	b := nodes.Start(t, nodes.Spec{Fast: true, Nodes: []nodes.Node{
		{Name: "quick1", Files: map[string]string{"/usr/local/sbin/lsblk": "#!/bin/sh\ntouch /begun; exit 1\n"}},
		{Name: "slow1", Files: map[string]string{"/usr/local/sbin/lsblk": "#!/bin/sh\ntouch /begun; sleep 600\n"}},
	}})
	for name, signals := range map[string]int{"once": 1, "twice": 2} {
		t.Run(name, func(t *testing.T) {
			wait := whenBegun(t, b, []string{"slow1", "quick1"}, func() {
				assert.Eventually(t, func() bool { return leftovers(t, b, "quick1") == "" }, time.Minute, 100*time.Millisecond)
				time.Sleep(time.Second) // its answer is on its way
				if signals == 2 {
					assert.NoError(t, b.LinkDown(t.Context(), "slow1")) // it can no longer answer
				}
				raise(t, syscall.SIGINT)
				if signals == 2 {
					time.Sleep(300 * time.Millisecond) // one signal after the other
					raise(t, syscall.SIGINT)
				}
			})
			got := nestor(t, "discover", "-i", b.InventoryPath, "--timeout", "5m")
			wait()
			if signals == 2 {
				require.NoError(t, b.LinkUp(t.Context(), "slow1"))
			}
			assert.Equal(t, exitUnevaluated, got.code, got.stderr)
			assert.Contains(t, got.stderr, "nestor: stopping:")
			topology := topologyOf(t, got.out)
			require.Len(t, topology.Nodes, 2)
			assert.NotNil(t, topology.Nodes[0].Facts)
			assert.Nil(t, topology.Nodes[0].Error)
			require.NotNil(t, topology.Nodes[1].Error)
			assert.Equal(t, "canceled", topology.Nodes[1].Error.Kind)
			remote := map[int]string{1: "killed", 2: "unknown"}[signals]
			assert.Contains(t, topology.Nodes[1].Error.Message, "remote: "+remote)
			assert.Eventually(t, func() bool { return leftovers(t, b, "slow1") == "" }, time.Minute, 500*time.Millisecond)
		})
	}
}
