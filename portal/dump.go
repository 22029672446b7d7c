package portal

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// File is a file that was read, and its name for errors.
type File struct {
	Name string
	Text []byte
}

// ReadDump makes a snapshot from what kubectl wrote:
//
//	kubectl get svc,endpointslices,nodes,pods -A -o yaml > dump.yaml
//
// YAML or JSON, lists or single objects, any number of documents and files; an
// object that is given twice counts as it was last given. Objects of other
// kinds are passed over. One single file may be a snapshot in JSON instead.
//
// at is when the dump was made. A kind of which no file holds anything, not
// even an empty typed list, is Unsynced: a list of kind List that lacks it may
// hold all there is, or may not have been asked for it. Pods alone are then
// taken as not asked for.
//
// It refuses a file that does not parse: half a dump would make endpoints look
// MISSING that are there.
func ReadDump(at time.Time, files ...File) (*Snapshot, error) {
	return ReadDumpAnd(at, nil, files...)
}

// ReadDumpAnd is ReadDump for who wants other kinds too: other is told of each
// object of a kind that a snapshot does not hold, and of each list of one kind
// (GatewayList), before its items. kind is the object's, given by its list
// where it does not say.
func ReadDumpAnd(at time.Time, other func(kind string, object json.RawMessage) error, files ...File) (*Snapshot, error) {
	if len(files) == 1 {
		if s, err := readSnapshot(files[0]); s != nil || err != nil {
			return s, err
		}
	}
	d := dump{seen: map[Resource]bool{}, objects: map[string]object{}, other: other}
	for _, f := range files {
		if err := d.file(f); err != nil {
			return nil, err
		}
	}
	if len(d.seen) == 0 {
		return nil, fmt.Errorf("%s: no Service, EndpointSlice, Node or Pod; make it with: kubectl get svc,endpointslices,nodes,pods -A -o yaml", names(files))
	}
	return d.snapshot(at), nil
}

func names(files []File) string {
	var all []string
	for _, f := range files {
		all = append(all, f.Name)
	}
	return cmp.Or(strings.Join(all, ", "), "no file")
}

// readSnapshot reads a snapshot; nil for a file that is none.
func readSnapshot(f File) (*Snapshot, error) {
	var head struct{ Schema string }
	if json.Unmarshal(f.Text, &head) != nil || !strings.HasPrefix(head.Schema, "nestor.snapshot/") {
		return nil, nil
	}
	if head.Schema != SnapshotSchema {
		return nil, fmt.Errorf("%s: schema %q is not known; this nestor reads %s", f.Name, head.Schema, SnapshotSchema)
	}
	var s Snapshot
	if err := json.Unmarshal(f.Text, &s); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	return &s, nil
}

// resources are the kinds that are kept.
var resources = map[string]Resource{"Service": Services, "EndpointSlice": EndpointSlices, "Node": Nodes, "Pod": Pods}

type dump struct {
	seen    map[Resource]bool
	objects map[string]object // by kind, namespace and name
	other   func(kind string, object json.RawMessage) error
}

// object is what is read of the four kinds.
type object struct {
	Kind     string
	Metadata struct {
		Namespace, Name   string
		Labels            map[string]string
		DeletionTimestamp string
		OwnerReferences   []struct {
			Kind, Name string
			Controller bool
		}
	}
	Spec struct { // of Services, Nodes and Pods
		Type                  string
		Selector              map[string]string
		ExternalIPs           []string
		ExternalTrafficPolicy string
		IPFamilies            []string
		Ports                 []struct {
			Name, Protocol, AppProtocol string
			Port, NodePort              int
			TargetPort                  any
		}
		Unschedulable  bool
		NodeName       string
		HostNetwork    bool
		Containers     []container
		InitContainers []container
	}
	Status struct {
		Phase      string
		Addresses  []Address
		Conditions []struct{ Type, Status string }
	}
	Ports []struct { // of EndpointSlices
		Name, Protocol string
		Port           int
	}
	Endpoints []struct {
		Addresses  []string
		Conditions struct{ Ready *bool }
		NodeName   string
	}
}

type container struct {
	Name, RestartPolicy string
	Ports               []struct {
		Name, Protocol, HostIP  string
		ContainerPort, HostPort int
	}
}

