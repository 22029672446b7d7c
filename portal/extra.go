package portal

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/contract/kube"
)

// extraReasons says what each kind of exposure is when nobody promised it.
var extraReasons = map[kube.ExposureKind]Reason{
	kube.NodePort: UnpromisedNodePort, kube.LoadBalancerExposure: UnpromisedLoadBalancer, kube.ExternalIP: UnpromisedExternalIP,
	kube.HostPort: UnpromisedHostPort, kube.HostNetwork: UnpromisedHostNetwork,
}

// unpromised gives what is exposed and that no endpoint promises: one entry
// for each object and kind of exposure, its ports being the evidence. What the
// contract accepts is left out; the cluster's own has the reason System.
func (j *judge) unpromised(m contract.Matching) []Entry {
	promised := map[key]string{} // by the Service that exposes it
	for _, p := range m.Promises {
		if p.Exposing != nil {
			promised[key{p.Exposing.Namespace, p.Exposing.Name}] = p.Endpoint.ID
		}
	}
	var all []Entry
	index := map[string]int{}
	hostNetworks, keeps := map[kube.Object]bool{}, map[key]bool{}
	for _, x := range m.Exposures {
		if x.Kind == kube.ExternalIP && x.Accept != nil {
			keeps[key{x.Namespace, x.Name}] = true
		}
		if x.Kind == kube.HostNetwork && x.Accept == nil {
			hostNetworks[kube.Object{Kind: x.Object, Namespace: x.Namespace, Name: x.Name}] = true
		}
	}
	for _, x := range m.Exposures {
		if x.Endpoint != "" || x.Accept != nil || j.retyped(m, x) {
			continue
		}
		kind := x.Kind
		if x.Kind == kube.HostPort && hostNetworks[kube.Object{Kind: x.Object, Namespace: x.Namespace, Name: x.Name}] {
			kind = kube.HostNetwork // one cause, one entry
		}
		id := strings.ToLower(fmt.Sprintf("%s/%s/%s", kind, x.Namespace, x.Name))
		i, ok := index[id]
		if !ok {
			i = len(all)
			index[id] = i
			all = append(all, j.extra(id, kind, x, promised[key{x.Namespace, x.Name}]))
			if kind == kube.ExternalIP && !x.System && keeps[key{x.Namespace, x.Name}] {
				all[i].Remedy = edit("service", x.Namespace, x.Name) // an address serves all ports, those that are accepted too
			}
		}
		if x.Kind != kube.HostNetwork {
			all[i].Evidence = append(all[i].Evidence, wayIn(x.Exposure))
		}
	}
	for i := range all {
		r := Services
		if k := all[i].Reason; k == UnpromisedHostPort || k == UnpromisedHostNetwork {
			r = Pods
		}
		if source := j.source(r); source.State == Stale {
			all[i].Evidence = append([]Text{say("was", string(all[i].Verdict), clock(source.Since))}, all[i].Evidence...)
			if all[i].Reason != System {
				all[i].Verdict, all[i].Reason, all[i].Remedy = Unknown, SourceStale, ""
			}
		}
	}
	return all
}

// retyped tells whether the exposure is the promised port of a Service whose
// type was changed: that is said once, as the endpoint's drift.
func (j *judge) retyped(m contract.Matching, x contract.Judgement) bool {
	if x.Kind != kube.LoadBalancerExposure {
		return false
	}
	for _, p := range m.Promises {
		if p.Exposing != nil && p.Exposing.Name == x.Name && p.Exposing.Namespace == x.Namespace &&
			(p.Port == nil || p.Port.Port == x.Port && p.Port.Protocol == x.Protocol) {
			return true
		}
	}
	return false
}

func (j *judge) extra(id string, kind kube.ExposureKind, x contract.Judgement, promisedBy string) Entry {
	e := Entry{ID: id, Verdict: Extra, Reason: extraReasons[kind], Namespace: x.Namespace, Name: x.Name, Evidence: []Text{}}
	switch {
	case x.System:
		e.Verdict, e.Reason = Match, System
		e.Evidence = append(e.Evidence, say("system"))
		return e
	case promisedBy != "" && (kind == kube.NodePort || kind == kube.LoadBalancerExposure):
		e.Reason = UndeclaredPort
		e.Evidence = append(e.Evidence, say("undeclared-port", promisedBy))
		e.Remedy = edit("service", x.Namespace, x.Name)
		return e
	case kind == kube.NodePort || kind == kube.LoadBalancerExposure:
		e.Remedy = patchType(&kube.Service{Object: kube.Object{Namespace: x.Namespace, Name: x.Name}}, kube.ClusterIP)
	case kind == kube.ExternalIP:
		e.Remedy = kubectl("patch service", x.Namespace, x.Name, "-p", `{"spec":{"externalIPs":null}}`)
	default:
		e.Remedy = edit(cmp.Or(x.Object, "Pod"), x.Namespace, x.Name)
	}
	e.Evidence = append(e.Evidence, say("extra", x.Object, x.Namespace, x.Name, say(phrase("kind-"+strings.ToLower(string(kind))))))
	return e
}

// wayIn says one port of an exposure.
func wayIn(x kube.Exposure) Text {
	switch {
	case x.Kind == kube.ExternalIP:
		return say("port-external", x.HostIP, x.NodePort, x.Protocol)
	case x.Kind == kube.HostPort && x.HostIP != "":
		return say("port-host-ip", x.NodePort, x.Protocol, x.HostIP)
	case x.Kind == kube.HostPort:
		return say("port-host", x.NodePort, x.Protocol)
	case x.NodePort == 0:
		return say("port-unassigned", x.Port, x.Protocol)
	}
	return say("node-port", x.NodePort, x.Protocol, x.Port)
}
