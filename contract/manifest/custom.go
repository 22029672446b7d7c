package manifest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/contract/kube"
	"github.com/nestor-tools/nestor/contract/yamldoc"
)

// operators says which Services an operator creates for a custom resource;
// "X" stands for the resource's name. From the documentation of each project.
var operators = map[string][]derivation{
	"postgresql.cnpg.io/Cluster":                 {{"X-rw", []int{5432}}, {"X-ro", []int{5432}}, {"X-r", []int{5432}}},
	"postgresql.cnpg.io/Pooler":                  {{"X", []int{5432}}},
	"ceph.rook.io/CephObjectStore":               {{"rook-ceph-rgw-X", nil}}, // ports: spec.gateway
	"ceph.rook.io/CephCluster":                   {{"rook-ceph-mgr", []int{9283}}, {"rook-ceph-mgr-dashboard", nil}},
	"acid.zalan.do/postgresql":                   {{"X", []int{5432}}, {"X-repl", []int{5432}}},
	"monitoring.coreos.com/Prometheus":           {{"prometheus-operated", []int{9090}}},
	"monitoring.coreos.com/Alertmanager":         {{"alertmanager-operated", []int{9093}}},
	"monitoring.coreos.com/ThanosRuler":          {{"thanos-ruler-operated", nil}},
	"kafka.strimzi.io/Kafka":                     {{"X-kafka-bootstrap", nil}, {"X-kafka-brokers", nil}},
	"elasticsearch.k8s.elastic.co/Elasticsearch": {{"X-es-http", []int{9200}}},
	"kibana.k8s.elastic.co/Kibana":               {{"X-kb-http", []int{5601}}},
	"rabbitmq.com/RabbitmqCluster":               {{"X", nil}, {"X-nodes", nil}},
	"grafana.integreatly.org/Grafana":            {{"X-service", []int{3000}}},
}

type derivation struct {
	service string
	ports   []int
}

// charts are the kinds that stand for a Helm release.
var charts = []string{"helm.toolkit.fluxcd.io/HelmRelease", "helm.cattle.io/HelmChart", "helm.cattle.io/HelmChartConfig"}

// quiet are groups whose resources speak of exposures without making any.
var quiet = []string{"kyverno.io", "policies.kyverno.io", "constraints.gatekeeper.sh", "templates.gatekeeper.sh", "monitoring.coreos.com", "cilium.io", "projectcalico.org", "crd.projectcalico.org", "cert-manager.io"}

func (r *reader) custom(o kube.Object, group string, n yamldoc.Node) {
	spec := n.Get("spec")
	switch kind := group + "/" + o.Kind; {
	case operators[kind] != nil:
		for _, d := range operators[kind] {
			r.tree.Derived = append(r.tree.Derived, Derived{Object: o, Service: strings.ReplaceAll(d.service, "X", o.Name), Ports: slices.Concat(d.ports, derivedPorts(o.Kind, spec))})
		}
		if kind == "postgresql.cnpg.io/Cluster" {
			r.database(o, spec)
		}
	case slices.Contains(charts, kind):
		r.tree.Charts = append(r.tree.Charts, o)
		r.inlineValues(o, spec.Get("valuesContent"))
	case strings.HasSuffix(o.Kind, "NetworkPolicy"):
		r.tree.OtherPolicies = append(r.tree.OtherPolicies, o)
	case kind == "argoproj.io/AppProject":
		p := Project{Object: o}
		for d := range spec.Get("destinations").Items() {
			p.Namespaces = append(p.Namespaces, kube.Object{Kind: "Namespace", Name: d.Get("namespace").Text(), At: r.at(d.Get("namespace"))})
		}
		r.tree.Projects = append(r.tree.Projects, p)
	case kind == "argoproj.io/Application":
		r.applicationSource(o, spec.Get("source"))
		for source := range spec.Get("sources").Items() {
			r.applicationSource(o, source)
		}
	case strings.HasSuffix(o.Kind, "Cluster") || strings.HasSuffix(o.Kind, "ObjectStore"):
		r.tree.Generators = append(r.tree.Generators, o)
	}
	if !slices.Contains(quiet, group) {
		r.elsewhere(ByOperator, o, n)
	}
}

func (r *reader) applicationSource(o kube.Object, source yamldoc.Node) {
	if source.Get("chart").Kind() == yamldoc.Scalar || source.Get("helm").Kind() == yamldoc.Mapping {
		r.tree.Charts = append(r.tree.Charts, o)
		r.inlineValues(o, source.Get("helm", "values"))
	}
}

// inlineValues looks into values of a chart that are written as a text.
func (r *reader) inlineValues(o kube.Object, values yamldoc.Node) {
	r.inline(values, func(root yamldoc.Node) { r.elsewhere(ByOperator, o, root) })
}

func derivedPorts(kind string, spec yamldoc.Node) (ports []int) {
	add := func(keys ...string) {
		if port, ok := spec.Get(keys...).Int(); ok {
			ports = append(ports, port)
		}
	}
	switch kind {
	case "CephObjectStore":
		add("gateway", "port")
		add("gateway", "securePort")
	case "CephCluster":
		add("dashboard", "port")
	}
	return ports
}

func (r *reader) database(o kube.Object, spec yamldoc.Node) {
	db := Database{Object: o}
	add := func(name yamldoc.Node) {
		if name.Kind() == yamldoc.Scalar {
			db.Secrets = append(db.Secrets, kube.Object{Kind: "Secret", Namespace: o.Namespace, Name: name.Text(), At: r.at(name)})
		}
	}
	for role := range spec.Get("managed", "roles").Items() {
		add(role.Get("passwordSecret", "name"))
	}
	add(spec.Get("bootstrap", "initdb", "secret", "name"))
	add(spec.Get("superuserSecret", "name"))
	r.tree.Databases = append(r.tree.Databases, db)
}

// elsewhere looks for what exposes in something that is not a manifest.
func (r *reader) elsewhere(by ElsewhereKind, target kube.Object, n yamldoc.Node) {
	var found []Elsewhere
	r.exposing(n, 0, func(what string, at yamldoc.Node) {
		found = append(found, Elsewhere{By: by, Target: target, What: what, At: r.at(at)})
	})
	r.tree.Elsewhere = append(r.tree.Elsewhere, found...)
}

// exposing walks a value and tells the places that expose something.
func (r *reader) exposing(n yamldoc.Node, depth int, found func(what string, at yamldoc.Node)) {
	if depth > 40 {
		return
	}
	for key, value := range n.Pairs() {
		switch name := key.Text(); name {
		case "type", "serviceType":
			if t := value.Text(); strings.EqualFold(t, "NodePort") || t == "LoadBalancer" {
				found("type "+t, value)
			}
		case "hostNetwork":
			if on, _ := value.Bool(); on {
				found("hostNetwork", value)
			} else if on, _ := value.Get("enabled").Bool(); on {
				found("hostNetwork", value.Get("enabled"))
			}
		case "nodePort", "hostPort":
			if port, ok := value.Int(); ok && port > 0 {
				found(fmt.Sprintf("%s %d", name, port), value)
			} else if on, _ := value.Get("enabled").Bool(); on {
				found(name, value.Get("enabled"))
			}
		}
		r.exposing(value, depth+1, found)
	}
	for item := range n.Items() {
		r.exposing(item, depth+1, found)
	}
}
