package manifest

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/contract/kube"
	"github.com/nestor-tools/nestor/contract/yamldoc"
)

// reader reads one file into a tree of its own.
type reader struct {
	file string
	tree *Tree
}

func (r *reader) at(n yamldoc.Node) kube.Position {
	return kube.Position{File: r.file, Line: n.Line(), Column: n.Column()}
}

func (r *reader) problem(kind ProblemKind, at kube.Position, format string, args ...any) {
	r.tree.Problems = append(r.tree.Problems, Problem{Kind: kind, At: at, Message: fmt.Sprintf(format, args...)})
}

func (r *reader) stream(b []byte) {
	if bytes.HasPrefix(b, []byte("\xff\xfe")) || bytes.HasPrefix(b, []byte("\xfe\xff")) {
		r.problem(Unread, kube.Position{File: r.file, Line: 1}, "UTF-16; save it as UTF-8")
		return
	}
	isTemplateFile := templateSuffix(r.file) != ""
	templated := -1 // the file's problem about templates: one for all its documents
	for _, chunk := range yamldoc.Split(b) {
		r.tree.Documents++
		root, problems := chunk.Parse()
		for _, p := range problems {
			at := kube.Position{File: r.file, Line: p.Line, Column: p.Column}
			if p.Kind != yamldoc.Template && !isTemplateFile {
				r.problem(ProblemKind(p.Kind), at, "%s", p.Message)
				if p.Earlier > 0 {
					last := &r.tree.Problems[len(r.tree.Problems)-1]
					last.Related = append(last.Related, kube.Position{File: r.file, Line: p.Earlier})
				}
				continue
			}
			if !looksLikeManifest(chunk.Text) {
				continue
			}
			if templated < 0 {
				templated = len(r.tree.Problems)
				r.problem(Template, at, "a template that is not rendered: %s", p.Message)
			} else {
				r.tree.Problems[templated].Related = append(r.tree.Problems[templated].Related, at)
			}
		}
		if len(problems) == 0 {
			r.document(root)
		}
	}
	if templated >= 0 {
		r.hint(&r.tree.Problems[templated], b)
	}
}

// looksLikeManifest tells a template of manifests from one of anything else.
func looksLikeManifest(text []byte) bool {
	return bytes.Contains(text, []byte("kind:")) && bytes.Contains(text, []byte("apiVersion:"))
}

// hint adds what the text of a template seems to expose.
func (r *reader) hint(p *Problem, b []byte) {
	var seen []string
	line := 0
	for text := range bytes.Lines(b) {
		line++
		code, _, _ := bytes.Cut(text, []byte(" #"))
		trimmed := bytes.TrimLeft(code, " -")
		for _, word := range []string{"type: NodePort", "type: LoadBalancer", "nodePort:", "hostPort:", "hostNetwork: true"} {
			if bytes.HasPrefix(trimmed, []byte(word)) {
				seen = append(seen, fmt.Sprintf("%s at line %d", strings.TrimSuffix(word, ":"), line))
				if line != p.At.Line {
					p.Related = append(p.Related, kube.Position{File: r.file, Line: line})
				}
			}
		}
	}
	if len(seen) > 0 {
		p.Message += "; it seems to hold " + strings.Join(seen, ", ")
	}
}

func (r *reader) document(root yamldoc.Node) {
	switch {
	case root.Kind() == yamldoc.Sequence:
		if !r.jsonPatch(root) {
			r.elsewhere(ByValues, kube.Object{}, root)
		}
	case root.Kind() != yamldoc.Mapping:
	case r.isKustomization(root):
		r.kustomization(root)
	case root.Get("kind").Kind() == yamldoc.Scalar && (root.Get("apiVersion").Kind() == yamldoc.Scalar || root.Get("metadata").Kind() == yamldoc.Mapping):
		r.object(root, root.Get("apiVersion").Text(), root.Get("kind").Text(), 0)
	case root.Get("contract_version").Kind() == yamldoc.Missing:
		r.elsewhere(ByValues, kube.Object{}, root)
	}
}

// isKustomization knows one by its file's name, by its kind, which may be left
// out, or by fields that nothing else has.
func (r *reader) isKustomization(root yamldoc.Node) bool {
	switch path.Base(r.file) {
	case "kustomization.yaml", "kustomization.yml", "Kustomization":
		return true
	}
	if root.Get("kind").Kind() != yamldoc.Missing {
		return strings.HasPrefix(root.Get("apiVersion").Text(), "kustomize.config.k8s.io/")
	}
	return root.Get("patchesJson6902").Kind() == yamldoc.Sequence || root.Get("patchesStrategicMerge").Kind() == yamldoc.Sequence
}

// maxListDepth bounds lists in lists.
const maxListDepth = 8

