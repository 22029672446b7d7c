package contract

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/nestor-tools/nestor/contract/kube"
	"github.com/nestor-tools/nestor/contract/manifest"
)

// Options of Check.
type Options struct {
	Root   fs.FS     // the tree that the contract's paths are relative to
	Prefix string    // what positions in the tree start with, as in manifest.Options
	Today  time.Time // decides which accept entries are over; zero: none
}

// Check compares the contract with the manifests, both ways. The findings are
// sorted by file and line; [Load]'s own are not repeated.
func Check(s *Set, tree *manifest.Tree, o Options) []Finding {
	c := &checker{Set: s, tree: tree, Options: o, used: map[*Accept]bool{}, over: map[*Accept][]Position{}}
	c.matching = Match(s.Contract, World{tree.Services, tree.Workloads, o.Prefix}, o.Today)
	for _, p := range c.matching.Promises {
		c.endpoint(p)
	}
	c.networkAccess()
	c.exposures()
	c.services()
	c.elsewhere()
	c.leftovers()
	c.problems()
	c.storage()
	c.secrets()
	c.accepts() // last: the others say which are used
	sortFindings(c.findings)
	return c.findings
}

// sortFindings orders by place, then by rule.
func sortFindings(all []Finding) {
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), strings.Compare(a.Rule, b.Rule), strings.Compare(a.Message, b.Message))
	})
}

type checker struct {
	*Set
	Options
	tree     *manifest.Tree
	matching Matching
	findings []Finding
	used     map[*Accept]bool
	over     map[*Accept][]Position // what entries that are over would accept
}

func (c *checker) report(rule string, at Position, endpoint, message, remedy string, related ...Position) *Finding {
	c.findings = append(c.findings, NewFinding(rule, endpoint, at, message, remedy, related...))
	return &c.findings[len(c.findings)-1]
}

// in tells whether a place is in a source of the contract.
func (c *checker) in(source string, at kube.Position) bool {
	return within(at.File, path.Join(c.Prefix, source))
}

// pos makes a finding's position of a manifest's.
func pos(p kube.Position) Position { return Position(p) }

// accepted finds the entry that accepts an object that is not an exposure. One
// that is over is found as well, and reported as such; only what cannot be
// evaluated is then reported again.
func (c *checker) accepted(o kube.Object, at kube.Position, kinds ...string) (first *Accept) {
	for i := range c.Accept {
		a := &c.Accept[i]
		byFile := strings.EqualFold(a.Kind, "File") && !a.Expired(c.Today) && c.matchesFile(a.Name, at.File)
		byName := a.Name == o.Name && o.Name != "" && a.inNamespace(o.Namespace) &&
			(strings.EqualFold(a.Kind, o.Kind) || slices.ContainsFunc(kinds, func(k string) bool { return strings.EqualFold(a.Kind, k) }))
		if byFile || byName {
			c.use(a, at)
			if first == nil {
				first = a
			}
		}
	}
	return first
}

func (c *checker) use(a *Accept, at kube.Position) {
	c.used[a] = true
	if a.Expired(c.Today) && !slices.Contains(c.over[a], pos(at)) {
		c.over[a] = append(c.over[a], pos(at))
	}
}

// matchesFile compares a file with a name, a folder or a pattern of the
// contract.
func (c *checker) matchesFile(pattern, file string) bool {
	pattern = path.Join(c.Prefix, pattern)
	ok, err := path.Match(pattern, file)
	return (err == nil && ok) || within(file, pattern)
}

// until says how long an entry holds.
func until(a *Accept) string {
	if a.Until.IsZero() {
		return ""
	}
	return " until " + a.Until.Format(time.DateOnly)
}

// exposures reports what nobody wants. The ports of one object that are
// exposed in one way make one finding.
func (c *checker) exposures() {
	type key struct {
		kind            kube.ExposureKind
		namespace, name string
	}
	groups := map[key][]Judgement{}
	var order []key
	wanted := map[[3]string]bool{} // objects of which some exposure is
	onHost := map[[2]string]bool{} // pods of which the host network is reported: implied ports say no more
	for _, j := range c.matching.Exposures {
		if spoken := c.spokenOf(j.Exposure); j.Endpoint != "" || spoken {
			wanted[objectOf(j)] = true
			continue // an entry that is over is reported itself
		}
		if j.Kind == kube.HostNetwork {
			onHost[[2]string{j.Namespace, j.Name}] = true
		}
		k := key{j.Kind, j.Namespace, j.Name}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], j)
	}
	for _, k := range order {
		group := groups[k]
		if k.kind == kube.HostPort && onHost[[2]string{k.namespace, k.name}] {
			group = slices.DeleteFunc(group, func(j Judgement) bool { return j.Implied })
			if len(group) == 0 {
				continue
			}
		}
		if wanted[objectOf(group[0])] {
			// of a Service that is known, the port is what is not
			for _, j := range group {
				if j.PortAt.Line > 0 && j.Kind != kube.HostPort {
					j.Source = j.PortAt
				}
				c.unwanted([]Judgement{j})
			}
			continue
		}
		c.unwanted(group)
	}
}

