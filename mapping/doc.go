// Package mapping turns what a node's probe printed into facts, and the facts
// of all nodes into a topology.
//
//	out, err := probe.Parse(raw)
//	facts := mapping.FromProbe(out, mapping.Options{})
//	topology := mapping.NewTopology([]mapping.Node{{Name: "node1", Facts: &facts}})
//	yaml, err := topology.YAML()
//
// It is pure: bytes in, values out; no command, network, clock or
// environment. Each source (lsblk, mountinfo, os-release, ...) has a small
// package of its own below, with Parse(b []byte) (T, error). It never refuses
// a node: a source that cannot be read makes its own facts unknown or denied,
// with the reason, and no others.
//
// What changes by itself is left out, so that the same reality gives the same
// bytes: used memory and disk space, load, uptime, pids, link-local state,
// and the mounts of pods and containers.
package mapping
