package state

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/contract/kube"
	"github.com/nestor-tools/nestor/portal"
	"github.com/nestor-tools/nestor/portal/internal/kubectl"
)

// noDay expires no entry: contract.Accept.Covers then tells whether an entry
// speaks of an exposure at all.
var noDay time.Time

// way is the ports of one object that are exposed in one way, and of which the
// contract says the same.
type way struct {
	kube.Exposure
	ports    []string
	keys     []portKey // of the ports of the Service
	accept   *contract.Accept
	over     bool
	endpoint *contract.Endpoint // that the Service exposes by another port
	shared   bool               // with another way in, of the same kind and object
}

// portKey is what tells ports of a Service apart: the number alone does not.
type portKey struct {
	number   int
	protocol string
}

var everyPort portKey

// waysIn judges every exposure that no endpoint promises.
func (j *judge) waysIn() []Line {
	ways, promised := j.ways()
	var lines []Line
	for _, c := range []struct {
		subject  string
		resource portal.Resource
		kinds    []kube.ExposureKind
	}{
		{"NodePorts", portal.Services, []kube.ExposureKind{kube.NodePort}},
		{"LoadBalancers", portal.Services, []kube.ExposureKind{kube.LoadBalancerExposure}},
		{"externalIPs", portal.Services, []kube.ExposureKind{kube.ExternalIP}},
		{"ports of nodes", portal.Pods, []kube.ExposureKind{kube.HostPort, kube.HostNetwork}},
	} {
		if s := j.source(c.resource); !whole(s) {
			lines = append(lines, j.unread(c.subject, kindName[c.resource], s))
			continue
		}
		beyond, system, accepted := 0, []string{}, 0
		for _, w := range ways {
			switch {
			case !slices.Contains(c.kinds, w.Kind):
			case w.System && w.accept == nil:
				if name := qualified(w.Namespace, w.Name); !slices.Contains(system, name) {
					system = append(system, name)
				}
			default:
				l := j.way(w)
				if l.Status == Drift {
					beyond++
				} else {
					accepted++
				}
				lines = append(lines, l)
			}
		}
		if beyond == 0 {
			text := "none beyond the contract"
			for _, count := range []struct {
				n    int
				what string
			}{{promised[c.subject], "promised"}, {accepted, "accepted"}, {len(system), "the cluster's own"}} {
				if count.n > 0 {
					text += fmt.Sprintf(", %d %s", count.n, count.what)
				}
			}
			if len(system) > 0 {
				text += " (" + strings.Join(system, ", ") + ")"
			}
			lines = append(lines, Line{Status: OK, Subject: c.subject, Text: text})
		}
	}
	return lines
}

var kindName = map[portal.Resource]string{portal.Services: "Services", portal.Pods: "Pods"}

// ways puts together what is said in one line, and counts what is promised.
func (j *judge) ways() (ways []*way, promised map[string]int) {
	promised = map[string]int{}
	exposing := map[[2]string]*contract.Endpoint{}
	retyped := map[[2]string][]portKey{} // the ports that the promises' own lines speak of
	for _, p := range j.matching.Promises {
		if x := p.Exposing; x != nil {
			exposing[[2]string{x.Namespace, x.Name}] = p.Endpoint
			if name := [2]string{x.Namespace, x.Name}; x.Type == kube.LoadBalancer && p.Port != nil {
				retyped[name] = append(retyped[name], portKey{p.Port.Port, p.Port.Protocol})
			} else if x.Type == kube.LoadBalancer {
				retyped[name] = append(retyped[name], everyPort)
			}
		}
	}
	onHost := map[kube.Object]bool{}
	for _, x := range j.matching.Exposures {
		if x.Kind == kube.HostNetwork {
			onHost[kube.Object{Kind: x.Object, Namespace: x.Namespace, Name: x.Name}] = true
		}
	}
	index := map[string]*way{}
	for _, x := range j.matching.Exposures {
		if x.Endpoint != "" {
			promised[map[kube.ExposureKind]string{kube.NodePort: "NodePorts", kube.HostPort: "ports of nodes"}[x.Kind]]++
			continue
		}
		name := [2]string{x.Namespace, x.Name}
		if said := retyped[name]; x.Kind == kube.LoadBalancerExposure && (slices.Contains(said, everyPort) || slices.Contains(said, portKey{x.Port, x.Protocol})) {
			continue
		}
		entry, over := j.accepting(func(a contract.Accept) bool { return a.Covers(x.Exposure, noDay) })
		e := x.Exposure
		// The API server gives each port of a pod that is on the network of
		// the host a hostPort: they say no more than the host network does.
		if e.Kind == kube.HostPort && e.NodePort == e.Port && onHost[kube.Object{Kind: e.Object, Namespace: e.Namespace, Name: e.Name}] {
			e.Kind = kube.HostNetwork
			if entry == nil {
				network := e
				network.Port, network.NodePort = 0, 0
				entry, over = j.accepting(func(a contract.Accept) bool { return a.Covers(network, noDay) })
			}
		}
		key := fmt.Sprintln(e.Kind, e.Object, e.Namespace, e.Name, entry)
		w := index[key]
		if w == nil {
			w = &way{Exposure: e, accept: entry, over: over}
			if e.Object == "Service" {
				w.endpoint = exposing[name]
			}
			index[key] = w
			ways = append(ways, w)
		}
		if text := portText(x.Exposure); text != "" && !slices.Contains(w.ports, text) {
			w.ports, w.keys = append(w.ports, text), append(w.keys, portKey{x.Port, x.Protocol})
		}
	}
	for _, w := range ways {
		w.shared = slices.ContainsFunc(ways, func(o *way) bool {
			return o != w && o.Kind == w.Kind && o.Namespace == w.Namespace && o.Name == w.Name
		})
	}
	return ways, promised
}

