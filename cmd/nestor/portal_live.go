package main

import (
	"context"

	"github.com/nestor-tools/nestor/portal"
	"github.com/nestor-tools/nestor/portal/observe"
)

// liveSnapshot takes the snapshot of a cluster that runs.
func (c *cli) liveSnapshot(ctx context.Context, f clusterFlags) (*portal.Snapshot, error) {
	config, err := c.clusterConfig(f)
	if err != nil {
		return nil, err
	}
	return observe.Read(ctx, config, observe.Options{Pods: true})
}