// spokenOf tells whether an entry names the exposure, be it over or not.
func (c *checker) spokenOf(e kube.Exposure) (spoken bool) {
	for i := range c.Accept {
		if a := &c.Accept[i]; a.speaksOf(e) {
			spoken = true
			c.use(a, e.Source)
		}
	}
	return spoken
}

func objectOf(j Judgement) [3]string { return [3]string{string(j.Kind), j.Namespace, j.Name} }

func (c *checker) unwanted(group []Judgement) {
	first := group[0]
	var ports []string
	var related []Position
	for _, j := range group {
		text := fmt.Sprintf("%d/%s", j.Port, j.Protocol)
		if j.Kind == kube.HostPort {
			text = fmt.Sprintf("%d/%s", j.NodePort, j.Protocol)
		} else if j.NodePort != 0 && j.NodePort != j.Port {
			text += fmt.Sprintf(" (nodePort %d)", j.NodePort)
		}
		if !slices.Contains(ports, text) {
			ports = append(ports, text)
		}
		if at := pos(j.Source); at != pos(first.Source) && !slices.Contains(related, at) {
			related = append(related, at)
		}
	}
	endpoint := "" // that the Service exposes in another way than promised
	for _, p := range c.matching.Promises {
		if x := p.Exposing; x != nil && first.Object == "Service" && x.Name == first.Name && x.Namespace == first.Namespace {
			endpoint = p.Endpoint.ID
			related = append(related, p.Endpoint.At("exposed"))
			break
		}
	}
	object := fmt.Sprintf("%s %s", first.Object, qualified(first.Namespace, first.Name))
	list := strings.Join(ports, ", ")
	entry := fmt.Sprintf("accept it under accept: in %s", c.File)
	rule, message, remedy := "", "", ""
	switch first.Kind {
	case kube.NodePort:
		rule, message = "unpromised-nodeport", fmt.Sprintf("%s is a NodePort and no endpoint promises port %s", object, list)
		remedy = "promise it with exposed: true, " + entry + ", or make it a ClusterIP"
	case kube.LoadBalancerExposure:
		rule, message = "unpromised-loadbalancer", fmt.Sprintf("%s is a LoadBalancer and no endpoint promises port %s", object, list)
		remedy = "make it a NodePort and promise it with exposed: true, or " + entry
	case kube.ExternalIP:
		rule, message = "unpromised-externalip", fmt.Sprintf("%s has externalIPs for port %s", object, list)
		remedy = "remove externalIPs, or " + entry
	case kube.HostPort:
		rule, message = "unpromised-hostport", fmt.Sprintf("%s holds port %s of the node", object, list)
		remedy = "remove hostPort, promise it with exposure: {hostPort: N}, or " + entry
	case kube.HostNetwork:
		rule, message = "unpromised-hostnetwork", fmt.Sprintf("%s is on the network of the host: whatever it opens is reachable", object)
		remedy = "remove hostNetwork, or " + entry
	}
	if first.System {
		rule, remedy = "system-exposure", "nothing to do: it is listed so that it is known"
	}
	c.report(rule, pos(first.Source), endpoint, message, remedy, related...)
}

// services reports what is wrong with a Service whoever it serves.
func (c *checker) services() {
	type slot struct {
		port     int
		protocol string
	}
	pinned := map[slot]kube.Service{}
	for _, s := range c.tree.Services {
		object := "Service " + qualified(s.Namespace, s.Name)
		protocols := map[int]kube.ServicePort{}
		for _, p := range s.Ports {
			if other, ok := protocols[p.Port]; ok && other.Protocol != p.Protocol {
				c.report("port-twice", pos(p.At), "", fmt.Sprintf("%s has port %d for %s and %s", object, p.Port, other.Protocol, p.Protocol),
					"apply it server-side, or use two Services: kubectl apply merges ports by number alone", pos(other.At))
			}
			protocols[p.Port] = p
			if p.NodePort == 0 {
				continue
			}
			if s.Type == kube.ClusterIP {
				c.report("nodeport-on-clusterip", pos(p.NodePortAt), "", fmt.Sprintf("%s is a ClusterIP and has nodePort %d, which the API refuses", object, p.NodePort),
					"remove nodePort, or make the type NodePort", pos(s.TypeAt))
				continue
			}
			if p.NodePort < 30000 || p.NodePort > 32767 {
				c.report("nodeport-range", pos(p.NodePortAt), "", fmt.Sprintf("%s pins nodePort %d, out of the default range 30000-32767", object, p.NodePort),
					"leave nodePort out: the cluster assigns one")
			}
			k := slot{p.NodePort, p.Protocol}
			if other, ok := pinned[k]; ok && (other.Name != s.Name || other.Namespace != s.Namespace) {
				c.report("nodeport-collision", pos(p.NodePortAt), "", fmt.Sprintf("%s and Service %s both pin nodePort %d/%s", object, qualified(other.Namespace, other.Name), p.NodePort, p.Protocol),
					"leave nodePort out of one of them", pos(other.At))
			} else if !ok {
				pinned[k] = s
			}
		}
	}
}

