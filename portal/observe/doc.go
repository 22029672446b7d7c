// Package observe reads of a cluster what the portal judges: its Services,
// EndpointSlices and Nodes, and on demand the Pods that hold ports of a node.
//
//	observer, err := observe.New(config, observe.Options{})
//	go observer.Run(ctx)
//	<-observer.Settled()
//	snapshot := observer.Snapshot() // immutable; Changed tells of the next one
//
// It lists and watches with the reflector of client-go, the part of its
// informers that talks to the server, and keeps of each object the few fields
// that a [portal.Snapshot] has. What could not be read is a state of its
// resource in the snapshot, never an absence: refused, not read yet, or stale
// since the last sign of life. Every such state ends by itself when the server
// answers again.
//
// It reads no Secret. It asks the server whether it could, since it should not.
package observe
