package contract

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/contract/kube"
	"github.com/nestor-tools/nestor/contract/manifest"
)

// credential looks for a misspelt Secret: what is versioned does not name it
// and names one that is almost the same. A Secret that nothing names may well
// be made by a program.
func (c *checker) credential(e *Endpoint) {
	name := e.Credential.Secret
	if name == "" || c.Platform.names(name) {
		return
	}
	var near *kube.Object
	look := func(o kube.Object) bool {
		if !kube.SameNamespace(o.Namespace, e.Namespace) {
			return false
		}
		if near == nil && distance(o.Name, name) <= 2 {
			near = &o
		}
		return o.Name == name
	}
	for _, s := range c.tree.Secrets {
		if look(s.Object) {
			return
		}
	}
	if slices.ContainsFunc(c.tree.SecretRefs, look) || near == nil {
		return
	}
	c.report("credential-unknown", e.At("credential"), e.ID, fmt.Sprintf("nothing versioned names Secret %s in namespace %s, and Secret %s is named", name, e.Namespace, near.Name), "write secret: "+near.Name+", if that is the one", pos(near.At))
}

// distance is Levenshtein's, of short names.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// portalAccess reports roles that let the portal's account read Secrets: the
// portal shows commands, never values.
func (c *checker) portalAccess(p Promise) {
	e := p.Endpoint
	if p.Backend == nil {
		return
	}
	for _, w := range c.tree.Workloads {
		if !kube.SameNamespace(w.Namespace, e.Namespace) || !p.Backend.Selects(w.Labels) {
			continue
		}
		for _, b := range c.tree.Bindings {
			if !binds(b, w) {
				continue
			}
			if at, reads := c.readsSecrets(b); reads {
				c.report("portal-reads-secrets", pos(at), e.ID, fmt.Sprintf("%s %s lets ServiceAccount %s read Secrets through %s %s", b.Kind, b.Name, w.ServiceAccount, b.Role.Kind, b.Role.Name), "leave secrets out of the role", pos(b.At))
			}
		}
	}
}

// binds tells whether the binding is for the workload's account, by its name
// or by a group that holds it.
func binds(b manifest.Binding, w kube.Workload) bool {
	return slices.ContainsFunc(b.Accounts, func(a kube.Object) bool {
		return a.Name == w.ServiceAccount && kube.SameNamespace(a.Namespace, w.Namespace)
	}) || slices.ContainsFunc(b.Groups, func(group string) bool {
		return group == "system:serviceaccounts" || group == "system:authenticated" || group == "system:serviceaccounts:"+w.Namespace
	})
}

func (c *checker) readsSecrets(b manifest.Binding) (kube.Position, bool) {
	if b.Role.Kind == "ClusterRole" && slices.Contains([]string{"cluster-admin", "admin", "edit"}, b.Role.Name) {
		return b.Role.At, true
	}
	for _, r := range c.tree.Roles {
		if r.ReadsSecrets && r.Kind == b.Role.Kind && r.Name == b.Role.Name && (r.Kind == "ClusterRole" || kube.SameNamespace(r.Namespace, b.Namespace)) {
			return r.SecretsAt, true
		}
	}
	return kube.Position{}, false
}

// networkAccess checks that the entries name endpoints and files that exist.
// Older contracts write several ids and prose in one entry.
func (c *checker) networkAccess() {
	for _, a := range c.NetworkAccess {
		names := strings.FieldsFunc(a.Endpoint, func(r rune) bool { return r == ' ' || r == '/' || r == ',' })
		known := slices.ContainsFunc(c.Endpoints, func(e Endpoint) bool { return slices.Contains(names, e.ID) })
		switch {
		case !known:
			c.report("network-access", a.At, "", fmt.Sprintf("no endpoint is called %q", a.Endpoint), "write the id of an endpoint")
		case len(names) > 1:
			c.report("contract-note", a.At, "", fmt.Sprintf("%q is not one endpoint", a.Endpoint), "write one entry for each endpoint, and the rest under note:")
		}
		if a.Source != "" && !c.exists(a.Source) {
			c.report("network-access", a.At, "", fmt.Sprintf("source %s does not exist", a.Source), "write the file of the policy")
		}
	}
}