// file reads every document of a file.
func (d *dump) file(f File) error {
	f.Text = bytes.TrimPrefix(f.Text, []byte("\ufeff"))
	if text := bytes.TrimSpace(f.Text); len(text) > 0 && text[0] == '{' {
		decoder := json.NewDecoder(bytes.NewReader(text))
		for {
			var document json.RawMessage
			if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return fmt.Errorf("%s: not whole JSON: %w", f.Name, err)
			}
			if err := d.value(document, "", 0); err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
		}
	}
	documents, err := jsonOf(f.Text)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	for _, document := range documents {
		if err := d.value(document, "", 0); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return nil
}

// jsonOf gives each document of a YAML stream as JSON, which the API's types
// are defined in.
func jsonOf(stream []byte) (documents []json.RawMessage, err error) {
	defer func() {
		// gopkg.in/yaml.v3 is archived and panics on some inputs
		if r := recover(); r != nil {
			documents, err = nil, fmt.Errorf("the YAML reader broke down: %v", r)
		}
	}()
	decoder := yaml.NewDecoder(bytes.NewReader(stream))
	for {
		var node yaml.Node
		if err := decoder.Decode(&node); errors.Is(err, io.EOF) {
			return documents, nil
		} else if err != nil {
			return nil, yamlError(err)
		}
		var value any
		if err := node.Decode(&value); err != nil {
			return nil, yamlError(err)
		}
		if value == nil {
			continue
		}
		document, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("line %d: a document that is no object of Kubernetes", node.Line)
		}
		documents = append(documents, document)
	}
}

// yamlError makes one line of an error of yaml.v3.
func yamlError(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	return errors.New(strings.Join(strings.Fields(text), " "))
}

// maxListDepth bounds lists in lists.
const maxListDepth = 8

