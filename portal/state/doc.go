// Package state judges what runs in a cluster: every promise of the contract,
// every way in, and whether plain node ports are the only way.
//
//	snapshot := state.Snapshot{
//		Cluster: portal.Snapshot{Sources: ..., Services: ..., Pods: ...},
//		Kinds:   []state.Kind{{Group: "gateway.networking.k8s.io", Resource: "gateways", Kind: "Gateway", Objects: ...}},
//		Cilium:  state.Cilium{Config: map[string]string{"kube-proxy-replacement": "true"}, ...},
//	}
//	report := state.Judge(contract, &snapshot, state.Options{Today: today})
//	findings := report.Findings()
//
// It is pure: portal/observe reads a live cluster, ReadDump reads files.
//
// It refuses to call conform what was not read: each source that was refused,
// or failed, or was not asked for is a line of its own, and a finding.
package state
