package contract

import (
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/nestor-tools/nestor/contract/kube"
)

// World is what exists, in files or in a live cluster.
type World struct {
	Services  []kube.Service
	Workloads []kube.Workload
	Prefix    string // what files' names start with, before what the contract calls them
}

// How is the way by which the exposing Service of an endpoint was found.
type How string

// The ways, in the order in which they are tried.
const (
	Stated     How = "stated"     // the endpoint's own exposure field
	Itself     How = "itself"     // the endpoint's Service is a NodePort
	SamePods   How = "same pods"  // it selects what the endpoint's Service selects
	Convention How = "convention" // it is called <service>-nodeport
)

// Promise is an endpoint with what was found for it.
type Promise struct {
	Endpoint *Endpoint
	Backend  *kube.Service     // the Service that the endpoint names; nil: none
	Exposing *kube.Service     // what exposes it; nil: nothing, or not wanted
	Port     *kube.ServicePort // of Exposing, the one that leads to the endpoint; nil: none, or not one alone
	Host     *kube.Exposure    // for "exposure: hostPort: N"
	How      How
	Rivals   []*kube.Service // more than one exposes it, none better than the others
}

// Judgement is one exposure and who wants it: at most one of the three.
type Judgement struct {
	kube.Exposure
	Endpoint string  // promised by this endpoint
	Accept   *Accept // accepted by this entry
}

// Wanted tells whether the exposure is promised, accepted, or the cluster's
// own.
func (j Judgement) Wanted() bool { return j.Endpoint != "" || j.Accept != nil || j.System }

// Matching is promises and exposures, each with its counterpart.
type Matching struct {
	Promises  []Promise   // one for each endpoint, in the contract's order
	Exposures []Judgement // sorted by namespace, name and port
}

// Match compares both ways: what each endpoint has, and who wants each
// exposure. A zero today expires no accept entry.
func Match(c *Contract, w World, today time.Time) Matching {
	m := newMatcher(w)
	m.exposures = kube.Exposures(w.Services, w.Workloads)
	var out Matching
	for i := range c.Endpoints {
		out.Promises = append(out.Promises, m.promise(&c.Endpoints[i]))
	}
	for _, e := range m.exposures {
		j := Judgement{Exposure: e}
		for _, p := range out.Promises {
			if p.keeps(e) {
				j.Endpoint = p.Endpoint.ID
				break
			}
		}
		if j.Endpoint == "" {
			for i := range c.Accept {
				if c.Accept[i].Covers(e, today) {
					j.Accept = &c.Accept[i]
					break
				}
			}
		}
		out.Exposures = append(out.Exposures, j)
	}
	return out
}

// keeps tells whether the exposure is the one that is promised. Only a node
// port is: a load balancer is nobody's promise.
func (p Promise) keeps(e kube.Exposure) bool {
	switch e.Kind {
	case kube.NodePort:
		for _, rival := range p.Rivals {
			if rival.Name == e.Name && rival.Namespace == e.Namespace {
				return true // said once, as an ambiguity
			}
		}
		if p.Exposing == nil || p.Exposing.Name != e.Name || p.Exposing.Namespace != e.Namespace {
			return false
		}
		return p.Port == nil || (p.Port.Port == e.Port && p.Port.Protocol == e.Protocol)
	case kube.HostPort:
		return p.Host != nil && p.Host.Name == e.Name && p.Host.Namespace == e.Namespace && p.Host.NodePort == e.NodePort && p.Host.Protocol == e.Protocol
	}
	return false
}

type matcher struct {
	world     World
	exposures []kube.Exposure
	named     map[string][]*kube.Service // the world's, by name
}

func newMatcher(w World) matcher {
	m := matcher{world: w, named: make(map[string][]*kube.Service, len(w.Services))}
	for i := range w.Services {
		s := &w.Services[i]
		m.named[s.Name] = append(m.named[s.Name], s)
	}
	return m
}

func (m matcher) promise(e *Endpoint) Promise {
	p := Promise{Endpoint: e, Backend: m.service(e.Namespace, e.Service, e.Source)}
	if e.Exposure.HostPort != 0 {
		p.Host = m.hostPort(e, p.Backend)
		return p
	}
	if !e.Exposed && e.Exposure.Service == "" {
		return p
	}
	p.Exposing, p.How, p.Rivals = m.exposing(e, p.Backend)
	if p.Exposing != nil {
		p.Port = m.port(e, p.Backend, p.Exposing)
	}
	return p
}

// service finds a Service by name, the one of the endpoint's source first: a
// tree may hold several renderings of the same one.
func (m matcher) service(namespace, name, source string) *kube.Service {
	var best *kube.Service
	rank := 0
	for _, s := range m.named[name] {
		if !kube.SameNamespace(s.Namespace, namespace) {
			continue
		}
		r := 1
		if s.Namespace == namespace {
			r += 2
		}
		if source != "" && within(s.At.File, path.Join(m.world.Prefix, source)) {
			r++
		}
		if r > rank {
			best, rank = s, r
		}
	}
	return best
}

