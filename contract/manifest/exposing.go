package manifest

import (
	"strings"

	"github.com/nestor-tools/nestor/contract/kube"
	"github.com/nestor-tools/nestor/contract/yamldoc"
)

// The fields that decide an exposure. A field spelled with another case is
// ignored by the API server, so it is reported.
var (
	serviceFields   = []string{"type", "ports", "selector", "externalIPs"}
	portFields      = []string{"name", "port", "protocol", "targetPort", "nodePort", "appProtocol"}
	podFields       = []string{"hostNetwork", "containers", "initContainers", "serviceAccountName"}
	containerFields = []string{"name", "ports"}
	hostPortFields  = []string{"name", "containerPort", "hostPort", "hostIP", "protocol"}
)

func (r *reader) checkCase(n yamldoc.Node, known []string) {
	for key := range n.Pairs() {
		for _, name := range known {
			if text := key.Text(); text != name && strings.EqualFold(text, name) {
				r.problem(Field, r.at(key), "field %q is ignored by the API server: it is spelled %q", text, name)
			}
		}
	}
}

func (r *reader) service(o kube.Object, n yamldoc.Node) {
	spec := n.Get("spec")
	r.checkCase(spec, serviceFields)
	s := kube.Service{Object: o, Type: kube.ClusterIP, TypeAt: o.At, Selector: labels(spec.Get("selector")), SelectorAt: o.At}
	if selector := spec.Get("selector"); selector.Kind() == yamldoc.Mapping {
		s.SelectorAt = r.at(selector)
	}
	if t := spec.Get("type"); t.Kind() == yamldoc.Scalar {
		s.TypeAt = r.at(t)
		switch s.Type = kube.ServiceType(t.Text()); {
		case isTemplate(t.Text()):
			r.problem(Template, s.TypeAt, "a template that is not rendered: the type of Service %s is %q", o.Name, t.Text())
			return
		case s.Type != kube.ClusterIP && s.Type != kube.NodePortType && s.Type != kube.LoadBalancer && s.Type != kube.ExternalName:
			r.problem(Field, s.TypeAt, "type %q is not a type of Service", t.Text())
		}
	}
	for ip := range spec.Get("externalIPs").Items() {
		s.ExternalIPs = append(s.ExternalIPs, kube.Address{IP: ip.Text(), At: r.at(ip)})
	}
	for p := range spec.Get("ports").Items() {
		r.checkCase(p, portFields)
		port := kube.ServicePort{Name: p.Get("name").Text(), Port: r.port(p.Get("port")), Protocol: protocol(p.Get("protocol")),
			NodePort: r.port(p.Get("nodePort")), AppProtocol: p.Get("appProtocol").Text(), At: r.at(p), TargetAt: r.at(p), NodePortAt: r.at(p)}
		if np := p.Get("nodePort"); np.Kind() == yamldoc.Scalar {
			port.NodePortAt = r.at(np)
		}
		if target := p.Get("targetPort"); target.Kind() == yamldoc.Scalar {
			port.TargetAt = r.at(target)
			if number, ok := target.Int(); ok {
				port.Target.Number = number
			} else {
				port.Target.Name = target.Text()
			}
		}
		s.Ports = append(s.Ports, port)
	}
	r.tree.Services = append(r.tree.Services, s)
}

// port reads the number of a port, 0 where there is none.
func (r *reader) port(n yamldoc.Node) int {
	if n.Kind() == yamldoc.Missing || n.Kind() == yamldoc.Null {
		return 0
	}
	number, ok := n.Int()
	switch {
	case ok && number >= 0 && number <= 65535:
		return number
	case ok:
		r.problem(Field, r.at(n), "port %d is out of range", number)
	case isTemplate(n.Text()):
		r.problem(Template, r.at(n), "a template that is not rendered: a port is %q", n.Text())
	default:
		r.problem(Field, r.at(n), "a port must be a number without quotes, not %q", n.Text())
	}
	return 0
}

func protocol(n yamldoc.Node) string {
	if p := n.Text(); p != "" {
		return strings.ToUpper(p)
	}
	return "TCP"
}

// workloadTemplate leads from an object to its pod template; nil for a kind
// that runs no pod. The empty path is the object itself.
var workloadTemplate = map[string][]string{
	"Pod":                   {},
	"Deployment":            {"spec", "template"},
	"DaemonSet":             {"spec", "template"},
	"StatefulSet":           {"spec", "template"},
	"ReplicaSet":            {"spec", "template"},
	"ReplicationController": {"spec", "template"},
	"Job":                   {"spec", "template"},
	"CronJob":               {"spec", "jobTemplate", "spec", "template"},
	"Rollout":               {"spec", "template"}, // argoproj.io
	"CloneSet":              {"spec", "template"}, // apps.kruise.io
}

func (r *reader) workload(o kube.Object, n yamldoc.Node) {
	pod := n.Get(workloadTemplate[o.Kind]...)
	spec := pod.Get("spec")
	r.checkCase(spec, podFields)
	w := kube.Workload{Object: o, Labels: labels(pod.Get("metadata", "labels")), ServiceAccount: spec.Get("serviceAccountName").Text(), HostNetworkAt: o.At}
	if w.ServiceAccount == "" {
		w.ServiceAccount = "default"
	}
	if hn := spec.Get("hostNetwork"); hn.Kind() == yamldoc.Scalar {
		w.HostNetworkAt = r.at(hn)
		on, ok := hn.Bool()
		switch w.HostNetwork = on; {
		case isTemplate(hn.Text()):
			r.problem(Template, r.at(hn), "a template that is not rendered: hostNetwork is %q", hn.Text())
		case !ok:
			r.problem(Field, r.at(hn), "hostNetwork must be true or false without quotes, not %q", hn.Text())
		}
	}
	for _, list := range []string{"containers", "initContainers"} {
		for c := range spec.Get(list).Items() {
			r.checkCase(c, containerFields)
			for p := range c.Get("ports").Items() {
				r.checkCase(p, hostPortFields)
				port := kube.ContainerPort{Container: c.Get("name").Text(), Name: p.Get("name").Text(), Port: r.port(p.Get("containerPort")),
					Protocol: protocol(p.Get("protocol")), HostPort: r.port(p.Get("hostPort")), HostIP: p.Get("hostIP").Text(), At: r.at(p), HostPortAt: r.at(p)}
				if hp := p.Get("hostPort"); hp.Kind() == yamldoc.Scalar {
					port.HostPortAt = r.at(hp)
				}
				w.Ports = append(w.Ports, port)
			}
		}
	}
	r.tree.Workloads = append(r.tree.Workloads, w)
	r.secretRefs(o.Namespace, spec)
}

// secretRefs keeps the names of the Secrets that a pod uses.
func (r *reader) secretRefs(namespace string, spec yamldoc.Node) {
	add := func(n yamldoc.Node) {
		if n.Kind() == yamldoc.Scalar {
			r.tree.SecretRefs = append(r.tree.SecretRefs, kube.Object{Kind: "Secret", Namespace: namespace, Name: n.Text(), At: r.at(n)})
		}
	}
	for c := range spec.Get("containers").Items() {
		for env := range c.Get("env").Items() {
			add(env.Get("valueFrom", "secretKeyRef", "name"))
		}
		for env := range c.Get("envFrom").Items() {
			add(env.Get("secretRef", "name"))
		}
	}
	for v := range spec.Get("volumes").Items() {
		add(v.Get("secret", "secretName"))
	}
}
