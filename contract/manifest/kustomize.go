package manifest

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/contract/kube"
	"github.com/nestor-tools/nestor/contract/yamldoc"
)

// kustomization is what one kustomization says of patches.
type kustomization struct {
	file      string
	namespace string
	resources []string
	patches   []patchRef
}

type patchRef struct {
	file   string      // "" for one that is written in place
	target kube.Object // empty for a strategic merge patch, which names its own
}

// jsonPatch is a document that is a list of JSON patch operations.
type jsonPatch struct {
	file    string
	changes []Elsewhere
}

func (r *reader) kustomization(n yamldoc.Node) {
	k := kustomization{file: r.file, namespace: n.Get("namespace").Text()}
	dir := path.Dir(r.file)
	for resource := range n.Get("resources").Items() {
		k.resources = append(k.resources, path.Join(dir, resource.Text()))
	}
	for _, field := range []string{"patches", "patchesJson6902", "patchesStrategicMerge"} {
		for p := range n.Get(field).Items() {
			if p.Kind() == yamldoc.Scalar {
				k.patches = append(k.patches, patchRef{file: path.Join(dir, p.Text())})
				continue
			}
			target := p.Get("target")
			ref := patchRef{target: kube.Object{Kind: target.Get("kind").Text(), Namespace: target.Get("namespace").Text(), Name: target.Get("name").Text(), At: r.at(target)}}
			if file := p.Get("path"); file.Kind() == yamldoc.Scalar {
				ref.file = path.Join(dir, file.Text())
			} else {
				r.inlinePatch(ref.target, p.Get("patch"))
			}
			k.patches = append(k.patches, ref)
		}
	}
	for chart := range n.Get("helmCharts").Items() {
		r.tree.Charts = append(r.tree.Charts, kube.Object{Kind: "HelmChart", Namespace: chart.Get("namespace").Text(), Name: chart.Get("name").Text(), At: r.at(chart)})
		r.elsewhere(ByValues, kube.Object{Kind: "HelmChart", Name: chart.Get("name").Text()}, chart.Get("valuesInline"))
	}
	r.tree.kustomizations = append(r.tree.kustomizations, k)
}

// inlinePatch reads a patch that is written in its kustomization.
func (r *reader) inlinePatch(target kube.Object, patch yamldoc.Node) {
	r.inline(patch, func(root yamldoc.Node) {
		if root.Kind() != yamldoc.Sequence {
			r.elsewhere(ByPatch, patchTarget(target, root), root)
			return
		}
		for _, change := range r.operations(root) {
			change.Target = target
			r.tree.Elsewhere = append(r.tree.Elsewhere, change)
		}
	})
}

// inline reads YAML that is a text of a document, with the lines of the file
// where the text is a block. One in another style has no lines of its own:
// its first one is given.
func (r *reader) inline(text yamldoc.Node, each func(root yamldoc.Node)) {
	start := text.BlockStart()
	for _, chunk := range yamldoc.Split([]byte(text.Text())) {
		if start > 0 {
			chunk.Line += start - 1
		} else {
			chunk.Line = text.Line()
		}
		root, problems := chunk.Parse()
		for _, p := range problems {
			r.problem(ProblemKind(p.Kind), kube.Position{File: r.file, Line: p.Line}, "YAML in a text: %s", p.Message)
		}
		if len(problems) == 0 {
			each(root)
		}
	}
}

func patchTarget(target kube.Object, root yamldoc.Node) kube.Object {
	if target.Name == "" {
		target.Kind, target.Namespace, target.Name = root.Get("kind").Text(), root.Get("metadata", "namespace").Text(), root.Get("metadata", "name").Text()
	}
	return target
}

// jsonPatch keeps a list of JSON patch operations; false where the list is
// something else.
func (r *reader) jsonPatch(root yamldoc.Node) bool {
	for item := range root.Items() {
		if item.Get("op").Kind() != yamldoc.Scalar || item.Get("path").Kind() != yamldoc.Scalar {
			return false
		}
	}
	r.tree.jsonPatches = append(r.tree.jsonPatches, jsonPatch{r.file, r.operations(root)})
	return true
}

func (r *reader) operations(root yamldoc.Node) (changes []Elsewhere) {
	add := func(what string, at yamldoc.Node) {
		changes = append(changes, Elsewhere{By: ByPatch, What: what, At: r.at(at)})
	}
	for op := range root.Items() {
		if op.Get("op").Text() == "remove" || op.Get("op").Text() == "test" {
			continue
		}
		value := op.Get("value")
		switch field := path.Base(op.Get("path").Text()); field {
		case "type":
			if t := value.Text(); t == "NodePort" || t == "LoadBalancer" {
				add("type "+t, value)
			}
		case "nodePort", "hostPort":
			if port, ok := value.Int(); ok {
				add(fmt.Sprintf("%s %d", field, port), value)
			}
		case "hostNetwork":
			if on, _ := value.Bool(); on {
				add("hostNetwork", value)
			}
		case "externalIPs":
			add("externalIPs", value)
		default:
			r.exposing(value, 0, add)
		}
	}
	return changes
}

