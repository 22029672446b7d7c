package manifest

import (
	"slices"

	"github.com/nestor-tools/nestor/contract/kube"
	"github.com/nestor-tools/nestor/contract/yamldoc"
)

// Policy is what a NetworkPolicy says of traffic that comes in.
type Policy struct {
	kube.Object
	pods    selector
	Ingress bool // it isolates the pods that it selects
	rules   []ingressRule
}

type ingressRule struct {
	outside bool // traffic from outside of the cluster may come in
	ports   []policyPort
}

type policyPort struct {
	protocol string
	from, to int    // 0, 0: by name, or every port
	name     string // a port of the container
}

type selector struct {
	labels      map[string]string
	expressions []expression
}

type expression struct {
	key, operator string
	values        []string
}

// Selects tells whether the policy applies to pods with these labels.
func (p Policy) Selects(pod map[string]string) bool {
	for k, v := range p.pods.labels {
		if pod[k] != v {
			return false
		}
	}
	for _, e := range p.pods.expressions {
		value, has := pod[e.key]
		switch e.operator {
		case "In":
			if !has || !slices.Contains(e.values, value) {
				return false
			}
		case "NotIn":
			if has && slices.Contains(e.values, value) {
				return false
			}
		case "Exists":
			if !has {
				return false
			}
		case "DoesNotExist":
			if has {
				return false
			}
		}
	}
	return true
}

// Opens tells whether the policy lets traffic from outside of the cluster
// reach a container port, of which name may be empty.
func (p Policy) Opens(protocol string, number int, name string) bool {
	return slices.ContainsFunc(p.rules, func(rule ingressRule) bool {
		return rule.outside && (len(rule.ports) == 0 || slices.ContainsFunc(rule.ports, func(pp policyPort) bool {
			if pp.protocol != protocol {
				return false
			}
			if pp.name != "" {
				return pp.name == name
			}
			return pp.from == 0 || (pp.from <= number && number <= pp.to)
		}))
	})
}

func (r *reader) policy(o kube.Object, n yamldoc.Node) {
	spec := n.Get("spec")
	p := Policy{Object: o, Ingress: true, pods: selector{labels: labels(spec.Get("podSelector", "matchLabels"))}}
	for e := range spec.Get("podSelector", "matchExpressions").Items() {
		x := expression{key: e.Get("key").Text(), operator: e.Get("operator").Text()}
		for v := range e.Get("values").Items() {
			x.values = append(x.values, v.Text())
		}
		p.pods.expressions = append(p.pods.expressions, x)
	}
	if types := spec.Get("policyTypes"); types.Kind() == yamldoc.Sequence {
		p.Ingress = false
		for t := range types.Items() {
			p.Ingress = p.Ingress || t.Text() == "Ingress"
		}
	}
	for rule := range spec.Get("ingress").Items() {
		x := ingressRule{outside: true}
		for from := range rule.Get("from").Items() {
			// traffic through a node port comes from an address, never from a pod
			if x.outside = from.Get("ipBlock").Kind() == yamldoc.Mapping; x.outside {
				break
			}
		}
		for port := range rule.Get("ports").Items() {
			pp := policyPort{protocol: protocol(port.Get("protocol"))}
			if number, ok := port.Get("port").Int(); ok {
				pp.from, pp.to = number, number
				if end, ok := port.Get("endPort").Int(); ok {
					pp.to = end
				}
			} else {
				pp.name = port.Get("port").Text()
			}
			x.ports = append(x.ports, pp)
		}
		p.rules = append(p.rules, x)
	}
	r.tree.Policies = append(r.tree.Policies, p)
}
