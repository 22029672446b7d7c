package observe

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-tools/nestor/portal"
)

// The functions below keep of an object what a snapshot holds of it; false
// means that it holds nothing.

func keepService(s *corev1.Service) (portal.Service, bool) {
	kept := portal.Service{
		Namespace:             s.Namespace,
		Name:                  s.Name,
		Type:                  string(s.Spec.Type),
		Selector:              s.Spec.Selector,
		ExternalIPs:           s.Spec.ExternalIPs,
		ExternalTrafficPolicy: string(s.Spec.ExternalTrafficPolicy),
	}
	for _, family := range s.Spec.IPFamilies {
		kept.IPFamilies = append(kept.IPFamilies, string(family))
	}
	for _, p := range s.Spec.Ports {
		port := portal.ServicePort{Name: p.Name, Port: int(p.Port), Protocol: string(p.Protocol), NodePort: int(p.NodePort)}
		if target := p.TargetPort.String(); target != "0" {
			port.TargetPort = target
		}
		if p.AppProtocol != nil {
			port.AppProtocol = *p.AppProtocol
		}
		kept.Ports = append(kept.Ports, port)
	}
	return kept, true
}

func keepSlice(s *discoveryv1.EndpointSlice) (portal.EndpointSlice, bool) {
	kept := portal.EndpointSlice{Namespace: s.Namespace, Name: s.Name, Service: s.Labels[discoveryv1.LabelServiceName]}
	for _, p := range s.Ports {
		var port portal.SlicePort
		if p.Name != nil {
			port.Name = *p.Name
		}
		if p.Port != nil {
			port.Port = int(*p.Port)
		}
		if p.Protocol != nil {
			port.Protocol = string(*p.Protocol)
		}
		kept.Ports = append(kept.Ports, port)
	}
	for _, e := range s.Endpoints {
		endpoint := portal.Endpoint{Addresses: e.Addresses, Ready: e.Conditions.Ready}
		if e.NodeName != nil {
			endpoint.Node = *e.NodeName
		}
		kept.Endpoints = append(kept.Endpoints, endpoint)
	}
	return kept, kept.Service != ""
}

func keepNode(n *corev1.Node) (portal.Node, bool) {
	kept := portal.Node{Name: n.Name, Cordoned: n.Spec.Unschedulable}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			kept.Ready = c.Status == corev1.ConditionTrue
		}
	}
	for _, a := range n.Status.Addresses {
		kept.Addresses = append(kept.Addresses, portal.Address{Type: string(a.Type), Address: a.Address})
	}
	return kept, true
}

// keepPod keeps the Pods that run and hold a port of their node, or are on its
// network. The API server itself writes the hostPorts of the latter.
func keepPod(p *corev1.Pod) (portal.Pod, bool) {
	kept := portal.Pod{
		Namespace: p.Namespace, Name: p.Name, Labels: p.Labels,
		Node: p.Spec.NodeName, HostNetwork: p.Spec.HostNetwork,
	}
	if owner := metav1.GetControllerOf(p); owner != nil {
		kept.OwnerKind, kept.OwnerName = portal.Owner(owner.Kind, owner.Name, p.Labels)
	}
	holds := p.Spec.HostNetwork
	ports := func(c corev1.Container) {
		for _, port := range c.Ports {
			holds = holds || port.HostPort != 0
			kept.Ports = append(kept.Ports, portal.PodPort{
				Container: c.Name, Name: port.Name, Port: int(port.ContainerPort), Protocol: string(port.Protocol),
				HostPort: int(port.HostPort), HostIP: port.HostIP,
			})
		}
	}
	for _, c := range p.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			ports(c)
		}
	}
	for _, c := range p.Spec.Containers {
		ports(c)
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			kept.Ready = c.Status == corev1.ConditionTrue && p.DeletionTimestamp == nil
		}
	}
	over := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	return kept, holds && !over
}
