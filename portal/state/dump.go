package state

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nestor-tools/nestor/portal"
)

// ReadDump makes a snapshot from what kubectl wrote; docs/state.md says what to
// ask it for. at is when the dump was made.
//
// What a dump does not hold it does not prove absent: a list of kind List that
// lacks a kind may hold all there is, or may not have been asked for it. So a
// kind counts as read where one of its objects is there, or a list of its own
// (as kubectl get --raw writes), and as not installed where the dump has
// CustomResourceDefinitions and none is its own.
//
// It refuses files that do not parse, parts of a list, and an API server's
// refusal in place of one.
func ReadDump(at time.Time, files ...portal.File) (*Snapshot, error) {
	d := dump{at: at, groups: map[string]string{}, kinds: map[string]*Kind{}}
	cluster, err := portal.ReadDumpAnd(at, d.other, files...)
	if err != nil {
		return nil, err
	}
	s := &Snapshot{Cluster: *cluster, Groups: map[string]portal.Source{}}
	for _, f := range Families() {
		s.Groups[f.Group], s.Kinds = d.family(f, s.Kinds)
	}
	s.Cilium = d.cilium(cluster)
	return s, nil
}

// addToDump stands between why something was not read and the command that
// makes what is missing.
const addToDump = "; add "

type dump struct {
	at     time.Time
	groups map[string]string // of the kinds of typed lists, whose items may leave theirs out
	kinds  map[string]*Kind  // by group/kind, those of which something was seen
	crds   []definition
	asked  bool // for CustomResourceDefinitions
	config *configMap
}

// definition is what is read of a CustomResourceDefinition.
type definition struct {
	Spec struct {
		Group    string
		Names    struct{ Kind, Plural string }
		Versions []struct {
			Name   string
			Served bool
		}
	}
}

type configMap struct {
	Metadata struct{ Namespace, Name string }
	Data     map[string]string
}

// other takes an object, or a list before its items.
func (d *dump) other(kind string, raw json.RawMessage) error {
	var head struct {
		APIVersion string
		Metadata   struct{ Namespace, Name string }
		Message    string
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return fmt.Errorf("a %s that is no object of Kubernetes: %w", kind, err)
	}
	group, _, grouped := strings.Cut(head.APIVersion, "/")
	if !grouped {
		group = ""
	}
	if of, list := strings.CutSuffix(kind, "List"); list {
		d.groups[of] = group
		d.asked = d.asked || of == "CustomResourceDefinition"
		d.seen(group, of)
		return nil
	}
	if head.APIVersion == "" {
		group = d.groups[kind]
	}
	switch kind {
	case "Status":
		return errors.New("an API server's refusal in place of objects: " + strings.Join(strings.Fields(head.Message), " "))
	case "CustomResourceDefinition":
		var crd definition
		if err := json.Unmarshal(raw, &crd); err != nil {
			return fmt.Errorf("CustomResourceDefinition %q: %w", head.Metadata.Name, err)
		}
		d.asked, d.crds = true, append(d.crds, crd)
	case "ConfigMap":
		if group == "" && head.Metadata.Name == ConfigMap {
			d.config = &configMap{}
			if err := json.Unmarshal(raw, d.config); err != nil {
				return fmt.Errorf("ConfigMap %q: %w", ConfigMap, err)
			}
		}
	default:
		if k := d.seen(group, kind); k != nil {
			if head.Metadata.Name == "" {
				return fmt.Errorf("a %s without a name", kind)
			}
			if o := (Object{head.Metadata.Namespace, head.Metadata.Name}); !slices.Contains(k.Objects, o) {
				k.Objects = append(k.Objects, o)
			}
		}
	}
	return nil
}

// seen notes that the dump was asked for a kind; nil: it is of no interest.
func (d *dump) seen(group, kind string) *Kind {
	for _, f := range Families() {
		if f.Group != group || !f.Wants(kind) {
			continue
		}
		key := group + "/" + kind
		if d.kinds[key] == nil {
			// kubectl takes the singular too, where no definition says more
			d.kinds[key] = &Kind{Group: group, Resource: strings.ToLower(kind), Kind: kind, Source: portal.Source{State: portal.Synced, Since: d.at}}
		}
		return d.kinds[key]
	}
	return nil
}

// family adds the kinds of a family, and says whether all are known.
func (d *dump) family(f Family, kinds []Kind) (portal.Source, []Kind) {
	defined := map[string]bool{}
	add := func(kind, resource, version string) {
		k := d.kinds[f.Group+"/"+kind]
		if k == nil {
			k = &Kind{Group: f.Group, Kind: kind, Source: portal.Source{State: portal.Unsynced, Since: d.at,
				Why: fmt.Sprintf("the dump holds none, and does not say that it was asked for them"+addToDump+"kubectl get --raw /apis/%s/%s/%s", f.Group, version, resource)}}
		}
		k.Resource = resource
		defined[kind] = true
		kinds = append(kinds, *k)
	}
	for _, crd := range d.crds {
		if crd.Spec.Group == f.Group && f.Wants(crd.Spec.Names.Kind) && !defined[crd.Spec.Names.Kind] {
			version := ""
			for _, v := range crd.Spec.Versions {
				if v.Served {
					version = cmp.Or(version, v.Name)
				}
			}
			add(crd.Spec.Names.Kind, crd.Spec.Names.Plural, version)
		}
	}
	known := d.asked
	if f.Wants("Ingress") { // which every cluster has
		known = true
		add("Ingress", "ingresses", "v1")
	}
	for _, k := range d.kinds {
		if k.Group == f.Group && !defined[k.Kind] {
			kinds = append(kinds, *k)
		}
	}
	slices.SortFunc(kinds, func(a, b Kind) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Kind, b.Kind))
	})
	if !known {
		return portal.Source{State: portal.Unsynced, Since: d.at, Why: "the dump has no CustomResourceDefinitions" + addToDump + "kubectl get crd -o yaml"}, kinds
	}
	return portal.Source{State: portal.Synced, Since: d.at}, kinds
}

func (d *dump) cilium(cluster *portal.Snapshot) Cilium {
	synced := portal.Source{State: portal.Synced, Since: d.at}
	if d.config != nil {
		return Cilium{Source: synced, Namespace: d.config.Metadata.Namespace, Config: d.config.Data}
	}
	namespace := CiliumNamespace(cluster.Pods)
	// Every cluster has pods on its nodes' network in kube-system: a dump that
	// has none of them is of other namespaces.
	whole := slices.ContainsFunc(cluster.Pods, func(p portal.Pod) bool { return p.Namespace == "kube-system" && p.HostNetwork })
	if namespace == "" && whole {
		return Cilium{Source: synced}
	}
	return Cilium{Source: portal.Source{State: portal.Unsynced, Since: d.at,
		Why: fmt.Sprintf("the dump does not hold it"+addToDump+"kubectl -n %s get configmap %s -o yaml", cmp.Or(namespace, "kube-system"), ConfigMap)}}
}
