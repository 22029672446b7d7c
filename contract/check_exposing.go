package contract

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/contract/kube"
	"github.com/nestor-tools/nestor/contract/manifest"
)

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
	if p.Exposing == nil && e.Source != "" && slices.ContainsFunc(c.tree.Problems, func(p manifest.Problem) bool { return c.in(e.Source, p.At) && p.Kind != manifest.Field }) {
		return false // it may be in what could not be read, which is reported
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
		mine = p.Backend.PortNumbered(e.Port)
	}
	theirs := x.PortNumbered(e.Port)
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
	return newMatcher(World{Services: c.tree.Services, Prefix: c.Prefix}).service(e.Namespace, name, e.Source)
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
	port := s.PortNumbered(e.Port)
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
	unread := func(p manifest.Problem) bool {
		return p.Kind != manifest.Field && near(kube.Object{At: p.At})
	}
	return c.chartIn(e) || slices.ContainsFunc(c.tree.Problems, unread) || slices.ContainsFunc(c.tree.Charts, near) || slices.ContainsFunc(c.tree.Generators, near) ||
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
