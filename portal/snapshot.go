package portal

import (
	"strings"
	"time"
)

// SnapshotSchema names the form of a snapshot in a file.
const SnapshotSchema = "nestor.snapshot/v1"

// Snapshot is what was observed of a cluster at one moment. It is immutable
// once made: those who share it only read it.
type Snapshot struct {
	Schema     string    `json:"schema"`
	ObservedAt time.Time `json:"observed_at"`
	// Sources says for each kind of object whether it was read; a source that
	// is not listed was not asked for.
	Sources  map[Resource]Source `json:"sources"`
	Services []Service           `json:"services"`
	Slices   []EndpointSlice     `json:"endpoint_slices"`
	Nodes    []Node              `json:"nodes"`
	Pods     []Pod               `json:"pods,omitempty"` // those that hold ports of a node
	// SecretsReadable tells whether the reader's own rights reach Secrets,
	// which they should not; nil: it was not asked, or no answer came.
	SecretsReadable *bool `json:"secrets_readable,omitempty"`
}

// Resource is a kind of object, as RBAC rules write it.
type Resource string

// The resources that the portal reads.
const (
	Services       Resource = "services"
	EndpointSlices Resource = "endpointslices"
	Nodes          Resource = "nodes"
	Pods           Resource = "pods"
)

// SourceState is how far what was read of a resource can be believed.
type SourceState string

// The states of a source. Anything but Synced makes what rests on it UNKNOWN.
const (
	Synced   SourceState = "synced"
	Stale    SourceState = "stale"    // read once; since then no sign of life
	Denied   SourceState = "denied"   // the API server refuses: 401 or 403
	Unsynced SourceState = "unsynced" // not read yet, or never whole
	// NotAsked is of a source that no snapshot lists; views alone say it.
	NotAsked SourceState = "not-asked"
)

// Source is the state of one resource.
type Source struct {
	State SourceState `json:"state"`
	Since time.Time   `json:"since"`         // of the last sign of life; for Denied and Unsynced, of the first try
	Why   string      `json:"why,omitempty"` // one line; for Denied the rule that is missing
}

// Service is what decides where a core v1 Service leads.
type Service struct {
	Namespace             string            `json:"namespace"`
	Name                  string            `json:"name"`
	Type                  string            `json:"type"`
	Selector              map[string]string `json:"selector,omitempty"`
	Ports                 []ServicePort     `json:"ports,omitempty"`
	ExternalIPs           []string          `json:"external_ips,omitempty"`
	ExternalTrafficPolicy string            `json:"external_traffic_policy,omitempty"` // Cluster or Local
	IPFamilies            []string          `json:"ip_families,omitempty"`             // IPv4, IPv6
}

// ServicePort is one of spec.ports.
type ServicePort struct {
	Name        string `json:"name,omitempty"`
	Port        int    `json:"port"`
	Protocol    string `json:"protocol,omitempty"`    // TCP where it is empty
	TargetPort  string `json:"target_port,omitempty"` // a number or a name
	NodePort    int    `json:"node_port,omitempty"`   // 0: none
	AppProtocol string `json:"app_protocol,omitempty"`
}

// EndpointSlice is a discovery v1 EndpointSlice of a Service.
type EndpointSlice struct {
	Namespace string      `json:"namespace"`
	Name      string      `json:"name"`
	Service   string      `json:"service"`         // its kubernetes.io/service-name
	Ports     []SlicePort `json:"ports,omitempty"` // named as those of the Service
	Endpoints []Endpoint  `json:"endpoints,omitempty"`
}

// SlicePort is a port of all endpoints of a slice.
type SlicePort struct {
	Name     string `json:"name,omitempty"`
	Port     int    `json:"port"` // 0: every port
	Protocol string `json:"protocol,omitempty"`
}

// Endpoint is one backend of a slice.
type Endpoint struct {
	Addresses []string `json:"addresses,omitempty"`
	// Ready is nil where the API does not say, which is to be read as true
	// (Kubernetes API, discovery.k8s.io/v1 EndpointConditions).
	Ready *bool  `json:"ready,omitempty"`
	Node  string `json:"node,omitempty"`
}

// Node is what decides whether a node answers on its ports.
type Node struct {
	Name      string    `json:"name"`
	Ready     bool      `json:"ready"`
	Cordoned  bool      `json:"cordoned,omitempty"` // spec.unschedulable
	Addresses []Address `json:"addresses,omitempty"`
}

// Address is one of status.addresses.
type Address struct {
	Type    string `json:"type"` // ExternalIP, InternalIP, ExternalDNS, InternalDNS, Hostname
	Address string `json:"address"`
}

// Pod is a pod that holds ports of its node.
type Pod struct {
	Namespace   string            `json:"namespace"`
	Name        string            `json:"name"`
	OwnerKind   string            `json:"owner_kind,omitempty"` // as Owner gives them
	OwnerName   string            `json:"owner_name,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Node        string            `json:"node,omitempty"`
	Ready       bool              `json:"ready"`
	HostNetwork bool              `json:"host_network,omitempty"`
	Ports       []PodPort         `json:"ports,omitempty"`
}

// Owner gives what a person calls the owner of a pod, from its controlling
// ownerReference and the pod's labels: the Deployment in place of its
// ReplicaSet, which is named after it and the pod's template hash. The contract
// accepts ports of the host under that name. A static pod (owner kind Node)
// and one without an owner have none: "".
func Owner(kind, name string, labels map[string]string) (ownerKind, ownerName string) {
	if kind == "Node" {
		return "", ""
	}
	if hash := labels["pod-template-hash"]; kind == "ReplicaSet" && hash != "" {
		if deployment, ok := strings.CutSuffix(name, "-"+hash); ok {
			return "Deployment", deployment
		}
	}
	return kind, name
}

// PodPort is a port that a container declares.
type PodPort struct {
	Container string `json:"container,omitempty"`
	Name      string `json:"name,omitempty"`
	Port      int    `json:"port"`
	Protocol  string `json:"protocol,omitempty"`
	HostPort  int    `json:"host_port,omitempty"`
	HostIP    string `json:"host_ip,omitempty"`
}
