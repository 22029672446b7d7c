// Package portal turns a contract and what was observed of a cluster into what
// people want to know of each web UI: its true http://<node-ip>:<nodePort>, and
// a verdict with its reason, its evidence and the command that would mend it.
//
//	snapshot := portal.Snapshot{
//		Sources:  map[portal.Resource]portal.Source{portal.Services: {State: portal.Synced}, ...},
//		Services: ..., Slices: ..., Nodes: ...,
//	}
//	view := portal.Judge(contract, &snapshot, portal.Options{Today: today})
//	err := portal.Page(w, &view, portal.PageOptions{Lang: portal.French})
//
// It is pure: portal/observe takes the snapshot of a live cluster, ReadDump
// that of a file, portal/serve shows the page.
//
// It refuses to guess: a URL is given only where it was observed, what could
// not be read is UNKNOWN, never MISSING, and no value of a Secret is ever read.
package portal
