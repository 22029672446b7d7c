// Package portal turns a contract and what was observed of a cluster into what
// people want to know of each web UI: its true http://<node-ip>:<nodePort>, and
// a verdict with its reason, its evidence and the command that would mend it.
//
//	snapshot := portal.Snapshot{Services: ..., Slices: ..., Nodes: ...}
//	view := portal.Judge(contract, &snapshot, portal.Options{Today: today})
//
// It is pure: portal/observe takes the snapshot, portal/serve shows the view.
//
// It refuses to guess: a URL is given only where it was observed, and what
// could not be read is UNKNOWN, never MISSING.
package portal