// value reads a list or one object. kind is that of the items of a typed
// list, which may leave it out.
func (d *dump) value(raw json.RawMessage, kind string, depth int) error {
	var head struct {
		Kind, APIVersion string
		Metadata         struct{ Name, Continue string }
		Items            *[]json.RawMessage
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return errors.New("a document that is no object of Kubernetes; give what kubectl get -o yaml prints, or a snapshot")
	}
	kind = cmp.Or(head.Kind, kind)
	group, _, grouped := strings.Cut(head.APIVersion, "/")
	if of, ok := strings.CutSuffix(kind, "List"); ok && depth < maxListDepth {
		r, ok := resources[of]
		if ok && grouped && (r != EndpointSlices || group != "discovery.k8s.io") {
			return nil // another's Services, whose items need not say so
		} else if ok {
			d.seen[r] = true
		} else if of != "" && d.other != nil {
			if err := d.other(kind, raw); err != nil {
				return err
			}
		}
		if head.Metadata.Continue != "" {
			return fmt.Errorf("a %s that is the first part of a longer one", kind)
		}
		if head.Items == nil {
			return nil
		}
		for _, item := range *head.Items {
			if err := d.value(item, of, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	r, ok := resources[kind]
	if !ok || (grouped && (r != EndpointSlices || group != "discovery.k8s.io")) {
		if d.other != nil {
			return d.other(kind, raw)
		}
		return nil // of another kind, or of another's Service
	}
	var o object
	if err := json.Unmarshal(raw, &o); err != nil {
		return fmt.Errorf("%s %q: %w", kind, head.Metadata.Name, err)
	}
	if o.Metadata.Name == "" {
		return fmt.Errorf("a %s without a name", kind)
	}
	o.Kind = kind
	d.seen[r] = true
	d.objects[fmt.Sprintf("%s %s/%s", kind, o.Metadata.Namespace, o.Metadata.Name)] = o
	return nil
}

func (d *dump) snapshot(at time.Time) *Snapshot {
	s := &Snapshot{Schema: SnapshotSchema, ObservedAt: at, Sources: map[Resource]Source{}, Services: []Service{}, Slices: []EndpointSlice{}, Nodes: []Node{}}
	for _, r := range []Resource{Services, EndpointSlices, Nodes, Pods} {
		if d.seen[r] {
			s.Sources[r] = Source{State: Synced, Since: at}
		} else if r != Pods {
			s.Sources[r] = Source{State: Unsynced, Since: at, Why: "the dump holds none, and does not say that it was asked for them"}
		}
	}
	for _, o := range d.objects {
		switch o.Kind {
		case "Service":
			s.Services = append(s.Services, o.service())
		case "EndpointSlice":
			s.Slices = append(s.Slices, o.slice())
		case "Node":
			s.Nodes = append(s.Nodes, o.node())
		case "Pod":
			if p := o.pod(); p.HostNetwork || slices.ContainsFunc(p.Ports, func(p PodPort) bool { return p.HostPort != 0 }) {
				s.Pods = append(s.Pods, p)
			}
		}
	}
	s.Sort()
	return s
}

// Sort puts everything in the order of namespaces and names, so that the same
// cluster gives the same bytes.
func (s *Snapshot) Sort() {
	slices.SortFunc(s.Services, func(a, b Service) int { return byName(a.Namespace, b.Namespace, a.Name, b.Name) })
	slices.SortFunc(s.Slices, func(a, b EndpointSlice) int { return byName(a.Namespace, b.Namespace, a.Name, b.Name) })
	slices.SortFunc(s.Nodes, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(s.Pods, func(a, b Pod) int { return byName(a.Namespace, b.Namespace, a.Name, b.Name) })
}

func byName(namespaceA, namespaceB, a, b string) int {
	return cmp.Or(strings.Compare(namespaceA, namespaceB), strings.Compare(a, b))
}

func (o object) service() Service {
	s := Service{Namespace: o.Metadata.Namespace, Name: o.Metadata.Name, Type: cmp.Or(o.Spec.Type, "ClusterIP"), Selector: o.Spec.Selector,
		ExternalIPs: o.Spec.ExternalIPs, ExternalTrafficPolicy: o.Spec.ExternalTrafficPolicy, IPFamilies: o.Spec.IPFamilies}
	for _, p := range o.Spec.Ports {
		port := ServicePort{Name: p.Name, Port: p.Port, Protocol: p.Protocol, NodePort: p.NodePort, AppProtocol: p.AppProtocol}
		switch target := p.TargetPort.(type) {
		case string:
			port.TargetPort = target
		case float64:
			port.TargetPort = fmt.Sprint(int(target))
		}
		s.Ports = append(s.Ports, port)
	}
	return s
}

func (o object) slice() EndpointSlice {
	s := EndpointSlice{Namespace: o.Metadata.Namespace, Name: o.Metadata.Name, Service: o.Metadata.Labels["kubernetes.io/service-name"]}
	for _, p := range o.Ports {
		s.Ports = append(s.Ports, SlicePort{Name: p.Name, Port: p.Port, Protocol: p.Protocol})
	}
	for _, e := range o.Endpoints {
		s.Endpoints = append(s.Endpoints, Endpoint{Addresses: e.Addresses, Ready: e.Conditions.Ready, Node: e.NodeName})
	}
	return s
}

func (o object) node() Node {
	return Node{Name: o.Metadata.Name, Ready: o.ready(), Cordoned: o.Spec.Unschedulable, Addresses: o.Status.Addresses}
}

// ready tells whether the condition Ready of a node or a pod is True.
func (o object) ready() bool {
	for _, c := range o.Status.Conditions {
		if c.Type == "Ready" {
			return c.Status == "True"
		}
	}
	return false
}

func (o object) pod() Pod {
	p := Pod{Namespace: o.Metadata.Namespace, Name: o.Metadata.Name, Labels: o.Metadata.Labels, Node: o.Spec.NodeName,
		Ready: o.ready() && o.Metadata.DeletionTimestamp == "", HostNetwork: o.Spec.HostNetwork}
	if o.Status.Phase == "Succeeded" || o.Status.Phase == "Failed" {
		return Pod{} // it holds no port any more
	}
	for _, owner := range o.Metadata.OwnerReferences {
		if owner.Controller {
			p.OwnerKind, p.OwnerName = Owner(owner.Kind, owner.Name, p.Labels)
		}
	}
	containers := o.Spec.Containers
	for _, c := range o.Spec.InitContainers {
		if c.RestartPolicy == "Always" { // a sidecar: the others are gone when the pod runs
			containers = append(containers, c)
		}
	}
	for _, c := range containers {
		for _, port := range c.Ports {
			p.Ports = append(p.Ports, PodPort{Container: c.Name, Name: port.Name, Port: port.ContainerPort, Protocol: port.Protocol, HostPort: port.HostPort, HostIP: port.HostIP})
		}
	}
	return p
}