// applyKustomize gives patches their targets, and takes what is a patch out
// of the objects: a patch looks like the object that it changes.
func (t *Tree) applyKustomize() {
	byFile := map[string][]jsonPatch{}
	for _, p := range t.jsonPatches {
		byFile[p.file] = append(byFile[p.file], p)
	}
	patchFiles, used := map[string]bool{}, map[string]bool{}
	for _, k := range t.kustomizations {
		for _, ref := range k.patches {
			if ref.file == "" {
				continue
			}
			for _, p := range byFile[ref.file] {
				used[ref.file] = true
				for _, change := range p.changes {
					change.Target = ref.target
					t.Elsewhere = append(t.Elsewhere, change)
				}
			}
			patchFiles[ref.file] = true
		}
	}
	for _, p := range t.jsonPatches {
		if !used[p.file] {
			t.Elsewhere = append(t.Elsewhere, p.changes...)
		}
	}
	t.setNamespaces()
	if len(patchFiles) == 0 {
		return
	}
	t.Services = slices.DeleteFunc(t.Services, func(s kube.Service) bool {
		if !patchFiles[s.At.File] {
			return false
		}
		for _, e := range s.Exposures()[:min(1, len(s.Exposures()))] {
			t.Elsewhere = append(t.Elsewhere, Elsewhere{ByPatch, s.Object, "type " + string(s.Type), e.Source})
		}
		if len(s.Ports) == 0 && (s.Type == kube.NodePortType || s.Type == kube.LoadBalancer) {
			t.Elsewhere = append(t.Elsewhere, Elsewhere{ByPatch, s.Object, "type " + string(s.Type), s.TypeAt})
		}
		return true
	})
	t.Workloads = slices.DeleteFunc(t.Workloads, func(w kube.Workload) bool {
		if !patchFiles[w.At.File] {
			return false
		}
		for _, e := range w.Exposures() {
			what := "hostNetwork"
			if e.Kind == kube.HostPort {
				what = fmt.Sprintf("hostPort %d", e.NodePort)
			}
			t.Elsewhere = append(t.Elsewhere, Elsewhere{ByPatch, w.Object, what, e.Source})
		}
		return true
	})
	isPatch := func(o kube.Object) bool { return patchFiles[o.At.File] }
	t.Policies = slices.DeleteFunc(t.Policies, func(p Policy) bool { return isPatch(p.Object) })
	t.Roles = slices.DeleteFunc(t.Roles, func(x Role) bool { return isPatch(x.Object) })
	t.Leftovers = slices.DeleteFunc(t.Leftovers, isPatch)
	slices.SortStableFunc(t.Elsewhere, func(a, b Elsewhere) int {
		return strings.Compare(a.At.File, b.At.File)
	})
}

// reportPortless tells the Services that would expose something and have no
// port: no API server takes them, so they are patches that nothing lists.
func (t *Tree) reportPortless() {
	for _, s := range t.Services {
		if len(s.Ports) == 0 && (s.Type == kube.NodePortType || s.Type == kube.LoadBalancer) {
			t.Problems = append(t.Problems, Problem{Kind: Field, At: s.TypeAt,
				Message: fmt.Sprintf("Service %s is a %s without ports, which the API server refuses; as a patch, no kustomization lists it", s.Name, s.Type)})
		}
	}
}

// setNamespaces gives the namespace of the only kustomization that lists a
// file to the objects of that file that name none.
func (t *Tree) setNamespaces() {
	chosen := map[string]string{}
	for _, k := range t.kustomizations {
		for _, file := range k.resources {
			if other, ok := chosen[file]; ok && other != k.namespace {
				chosen[file] = ""
			} else if !ok {
				chosen[file] = k.namespace
			}
		}
	}
	set := func(o *kube.Object) {
		if o.Namespace == "" {
			o.Namespace = chosen[o.At.File]
		}
	}
	for i := range t.Services {
		set(&t.Services[i].Object)
	}
	for i := range t.Workloads {
		set(&t.Workloads[i].Object)
	}
	for i := range t.Policies {
		set(&t.Policies[i].Object)
	}
	for i := range t.Derived {
		set(&t.Derived[i].Object)
	}
	for i := range t.Secrets {
		set(&t.Secrets[i].Object)
	}
}
