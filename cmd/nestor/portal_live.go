package main

import (
	"context"

	"github.com/nestor-tools/nestor/portal"
	"github.com/nestor-tools/nestor/portal/observe"
)

// liveSnapshot takes the snapshot of the cluster that $KUBECONFIG names.
func (c *cli) liveSnapshot(ctx context.Context) (*portal.Snapshot, error) {
	config, err := c.clusterConfig("", "")
	if err != nil {
		return nil, err
	}
	return observe.Read(ctx, config, observe.Options{Pods: true})
}
