package portal

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/contract/kube"
)

// World is the snapshot as contract.Match reads it. Pods of one owner become
// one workload, so that a DaemonSet is one way in and not one for each node.
func (s *Snapshot) World() contract.World { return world(s) }

// world is the snapshot as contract.Match reads it. Pods of one owner become
// one workload, so that a DaemonSet is one way in and not one for each node.
func world(s *Snapshot) contract.World {
	w := contract.World{Services: make([]kube.Service, 0, len(s.Services))}
	for _, service := range s.Services {
		k := kube.Service{
			Object:   kube.Object{Kind: "Service", Namespace: service.Namespace, Name: service.Name},
			Type:     kube.ServiceType(cmp.Or(service.Type, string(kube.ClusterIP))),
			Selector: service.Selector,
		}
		for _, ip := range service.ExternalIPs {
			k.ExternalIPs = append(k.ExternalIPs, kube.Address{IP: ip})
		}
		for _, p := range service.Ports {
			port := kube.ServicePort{Name: p.Name, Port: p.Port, Protocol: protocol(p.Protocol), NodePort: p.NodePort, AppProtocol: p.AppProtocol}
			if number, err := strconv.Atoi(p.TargetPort); err == nil {
				port.Target.Number = number
			} else {
				port.Target.Name = p.TargetPort
			}
			k.Ports = append(k.Ports, port)
		}
		w.Services = append(w.Services, k)
	}
	index := map[kube.Object]int{}
	for _, pod := range s.Pods {
		owner := owner(pod)
		i, ok := index[owner]
		if !ok {
			i = len(w.Workloads)
			index[owner] = i
			w.Workloads = append(w.Workloads, kube.Workload{Object: owner, Labels: pod.Labels})
		}
		workload := &w.Workloads[i]
		workload.HostNetwork = workload.HostNetwork || pod.HostNetwork
		for _, p := range pod.Ports {
			port := kube.ContainerPort{Container: p.Container, Name: p.Name, Port: p.Port, Protocol: protocol(p.Protocol), HostPort: p.HostPort, HostIP: p.HostIP}
			if !slices.Contains(workload.Ports, port) {
				workload.Ports = append(workload.Ports, port)
			}
		}
	}
	return w
}

// owner is what people call the pod's owner; the pod itself where it has none.
func owner(p Pod) kube.Object {
	if p.OwnerName == "" {
		return kube.Object{Kind: "Pod", Namespace: p.Namespace, Name: p.Name}
	}
	return kube.Object{Kind: p.OwnerKind, Namespace: p.Namespace, Name: p.OwnerName}
}

func protocol(p string) string { return cmp.Or(p, "TCP") }
