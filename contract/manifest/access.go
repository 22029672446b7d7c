package manifest

import (
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/contract/kube"
	"github.com/nestor-tools/nestor/contract/yamldoc"
)

func (r *reader) rbac(o kube.Object, n yamldoc.Node) {
	switch o.Kind {
	case "Role", "ClusterRole":
		role := Role{Object: o}
		for rule := range n.Get("rules").Items() {
			if !role.ReadsSecrets && anyOf(rule.Get("apiGroups"), "", "*") && anyOf(rule.Get("resources"), "secrets", "*") && anyOf(rule.Get("verbs"), "get", "list", "watch", "*") {
				role.ReadsSecrets, role.SecretsAt = true, r.at(rule)
			}
		}
		r.tree.Roles = append(r.tree.Roles, role)
	case "RoleBinding", "ClusterRoleBinding":
		b := Binding{Object: o, Role: kube.Object{Kind: n.Get("roleRef", "kind").Text(), Name: n.Get("roleRef", "name").Text(), At: r.at(n.Get("roleRef"))}}
		for s := range n.Get("subjects").Items() {
			switch name := s.Get("name").Text(); s.Get("kind").Text() {
			case "Group":
				b.Groups = append(b.Groups, name)
			case "User": // an account goes by such a name as well
				if account, ok := strings.CutPrefix(name, "system:serviceaccount:"); ok {
					namespace, name, _ := strings.Cut(account, ":")
					b.Accounts = append(b.Accounts, kube.Object{Kind: "ServiceAccount", Namespace: namespace, Name: name, At: r.at(s)})
				}
			case "ServiceAccount":
				b.Accounts = append(b.Accounts, kube.Object{Kind: "ServiceAccount", Namespace: s.Get("namespace").Text(), Name: s.Get("name").Text(), At: r.at(s)})
			}
		}
		r.tree.Bindings = append(r.tree.Bindings, b)
	}
}

func anyOf(list yamldoc.Node, wanted ...string) bool {
	for item := range list.Items() {
		if slices.Contains(wanted, item.Text()) {
			return true
		}
	}
	return false
}

func (r *reader) ingress(o kube.Object, n yamldoc.Node) {
	r.backends(o, n.Get("spec"), 0)
}

// isL7Leftover tells the kinds of exposure through a gateway or a load
// balancer that plain node ports replace.
func isL7Leftover(group, kind string) bool {
	switch group {
	case "cilium.io":
		return kind == "CiliumLoadBalancerIPPool" || kind == "CiliumL2AnnouncementPolicy"
	case "metallb.io":
		return kind == "IPAddressPool" || kind == "L2Advertisement" || kind == "BGPAdvertisement"
	}
	return false
}

func (r *reader) leftover(o kube.Object, n yamldoc.Node) {
	if o.Kind == "ReferenceGrant" {
		return
	}
	r.tree.Leftovers = append(r.tree.Leftovers, o)
	r.backends(o, n.Get("spec"), 0)
}

// backends finds the Services that a route leads to, in every shape that
// Ingress and the Gateway API have had.
func (r *reader) backends(o kube.Object, n yamldoc.Node, depth int) {
	if depth > 12 {
		return
	}
	for key, value := range n.Pairs() {
		switch key.Text() {
		case "backendRefs":
			for ref := range value.Items() {
				if kind := ref.Get("kind").Text(); kind == "" || kind == "Service" {
					r.route(o, ref.Get("name"), ref.Get("namespace").Text())
				}
			}
		case "service":
			r.route(o, value.Get("name"), "")
		case "serviceName":
			r.route(o, value, "")
		}
		r.backends(o, value, depth+1)
	}
	for item := range n.Items() {
		r.backends(o, item, depth+1)
	}
}

func (r *reader) route(o kube.Object, service yamldoc.Node, namespace string) {
	if service.Kind() != yamldoc.Scalar {
		return
	}
	if namespace == "" {
		namespace = o.Namespace
	}
	r.tree.Routes = append(r.tree.Routes, Route{Object: o, Service: service.Text(), Namespace: namespace, At: r.at(service)})
}
