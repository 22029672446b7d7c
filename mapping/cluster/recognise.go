package cluster

import (
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/mapping/fact"
)

// recognised is a snapshot sorted into what the catalogue knows and what not.
type recognised struct {
	found   map[*rule]*finding
	strange []Object // what no rule knows

	workloads  []Observed[none]
	crds       Observed[none]
	namespaces Observed[none]
	classes    Observed[none]

	names []Namespace
}

// finding is what was seen of one component.
type finding struct {
	versions map[string]bool // of the image that stands first in the rule
	others   map[string]bool // of its other images, and of labels

	namespaces, workloads, groups map[string]bool
}

func recognise(s Snapshot) recognised {
	workloads, states := s.workloads()
	r := recognised{
		found: map[*rule]*finding{}, workloads: states, names: s.Namespaces.Value,
		crds: stateOf(s.CRDs), namespaces: stateOf(s.Namespaces), classes: stateOf(s.StorageClasses),
	}
	for _, w := range workloads {
		r.workload(w)
	}
	groups := map[string]bool{}
	for _, name := range s.CRDs.Value {
		if _, group, ok := strings.Cut(name, "."); ok {
			groups[group] = true
		}
	}
	for _, group := range keys(groups) {
		if known := ruleOfGroup(group); known != nil {
			r.finding(known).groups[group] = true
		} else {
			r.strange = append(r.strange, Object{Kind: "APIGroup", Name: group})
		}
	}
	provisioners := map[string]bool{}
	for _, c := range s.StorageClasses.Value {
		if backendOf(c.Provisioner) == "" {
			provisioners[c.Provisioner] = true
		}
	}
	for _, p := range keys(provisioners) {
		r.strange = append(r.strange, Object{Kind: "Provisioner", Name: p})
	}
	return r
}

func (r recognised) finding(known *rule) *finding {
	f := r.found[known]
	if f == nil {
		f = &finding{versions: map[string]bool{}, others: map[string]bool{}, namespaces: map[string]bool{}, workloads: map[string]bool{}, groups: map[string]bool{}}
		r.found[known] = f
	}
	return f
}

// workload asks what a workload is: the first of its containers that is no
// mere sidecar says so, by its image; else its labels do.
func (r *recognised) workload(w Workload) {
	main := w.main()
	known, ending := main.find(byImage)
	whole := byName[w.Labels["app.kubernetes.io/part-of"]]
	version := main.tag
	switch {
	case known != nil && whole != nil && strings.Contains(parts, " "+known.name+" "):
		if known != whole { // its own Redis says nothing of its version
			known, ending, version = whole, "", ""
		}
	case known == nil: // the image is somebody's own
		version = w.Labels["app.kubernetes.io/version"]
		if known = byName[w.Labels["app.kubernetes.io/name"]]; known == nil {
			known = whole
		}
	case version == "":
		version = w.Labels["app.kubernetes.io/version"]
	}
	if known == nil {
		o := Object{Kind: w.Kind, Namespace: w.Namespace, Name: w.Name}
		for _, c := range w.Containers {
			o.Images = append(o.Images, c.Image)
		}
		r.strange = append(r.strange, o)
		return
	}
	f := r.finding(known)
	f.workloads[w.Kind+" "+w.Namespace+"/"+w.Name] = true
	f.namespaces[w.Namespace] = true
	switch {
	case version == "":
	case ending != "" && strings.Fields(known.images)[0] == ending:
		f.versions[version] = true
	default:
		f.others[version] = true
	}
}

// main is the image that says what the workload is; where all are sidecars,
// as in a driver's controller, the first.
func (w Workload) main() image {
	var first image
	for i, c := range w.Containers {
		parsed := parseImage(c.Image)
		if i == 0 {
			first = parsed
		}
		if sidecar, _ := parsed.find(sidecars); sidecar == nil {
			return parsed
		}
	}
	return first
}

func (r recognised) catalog() Observed[[]Component] {
	list := []Component{}
	for i := range rules {
		f := r.found[&rules[i]]
		if f == nil {
			continue
		}
		c := Component{Name: rules[i].name, Layer: rules[i].layer, Namespaces: keys(f.namespaces), Workloads: keys(f.workloads), CRDGroups: keys(f.groups)}
		switch {
		case len(f.versions) > 0:
			c.Version = fact.Present(strings.Join(keys(f.versions), ", "))
		case len(f.others) > 0:
			c.Version = fact.Present(strings.Join(keys(f.others), ", "))
		case len(f.workloads) > 0:
			c.Version = fact.Unknown[string]("its images have no tag, and its workloads no version label")
		default:
			c.Version = fact.Unknown[string]("only its resource definitions were seen")
		}
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b Component) int { return strings.Compare(a.Name, b.Name) })
	return sum(list, append(slices.Clone(r.workloads), r.crds)...)
}

// layers puts each component, group and known namespace into its layer. A
// namespace is in the layer that its name says; one whose name says nothing,
// in those of what runs in it.
func (r recognised) layers() Observed[[]Layer] {
	type set struct{ components, namespaces, groups map[string]bool }
	sets := map[string]set{}
	for _, name := range layerNames {
		sets[name] = set{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	}
	for known, f := range r.found {
		layer := sets[known.layer]
		layer.components[known.name] = true
		for ns := range f.namespaces {
			if layerOfNamespace(ns) == "" {
				layer.namespaces[ns] = true
			} else { // also where namespaces may not be listed
				sets[layerOfNamespace(ns)].namespaces[ns] = true
			}
		}
		for g := range f.groups {
			layer.groups[g] = true
		}
	}
	for _, ns := range r.names {
		if layer := layerOfNamespace(ns.Name); layer != "" {
			sets[layer].namespaces[ns.Name] = true
		}
	}
	list := []Layer{}
	for _, name := range layerNames {
		if s := sets[name]; len(s.components)+len(s.namespaces) > 0 {
			list = append(list, Layer{Name: name, Components: keys(s.components), Namespaces: keys(s.namespaces), CRDGroups: keys(s.groups)})
		}
	}
	return sum(list, append(slices.Clone(r.workloads), r.crds, r.namespaces)...)
}

// unknown is what no rule knows. A namespace is unknown when its name is, and
// nothing known runs in it.
func (r recognised) unknown() Observed[[]Object] {
	list := append([]Object{}, r.strange...)
	used := map[string]bool{}
	for _, f := range r.found {
		for ns := range f.namespaces {
			used[ns] = true
		}
	}
	for _, ns := range r.names {
		if layerOfNamespace(ns.Name) == "" && !used[ns.Name] {
			list = append(list, Object{Kind: "Namespace", Name: ns.Name})
		}
	}
	slices.SortFunc(list, byPlace)
	return sum(list, append(slices.Clone(r.workloads), r.crds, r.namespaces, r.classes)...)
}
