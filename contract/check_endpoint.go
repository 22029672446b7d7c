package contract

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/contract/kube"
	"github.com/nestor-tools/nestor/contract/manifest"
)

// endpoint checks one promise. It stops at the first finding that makes the
// next ones follow from it: one defect, one finding.
func (c *checker) endpoint(p Promise) {
	e := p.Endpoint
	if want := e.Service + "." + e.Namespace + ".svc.cluster.local"; e.FQDN != "" && e.FQDN != want {
		c.report("fqdn-mismatch", e.At("fqdn"), e.ID, fmt.Sprintf("fqdn is %s, and %s in namespace %s is %s", e.FQDN, e.Service, e.Namespace, want), "write fqdn: "+want)
	}
	if e.Source != "" && !c.exists(e.Source) {
		c.report("source-missing", e.At("source"), e.ID, fmt.Sprintf("source %s does not exist", e.Source), "write the file or the folder that holds the endpoint's manifests")
		return
	}
	if !c.anchored(p) {
		return
	}
	c.ports(p)
	c.credential(e)
	if e.Service == "portal" || e.ID == "portal" || e.ID == "portal-ui" {
		c.portalAccess(p)
	}
	serving := p.Backend
	if e.Exposed || e.Exposure != (Exposing{}) {
		if !c.exposed(p) {
			return
		}
		if p.Exposing != nil {
			serving = p.Exposing
		}
	}
	if serving != nil {
		c.serves(p, serving)
	}
}

func (c *checker) exists(source string) bool {
	if c.Root == nil || !fs.ValidPath(path.Clean(source)) {
		return slices.ContainsFunc(c.tree.Files, func(f string) bool { return within(f, path.Join(c.Prefix, source)) })
	}
	_, err := fs.Stat(c.Root, path.Clean(source))
	return err == nil
}

// anchored finds what makes the endpoint's Service exist. It is false where
// nothing more can be said.
func (c *checker) anchored(p Promise) bool {
	e := p.Endpoint
	inSource := func(at kube.Position) bool { return e.Source == "" || c.in(e.Source, at) }
	if s := p.Backend; s != nil {
		if s.Namespace == "" {
			c.report("namespace-unset", pos(s.At), e.ID, fmt.Sprintf("Service %s names no namespace, and the endpoint says %s", s.Name, e.Namespace), "write metadata.namespace: "+e.Namespace, e.At("namespace"))
		}
		if !inSource(s.At) && (p.Exposing == nil || !inSource(p.Exposing.At)) {
			c.report("source-mismatch", e.At("source"), e.ID, fmt.Sprintf("Service %s is not in %s but in %s", s.Name, e.Source, s.At.File), "write source: "+strings.TrimPrefix(s.At.File, c.Prefix+"/"), pos(s.At))
		}
		return true
	}
	for _, d := range c.tree.Derived {
		if d.Service == e.Service && kube.SameNamespace(d.Namespace, e.Namespace) {
			if len(d.Ports) > 0 && !slices.Contains(d.Ports, e.Port) {
				c.report("port-mismatch", e.At("port"), e.ID, fmt.Sprintf("%s %s creates Service %s with port %v, not %d", d.Kind, d.Name, d.Service, d.Ports, e.Port), fmt.Sprintf("write port: %d", d.Ports[0]), pos(d.At))
			}
			return true
		}
	}
	if p.Exposing != nil || p.Rivals != nil {
		return true // it exposes what a chart that is not versioned creates
	}
	for _, r := range c.tree.Routes {
		if r.Service == e.Service && kube.SameNamespace(r.Namespace, e.Namespace) && inSource(r.At) {
			return true
		}
	}
	c.unanchored(e, inSource)
	// a UI of a chart may still lack the Service that exposes it
	return c.chartIn(e) && e.Exposed
}

