package portal

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nestor-tools/nestor/contract"
)

// Options of Judge. The zero value expects every profile, expires nothing and
// takes each host from the nodes.
type Options struct {
	Today   time.Time // decides which accept entries are over; zero: none
	Profile string    // the one that runs here; "": every endpoint is expected
	// AccessHosts are the hosts to put in URLs instead of a node's, by the
	// endpoint's id; that of "" holds for all others. Those that Host refuses
	// are ignored.
	AccessHosts map[string]string
	// BrowserHost is the host by which the browser reached the portal, without
	// its port: it is taken where it is a Ready node's address or name.
	BrowserHost string
	// Previous is the last view of the same cluster: the nodes that it chose
	// are kept for as long as they stay as good as any.
	Previous *View
	// Findings are those of contract.Check, where manifests are at hand: a
	// policy-may-block of an endpoint puts a doubt on its MATCH.
	Findings []contract.Finding
}

// Judge compares what the contract promises with what was observed. A nil
// contract promises nothing; a nil snapshot is one of which nothing was read.
// The same arguments give the same view.
func Judge(c *contract.Contract, s *Snapshot, o Options) View {
	if c == nil {
		c = &contract.Contract{}
	}
	if s == nil {
		s = &Snapshot{}
	}
	j := newJudge(s, o)
	v := View{Schema: ViewSchema, ObservedAt: s.ObservedAt, SecretsReadable: s.SecretsReadable != nil && *s.SecretsReadable, Layers: []Layer{}}
	v.Sources = j.problems()
	for _, p := range v.Sources {
		if p.State == Stale && (v.StaleSince == nil || p.Since.Before(*v.StaleSince)) {
			since := p.Since
			v.Stale, v.StaleSince = true, &since
		}
	}

	// An endpoint of another profile promises nothing here: what exposes it
	// all the same is exposed without a promise.
	expected := *c
	expected.Endpoints = nil
	for _, e := range c.Endpoints {
		if j.expects(e) {
			expected.Endpoints = append(expected.Endpoints, e)
		}
	}
	matching := contract.Match(&expected, world(s), o.Today)
	layers := map[string][]Entry{}
	next := 0
	for i := range c.Endpoints {
		e := &c.Endpoints[i]
		layer := layerOf(e)
		if !j.expects(*e) {
			layers[layer] = append(layers[layer], j.otherProfile(e))
			continue
		}
		layers[layer] = append(layers[layer], j.promise(matching.Promises[next]))
		next++
	}
	for _, entry := range j.unpromised(matching) {
		layer := ExtraLayer
		if entry.Reason == System {
			layer = SystemLayer
		}
		layers[layer] = append(layers[layer], entry)
	}
	for _, name := range slices.SortedFunc(maps.Keys(layers), byLayer) {
		v.Layers = append(v.Layers, Layer{name, layers[name]})
	}
	return v
}

// judge is one Judge at work.
type judge struct {
	snapshot  *Snapshot
	options   Options
	browser   string
	previous  map[string]string // the node, by the entry's id
	services  map[key]*Service
	behind    map[key][]*EndpointSlice
	answering map[string][]candidate // every Ready node, by the families asked for
}

// key names an object of a namespace.
type key struct{ namespace, name string }

func newJudge(s *Snapshot, o Options) *judge {
	j := &judge{snapshot: s, options: o, previous: map[string]string{}, services: make(map[key]*Service, len(s.Services)), behind: make(map[key][]*EndpointSlice, len(s.Slices)), answering: map[string][]candidate{}}
	if host, ok := Host(o.BrowserHost); ok {
		j.browser = host
	}
	for i := range s.Slices {
		slice := &s.Slices[i]
		k := key{slice.Namespace, slice.Service}
		j.behind[k] = append(j.behind[k], slice)
	}
	for i := range s.Services {
		service := &s.Services[i]
		j.services[key{service.Namespace, service.Name}] = service
	}
	if o.Previous != nil {
		for _, layer := range o.Previous.Layers {
			for _, e := range layer.Entries {
				if e.Node != "" {
					j.previous[e.ID] = e.Node
				}
			}
		}
	}
	return j
}

func (j *judge) expects(e contract.Endpoint) bool {
	return e.Profil == "" || j.options.Profile == "" || e.Profil == j.options.Profile
}

// layerOrder is the order in which people look: what carries everything else
// first. Layers that are not listed follow by name, and then the last three.
var (
	layerOrder = []string{"socle", "monitoring", "gitops", "dataops"}
	lastLayers = []string{OtherLayer, ExtraLayer, SystemLayer}
)

func byLayer(a, b string) int {
	place := func(name string) int {
		if i := slices.Index(layerOrder, name); i >= 0 {
			return i
		}
		return len(layerOrder) + 1 + slices.Index(lastLayers, name)
	}
	return cmp.Or(place(a)-place(b), strings.Compare(a, b))
}

// layerOf is the endpoint's layer. A contract cannot put its endpoints among
// what nobody promised.
func layerOf(e *contract.Endpoint) string {
	if e.Layer == "" || slices.Contains(lastLayers, e.Layer) {
		return OtherLayer
	}
	return e.Layer
}

// problems lists the sources that cannot be believed in full.
func (j *judge) problems() []SourceProblem {
	var all []SourceProblem
	for _, r := range []Resource{EndpointSlices, Nodes, Pods, Services} {
		if source := j.source(r); source.State != Synced {
			all = append(all, SourceProblem{r, source})
		}
	}
	return all
}

// source is the state of a source, NotAsked for one that is not listed.
func (j *judge) source(r Resource) Source {
	source, ok := j.snapshot.Sources[r]
	switch {
	case !ok:
		return Source{State: NotAsked}
	case source.State == "":
		source.State = Unsynced
	}
	return source
}

// usable tells whether there is something to judge by, be it old.
func (j *judge) usable(r Resource) bool {
	state := j.source(r).State
	return state == Synced || state == Stale
}
