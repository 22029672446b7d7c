package main

import (
	"context"
	"errors"

	"github.com/nestor-tools/nestor/portal"
)

// liveSnapshot takes the snapshot of the cluster that the kubeconfig names.
func (c *cli) liveSnapshot(context.Context) (*portal.Snapshot, error) {
	return nil, errors.New("no --from: give it a snapshot, or what kubectl get svc,endpointslices,nodes,pods -A -o yaml wrote")
}