// within tells whether a file is source, or in the folder source.
func within(file, source string) bool {
	return file == source || source == "." || strings.HasPrefix(file, source+"/")
}

func (m matcher) exposing(e *Endpoint, backend *kube.Service) (*kube.Service, How, []*kube.Service) {
	if e.Exposure.Service != "" {
		if s := m.service(e.Namespace, e.Exposure.Service, e.Source); s != nil && onNodes(s) {
			return s, Stated, nil
		}
		return nil, Stated, nil
	}
	if backend != nil && onNodes(backend) {
		return backend, Itself, nil
	}
	conventional := m.service(e.Namespace, e.Service+"-nodeport", e.Source)
	if backend != nil {
		var same []*kube.Service
		for i := range m.world.Services {
			s := &m.world.Services[i]
			if onNodes(s) && kube.SameNamespace(s.Namespace, e.Namespace) && m.samePods(s, backend) && m.leads(s, backend, e.Port) &&
				!slices.ContainsFunc(same, func(o *kube.Service) bool { return o.Name == s.Name && o.Namespace == s.Namespace }) {
				same = append(same, s)
			}
		}
		if len(same) > 1 {
			for _, s := range same {
				if conventional != nil && s.Name == conventional.Name {
					return s, SamePods, nil
				}
			}
			return nil, SamePods, same
		}
		if len(same) == 1 {
			return same[0], SamePods, nil
		}
	}
	if conventional != nil && onNodes(conventional) {
		return conventional, Convention, nil
	}
	return nil, "", nil
}

// onNodes tells whether a Service has ports on the nodes.
func onNodes(s *kube.Service) bool {
	return s.Type == kube.NodePortType || s.Type == kube.LoadBalancer
}

// samePods tells whether two Services select the same pods: the same
// selector, or the same ones among the workloads that are known.
func (m matcher) samePods(a, b *kube.Service) bool {
	if len(a.Selector) == 0 || len(b.Selector) == 0 {
		return false
	}
	if maps.Equal(a.Selector, b.Selector) {
		return true
	}
	some := false
	for _, w := range m.world.Workloads {
		if !kube.SameNamespace(w.Namespace, b.Namespace) {
			continue
		}
		inA, inB := a.Selects(w.Labels), b.Selects(w.Labels)
		if inA != inB {
			return false
		}
		some = some || inA
	}
	return some
}

// leads tells whether one of s's ports leads where the backend's port does.
// Where the backend has no such port, any Service for the same pods will do.
func (m matcher) leads(s, backend *kube.Service, port int) bool {
	b := backend.PortNumbered(port)
	return b == nil || slices.ContainsFunc(s.Ports, func(p kube.ServicePort) bool { return m.sameTarget(backend, p, *b) })
}

// sameTarget tells whether two ports of Services for the same pods end at the
// same container port.
func (m matcher) sameTarget(backend *kube.Service, a, b kube.ServicePort) bool {
	if a.Protocol != b.Protocol {
		return false
	}
	norm := func(p kube.ServicePort) kube.Target {
		if p.Target == (kube.Target{}) {
			return kube.Target{Number: p.Port}
		}
		return p.Target
	}
	if norm(a) == norm(b) {
		return true
	}
	for _, w := range m.world.Workloads {
		if kube.SameNamespace(w.Namespace, backend.Namespace) && backend.Selects(w.Labels) {
			x, _, okA := w.Resolve(a)
			y, _, okB := w.Resolve(b)
			if okA && okB && x == y {
				return true
			}
		}
	}
	return false
}

func (m matcher) port(e *Endpoint, backend, exposing *kube.Service) *kube.ServicePort {
	if backend == exposing {
		return exposing.PortNumbered(e.Port)
	}
	if backend != nil {
		if b := backend.PortNumbered(e.Port); b != nil {
			var found *kube.ServicePort
			for i := range exposing.Ports {
				p := &exposing.Ports[i]
				if m.sameTarget(backend, *p, *b) && (found == nil || p.Port == e.Port || p.Name == b.Name) {
					found = p
				}
			}
			return found
		}
	}
	if p := exposing.PortNumbered(e.Port); p != nil {
		return p
	}
	if len(exposing.Ports) == 1 {
		return &exposing.Ports[0]
	}
	return nil
}

func (m matcher) hostPort(e *Endpoint, backend *kube.Service) *kube.Exposure {
	for i := range m.exposures {
		x := &m.exposures[i]
		if x.Kind != kube.HostPort || x.NodePort != e.Exposure.HostPort || !kube.SameNamespace(x.Namespace, e.Namespace) {
			continue
		}
		if backend == nil || len(backend.Selector) == 0 {
			if x.Name == e.Service {
				return x
			}
			continue
		}
		for _, w := range m.world.Workloads {
			if w.Name == x.Name && w.Kind == x.Object && w.Namespace == x.Namespace && backend.Selects(w.Labels) {
				return x
			}
		}
	}
	return nil
}
