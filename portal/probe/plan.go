package probe

import (
	"cmp"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/portal"
	"github.com/nestor-tools/nestor/portal/internal/kubectl"
)

// Target is one UI at one address, or the reason why there is none to try.
type Target struct {
	Endpoint string
	URL      string
	Node     string
	NotReady bool     // the node, according to the cluster
	Hints    []string // what the cluster says that would explain a failure
	// Result is what is known without trying; nil: it is to be tried.
	Result *Result
}

// PlanOptions of Plan.
type PlanOptions struct {
	Judge    portal.Options
	AllNodes bool // each Ready node in place of one
	Strict   bool // a UI that is not deployed is a failure
}

// mostNotReady bounds how many nodes are tried although none is Ready.
const mostNotReady = 3

// Plan says what to try for each exposed UI of the contract, in its order.
func Plan(c *contract.Contract, s *portal.Snapshot, o PlanOptions) []Target {
	if c == nil || s == nil {
		return nil
	}
	s = relevant(c, s)
	entries := judged(c, s, o.Judge)
	var ready, notReady []node
	for i, n := range s.Nodes {
		if n.Ready {
			ready = append(ready, node{&s.Nodes[i], nil})
		} else if len(notReady) < mostNotReady {
			notReady = append(notReady, node{&s.Nodes[i], nil})
		}
	}
	nodesRead := s.Sources[portal.Nodes].State == portal.Synced
	var targets []Target
	for i := range c.Endpoints {
		e := &c.Endpoints[i]
		if !e.Exposed {
			continue
		}
		entry := entries[e.ID]
		switch {
		case entry.Verdict == portal.NotExpected:
			targets = append(targets, known(entry, Skipped, OtherProfile, "it is of profile "+e.Profil))
		case entry.Verdict == portal.Missing:
			state := Skipped
			if o.Strict {
				state = Failed
			}
			targets = append(targets, known(entry, state, NotDeployed, last(entry)))
		case entry.URL == "" && nodesRead && len(ready) == 0 && len(notReady) > 0:
			targets = append(targets, onEach(c, s, o.Judge, entry, notReady)...)
		case entry.URL == "" && nodesRead && len(ready) == 0:
			t := known(entry, Failed, NoNode, "the cluster has no node")
			t.Result.Hints = []string{} // no pod is at fault
			targets = append(targets, t)
		case entry.URL != "" && o.AllNodes:
			targets = append(targets, onEach(c, s, o.Judge, entry, ready)...)
		case entry.URL != "":
			targets = append(targets, Target{Endpoint: e.ID, URL: entry.URL, Node: entry.Node, Hints: hints(entry)})
		case entry.Verdict == portal.Unknown:
			targets = append(targets, known(entry, Unknown, Unread, last(entry)))
		case entry.Reason == portal.ETPLocalEmpty, entry.Reason == portal.NoReadyEndpoint:
			targets = append(targets, known(entry, Failed, NotOnNode, last(entry)))
		default:
			targets = append(targets, known(entry, Failed, NotExposed, cmp.Or(doubts[entry.Reason], last(entry))))
		}
	}
	return targets
}

// relevant leaves out what no endpoint can need: a view is made for each node.
func relevant(c *contract.Contract, s *portal.Snapshot) *portal.Snapshot {
	wanted := map[string]bool{}
	for _, e := range c.Endpoints {
		wanted[e.Namespace] = wanted[e.Namespace] || e.Exposed
	}
	small := *s
	small.Services, small.Slices, small.Pods = nil, nil, nil
	for _, x := range s.Services {
		if wanted[x.Namespace] {
			small.Services = append(small.Services, x)
		}
	}
	for _, x := range s.Slices {
		if wanted[x.Namespace] {
			small.Slices = append(small.Slices, x)
		}
	}
	for _, x := range s.Pods {
		if wanted[x.Namespace] {
			small.Pods = append(small.Pods, x)
		}
	}
	return &small
}

func judged(c *contract.Contract, s *portal.Snapshot, o portal.Options) map[string]portal.Entry {
	entries := map[string]portal.Entry{}
	for _, layer := range portal.Judge(c, s, o).Layers {
		if layer.Name == portal.ExtraLayer || layer.Name == portal.SystemLayer {
			continue
		}
		for _, e := range layer.Entries {
			entries[e.ID] = e
		}
	}
	return entries
}

// node is one node and what the portal would show if it were the only one.
type node struct {
	*portal.Node
	entries map[string]portal.Entry
}

// onEach gives a target for each node: the portal's own view, were that node
// the only one, and Ready.
func onEach(c *contract.Contract, s *portal.Snapshot, o portal.Options, entry portal.Entry, nodes []node) []Target {
	o.AccessHosts = nil // they stand for no node in particular
	var targets []Target
	for i := range nodes {
		n := &nodes[i]
		if n.entries == nil {
			alone := *s
			only := *n.Node
			only.Ready = true
			alone.Nodes = []portal.Node{only}
			n.entries = judged(c, &alone, o)
		}
		there := n.entries[entry.ID]
		if there.URL == "" {
			t := known(entry, Skipped, NotOnNode, last(there))
			switch there.Reason {
			case portal.NoReachableNode:
				t = known(entry, Skipped, NotOnNode, "the node has no address of the Service's families that others can reach")
			case portal.ETPLocalEmpty, portal.NoReadyEndpoint:
			default:
				t = known(entry, Failed, NotExposed, cmp.Or(doubts[there.Reason], last(there)))
			}
			t.Node, t.Result.Node = n.Name, n.Name
			targets = append(targets, t)
			continue
		}
		targets = append(targets, Target{Endpoint: entry.ID, URL: there.URL, Node: n.Name, NotReady: !n.Ready, Hints: hints(there)})
	}
	return targets
}

func known(e portal.Entry, state State, kind Kind, message string) Target {
	hints := []string{}
	if e.Remedy != "" {
		hints = append(hints, e.Remedy)
	}
	return Target{Endpoint: e.ID, Result: &Result{Endpoint: e.ID, State: state, Kind: kind, Message: message, Hints: hints}}
}

// last is the evidence that a verdict ends with.
func last(e portal.Entry) string {
	if len(e.Evidence) == 0 {
		return string(e.Reason)
	}
	return e.Evidence[len(e.Evidence)-1].String()
}

// doubts are what the cluster says that keeps a UI from answering.
var doubts = map[portal.Reason]string{
	portal.NoReadyEndpoint:          "no pod behind it is ready",
	portal.ExposureSelectorMismatch: "the exposing Service selects no ready pod, though the endpoint's own does",
	portal.PolicyMayBlock:           "a NetworkPolicy of the manifests may block it",
	portal.PortMismatch:             "the Services do not agree about the port",
	portal.PortAmbiguous:            "several ports or Services could be meant",
	portal.TypeChanged:              "the exposing Service is no NodePort any more",
	portal.NoService:                "the endpoint's own Service does not exist",
}

func hints(e portal.Entry) []string {
	var all []string
	if text, ok := doubts[e.Reason]; ok {
		all = append(all, text+": "+cmp.Or(e.Remedy, last(e)))
	}
	return all
}

// policyHint is given where packets arrive nowhere although all seems well.
func policyHint(t Target) []string {
	if t.NotReady || len(t.Hints) > 0 {
		return nil
	}
	hint := "a NetworkPolicy or a firewall may block it"
	if command := kubectl.Explain(t.Endpoint); command != "" {
		hint += ": " + command
	}
	return []string{hint}
}
