// Package cluster turns what the Kubernetes API said into the API half of a
// topology: what the cluster is made of, where it keeps data, how it is
// reached, and what of it is not well.
//
//	half := cluster.Map(cluster.Snapshot{
//		Deployments: fact.Present([]cluster.Workload{{
//			Kind: "Deployment", Namespace: "argocd", Name: "argocd-server",
//			Containers: []cluster.Container{{Image: "quay.io/argoproj/argocd:v3.1.0"}},
//		}}),
//	})
//	half.Catalog.Value[0].Name    // argo-cd
//	half.Catalog.Value[0].Version // v3.1.0
//
// It is pure, and has types of its own: reading the API is the caller's. It
// refuses nothing: a resource that could not be read is listed in
// API.Unread with the reason, what rests on it alone is denied or unknown, and
// the rest loses nothing. What the catalogue of this package does not know is
// in Unknown, never left out.
package cluster

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/mapping/fact"
)

// Observed is a fact: a value, or why there is none. See package fact.
type Observed[T any] = fact.Observed[T]

// Cluster is the API half of a topology. The order of its lists rests on
// names alone.
type Cluster struct {
	Catalog    Observed[[]Component] `json:"catalog"` // the components that this package knows, by name
	Layers     Observed[[]Layer]     `json:"layers"`  // from the bottom up
	Storage    Storage               `json:"storage"`
	Exposition Observed[[]Exposure]  `json:"exposition"` // the ways in from outside
	Unknown    Observed[[]Object]    `json:"unknown"`    // what the catalogue does not know
	Health     Health                `json:"health"`
}

// API is the server that was asked.
type API struct {
	Version   Observed[string] `json:"version"`    // of Kubernetes: v1.35.4
	ClusterID Observed[string] `json:"cluster_id"` // the uid of the namespace kube-system: another one is another cluster
	Unread    []Unread         `json:"unread"`     // by resource
}

// Unread is a resource that could not be read.
type Unread struct {
	Resource string     `json:"resource"` // its plural: deployments
	State    fact.State `json:"state"`    // denied or unknown
	Why      string     `json:"why"`
}

// Component is a platform component that was recognised.
type Component struct {
	Name       string           `json:"name"`
	Layer      string           `json:"layer"`
	Version    Observed[string] `json:"version"`              // the tag of its image, several with ", " between
	Namespaces []string         `json:"namespaces,omitempty"` // where its workloads are
	Workloads  []string         `json:"workloads,omitempty"`  // Deployment argocd/argocd-server
	CRDGroups  []string         `json:"crd_groups,omitempty"` // without workloads it may be a leftover
}

// Layer is one layer of the platform.
type Layer struct {
	Name       string   `json:"name"`
	Components []string `json:"components"`
	Namespaces []string `json:"namespaces"`
	CRDGroups  []string `json:"crd_groups"`
}

// Object is one object, by its place.
type Object struct {
	Kind      string   `json:"kind"` // Deployment, Namespace, APIGroup, Provisioner, ...
	Namespace string   `json:"namespace,omitempty"`
	Name      string   `json:"name"`
	State     string   `json:"state,omitempty"`  // what is not well, in one word
	Images    []string `json:"images,omitempty"` // of an unknown workload
}

// Map makes the API half of what was read.
func Map(s Snapshot) Cluster {
	known := recognise(s)
	return Cluster{
		Catalog:    known.catalog(),
		Layers:     known.layers(),
		Storage:    storage(s.StorageClasses),
		Exposition: exposition(s),
		Unknown:    known.unknown(),
		Health:     health(s),
	}
}

// About is the server that gave the snapshot.
func About(s Snapshot) API {
	a := API{Version: s.Version, Unread: []Unread{}}
	a.ClusterID = fact.Then(s.Namespaces, func(all []Namespace) (string, error) {
		for _, n := range all {
			if n.Name == "kube-system" && n.UID != "" {
				return n.UID, nil
			}
		}
		return "", errNoSystem
	})
	for resource, state := range s.states() {
		if state.State == fact.IsDenied || state.State == fact.IsUnknown {
			a.Unread = append(a.Unread, Unread{Resource: resource, State: state.State, Why: state.Why})
		}
	}
	slices.SortFunc(a.Unread, func(x, y Unread) int { return strings.Compare(x.Resource, y.Resource) })
	return a
}

// Sources are the resources that a part of the API half rests on, by its name
// in JSON: where one of them is unread, nobody can tell what is missing there.
func Sources(part string) []string {
	workloads := []string{"cronjobs", "daemonsets", "deployments", "statefulsets"}
	switch part {
	case "catalog":
		return append(workloads, "customresourcedefinitions")
	case "layers":
		return append(workloads, "customresourcedefinitions", "namespaces")
	case "exposition":
		return append(append(workloads, "services"), wayNames()...)
	case "unknown":
		return append(workloads, "customresourcedefinitions", "namespaces", "storageclasses")
	case "health":
		return append(workloads, "nodes", "persistentvolumeclaims")
	}
	return nil
}

// sum is a list that rests on several sources: present when one of them was
// read. An empty one is known to be empty only when all were.
func sum[T any](list []T, sources ...Observed[none]) Observed[[]T] {
	order := []fact.State{fact.IsPresent, fact.IsDenied, fact.IsUnknown, fact.IsAbsent}
	if len(list) == 0 {
		order = []fact.State{fact.IsDenied, fact.IsUnknown, fact.IsPresent, fact.IsAbsent}
	}
	for _, state := range order {
		for _, s := range sources {
			switch {
			case s.State != state:
			case state == fact.IsPresent:
				return fact.Present(list)
			default:
				return Observed[[]T]{State: s.State, Why: s.Why}
			}
		}
	}
	return fact.Unknown[[]T]("nothing was asked")
}

// none is the value of a source whose state alone counts.
type none struct{}

func stateOf[T any](o Observed[T]) Observed[none] {
	return fact.Then(o, func(T) (none, error) { return none{}, nil })
}

// keys are a set's members in order; never nil, so that JSON has a list.
func keys(set map[string]bool) []string {
	return slices.AppendSeq(make([]string, 0, len(set)), slices.Values(slices.Sorted(maps.Keys(set))))
}

// byPlace orders objects by kind, namespace and name.
func byPlace(a, b Object) int {
	return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}
