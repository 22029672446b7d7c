package portal

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/contract/kube"
)

// fault is one thing that is not as promised. Its sentence is the last one
// that was said before it.
type fault struct {
	reason   Reason
	remedy   string
	evidence int // the place of the sentence that says it
}

// entryOf is what the contract alone says of an endpoint.
func entryOf(e *contract.Endpoint) Entry {
	entry := Entry{ID: e.ID, Verdict: Match, Namespace: e.Namespace, Name: e.Service, Note: e.Note, Auth: e.Auth, Evidence: []Text{}}
	entry.Login, entry.Command = login(e)
	return entry
}

func (j *judge) otherProfile(e *contract.Endpoint) Entry {
	entry := entryOf(e)
	entry.Verdict, entry.Reason, entry.Login, entry.Command = NotExpected, OtherProfile, "", ""
	entry.Evidence = append(entry.Evidence, say("other-profile", e.Profil, j.options.Profile))
	return entry
}

// assessment gathers what is found about one endpoint: the first fault decides
// the verdict, the evidence holds them all.
type assessment struct {
	*judge
	entry  Entry
	faults []fault
	rests  []Resource // the sources that the verdict rests on
	lacks  []Resource // those that would be needed and are not there
}

func (a *assessment) say(key phrase, args ...any) {
	a.entry.Evidence = append(a.entry.Evidence, say(key, args...))
}

func (a *assessment) fault(reason Reason, remedy string) {
	a.faults = append(a.faults, fault{reason, remedy, len(a.entry.Evidence) - 1})
}

// needs notes that the verdict rests on a source, and tells whether there is
// anything to read in it.
func (a *assessment) needs(r Resource) bool {
	if a.usable(r) {
		a.rests = append(a.rests, r)
		return true
	}
	a.lacks = append(a.lacks, r)
	return false
}

// promise judges one endpoint of the contract.
func (j *judge) promise(p contract.Promise) Entry {
	a := &assessment{judge: j, entry: entryOf(p.Endpoint)}
	switch {
	case !a.needs(Services):
	case p.Endpoint.Exposure.HostPort != 0:
		a.onHost(p)
	case p.Endpoint.Exposed || p.Endpoint.Exposure.Service != "":
		a.onNodes(p)
	default:
		a.inside(p)
	}
	return a.conclude()
}

// conclude turns what was found into a verdict. What is certain comes first:
// an absent Service is MISSING whatever the slices would have said.
func (a *assessment) conclude() Entry {
	e := &a.entry
	switch {
	case len(a.faults) > 0:
		e.Verdict, e.Reason, e.Remedy = Drift, a.faults[0].reason, a.faults[0].remedy
		deciding := e.Evidence[a.faults[0].evidence]
		e.Evidence = slices.Insert(slices.Delete(e.Evidence, a.faults[0].evidence, a.faults[0].evidence+1), 0, deciding)
		if e.Reason == NoService && !a.answers() || e.Reason == NoHostPort {
			e.Verdict = Missing
		}
	case len(a.lacks) > 0:
		e.Verdict = Unknown
		e.Reason = map[SourceState]Reason{Denied: SourceDenied, Unsynced: SourceUnsynced, NotAsked: SourceNotAsked}[a.source(a.lacks[0]).State]
	}
	for _, r := range a.lacks {
		e.Evidence = append(e.Evidence, lacking(r, a.source(r)))
	}
	for _, r := range a.rests {
		if source := a.source(r); source.State == Stale && e.Reason != SourceStale {
			e.Evidence = append([]Text{say("was", string(e.Verdict), clock(source.Since))}, e.Evidence...)
			e.Verdict, e.Reason, e.Remedy = Unknown, SourceStale, ""
		}
	}
	if e.Verdict == Missing {
		e.URL, e.Others, e.Node = "", nil, ""
	}
	return *e
}

// answers tells whether something exposes the endpoint although its own
// Service is absent.
func (a *assessment) answers() bool { return a.entry.URL != "" }

// inside judges an endpoint that is reached from inside the cluster only.
func (a *assessment) inside(p contract.Promise) {
	if a.absent(p) {
		return
	}
	a.say("service", p.Backend.Namespace, p.Backend.Name, string(p.Backend.Type))
	if p.Backend.Type == kube.ExternalName {
		a.outOfCluster()
		return
	}
	if port := p.Backend.PortNumbered(p.Endpoint.Port); port == nil {
		a.say("no-port", p.Backend.Namespace, p.Backend.Name, p.Endpoint.Port)
		a.fault(PortMismatch, edit("service", p.Backend.Namespace, p.Backend.Name))
	} else {
		a.ready(p.Backend, port, nil)
	}
}