// elsewhere reports the exposures that the manifests do not decide.
func (c *checker) elsewhere() {
	type group struct {
		first manifest.Elsewhere
		what  []string
		at    []Position
	}
	var groups []*group
	for _, e := range c.tree.Elsewhere {
		if c.promisedElsewhere(e) || c.accepted(e.Target, e.At, "NodePort", "LoadBalancer", "HostPort", "HostNetwork") != nil {
			continue
		}
		var g *group
		if n := len(groups); n > 0 && groups[n-1].first.At.File == e.At.File && groups[n-1].first.By == e.By && groups[n-1].first.Target.Name == e.Target.Name && groups[n-1].first.Target.Kind == e.Target.Kind {
			g = groups[n-1]
			g.at = append(g.at, pos(e.At))
		} else {
			g = &group{first: e}
			groups = append(groups, g)
		}
		if !slices.Contains(g.what, e.What) {
			g.what = append(g.what, e.What)
		}
	}
	for _, g := range groups {
		target := "an object that it does not name"
		if t := g.first.Target; t.Name != "" {
			target = strings.TrimSpace(t.Kind + " " + qualified(t.Namespace, t.Name))
		}
		what := strings.Join(g.what, ", ")
		switch g.first.By {
		case manifest.ByPatch:
			c.report("exposure-by-patch", pos(g.first.At), "", fmt.Sprintf("a patch gives %s %s: its exposure is decided by a patch", target, what),
				"write the exposure in a manifest of its own, or accept it under accept: in "+c.File, g.at...)
		case manifest.ByOperator:
			c.report("exposure-by-operator", pos(g.first.At), "", fmt.Sprintf("%s asks for %s: an operator decides the exposure", target, what),
				"expose it by a Service of type NodePort beside it, or accept it under accept: in "+c.File, g.at...)
		case manifest.ByValues:
			c.report("exposure-by-values", pos(g.first.At), "", fmt.Sprintf("this is no manifest and sets %s: the exposure is decided where it is used", what),
				"expose by a Service of type NodePort that is versioned, or accept it under accept: in "+c.File, g.at...)
		}
	}
}

// promisedElsewhere tells whether a patch makes the NodePort that an endpoint
// promises.
func (c *checker) promisedElsewhere(e manifest.Elsewhere) bool {
	if e.Target.Name == "" || !(e.What == "type NodePort" || strings.HasPrefix(e.What, "nodePort ")) {
		return false
	}
	return slices.ContainsFunc(c.matching.Promises, func(p Promise) bool { return p.Endpoint.Exposed && c.patched(p.Endpoint, e) })
}

func (c *checker) patched(e *Endpoint, x manifest.Elsewhere) bool {
	return x.By == manifest.ByPatch && x.Target.Kind == "Service" && kube.SameNamespace(x.Target.Namespace, e.Namespace) &&
		(x.Target.Name == e.Service || x.Target.Name == e.Service+"-nodeport" || x.Target.Name == e.Exposure.Service)
}

func (c *checker) leftovers() {
	for _, o := range c.tree.Leftovers {
		if a := c.accepted(o, o.At); a != nil && a.Expired(c.Today) {
			continue
		} else if a != nil {
			c.report("l7-leftover", pos(o.At), "", fmt.Sprintf("%s %s: cohabitation%s (accepted: %s)", o.Kind, qualified(o.Namespace, o.Name), until(a), a.Reason), "nothing to do before that").Severity = Info
			continue
		}
		c.report("l7-leftover", pos(o.At), "", fmt.Sprintf("%s %s belongs to exposure through a gateway or a load balancer", o.Kind, qualified(o.Namespace, o.Name)),
			fmt.Sprintf("remove it once node ports serve the UIs; until then accept it under accept: in %s with an until date", c.File))
	}
	for _, o := range c.tree.Charts {
		switch {
		case o.Kind == "Chart":
			f := c.report("manifest-chart", pos(o.At), "", fmt.Sprintf("chart %s is versioned and not rendered: what it exposes cannot be evaluated", o.Name),
				"version what helm template makes of it, or accept the folder: {kind: File, name: "+path.Dir(strings.TrimPrefix(o.At.File, c.Prefix+"/"))+", reason: ...}")
			c.downgrade(f, o.At)
		case c.accepted(o, o.At) == nil:
			c.report("exposure-by-chart", pos(o.At), "", fmt.Sprintf("%s %s is rendered elsewhere: what it exposes is not in the manifests", o.Kind, qualified(o.Namespace, o.Name)),
				"nothing to do where its values expose nothing; nestor state sees what runs")
		}
	}
}

