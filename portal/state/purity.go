package state

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/portal"
	"github.com/nestor-tools/nestor/portal/internal/kubectl"
)

// residues looks for objects of the ways that node ports replace.
func (j *judge) residues() []Line {
	var lines []Line
	for _, f := range Families() {
		group, ok := j.snapshot.Groups[f.Group]
		if !ok {
			group.State = portal.NotAsked
		}
		if !whole(group) {
			lines = append(lines, j.unread(f.Name, "the kinds of "+f.Group, group))
		}
		var kinds []Kind
		for _, k := range j.snapshot.Kinds {
			if k.Group == f.Group && f.Wants(k.Kind) {
				kinds = append(kinds, k)
			}
		}
		if len(kinds) == 0 && whole(group) {
			lines = append(lines, Line{Status: NotApplicable, Subject: f.Name, Text: "not installed"})
			continue
		}
		slices.SortStableFunc(kinds, func(a, b Kind) int {
			return cmp.Or(removedAt(a.Kind)-removedAt(b.Kind), strings.Compare(a.Kind, b.Kind))
		})
		found := !whole(group)
		for _, k := range kinds {
			if !whole(k.Source) {
				found = true
				lines = append(lines, j.unread(f.Name, k.Resource, k.Source))
				continue
			}
			objects := slices.Clone(k.Objects)
			slices.SortFunc(objects, func(a, b Object) int {
				return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
			})
			for _, o := range objects {
				found = true
				lines = append(lines, j.residue(f, k, o))
			}
		}
		if !found {
			lines = append(lines, Line{Status: OK, Subject: f.Name, Text: "no " + f.What})
		}
	}
	return lines
}

// removedAt is the order in which objects go, so that none is made again by
// one that is left: what leads somewhere before what it hangs on.
func removedAt(kind string) int {
	switch {
	case strings.HasSuffix(kind, "Route") || strings.HasSuffix(kind, "Policy") || strings.HasSuffix(kind, "Advertisement"):
		return 0
	case strings.HasSuffix(kind, "ListenerSet"):
		return 1
	case kind == "GatewayClass":
		return 3
	}
	return 2
}

func (j *judge) residue(f Family, k Kind, o Object) Line {
	what := k.Kind + " " + qualified(o.Namespace, o.Name)
	resource := k.Resource
	if k.Group != "networking.k8s.io" {
		resource += "." + k.Group // other groups have gateways too
	}
	command := kubectl.Delete(resource, o.Namespace, o.Name)
	if a, over := j.accepting(speaksOf(k.Kind, o.Namespace, o.Name)); a != nil {
		return j.accepted(a, over, f.Name, what, command)
	}
	at := contract.Position(j.contract.AcceptList.At)
	at.File = j.contract.File
	l := Line{Status: Drift, Subject: f.Name, Text: what + " is left", Command: command,
		Remedy: fmt.Sprintf("and what makes it; or accept it under accept: in %s, with an until date", j.contract.File)}
	return l.with("l4-residue", "", at)
}

// setting is one line of Cilium's configuration.
type setting struct {
	key, subject string
	on           bool   // as it must be
	values       string // of Cilium's chart
}

var settings = []setting{
	{"kube-proxy-replacement", "kube-proxy replacement", true, "kubeProxyReplacement=true, with k8sServiceHost and k8sServicePort"},
	{"enable-gateway-api", "Gateway API", false, "gatewayAPI.enabled=false"},
	{"enable-ingress-controller", "Ingress controller", false, "ingressController.enabled=false"},
	{"enable-l2-announcements", "L2 announcements", false, "l2announcements.enabled=false"},
}

// cilium judges what Cilium was configured with. Its LB-IPAM is on by default
// and does nothing without a pool: the pools are looked for instead.
func (j *judge) cilium() []Line {
	c := j.snapshot.Cilium
	switch {
	case c.Source.State == "":
		c.Source.State = portal.NotAsked
		fallthrough
	case !whole(c.Source):
		return []Line{j.unread("Cilium", "ConfigMap "+ConfigMap, c.Source)}
	case c.Namespace == "":
		return []Line{{Status: NotApplicable, Subject: "Cilium", Text: "not installed: there is no ConfigMap " + ConfigMap}}
	}
	var lines []Line
	for _, s := range settings {
		value, set := c.Config[s.key]
		value = strings.TrimSpace(value)
		on, known := isOn(value)
		shown := fmt.Sprintf("%s is %q", s.key, value)
		if !set {
			shown = s.key + " is not set, which is off"
		}
		if known && on == s.on {
			lines = append(lines, Line{Status: OK, Subject: s.subject, Text: shown})
			continue
		}
		want := map[bool]string{true: "true", false: "false"}[s.on]
		var command string
		if !s.on {
			command = kubectl.Command("patch configmap", c.Namespace, ConfigMap, "--type", "merge", "-p", fmt.Sprintf(`{"data":{%q:"false"}}`, s.key))
		}
		if a, over := j.accepting(speaksOf("ConfigMap", c.Namespace, ConfigMap)); a != nil {
			lines = append(lines, j.accepted(a, over, s.subject, shown, command))
			continue
		}
		at := contract.Position(j.contract.AcceptList.At)
		at.File = j.contract.File
		l := Line{Status: Drift, Subject: s.subject, Text: shown + ", and must be " + want, Command: command,
			Remedy: "set " + s.values + " in the values that Cilium is installed with, and restart its agents and operator"}
		lines = append(lines, l.with("l4-cilium", "", at))
	}
	return lines
}

// isOn reads a switch of Cilium's. Before 1.14 kube-proxy-replacement had
// words of its own: strict was the whole of it, probe and partial a part.
func isOn(value string) (on, known bool) {
	switch strings.ToLower(value) {
	case "true", "strict":
		return true, true
	case "false", "", "disabled":
		return false, true
	}
	return false, false
}
