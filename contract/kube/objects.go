package kube

// Position is a place in a file, 1-based; 0 means unknown, as for what a live
// cluster says.
type Position struct {
	File         string
	Line, Column int
}

// Object is what every object has. An empty Namespace means that the object
// does not say: it is chosen when the manifest is applied.
type Object struct {
	Kind, Namespace, Name string
	At                    Position
}

// ServiceType is spec.type of a Service.
type ServiceType string

// The types of Service. One that is not given is ClusterIP.
const (
	ClusterIP    ServiceType = "ClusterIP"
	NodePortType ServiceType = "NodePort"
	LoadBalancer ServiceType = "LoadBalancer"
	ExternalName ServiceType = "ExternalName"
)

// Service is a core v1 Service.
type Service struct {
	Object
	Type        ServiceType
	TypeAt      Position // of spec.type; of the object where it is not given
	Selector    map[string]string
	SelectorAt  Position
	Ports       []ServicePort
	ExternalIPs []Address
}

// Address is one of spec.externalIPs.
type Address struct {
	IP string
	At Position
}

// ServicePort is one of spec.ports.
type ServicePort struct {
	Name        string
	Port        int
	Protocol    string // TCP where it is not given
	Target      Target
	NodePort    int // 0: not given
	AppProtocol string
	At          Position // of the port
	NodePortAt  Position
	TargetAt    Position
}

// Target is a targetPort: a number or the name of a container port. Without
// one, Kubernetes takes the port's own number.
type Target struct {
	Number int
	Name   string
}

// Workload is a Pod, or anything that makes pods from a template.
type Workload struct {
	Object
	Labels         map[string]string // of the pods
	ServiceAccount string            // "default" where it is not given
	HostNetwork    bool
	HostNetworkAt  Position
	Ports          []ContainerPort
}

// ContainerPort is one of the ports that a container declares.
type ContainerPort struct {
	Container  string
	Name       string
	Port       int
	Protocol   string // TCP where it is not given
	HostPort   int    // 0: not given
	HostIP     string
	At         Position
	HostPortAt Position
}

// PortNumbered finds a port of the Service by its number, the one of TCP first;
// nil where there is none.
func (s *Service) PortNumbered(number int) *ServicePort {
	var found *ServicePort
	for i := range s.Ports {
		if p := &s.Ports[i]; p.Port == number && (found == nil || p.Protocol == "TCP") {
			found = p
		}
	}
	return found
}

// Selects tells whether the Service selects the pods with these labels. A
// Service without a selector selects nothing.
func (s Service) Selects(labels map[string]string) bool {
	return len(s.Selector) > 0 && subset(s.Selector, labels)
}

// SameNamespace tells whether two namespaces can be the same: a manifest that
// names none is applied wherever it is wanted.
func SameNamespace(a, b string) bool { return a == b || a == "" || b == "" }

// subset tells whether b holds every pair of a.
func subset(a, b map[string]string) bool {
	for k, v := range a {
		if w, ok := b[k]; !ok || w != v {
			return false
		}
	}
	return true
}

// Resolve gives the container port that the Service port leads to on this
// workload. ok is false where a name is not declared; a number is taken as it
// is, declared or not.
func (w Workload) Resolve(p ServicePort) (number int, declared, ok bool) {
	want := p.Target
	if want.Name == "" && want.Number == 0 {
		want.Number = p.Port
	}
	for _, cp := range w.Ports {
		if cp.Protocol != p.Protocol {
			continue
		}
		if (want.Name != "" && cp.Name == want.Name) || (want.Name == "" && cp.Port == want.Number) {
			return cp.Port, true, true
		}
	}
	return want.Number, false, want.Name == ""
}