// unanchored says why no Service was found.
func (c *checker) unanchored(e *Endpoint, inSource func(kube.Position) bool) {
	for _, s := range c.tree.Services {
		if s.Name == e.Service && inSource(s.At) {
			c.report("namespace-mismatch", e.At("namespace"), e.ID, fmt.Sprintf("Service %s is in namespace %s, not %s", s.Name, s.Namespace, e.Namespace), "write namespace: "+s.Namespace, pos(s.At))
			return
		}
	}
	for _, d := range c.tree.Derived {
		if d.Service == e.Service {
			c.report("namespace-mismatch", e.At("namespace"), e.ID, fmt.Sprintf("%s %s creates Service %s in namespace %s, not %s", d.Kind, d.Name, d.Service, d.Namespace, e.Namespace), "write namespace: "+d.Namespace, pos(d.At))
			return
		}
	}
	for _, g := range c.tree.Generators {
		if inSource(g.At) {
			c.report("generator-unknown", e.At("service"), e.ID, fmt.Sprintf("no manifest has Service %s; %s %s may create it, and what that kind creates is not known", e.Service, g.Kind, g.Name), "look at the live cluster: nestor state", pos(g.At))
			return
		}
	}
	if c.chartIn(e) {
		c.report("service-not-provable", e.At("service"), e.ID, fmt.Sprintf("Service %s comes from a chart that is not versioned here", e.Service), "version what helm template makes of the chart, or look at the live cluster: nestor state")
		return
	}
	where := e.Source
	if where == "" {
		where = "the manifests"
	}
	remedy := "mend service:, or restore its manifest"
	var related []Position
	for _, s := range c.tree.Services {
		if inSource(s.At) && s.Namespace == e.Namespace && e.Source != "" {
			remedy = fmt.Sprintf("mend service: (%s has Service %s), or restore its manifest", where, s.Name)
			related = append(related, pos(s.At))
			break
		}
	}
	c.report("service-missing", e.At("service"), e.ID, fmt.Sprintf("%s has no Service %s in namespace %s, and nothing that creates it", where, e.Service, e.Namespace), remedy, related...)
}

// chartIn tells whether the endpoint's source is, or speaks of, a chart that
// is rendered elsewhere: then a Service that is not found proves nothing.
func (c *checker) chartIn(e *Endpoint) bool {
	here := func(at kube.Position) bool { return e.Source == "" || c.in(e.Source, at) }
	if slices.ContainsFunc(c.tree.Charts, func(o kube.Object) bool { return here(o.At) }) ||
		slices.ContainsFunc(c.tree.Problems, func(p manifest.Problem) bool { return here(p.At) }) {
		return true
	}
	if e.Source == "" {
		return false
	}
	beside := e.Source
	if ext := path.Ext(beside); ext == ".yaml" || ext == ".yml" {
		beside = path.Dir(beside) // the values of the chart are beside its NodePort
	}
	if slices.ContainsFunc(c.tree.Files, func(f string) bool {
		return within(f, path.Join(c.Prefix, beside)) && strings.HasPrefix(path.Base(f), "values")
	}) {
		return true
	}
	// a folder without any Service or workload of its own
	return !slices.ContainsFunc(c.tree.Services, func(s kube.Service) bool { return here(s.At) }) &&
		!slices.ContainsFunc(c.tree.Workloads, func(w kube.Workload) bool { return here(w.At) }) &&
		!slices.ContainsFunc(c.tree.Derived, func(d manifest.Derived) bool { return here(d.At) })
}

// ports compares the endpoint's port and scheme with its Service's.
func (c *checker) ports(p Promise) {
	e, s := p.Endpoint, p.Backend
	if s == nil || e.Port == 0 {
		return
	}
	port := portOf(s, e.Port)
	if port == nil {
		if len(s.Ports) == 0 {
			return // an ExternalName has none
		}
		var numbers []string
		hint, at := "", pos(s.Ports[0].At)
		for _, sp := range s.Ports {
			numbers = append(numbers, fmt.Sprint(sp.Port))
			if sp.Target.Number == e.Port {
				hint, at = fmt.Sprintf("; %d is the targetPort of port %d", e.Port, sp.Port), pos(sp.At)
			}
		}
		c.report("port-mismatch", e.At("port"), e.ID, fmt.Sprintf("Service %s has no port %d: it has %s%s", s.Name, e.Port, strings.Join(numbers, ", "), hint), "write one of the Service's own ports", at)
		return
	}
	want, from := e.Scheme, "scheme"
	if want == "" && (e.Protocol == "http" || e.Protocol == "https") {
		want, from = e.Protocol, "protocol"
	}
	said, by := schemeOf(port.AppProtocol), "appProtocol "+port.AppProtocol
	if said == "" {
		said, by = schemeOf(port.Name), "name "+port.Name
	}
	if want != "" && said != "" && want != said {
		c.report("scheme-mismatch", e.At(from), e.ID, fmt.Sprintf("%s is %s, and port %d of Service %s has the %s", from, want, port.Port, s.Name, by), "write scheme: "+said+", or mend the Service's port", pos(port.At))
	}
}

