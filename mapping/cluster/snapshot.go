package cluster

import (
	"errors"
	"time"

	"github.com/nestor-tools/nestor/mapping/fact"
)

var errNoSystem = errors.New("the API lists no namespace kube-system")

// Snapshot is what the API said, each resource for itself: read, absent (the
// server has no such resource), denied or unknown. The zero Snapshot is
// unknown throughout. It holds no Secret, and of each object only what Map
// needs.
type Snapshot struct {
	Version        Observed[string]         `json:"version"`
	Nodes          Observed[[]Node]         `json:"nodes"`
	Namespaces     Observed[[]Namespace]    `json:"namespaces"`
	Deployments    Observed[[]Workload]     `json:"deployments"`
	DaemonSets     Observed[[]Workload]     `json:"daemonsets"`
	StatefulSets   Observed[[]Workload]     `json:"statefulsets"`
	CronJobs       Observed[[]Workload]     `json:"cronjobs"`
	CRDs           Observed[[]string]       `json:"customresourcedefinitions"` // names: gateways.gateway.networking.k8s.io
	Services       Observed[[]Service]      `json:"services"`
	StorageClasses Observed[[]StorageClass] `json:"storageclasses"`
	Claims         Observed[[]Claim]        `json:"persistentvolumeclaims"`

	// Ways are the objects that open further ways in, by the plural names of
	// Ways: Ingresses, Gateways, their routes, pools of addresses.
	Ways map[string]Observed[[]Place] `json:"ways"`
}

// Node is a Node of the API.
type Node struct {
	Name          string            `json:"name"`
	Labels        map[string]string `json:"labels,omitempty"`
	Addresses     []Address         `json:"addresses,omitempty"`
	Taints        []string          `json:"taints,omitempty"` // key=value:Effect
	Unschedulable bool              `json:"unschedulable,omitempty"`
	Conditions    map[string]string `json:"conditions,omitempty"` // Ready: "True"
	MachineID     string            `json:"machine_id,omitempty"`
	SystemUUID    string            `json:"system_uuid,omitempty"`
	Kubelet       string            `json:"kubelet,omitempty"` // v1.35.4
	Runtime       string            `json:"runtime,omitempty"` // containerd://2.1.5
	OSImage       string            `json:"os_image,omitempty"`
	Kernel        string            `json:"kernel,omitempty"`
	Architecture  string            `json:"architecture,omitempty"`
}

// Address is one of a node's addresses.
type Address struct {
	Type    string `json:"type"` // InternalIP, ExternalIP, Hostname, ...
	Address string `json:"address"`
}

// Place is an object's namespace, empty for those of the cluster, and name.
type Place struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Namespace is a Namespace.
type Namespace struct {
	Name string `json:"name"`
	UID  string `json:"uid,omitempty"`
}

// Workload is what runs pods: a Deployment, DaemonSet, StatefulSet or CronJob.
type Workload struct {
	Kind        string            `json:"kind"`
	Namespace   string            `json:"namespace"`
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels,omitempty"` // those of app.kubernetes.io
	Containers  []Container       `json:"containers"`
	HostNetwork bool              `json:"host_network,omitempty"`
	Wanted      int               `json:"wanted"` // replicas; 0 for a CronJob
	Ready       int               `json:"ready"`
}

// Container is a container of a workload's pods.
type Container struct {
	Image string     `json:"image"`
	Ports []HostPort `json:"ports,omitempty"` // those with a port on the node
}

// HostPort is a port of a container that is one of the node's.
type HostPort struct {
	Name     string `json:"name,omitempty"`
	Port     int    `json:"port"` // the container's
	HostPort int    `json:"host_port"`
	Protocol string `json:"protocol"`
	HostIP   string `json:"host_ip,omitempty"`
}

// Service is a Service.
type Service struct {
	Namespace   string        `json:"namespace"`
	Name        string        `json:"name"`
	Type        string        `json:"type"` // ClusterIP, NodePort, LoadBalancer, ExternalName
	Ports       []ServicePort `json:"ports,omitempty"`
	ExternalIPs []string      `json:"external_ips,omitempty"`
	Balanced    []string      `json:"balanced,omitempty"` // addresses that a load balancer gave it
}

// ServicePort is one of a Service's ports.
type ServicePort struct {
	Name     string `json:"name,omitempty"`
	Port     int    `json:"port"`
	Protocol string `json:"protocol"`
	NodePort int    `json:"node_port,omitempty"` // 0: none
}

// Claim is a PersistentVolumeClaim.
type Claim struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Phase     string `json:"phase"` // Bound, Pending, Lost
}

// Way is a resource whose objects open a way in.
type Way struct {
	Resource string // its plural
	Group    string
	Kind     string
}

// Ways are the resources that open ways in besides Services and host ports.
func Ways() []Way {
	return []Way{
		{"ingresses", "networking.k8s.io", "Ingress"},
		{"gateways", "gateway.networking.k8s.io", "Gateway"},
		{"httproutes", "gateway.networking.k8s.io", "HTTPRoute"},
		{"grpcroutes", "gateway.networking.k8s.io", "GRPCRoute"},
		{"tlsroutes", "gateway.networking.k8s.io", "TLSRoute"},
		{"tcproutes", "gateway.networking.k8s.io", "TCPRoute"},
		{"udproutes", "gateway.networking.k8s.io", "UDPRoute"},
		{"ingressroutes", "traefik.io", "IngressRoute"},
		{"ciliumloadbalancerippools", "cilium.io", "CiliumLoadBalancerIPPool"},
		{"ipaddresspools", "metallb.io", "IPAddressPool"},
	}
}

func wayNames() []string {
	var names []string
	for _, w := range Ways() {
		names = append(names, w.Resource)
	}
	return names
}

// states is what became of each resource, by its plural.
func (s Snapshot) states() map[string]Observed[none] {
	all := map[string]Observed[none]{
		"nodes":                     stateOf(s.Nodes),
		"namespaces":                stateOf(s.Namespaces),
		"deployments":               stateOf(s.Deployments),
		"daemonsets":                stateOf(s.DaemonSets),
		"statefulsets":              stateOf(s.StatefulSets),
		"cronjobs":                  stateOf(s.CronJobs),
		"customresourcedefinitions": stateOf(s.CRDs),
		"services":                  stateOf(s.Services),
		"storageclasses":            stateOf(s.StorageClasses),
		"persistentvolumeclaims":    stateOf(s.Claims),
	}
	for _, w := range Ways() {
		all[w.Resource] = stateOf(s.Ways[w.Resource])
	}
	return all
}

// workloads are all that were read, and the state of each kind.
func (s Snapshot) workloads() (all []Workload, states []Observed[none]) {
	for _, kind := range []Observed[[]Workload]{s.Deployments, s.DaemonSets, s.StatefulSets, s.CronJobs} {
		if kind.State == fact.IsPresent {
			all = append(all, kind.Value...)
		}
		states = append(states, stateOf(kind))
	}
	return all, states
}

// StorageClass is a StorageClass.
type StorageClass struct {
	Name        string    `json:"name"`
	Provisioner string    `json:"provisioner"`
	Default     bool      `json:"default,omitempty"`
	Created     time.Time `json:"created"` // of several defaults the newest is taken
	Reclaim     string    `json:"reclaim,omitempty"`
	Binding     string    `json:"binding,omitempty"`
	Expandable  bool      `json:"expandable,omitempty"`
}
