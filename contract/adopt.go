package contract

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/contract/kube"
	"github.com/nestor-tools/nestor/contract/manifest"
)

// Adopt gives accept entries for what is exposed, or left of the way through
// a gateway, or cannot be evaluated, and that the contract says nothing of:
// a baseline, each entry with the reason TODO. The machinery of the cluster
// needs none. What has no name yet, only a generateName, no entry can name:
// unnamed says where it is.
func Adopt(s *Set, tree *manifest.Tree, o Options) (all []Accept, unnamed []Position) {
	c := &checker{Set: s, tree: tree, Options: o, used: map[*Accept]bool{}, over: map[*Accept][]Position{}}
	c.matching = Match(s.Contract, World{tree.Services, tree.Workloads, o.Prefix}, o.Today)
	seen := map[Accept]bool{}
	add := func(a Accept, at kube.Position) {
		a.Reason = "TODO"
		switch {
		case a.Name == "":
			if !slices.Contains(unnamed, pos(at)) {
				unnamed = append(unnamed, pos(at))
			}
		case !seen[a]:
			seen[a] = true
			a.At = pos(at)
			all = append(all, a)
		}
	}
	whole := map[[2]string]bool{}
	for _, j := range c.matching.Exposures {
		if j.Kind == kube.HostNetwork && !j.Wanted() && !c.spokenOf(j.Exposure) {
			whole[[2]string{j.Namespace, j.Name}] = true
			add(Accept{Kind: string(j.Kind), Namespace: j.Namespace, Name: j.Name}, j.Source)
		}
	}
	for _, j := range c.matching.Exposures {
		if j.Wanted() || c.spokenOf(j.Exposure) || j.Kind == kube.HostNetwork || (j.Kind == kube.HostPort && whole[[2]string{j.Namespace, j.Name}]) {
			continue
		}
		port := j.Port
		if j.Kind == kube.HostPort {
			port = j.NodePort
		}
		add(Accept{Kind: string(j.Kind), Namespace: j.Namespace, Name: j.Name, Port: port}, j.Source)
	}
	for _, o := range tree.Leftovers {
		if c.accepted(o, o.At) == nil {
			add(Accept{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}, o.At)
		}
	}
	file := func(name string, at kube.Position) {
		if c.accepted(kube.Object{}, at) == nil {
			add(Accept{Kind: "File", Name: strings.TrimPrefix(name, c.Prefix+"/")}, at)
		}
	}
	for _, e := range tree.Elsewhere {
		if e.By != manifest.ByValues && !c.promisedElsewhere(e) && c.accepted(e.Target, e.At, "NodePort", "LoadBalancer", "HostPort", "HostNetwork") == nil {
			file(e.At.File, e.At)
		}
	}
	for _, o := range tree.Charts {
		if o.Kind == "Chart" {
			file(path.Dir(o.At.File), o.At)
		}
	}
	for _, p := range tree.Problems {
		if p.Kind != manifest.Field {
			file(p.At.File, p.At)
		}
	}
	return all, unnamed
}

// AcceptText writes entries as they stand under accept: in the contract, after
// so many blanks, each with the place that it comes from.
func AcceptText(all []Accept, indent int) []byte {
	var t bytes.Buffer
	margin := strings.Repeat(" ", indent)
	for _, a := range all {
		fmt.Fprintf(&t, "%s- kind: %s # %s\n", margin, scalar(a.Kind), oneLine(place(a.At)))
		if a.Namespace != "" {
			fmt.Fprintf(&t, "%s  namespace: %s\n", margin, scalar(a.Namespace))
		}
		fmt.Fprintf(&t, "%s  name: %s\n", margin, scalar(a.Name))
		if a.Port != 0 {
			fmt.Fprintf(&t, "%s  port: %d\n", margin, a.Port)
		}
		fmt.Fprintf(&t, "%s  reason: %s\n", margin, scalar(a.Reason))
		if !a.Until.IsZero() {
			fmt.Fprintf(&t, "%s  until: %s\n", margin, a.Until.Format("2006-01-02"))
		}
	}
	return t.Bytes()
}

// Allowed is one line of the allowlist: an exposing Service, or a port that
// pods hold on the node.
type Allowed struct {
	Kind      kube.ExposureKind `json:"kind"`
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Port      int               `json:"port,omitempty"` // of the node; for HostPort alone
	Protocol  string            `json:"protocol,omitempty"`
	By        string            `json:"by"` // the endpoint, or "accept"
}

// Allowlist gives what may be exposed according to the contract: for each
// Service one entry, for each hostPort one. Accept entries count even where
// the manifests have nothing of the kind: the live cluster may.
func Allowlist(s *Set, tree *manifest.Tree, o Options) []Allowed {
	seen := map[Allowed]bool{}
	for _, j := range Match(s.Contract, World{tree.Services, tree.Workloads, o.Prefix}, o.Today).Exposures {
		a := Allowed{Kind: j.Kind, Namespace: j.Namespace, Name: j.Name, By: j.Endpoint}
		if j.Accept != nil {
			a.By = "accept"
		}
		if j.Kind == kube.HostPort {
			a.Port, a.Protocol = j.NodePort, j.Protocol
		}
		if a.By != "" {
			seen[a] = true
		}
	}
	all := slices.Collect(maps.Keys(seen))
	for _, accept := range s.Accept {
		a := Allowed{Kind: exposureKind(accept.Kind), Namespace: accept.Namespace, Name: accept.Name, By: "accept"}
		if a.Kind == kube.HostPort {
			a.Port, a.Protocol = accept.Port, "TCP"
		}
		known := slices.ContainsFunc(all, func(b Allowed) bool {
			return b.Kind == a.Kind && b.Namespace == a.Namespace && b.Name == a.Name && (b.Port == a.Port || a.Port == 0)
		})
		if a.Kind != "" && a.Name != "" && !known && !accept.Expired(o.Today) {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b Allowed) int {
		return cmp.Or(strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name),
			cmp.Compare(a.Port, b.Port), strings.Compare(a.Protocol, b.Protocol), strings.Compare(a.By, b.By))
	})
	return all
}

// exposureKind reads the kind of an accept entry, "" where it is not that of
// an exposure.
func exposureKind(text string) kube.ExposureKind {
	for _, kind := range []kube.ExposureKind{kube.NodePort, kube.LoadBalancerExposure, kube.ExternalIP, kube.HostPort, kube.HostNetwork} {
		if strings.EqualFold(text, string(kind)) {
			return kind
		}
	}
	return ""
}
