package portal

import (
	"slices"

	"github.com/nestor-tools/nestor/contract/kube"
)

// backends is how many endpoints answer for one port of a Service.
type backends struct {
	ready, all int
	nodes      []string // of the ready ones, sorted; "" is not among them
}

// backends counts the endpoints of a Service's port in its slices, which name
// it as the Service does. They alone say what is ready: never pods, which may
// be terminating (external-dns#2704).
func (j *judge) backends(s *kube.Service, p *kube.ServicePort) backends {
	var b backends
	for _, slice := range j.behind[key{s.Namespace, s.Name}] {
		if !slices.ContainsFunc(slice.Ports, func(port SlicePort) bool { return port.Name == p.Name && protocol(port.Protocol) == p.Protocol }) {
			continue
		}
		for _, e := range slice.Endpoints {
			b.all++
			if e.Ready != nil && !*e.Ready {
				continue
			}
			b.ready++
			if e.Node != "" {
				b.nodes = append(b.nodes, e.Node)
			}
		}
	}
	slices.Sort(b.nodes)
	b.nodes = slices.Compact(b.nodes)
	return b
}

// find gives an observed Service, nil where there is none.
func (j *judge) find(namespace, name string) *Service { return j.services[key{namespace, name}] }

// service gives the observed Service of one that contract.Match found.
func (j *judge) service(s *kube.Service) *Service { return j.find(s.Namespace, s.Name) }