// absent notes that the endpoint's own Service is not there.
func (a *assessment) absent(p contract.Promise) bool {
	if p.Backend == nil {
		a.say("no-service", p.Endpoint.Namespace, p.Endpoint.Service)
		a.fault(NoService, create(p.Endpoint))
	}
	return p.Backend == nil
}

func (a *assessment) outOfCluster() {
	a.say("external-name")
	a.entry.Verdict, a.entry.Reason = Unknown, OutOfCluster
}

// onNodes judges an endpoint that a Service exposes on the nodes.
func (a *assessment) onNodes(p contract.Promise) {
	e, exposing := p.Endpoint, p.Exposing
	if exposing == nil {
		a.unexposed(p)
		return
	}
	a.say("exposing", exposing.Namespace, exposing.Name, string(exposing.Type), say(phrase("how-"+string(p.How))))
	if exposing.Type != kube.NodePortType {
		a.say("type-changed", string(exposing.Type))
		a.fault(TypeChanged, patchType(exposing, kube.NodePortType))
	}
	if p.Backend != nil && p.Backend.PortNumbered(e.Port) == nil {
		a.say("no-port", p.Backend.Namespace, p.Backend.Name, e.Port)
		a.fault(PortMismatch, edit("service", p.Backend.Namespace, p.Backend.Name))
	}
	if p.Port == nil {
		if p.Backend == nil {
			a.say("port-ambiguous", exposing.Namespace, exposing.Name, e.Port)
			a.fault(PortAmbiguous, explain(e.ID))
		} else if p.Backend != exposing {
			a.say("port-leads-nowhere", exposing.Namespace, exposing.Name, e.Port)
			a.fault(PortMismatch, edit("service", exposing.Namespace, exposing.Name))
		}
		a.absent(p)
		return
	}
	local := a.service(exposing).ExternalTrafficPolicy == "Local"
	behind := a.ready(exposing, p.Port, p.Backend)
	if p.Port.NodePort == 0 {
		a.say("no-node-port", exposing.Namespace, exposing.Name, p.Port.Port)
		a.fault(NoNodePort, patchType(exposing, kube.NodePortType))
	} else {
		a.say("node-port", p.Port.NodePort, p.Port.Protocol, p.Port.Port)
		a.place(p, local, behind)
	}
	if a.absent(p) {
		return
	}
	a.doubt(e)
}

// place finds the node and makes the URL.
func (a *assessment) place(p contract.Promise, local bool, behind *backends) {
	var all []candidate
	var pass func(string) bool
	if local {
		if behind == nil {
			return // which node answers is unknown, and that is noted
		}
		pass = func(node string) bool { return slices.Contains(behind.nodes, node) }
	}
	_, stated := a.stated(p.Endpoint.ID)
	if !stated || a.usable(Nodes) {
		if !a.needs(Nodes) {
			return
		}
		all = a.candidates(a.service(p.Exposing).IPFamilies, pass)
		if len(all) == 0 {
			if local && behind.ready > 0 && len(a.candidates(a.service(p.Exposing).IPFamilies, nil)) > 0 {
				a.say("local-empty", p.Exposing.Namespace, p.Exposing.Name)
				a.fault(ETPLocalEmpty, patch(p.Exposing, map[string]any{"externalTrafficPolicy": "Cluster"}))
			} else if !local || behind.ready > 0 {
				a.say("no-node", len(a.snapshot.Nodes))
				a.fault(NoReachableNode, "kubectl get nodes -o wide")
			}
			return
		}
	}
	e := p.Endpoint
	if !e.Exposed && e.Scheme == "" && e.Protocol != "http" && e.Protocol != "https" {
		return // for machines that speak something else
	}
	scheme, from := e.URLScheme(p.Port.AppProtocol, p.Port.Name)
	if scheme != "http" && scheme != "https" {
		a.say("scheme-refused")
		return
	}
	a.say("scheme", scheme, say(phrase("scheme-"+from)))
	a.urls(&a.entry, all, scheme, p.Port.NodePort, p.Endpoint.Path)
	if a.entry.Node != "" {
		a.say("node", a.entry.Node, len(all))
	}
}

// unexposed says why nothing exposes the endpoint.
func (a *assessment) unexposed(p contract.Promise) {
	e := p.Endpoint
	if a.absent(p) {
		return
	}
	if p.Backend.Type == kube.ExternalName {
		a.say("service", p.Backend.Namespace, p.Backend.Name, string(p.Backend.Type))
	}
	if len(p.Rivals) > 0 {
		for _, rival := range p.Rivals {
			a.say("rival", rival.Namespace, rival.Name)
		}
		a.fault(PortAmbiguous, explain(e.ID))
		return
	}
	// nothing of that name is on the nodes, or contract.Match had found it
	if s := a.find(e.Namespace, cmp.Or(e.Exposure.Service, e.Service+"-nodeport")); s != nil {
		a.say("was-node-port", s.Namespace, s.Name, s.Type)
		a.fault(TypeChanged, kubectl("patch service", s.Namespace, s.Name, "-p", `{"spec":{"type":"NodePort"}}`))
		return
	}
	a.say("no-exposing", p.Backend.Namespace, p.Backend.Name, string(p.Backend.Type))
	a.fault(NoNodePort, expose(e, p.Backend))
}

