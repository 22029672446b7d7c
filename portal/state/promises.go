package state

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/contract/kube"
	"github.com/nestor-tools/nestor/portal"
	"github.com/nestor-tools/nestor/portal/internal/kubectl"
)

// promises judges each endpoint, in the contract's order.
func (j *judge) promises() []Line {
	if s := j.source(portal.Services); !whole(s) {
		return []Line{j.unread("endpoints", "Services", s)}
	}
	var lines []Line
	next := 0
	for i := range j.contract.Endpoints {
		e := &j.contract.Endpoints[i]
		if !j.expects(*e) {
			lines = append(lines, Line{Status: NotApplicable, Subject: e.ID, Text: fmt.Sprintf("of profile %s; this is %s", e.Profil, j.options.Profile)})
			continue
		}
		lines = append(lines, j.promise(j.matching.Promises[next]))
		next++
	}
	if len(lines) == 0 {
		lines = append(lines, Line{Status: NotApplicable, Subject: "endpoints", Text: "the contract has none"})
	}
	return lines
}

func (j *judge) promise(p contract.Promise) Line {
	e := p.Endpoint
	switch {
	case e.Exposure.HostPort != 0:
		return j.onHost(p)
	case e.Exposed || e.Exposure.Service != "":
		return j.onNodes(p)
	case p.Backend == nil:
		return j.missing(e)
	}
	if p.Backend.PortNumbered(e.Port) == nil && p.Backend.Type != kube.ExternalName {
		return j.noPort(p)
	}
	where := "inside the cluster"
	if p.Backend.Type == kube.NodePortType || p.Backend.Type == kube.LoadBalancer {
		where = "promised inside the cluster alone: see the ways in"
	}
	return Line{Status: OK, Subject: e.ID, Text: describe(p.Backend) + ", " + where}
}

func (j *judge) broken(e *contract.Endpoint, rule, field, text, command, remedy string) Line {
	l := Line{Status: Drift, Subject: e.ID, Text: text, Command: command, Remedy: remedy}
	return l.with(rule, e.ID, e.At(field))
}

func (j *judge) missing(e *contract.Endpoint) Line {
	return j.broken(e, "service-missing", "service", fmt.Sprintf("there is no Service %s", qualified(e.Namespace, e.Service)),
		cmp.Or(kubectl.Apply(e.Source), kubectl.Explain(e.ID)), "")
}

func (j *judge) noPort(p contract.Promise) Line {
	e, s := p.Endpoint, p.Backend
	return j.broken(e, "port-mismatch", "port", fmt.Sprintf("%s has no port %d, but %s", describe(s), e.Port, portsOf(s)), kubectl.Edit("service", s.Namespace, s.Name), "")
}

func (j *judge) onHost(p contract.Promise) Line {
	e := p.Endpoint
	switch s := j.source(portal.Pods); {
	case p.Backend == nil:
		return j.missing(e)
	case !whole(s):
		l := j.unread(e.ID, "Pods", s)
		l.Finding.Endpoint = e.ID
		return l
	case p.Host == nil:
		return j.broken(e, "exposed-without-nodeport", "exposure", fmt.Sprintf("no pod of %s holds hostPort %d", describe(p.Backend), e.Exposure.HostPort), kubectl.ShowPods(p.Backend), "")
	}
	return Line{Status: OK, Subject: e.ID, Text: fmt.Sprintf("%s %s holds port %d/%s of its nodes", p.Host.Object, qualified(p.Host.Namespace, p.Host.Name), p.Host.NodePort, p.Host.Protocol)}
}

