package cluster

import (
	"slices"

	"github.com/nestor-tools/nestor/mapping/fact"
)

// Health is what is not well, by name; an empty list: all is. How many
// replicas are ready, and since when, changes by itself and is left out.
type Health struct {
	Nodes     Observed[[]Object] `json:"nodes"`     // not Ready, cordoned, or under pressure
	Volumes   Observed[[]Object] `json:"volumes"`   // claims that are not Bound
	Workloads Observed[[]Object] `json:"workloads"` // with fewer pods ready than wanted
}

func health(s Snapshot) Health {
	return Health{
		Nodes: fact.Then(s.Nodes, func(all []Node) ([]Object, error) {
			return unwell(all, func(n Node) Object { return Object{Kind: "Node", Name: n.Name, State: n.trouble()} }), nil
		}),
		Volumes: fact.Then(s.Claims, func(all []Claim) ([]Object, error) {
			return unwell(all, func(c Claim) Object {
				o := Object{Kind: "PersistentVolumeClaim", Namespace: c.Namespace, Name: c.Name}
				if c.Phase != "Bound" {
					o.State = word(c.Phase, "unknown")
				}
				return o
			}), nil
		}),
		Workloads: workloadHealth(s),
	}
}

func workloadHealth(s Snapshot) Observed[[]Object] {
	all, states := s.workloads()
	return sum(unwell(all, func(w Workload) Object {
		o := Object{Kind: w.Kind, Namespace: w.Namespace, Name: w.Name}
		if w.Ready < w.Wanted {
			o.State = "not-ready"
		}
		return o
	}), states...)
}

// unwell lists the objects that have a state.
func unwell[T any](all []T, object func(T) Object) []Object {
	list := []Object{}
	for _, v := range all {
		if o := object(v); o.State != "" {
			list = append(list, o)
		}
	}
	slices.SortFunc(list, byPlace)
	return list
}

// trouble is the worst that a node says of itself, in one word; "" when all
// is well. A node whose kubelet is gone is Ready "Unknown".
func (n Node) trouble() string {
	switch n.Conditions["Ready"] {
	case "True":
	case "False":
		return "not-ready"
	default:
		return "unknown"
	}
	for _, pressure := range []string{"DiskPressure", "MemoryPressure", "PIDPressure", "NetworkUnavailable"} {
		if n.Conditions[pressure] == "True" {
			return pressure
		}
	}
	if n.Unschedulable {
		return "cordoned"
	}
	return ""
}

func word(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
