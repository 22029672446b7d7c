package contract

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/contract/kube"
	"github.com/nestor-tools/nestor/contract/manifest"
)

// Story is what the files say of one endpoint, step by step.
type Story struct {
	Endpoint string    `json:"endpoint"`
	Steps    []Step    `json:"steps"`
	Findings []Finding `json:"findings"`
}

// Step is one sentence and the place that it rests on, which may be empty.
type Step struct {
	Text string `json:"text"`
	Position
}

// Explain tells the whole story of an endpoint: what is promised, what makes
// its Service exist, what exposes it, which pods answer, and what is wrong.
// findings are those of Load and Check together. It fails for an unknown id.
func Explain(s *Set, tree *manifest.Tree, o Options, findings []Finding, id string) (*Story, error) {
	i := slices.IndexFunc(s.Endpoints, func(e Endpoint) bool { return e.ID == id })
	if i < 0 {
		var ids []string
		for _, e := range s.Endpoints {
			ids = append(ids, oneLine(e.ID))
		}
		return nil, fmt.Errorf("%s: no endpoint is called %q; it has %s", s.File, id, strings.Join(ids, ", "))
	}
	m := Match(s.Contract, World{tree.Services, tree.Workloads, o.Prefix}, o.Today)
	p := m.Promises[i]
	e := p.Endpoint
	story := &Story{Endpoint: id, Findings: []Finding{}}
	say := func(at Position, format string, args ...any) {
		story.Steps = append(story.Steps, Step{oneLine(fmt.Sprintf(format, args...)), at})
	}
	exposed := "for use inside the cluster"
	if e.Exposed {
		exposed = "exposed on the nodes"
	}
	say(e.At("id"), "%s is promised: Service %s, port %d, %s", id, qualified(e.Namespace, e.Service), e.Port, exposed)
	if e.Profil != "" {
		say(e.At("profil"), "it exists in profile %s only", e.Profil)
	}
	serving := p.Backend
	switch {
	case p.Backend != nil:
		say(pos(p.Backend.At), "Service %s exists, a %s with ports %s", p.Backend.Name, p.Backend.Type, portsText(p.Backend))
	default:
		say(Position{}, "no manifest has the Service")
		for _, d := range tree.Derived {
			if d.Service == e.Service && kube.SameNamespace(d.Namespace, e.Namespace) {
				say(pos(d.At), "%s %s makes its operator create it", d.Kind, d.Name)
			}
		}
	}
	switch {
	case p.Host != nil:
		say(pos(p.Host.Source), "%s %s holds port %d of its node", p.Host.Object, p.Host.Name, p.Host.NodePort)
	case p.Rivals != nil:
		for _, r := range p.Rivals {
			say(pos(r.TypeAt), "Service %s could expose it", r.Name)
		}
	case p.Exposing != nil:
		serving = p.Exposing
		found := map[How]string{Stated: "named by exposure:", Itself: "the endpoint's own Service", SamePods: "it selects the same pods", Convention: "by its name, <service>-nodeport"}[p.How]
		say(pos(p.Exposing.TypeAt), "Service %s exposes it, a %s (%s)", p.Exposing.Name, p.Exposing.Type, found)
		if p.Port != nil {
			scheme, from := e.URLScheme(p.Port.AppProtocol, p.Port.Name)
			number := "assigned by the cluster"
			if p.Port.NodePort != 0 {
				number = fmt.Sprint(p.Port.NodePort)
			}
			say(pos(p.Port.At), "its URL is %s://<node>:<nodePort>%s, the scheme from %s, the nodePort %s", scheme, e.Path, from, number)
		}
	case e.Exposed:
		say(e.At("exposed"), "nothing exposes it")
	}
	var answering *kube.Workload
	if serving != nil {
		for _, w := range tree.Workloads {
			if kube.SameNamespace(w.Namespace, e.Namespace) && serving.Selects(w.Labels) {
				answering = &w
				say(pos(w.At), "%s %s answers", w.Kind, w.Name)
			}
		}
		if answering == nil {
			say(pos(serving.SelectorAt), "no workload of the manifests has the labels %s", labelText(serving.Selector))
		}
	}
	for _, policy := range tree.Policies {
		if answering == nil || p.Port == nil || policy.Namespace != e.Namespace || !policy.Ingress || !policy.Selects(answering.Labels) {
			continue
		}
		number, _, _ := answering.Resolve(*p.Port)
		opens := "does not open"
		if policy.Opens(p.Port.Protocol, number, p.Port.Target.Name) {
			opens = "opens"
		}
		say(pos(policy.At), "NetworkPolicy %s isolates the pods, and %s port %d to the outside", policy.Name, opens, number)
	}
	if e.Credential.Secret != "" {
		say(e.At("credential"), "its credential is in Secret %s of namespace %s", e.Credential.Secret, e.Namespace)
	}
	for _, f := range findings {
		if f.Endpoint == id {
			story.Findings = append(story.Findings, f)
		}
	}
	return story, nil
}

func portsText(s *kube.Service) string {
	var all []string
	for _, p := range s.Ports {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %d/%s", p.Name, p.Port, p.Protocol)))
	}
	return strings.Join(all, ", ")
}