// exposed checks what exposes the endpoint. It is false where nothing does,
// or where it leads elsewhere.
func (c *checker) exposed(p Promise) bool {
	e := p.Endpoint
	at := e.At("exposed")
	if e.Exposure != (Exposing{}) {
		at = e.At("exposure")
	}
	if e.Exposure.HostPort != 0 {
		if p.Host == nil {
			c.report("exposed-without-nodeport", at, e.ID, fmt.Sprintf("no pod of Service %s holds hostPort %d", e.Service, e.Exposure.HostPort), "add the hostPort to the pod, or remove exposure:")
		}
		return p.Host != nil
	}
	if p.Rivals != nil {
		var names []string
		var related []Position
		for _, s := range p.Rivals {
			names = append(names, s.Name)
			related = append(related, pos(s.TypeAt))
		}
		c.report("exposure-ambiguous", at, e.ID, fmt.Sprintf("Services %s all expose it", strings.Join(names, ", ")), "name one under exposure:, and remove or accept the others", related...)
		return false
	}
	if p.Exposing == nil {
		for _, x := range c.tree.Elsewhere {
			if c.patched(e, x) || (x.By == manifest.ByValues && x.What == "type NodePort" && e.Source != "" && c.in(e.Source, x.At)) {
				return false // reported as an exposure that is decided elsewhere
			}
		}
		message := fmt.Sprintf("no NodePort exposes Service %s", e.Service)
		var related []Position
		for _, name := range []string{e.Exposure.Service, e.Service + "-nodeport", e.Service} {
			if s := c.find(e, name); s != nil && name != "" {
				message = fmt.Sprintf("no NodePort exposes Service %s: Service %s is a %s", e.Service, s.Name, s.Type)
				related = append(related, pos(s.TypeAt))
				break
			}
		}
		c.report("exposed-without-nodeport", at, e.ID, message, "write the NodePort Service (nestor contract nodeports), or remove exposed: true", related...)
		return false
	}
	if p.Port == nil {
		c.wrongPort(p)
		return false
	}
	for _, port := range p.Exposing.Ports {
		if port.NodePort != 0 && port.Port == p.Port.Port && port.Protocol == p.Port.Protocol {
			c.report("nodeport-pinned", pos(port.NodePortAt), e.ID, fmt.Sprintf("Service %s pins nodePort %d", p.Exposing.Name, port.NodePort), "leave nodePort out: the cluster assigns one and the portal observes it", at)
		}
	}
	b := p.Backend
	if b == nil || b == p.Exposing || b.Name == p.Exposing.Name {
		return true
	}
	m := matcher{world: World{Workloads: c.tree.Workloads}}
	if !maps.Equal(b.Selector, p.Exposing.Selector) && !m.samePods(p.Exposing, b) {
		c.report("exposure-selector", pos(p.Exposing.SelectorAt), e.ID, fmt.Sprintf("Service %s selects %s, and Service %s selects %s", p.Exposing.Name, labelText(p.Exposing.Selector), b.Name, labelText(b.Selector)), "give both the same selector", pos(b.SelectorAt))
		return false
	}
	return true
}

// wrongPort says why no port of the exposing Service is the endpoint's.
func (c *checker) wrongPort(p Promise) {
	e, x := p.Endpoint, p.Exposing
	var mine *kube.ServicePort
	if p.Backend != nil && p.Backend != x {
		mine = portOf(p.Backend, e.Port)
	}
	theirs := portOf(x, e.Port)
	if theirs == nil && len(x.Ports) == 1 {
		theirs = &x.Ports[0]
	}
	if mine != nil && theirs != nil {
		c.report("exposure-port", pos(theirs.TargetAt), e.ID, fmt.Sprintf("port %d of Service %s leads to %s, and port %d of Service %s to %s", theirs.Port, x.Name, targetText(*theirs), mine.Port, p.Backend.Name, targetText(*mine)), "give both the same targetPort", pos(mine.TargetAt))
		return
	}
	c.report("exposure-port", pos(x.At), e.ID, fmt.Sprintf("no port of Service %s is known to be port %d of the endpoint", x.Name, e.Port), "give it one port whose targetPort is that of Service "+e.Service, e.At("port"))
}

func (c *checker) find(e *Endpoint, name string) *kube.Service {
	return matcher{world: World{Services: c.tree.Services, Prefix: c.Prefix}}.service(e.Namespace, name, e.Source)
}

func targetText(p kube.ServicePort) string {
	switch {
	case p.Target.Name != "":
		return "targetPort " + p.Target.Name
	case p.Target.Number != 0:
		return fmt.Sprintf("targetPort %d", p.Target.Number)
	}
	return fmt.Sprintf("targetPort %d", p.Port)
}

func labelText(labels map[string]string) string {
	if len(labels) == 0 {
		return "nothing"
	}
	var pairs []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, k+"="+labels[k])
	}
	return strings.Join(pairs, ",")
}