func (j *judge) onNodes(p contract.Promise) Line {
	e, x := p.Endpoint, p.Exposing
	switch {
	case len(p.Rivals) > 0:
		var names []string
		for _, r := range p.Rivals {
			names = append(names, r.Name)
		}
		return j.broken(e, "exposure-ambiguous", "exposed", "Services "+strings.Join(names, ", ")+" all expose it", "", "name one under exposure:, and remove or accept the others")
	case x == nil && p.Backend == nil:
		return j.missing(e)
	case x == nil:
		return j.unexposed(p)
	case x.Type == kube.LoadBalancer:
		return j.retyped(p)
	case p.Port == nil && p.Backend != nil && p.Backend != x && p.Backend.PortNumbered(e.Port) == nil:
		return j.noPort(p)
	case p.Port == nil:
		return j.broken(e, "exposure-port", "port", fmt.Sprintf("no port of %s leads where port %d of the endpoint does: it has %s", describe(x), e.Port, targetsOf(x)), kubectl.Edit("service", x.Namespace, x.Name), "")
	case p.Port.NodePort == 0:
		return j.broken(e, "exposed-without-nodeport", "exposed", fmt.Sprintf("port %d of %s has no nodePort yet", p.Port.Port, describe(x)), kubectl.PatchType(x.Namespace, x.Name, kube.NodePortType), "")
	case p.Backend == nil:
		l := j.missing(e)
		l.Text += fmt.Sprintf("; %s exposes it all the same", describe(x))
		return l.with("service-missing", e.ID, e.At("service"))
	case p.Backend.PortNumbered(e.Port) == nil:
		return j.noPort(p)
	}
	return Line{Status: OK, Subject: e.ID, Text: fmt.Sprintf("%s: port %d is %d/%s on each node", describe(x), p.Port.Port, p.Port.NodePort, p.Port.Protocol)}
}

// unexposed says what stands where a NodePort should.
func (j *judge) unexposed(p contract.Promise) Line {
	e := p.Endpoint
	for i := range j.snapshot.Cluster.Services {
		s := &j.snapshot.Cluster.Services[i]
		if s.Namespace == e.Namespace && s.Name != e.Service && (s.Name == e.Exposure.Service || s.Name == e.Service+"-nodeport") {
			return j.broken(e, "exposed-without-nodeport", "exposed", fmt.Sprintf("Service %s is a %s: no NodePort exposes it", qualified(s.Namespace, s.Name), s.Type),
				kubectl.PatchType(s.Namespace, s.Name, kube.NodePortType), "")
		}
	}
	if p.Backend.Type == kube.ExternalName { // of which no node port can be made
		return j.broken(e, "exposed-without-nodeport", "exposed", describe(p.Backend)+" leads out of the cluster: no NodePort exposes it", kubectl.Explain(e.ID), "")
	}
	return j.broken(e, "exposed-without-nodeport", "exposed", fmt.Sprintf("%s is all there is: no NodePort exposes it", describe(p.Backend)), kubectl.Expose(p.Backend, e.Port, e.Exposure.Service), "")
}

// retyped is an exposing Service that was made a LoadBalancer: one line,
// though it is a way in as well.
func (j *judge) retyped(p contract.Promise) Line {
	e, x := p.Endpoint, p.Exposing
	command := kubectl.PatchType(x.Namespace, x.Name, kube.NodePortType)
	text := fmt.Sprintf("Service %s is a LoadBalancer", qualified(x.Namespace, x.Name))
	a, over := j.accepting(func(a contract.Accept) bool {
		for _, w := range j.matching.Exposures {
			if w.Kind == kube.LoadBalancerExposure && w.Namespace == x.Namespace && w.Name == x.Name && a.Covers(w.Exposure, noDay) {
				return true
			}
		}
		return false
	})
	if a != nil {
		l := j.accepted(a, over, e.ID, text, command)
		if l.Finding != nil {
			l.Finding.Endpoint = e.ID
		}
		return l
	}
	return j.broken(e, "unpromised-loadbalancer", "exposed", text+", and a NodePort is promised", command, "")
}

// describe is "ClusterIP shop/web".
func describe(s *kube.Service) string {
	return fmt.Sprintf("%s %s", cmp.Or(s.Type, kube.ClusterIP), qualified(s.Namespace, s.Name))
}

func portsOf(s *kube.Service) string {
	var all []string
	for _, p := range s.Ports {
		all = append(all, fmt.Sprintf("%d/%s", p.Port, p.Protocol))
	}
	return cmp.Or(listed(all), "none")
}

// listed bounds an enumeration: a Service may have hundreds of ports.
func listed(all []string) string {
	const most = 6
	if len(all) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
	}
	return strings.Join(all, ", ")
}

// targetsOf is the ports with where they lead, of which the numbers alone may
// look right.
func targetsOf(s *kube.Service) string {
	var all []string
	for _, p := range s.Ports {
		target := p.Target.Name
		if target == "" {
			target = strconv.Itoa(cmp.Or(p.Target.Number, p.Port))
		}
		all = append(all, fmt.Sprintf("%d/%s to %s", p.Port, p.Protocol, target))
	}
	return cmp.Or(listed(all), "none")
}