// downgrade makes information of a finding in an accepted file.
func (c *checker) downgrade(f *Finding, at kube.Position) {
	if a := c.accepted(kube.Object{}, at); a != nil {
		f.Severity = Info
		f.Message += " (accepted" + until(a) + ": " + oneLine(a.Reason) + ")"
	}
}

func (c *checker) problems() {
	for _, p := range c.tree.Problems {
		related := make([]Position, 0, len(p.Related))
		for _, at := range p.Related {
			related = append(related, pos(at))
		}
		var rule, remedy string
		switch p.Kind {
		case manifest.Syntax:
			rule, remedy = "manifest-syntax", "mend the document; the others of the file were read"
		case manifest.Template:
			rule, remedy = "manifest-template", "version what the template makes, or accept the file: {kind: File, name: "+strings.TrimPrefix(p.At.File, c.Prefix+"/")+", reason: ...}"
		case manifest.Duplicate:
			rule, remedy = "manifest-duplicate-key", "keep one of them: readers of YAML do not agree on which one counts"
		case manifest.Field:
			rule, remedy = "manifest-field", "write it as the API reads it"
		default:
			rule, remedy = "manifest-unread", "make it readable, or accept the file: {kind: File, ...}"
		}
		c.downgrade(c.report(rule, pos(p.At), "", p.Message, remedy, related...), p.At)
	}
}

// accepts reports the entries that are over, or that accept nothing.
func (c *checker) accepts() {
	for i := range c.Accept {
		a := &c.Accept[i]
		what := strings.TrimSpace(a.Kind + " " + qualified(a.Namespace, a.Name))
		switch {
		case a.Expired(c.Today):
			c.report("accept-expired", a.UntilAt, "", fmt.Sprintf("%s was accepted until %s", what, a.Until.Format(time.DateOnly)), "end the exposure and remove the entry, or give it a new date and say why", c.over[a]...)
		case !c.used[a]:
			if !acceptable(a.Kind) && a.Kind != "" {
				c.report("contract-field", a.At, "", fmt.Sprintf("nothing in the manifests is %s, and %q is no kind of exposure: the entry accepts nothing", what, a.Kind),
					"write NodePort, LoadBalancer, ExternalIP, HostPort, HostNetwork, File, or the kind of the object that it accepts, or remove the entry").Severity = Warning
				continue
			}
			f := c.report("accept-unused", a.At, "", fmt.Sprintf("nothing in the manifests is %s", what), "remove the entry, or mend its kind, namespace, name or port")
			switch {
			case a.Namespace != "" && !c.runs(a.Namespace):
				f.Severity = Info
				f.Remedy = "nothing to do where the live cluster has it: what runs in that namespace is not versioned here"
			case !a.Until.IsZero() && !strings.EqualFold(a.Kind, "File"): // a controller may make a Service, too
				f.Severity = Info
				f.Remedy = "nothing to do where the live cluster has it until that day, as nestor state tells"
			}
		}
	}
}

// acceptable tells whether an entry of that kind can accept anything but a
// custom resource. The kinds are those that the manifests are searched for.
func acceptable(kind string) bool {
	return exposureKind(kind) != "" || slices.ContainsFunc(acceptedObjects, func(known string) bool { return strings.EqualFold(kind, known) })
}

var acceptedObjects = []string{
	"File", "Service",
	"Pod", "Deployment", "DaemonSet", "StatefulSet", "ReplicaSet", "ReplicationController", "Job", "CronJob", "Rollout", "CloneSet",
	"Gateway", "GatewayClass", "HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute", "ListenerSet", "XListenerSet", "Ingress",
	"CiliumLoadBalancerIPPool", "CiliumL2AnnouncementPolicy", "IPAddressPool", "L2Advertisement", "BGPAdvertisement",
	"ConfigMap", "HelmRelease", "HelmChart", "HelmChartConfig", "Application",
}

// runs tells whether the manifests hold what runs in a namespace.
func (c *checker) runs(namespace string) bool {
	return slices.ContainsFunc(c.tree.Workloads, func(w kube.Workload) bool { return w.Namespace == namespace })
}