// ready says what answers behind a port. backend is the endpoint's own
// Service where another one exposes it.
func (a *assessment) ready(s *kube.Service, port *kube.ServicePort, backend *kube.Service) *backends {
	if !a.needs(EndpointSlices) {
		return nil
	}
	b := a.backends(s, port)
	a.say("ready", b.ready, b.all, s.Namespace, s.Name)
	if b.ready > 0 {
		return &b
	}
	if backend != nil && backend != s {
		for i := range backend.Ports {
			if behind := a.backends(backend, &backend.Ports[i]); behind.ready > 0 {
				a.say("selector-mismatch", s.Namespace, s.Name, backend.Namespace, backend.Name, behind.ready)
				a.fault(ExposureSelectorMismatch, selectAs(s, backend))
				return &b
			}
		}
	}
	a.fault(NoReadyEndpoint, showPods(s))
	return &b
}

// doubt notes what the manifests say against a link that looks right.
func (a *assessment) doubt(e *contract.Endpoint) {
	for _, f := range a.options.Findings {
		if f.Rule == "policy-may-block" && f.Endpoint == e.ID && len(a.faults) == 0 && len(a.lacks) == 0 {
			a.entry.Reason = PolicyMayBlock
			a.say("policy-may-block", fmt.Sprintf("%s:%d", f.File, f.Line))
			a.entry.Remedy = explain(e.ID)
			return
		}
	}
}

// onHost judges an endpoint whose pods hold a port of their node.
func (a *assessment) onHost(p contract.Promise) {
	e := p.Endpoint
	if a.absent(p) || !a.needs(Pods) {
		return
	}
	if p.Host == nil {
		a.say("no-host-port", e.Exposure.HostPort, p.Backend.Namespace, p.Backend.Name)
		a.fault(NoHostPort, showPods(p.Backend))
		return
	}
	a.say("host-port", p.Host.Object, p.Host.Namespace, p.Host.Name, p.Host.NodePort)
	ready, all := map[string]string{}, 0
	for _, pod := range a.snapshot.Pods {
		o := owner(pod)
		if o.Kind != p.Host.Object || o.Name != p.Host.Name || o.Namespace != p.Host.Namespace {
			continue
		}
		all++
		for _, port := range pod.Ports {
			if pod.Ready && port.HostPort == e.Exposure.HostPort {
				ready[pod.Node] = port.HostIP
			}
		}
	}
	a.say("ready-pods", len(ready), all)
	if len(ready) == 0 {
		a.fault(NoReadyEndpoint, showPods(p.Backend))
		return
	}
	_, stated := a.stated(e.ID)
	var nodes []candidate
	if !stated || a.usable(Nodes) {
		if !a.needs(Nodes) {
			return
		}
		nodes = a.candidates(nil, func(node string) bool { _, ok := ready[node]; return ok })
		for i, c := range nodes {
			if host, ok := Host(ready[c.node.Name]); ok {
				nodes[i].hosts = []string{host} // the one address that the pod listens on
			}
		}
		if len(nodes) == 0 {
			a.say("no-node", len(a.snapshot.Nodes))
			a.fault(NoReachableNode, "kubectl get nodes -o wide")
			return
		}
	}
	if scheme, from := e.URLScheme("", p.Host.PortName); scheme == "http" || scheme == "https" {
		a.say("scheme", scheme, say(phrase("scheme-"+from)))
		a.urls(&a.entry, nodes, scheme, e.Exposure.HostPort, e.Path)
	}
	a.doubt(e)
}

// lacking says why a source tells nothing, with the rule that is missing.
func lacking(r Resource, s Source) Text {
	switch s.State {
	case Denied:
		return say("denied", string(r), rule(r))
	case NotAsked:
		return say("not-asked", string(r))
	}
	if s.Why != "" {
		return say("unsynced-why", string(r), s.Why)
	}
	return say("unsynced", string(r))
}

// rule is the rule of RBAC that lets a reader have the resource.
func rule(r Resource) string {
	group := ""
	if r == EndpointSlices {
		group = "discovery.k8s.io"
	}
	return fmt.Sprintf(`{apiGroups: [%q], resources: [%s], verbs: [get, list, watch]}`, group, r)
}

// clock writes a time for sentences.
func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
