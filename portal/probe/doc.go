// Package probe sees whether each promised UI answers on its real address,
// http://<node-ip>:<nodePort>, from the machine that asks.
//
//	targets := probe.Plan(contract, snapshot, probe.PlanOptions{})
//	results := probe.Run(ctx, targets, probe.Options{Parallel: 16})
//	for _, r := range results {
//		fmt.Println(r.Endpoint, r.State, r.URL, r.Kind, r.Message)
//	}
//
// Plan is pure. Run connects, then speaks HTTP with the promised scheme: one
// GET, no credentials, no cookie, no proxy, a bounded answer, and a redirect is
// told, not followed. A certificate that browsers would refuse is told as well,
// and is no failure.
//
// It refuses to call an answer good that is none: HTTP that a port for TLS
// turned down, TLS where http is promised, an error page. Why there is no good
// answer is one of a closed list of Kinds.
package probe