// portText is how a person names the port of a way in.
func portText(x kube.Exposure) string {
	switch {
	case x.Kind == kube.HostNetwork:
		return ""
	case x.Kind == kube.ExternalIP:
		return fmt.Sprintf("%s port %d/%s", x.HostIP, x.Port, x.Protocol)
	case x.Kind == kube.HostPort && x.HostIP != "":
		return fmt.Sprintf("%d/%s of address %s", x.NodePort, x.Protocol, x.HostIP)
	case x.Kind == kube.HostPort:
		return fmt.Sprintf("%d/%s", x.NodePort, x.Protocol)
	case x.NodePort == 0:
		return fmt.Sprintf("%d/%s", x.Port, x.Protocol)
	}
	return fmt.Sprintf("%d/%s as %d", x.Port, x.Protocol, x.NodePort)
}

// way judges one way in that no endpoint promises.
func (j *judge) way(w *way) Line {
	object := qualified(w.Namespace, w.Name)
	ports := listed(w.ports)
	subject, text, rule, command := string(w.Kind), "", "", ""
	accept := "accept it under accept: in " + j.contract.File
	remedy := "or promise it with exposed: true, or " + accept
	switch w.Kind {
	case kube.NodePort:
		rule, text, command = "unpromised-nodeport", fmt.Sprintf("Service %s opens port %s on each node", object, ports), kubectl.PatchType(w.Namespace, w.Name, kube.ClusterIP)
	case kube.LoadBalancerExposure:
		rule, text, command = "unpromised-loadbalancer", fmt.Sprintf("Service %s is a LoadBalancer for port %s", object, ports), kubectl.PatchType(w.Namespace, w.Name, kube.ClusterIP)
		if gateway, ok := j.gatewayOf(w); ok { // which would make it again, and has a line of its own
			made := "Gateway " + qualified(gateway.Namespace, gateway.Name)
			text += ", made for " + made
			command, remedy = "", "it goes with "+made+"; or "+accept
		}
	case kube.ExternalIP:
		rule, text, command = "unpromised-externalip", fmt.Sprintf("Service %s answers on %s", object, ports), kubectl.Patch(w.Namespace, w.Name, map[string]any{"externalIPs": nil})
		if w.shared { // an address serves all ports, those that are accepted too
			command = kubectl.Edit("service", w.Namespace, w.Name)
		}
		remedy = "or " + accept
	case kube.HostPort:
		rule, text, command = "unpromised-hostport", fmt.Sprintf("%s %s holds port %s of its nodes", w.Object, object, ports), kubectl.Edit(w.Object, w.Namespace, w.Name)
		remedy = "remove its hostPort, or " + accept
	case kube.HostNetwork:
		rule, text, command = "unpromised-hostnetwork", fmt.Sprintf("%s %s is on the network of its nodes: whatever it opens is reachable", w.Object, object), kubectl.Edit(w.Object, w.Namespace, w.Name)
		if ports != "" {
			text += ", and it declares " + ports
		}
		remedy = "remove hostNetwork, or " + accept
	}
	if w.Object == "Pod" { // whose ports nobody may edit
		command, remedy = "", "make the pod anew without it, or "+accept
	}
	endpoint, at := "", contract.Position(j.contract.AcceptList.At)
	at.File = j.contract.File
	if w.endpoint != nil {
		endpoint, at = w.endpoint.ID, w.endpoint.At("exposed")
		if w.Kind == kube.NodePort || w.Kind == kube.LoadBalancerExposure {
			text += fmt.Sprintf(", of which endpoint %s promises another", endpoint)
			command = j.removePorts(w)
		}
	}
	if w.accept != nil {
		l := j.accepted(w.accept, w.over, subject, text, command)
		if l.Finding != nil {
			l.Finding.Endpoint = endpoint
		}
		return l
	}
	l := Line{Status: Drift, Subject: subject, Text: text, Command: command, Remedy: remedy}
	return l.with(rule, endpoint, at)
}

const gatewayResource = "gateways.gateway.networking.k8s.io"

// gatewayOf finds the Gateway that Cilium made a Service for, by the name that
// it gives it: cilium-gateway-NAME.
func (j *judge) gatewayOf(w *way) (Object, bool) {
	name, ok := strings.CutPrefix(w.Name, "cilium-gateway-")
	for _, k := range j.snapshot.Kinds {
		if ok && k.Resource+"."+k.Group == gatewayResource && slices.Contains(k.Objects, Object{w.Namespace, name}) {
			return Object{w.Namespace, name}, true
		}
	}
	return Object{}, false
}

// removePorts takes ports out of a Service that must keep others. Each is
// tested first: the list may have moved since it was read.
func (j *judge) removePorts(w *way) string {
	var steps []string
	for _, s := range j.snapshot.Cluster.Services {
		if s.Namespace != w.Namespace || s.Name != w.Name {
			continue
		}
		for i := len(s.Ports) - 1; i >= 0; i-- { // from the end, so that indices hold
			if k := (portKey{s.Ports[i].Port, cmp.Or(s.Ports[i].Protocol, "TCP")}); slices.Contains(w.keys, k) {
				steps = append(steps, fmt.Sprintf(`{"op":"test","path":"/spec/ports/%[1]d/port","value":%[2]d},{"op":"test","path":"/spec/ports/%[1]d/protocol","value":%[3]q},{"op":"remove","path":"/spec/ports/%[1]d"}`, i, k.number, k.protocol))
			}
		}
	}
	return kubectl.Command("patch service", w.Namespace, w.Name, "--type", "json", "-p", "["+strings.Join(steps, ",")+"]")
}