func (r *reader) object(n yamldoc.Node, apiVersion, kind string, depth int) {
	if items := n.Get("items"); strings.HasSuffix(kind, "List") && items.Kind() == yamldoc.Sequence && depth < maxListDepth {
		for item := range items.Items() {
			itemVersion, itemKind := item.Get("apiVersion").Text(), item.Get("kind").Text()
			if itemKind == "" { // a typed list may leave them out
				itemVersion, itemKind = apiVersion, strings.TrimSuffix(kind, "List")
			}
			if itemKind != "" {
				r.object(item, itemVersion, itemKind, depth+1)
			}
		}
		return
	}
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		group = ""
	}
	meta := n.Get("metadata")
	o := kube.Object{Kind: kind, Namespace: meta.Get("namespace").Text(), Name: meta.Get("name").Text(), At: r.at(n)}
	if at := n.Get("kind"); at.Line() > 0 {
		o.At = r.at(at)
	}
	if name := meta.Get("name"); name.Kind() == yamldoc.Scalar {
		o.At = r.at(name)
	}
	if spelled := misspelt(group, kind); spelled != "" && apiVersion != "" {
		at := o.At
		if k := n.Get("kind"); k.Line() > 0 {
			at = r.at(k)
		}
		r.problem(Field, at, "kind %q is refused by the API server: it is spelled %q", kind, spelled)
		return
	}
	if isTemplate(o.Name) || isTemplate(o.Namespace) {
		if exposes := kind == "Service" || workloadTemplate[kind] != nil; exposes && builtin(group) {
			r.problem(Template, o.At, "a template that is not rendered: a %s named %q in namespace %q", kind, o.Name, o.Namespace)
		}
		return
	}
	switch {
	case kind == "Service" && group == "":
		r.service(o, n)
	case workloadTemplate[kind] != nil && (builtin(group) || group == "argoproj.io" || group == "apps.kruise.io"):
		r.workload(o, n)
	case kind == "NetworkPolicy" && group == "networking.k8s.io":
		r.policy(o, n)
	case kind == "Ingress" && builtin(group):
		r.ingress(o, n)
	case group == "gateway.networking.k8s.io" || isL7Leftover(group, kind):
		r.leftover(o, n)
	case group == "rbac.authorization.k8s.io":
		r.rbac(o, n)
	case kind == "StorageClass" && builtin(group):
		provisioner := n.Get("provisioner")
		isDefault := meta.Get("annotations", "storageclass.kubernetes.io/is-default-class").Text() == "true"
		r.tree.StorageClasses = append(r.tree.StorageClasses, StorageClass{o, provisioner.Text(), r.at(provisioner), isDefault})
	case kind == "Secret" && group == "":
		s := Secret{Object: o}
		for _, section := range []string{"data", "stringData"} {
			for key := range n.Get(section).Pairs() {
				s.Keys = append(s.Keys, key.Text())
			}
		}
		r.tree.Secrets = append(r.tree.Secrets, s)
	case builtin(group):
	case o.Name == "" && meta.Get("generateName").Kind() == yamldoc.Missing:
		r.elsewhere(ByValues, kube.Object{Kind: kind}, n) // a tool's own file, never an object of a cluster
	default:
		r.custom(o, group, n)
	}
}

// builtinKinds gives the kinds that are read here, and those that stand beside
// them most often, with the API group of each.
// https://kubernetes.io/docs/reference/kubernetes-api/
var builtinKinds = map[string]string{
	"List": "", "Service": "", "Pod": "", "ReplicationController": "", "Secret": "", "ConfigMap": "", "Namespace": "", "ServiceAccount": "",
	"Deployment": "apps", "DaemonSet": "apps", "StatefulSet": "apps", "ReplicaSet": "apps", "Job": "batch", "CronJob": "batch",
	"NetworkPolicy": "networking.k8s.io", "Ingress": "networking.k8s.io", "StorageClass": "storage.k8s.io",
	"Role": "rbac.authorization.k8s.io", "ClusterRole": "rbac.authorization.k8s.io",
	"RoleBinding": "rbac.authorization.k8s.io", "ClusterRoleBinding": "rbac.authorization.k8s.io",
}

// misspelt gives the right spelling of a built-in kind in the wrong case, which
// the API server does not know; "" for any other kind.
func misspelt(group, kind string) string {
	if _, ok := builtinKinds[kind]; ok {
		return ""
	}
	for known, in := range builtinKinds {
		if in == group && strings.EqualFold(known, kind) {
			return known
		}
	}
	return ""
}

// builtin tells whether an API group is Kubernetes' own.
func builtin(group string) bool {
	return !strings.Contains(group, ".") || (strings.HasSuffix(group, ".k8s.io") && slices.Contains(builtinGroups, strings.TrimSuffix(group, ".k8s.io")))
}

var builtinGroups = []string{
	"networking", "rbac.authorization", "storage", "apiextensions", "admissionregistration", "apiregistration", "apps", "authentication",
	"authorization", "certificates", "coordination", "discovery", "events", "flowcontrol.apiserver", "node", "policy", "resource", "scheduling",
	"kustomize.config",
}

// isTemplate tells whether a text has yet to be filled in.
func isTemplate(s string) bool { return strings.Contains(s, "{{") || strings.Contains(s, "${") }

// labels gives a mapping of texts.
func labels(n yamldoc.Node) map[string]string {
	m := map[string]string{}
	for k, v := range n.Pairs() {
		m[k.Text()] = v.Text()
	}
	return m
}
