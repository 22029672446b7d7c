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
	if e.Service == "" || e.Namespace == "" || e.Port == 0 {
		return // reported by the reader, and nothing can be compared
	}
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
	if !c.ports(p) {
		return
	}
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
	if slices.ContainsFunc(c.tree.Problems, func(p manifest.Problem) bool { return inSource(p.At) && p.Kind != manifest.Field }) {
		return false // the Service may be in what could not be read, which is reported
	}
	if p.Exposing != nil || p.Rivals != nil {
		if w := c.podsOf(p); w != nil {
			remedy, related := "mend service:, or restore its manifest", []Position{pos(w.At), pos(p.Exposing.At)}
			for _, s := range c.tree.Services { // the same Service under another name
				if s.Name != p.Exposing.Name && s.Namespace == p.Exposing.Namespace && maps.Equal(s.Selector, p.Exposing.Selector) {
					remedy = fmt.Sprintf("mend service: (Service %s selects its pods), or restore its manifest", s.Name)
					related = slices.Insert(related, 0, pos(s.At))
					break
				}
			}
			c.report("service-missing", e.At("service"), e.ID, fmt.Sprintf("no manifest has Service %s in namespace %s, although its pods are there", e.Service, e.Namespace), remedy, related...)
			return false
		}
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

// podsOf finds a workload that the exposing Service selects: then the chart,
// if there is one, is versioned.
func (c *checker) podsOf(p Promise) *kube.Workload {
	if p.Exposing == nil {
		return nil
	}
	for i := range c.tree.Workloads {
		if w := &c.tree.Workloads[i]; kube.SameNamespace(w.Namespace, p.Endpoint.Namespace) && p.Exposing.Selects(w.Labels) {
			return w
		}
	}
	return nil
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
	if slices.ContainsFunc(c.tree.Charts, func(o kube.Object) bool { return here(o.At) }) {
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

// ports compares the endpoint's port and scheme with its Service's. It is
// false where the Service has no such port.
func (c *checker) ports(p Promise) bool {
	e, s := p.Endpoint, p.Backend
	if s == nil {
		if p.Port != nil { // of what exposes a chart's Service
			c.scheme(e, p.Exposing, p.Port)
		}
		return true
	}
	if port := s.PortNumbered(e.Port); port != nil {
		c.scheme(e, s, port)
		return true
	}
	if len(s.Ports) == 0 {
		return true // an ExternalName has none
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
	return false
}

// scheme compares what the contract states with what the port says of itself.
func (c *checker) scheme(e *Endpoint, s *kube.Service, port *kube.ServicePort) {
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