// serves checks that the Service reaches a container, and that no policy
// stands in the way of an exposed one.
func (c *checker) serves(p Promise, s *kube.Service) {
	e := p.Endpoint
	port := portOf(s, e.Port)
	if s == p.Exposing {
		port = p.Port
	}
	if len(s.Selector) == 0 || port == nil {
		return // its endpoints are written by hand, or the port is reported
	}
	var pods []kube.Workload
	for _, w := range c.tree.Workloads {
		if kube.SameNamespace(w.Namespace, e.Namespace) && s.Selects(w.Labels) {
			pods = append(pods, w)
		}
	}
	if len(pods) == 0 {
		if p.Backend != nil && !c.podsFromElsewhere(e, p.Backend) {
			c.report("selector-unmatched", pos(s.SelectorAt), e.ID, fmt.Sprintf("Service %s selects %s, and no workload of the manifests has these labels", s.Name, labelText(s.Selector)), "mend the selector or the labels of the pods", e.At("service"))
			return
		}
		number := port.Target.Number
		if number == 0 && port.Target.Name == "" {
			number = port.Port
		}
		c.policies(p, s.Selector, port.Protocol, number, port.Target.Name)
		return
	}
	resolved, anyDeclared := 0, false
	for _, w := range pods {
		number, declared, ok := w.Resolve(*port)
		if ok {
			resolved = number
		}
		anyDeclared = anyDeclared || declared
	}
	w := pods[0]
	switch {
	case resolved == 0:
		c.report("targetport-unresolved", pos(port.TargetAt), e.ID, fmt.Sprintf("port %d of Service %s leads to %s, and %s %s has no container port of that name", port.Port, s.Name, targetText(*port), w.Kind, w.Name), "name the container port, or write its number", pos(w.At))
		return
	case !anyDeclared && slices.ContainsFunc(w.Ports, func(cp kube.ContainerPort) bool { return cp.Protocol == port.Protocol }):
		// a container that declares no port at all says nothing about them
		c.report("targetport-undeclared", pos(port.TargetAt), e.ID, fmt.Sprintf("port %d of Service %s leads to %s, and no container of %s %s declares it", port.Port, s.Name, targetText(*port), w.Kind, w.Name), "mend the targetPort, or declare the port of the container", pos(w.At))
		return
	}
	name := port.Target.Name
	for _, cp := range w.Ports {
		if cp.Port == resolved && cp.Protocol == port.Protocol {
			name = cp.Name
		}
	}
	c.policies(p, w.Labels, port.Protocol, resolved, name)
}

// podsFromElsewhere tells whether the pods may come from something that is
// not a workload of the manifests.
func (c *checker) podsFromElsewhere(e *Endpoint, s *kube.Service) bool {
	near := func(o kube.Object) bool {
		return o.At.File == s.At.File || (e.Source != "" && c.in(e.Source, o.At)) || (o.Namespace != "" && o.Namespace == e.Namespace)
	}
	return c.chartIn(e) || slices.ContainsFunc(c.tree.Charts, near) || slices.ContainsFunc(c.tree.Generators, near) ||
		slices.ContainsFunc(c.tree.Derived, func(d manifest.Derived) bool { return near(d.Object) })
}

// policies reports a namespace that isolates the pods of an exposed endpoint
// without opening its port to the outside.
func (c *checker) policies(p Promise, pod map[string]string, protocol string, number int, name string) {
	if p.Exposing == nil {
		return
	}
	var isolating []manifest.Policy
	for _, policy := range c.tree.Policies {
		if policy.Namespace == p.Endpoint.Namespace && policy.Ingress && policy.Selects(pod) {
			if policy.Opens(protocol, number, name) {
				return
			}
			isolating = append(isolating, policy)
		}
	}
	if len(isolating) == 0 || slices.ContainsFunc(c.tree.OtherPolicies, func(o kube.Object) bool { return kube.SameNamespace(o.Namespace, p.Endpoint.Namespace) }) {
		return // a plug-in's own policy may open it
	}
	port := fmt.Sprint(number)
	if number == 0 {
		port = name
	}
	c.report("policy-may-block", pos(isolating[0].At), p.Endpoint.ID, fmt.Sprintf("NetworkPolicy %s isolates the pods, and none opens port %s to what comes in through the node port", isolating[0].Name, port),
		"add an ingress rule for that port with no from:, or with an ipBlock", p.Endpoint.At("exposed"), pos(p.Exposing.At))
}

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
			if !slices.ContainsFunc(b.Accounts, func(a kube.Object) bool {
				return a.Name == w.ServiceAccount && kube.SameNamespace(a.Namespace, w.Namespace)
			}) {
				continue
			}
			if at, reads := c.readsSecrets(b); reads {
				c.report("portal-reads-secrets", pos(at), e.ID, fmt.Sprintf("%s %s lets ServiceAccount %s read Secrets through %s %s", b.Kind, b.Name, w.ServiceAccount, b.Role.Kind, b.Role.Name), "leave secrets out of the role", pos(b.At))
			}
		}
	}
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
