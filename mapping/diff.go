package mapping

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/mapping/cluster"
	"github.com/nestor-tools/nestor/mapping/fact"
)

// ChangeKind says what a difference between two topologies means.
type ChangeKind string

// The kinds of change.
const (
	Drift   ChangeKind = "drift"   // both sides know, and say different things
	Unclear ChangeKind = "unknown" // one side does not know: nobody can tell
)

// Change is one field that differs.
type Change struct {
	Kind   ChangeKind `json:"kind"`
	Node   string     `json:"node"`  // empty: the cluster as a whole
	Field  string     `json:"field"` // facts.disks.sda.role; empty: the node itself
	Before string     `json:"before"`
	After  string     `json:"after"`
}

// DriftSchema names the format of a Report.
const DriftSchema = "nestor.drift/v1"

// Report is the changes as a document.
type Report struct {
	Schema  string   `json:"schema"`
	Changes []Change `json:"changes"` // the cluster's, then by node and field
}

// Diff compares two topologies field by field. Entries of lists are matched
// by their name, disks by serial number or WWN first: their names may change
// at any boot. Reasons and evidence are not compared, only what they led to.
// What is missing from a part of the API half that could not be read whole is
// Unclear.
func Diff(before, after Topology) []Change {
	d := differ{changes: []Change{}}
	d.cluster(before, after)
	names := map[string][2]*Node{}
	for side, t := range []Topology{before, after} {
		for i := range t.Nodes {
			pair := names[t.Nodes[i].Name]
			pair[side] = &t.Nodes[i]
			names[t.Nodes[i].Name] = pair
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		d.node = name
		switch a, b := names[name][0], names[name][1]; {
		case a == nil:
			d.add(appeared(b, before), "", none, "a node")
		case b == nil:
			d.add(appeared(a, after), "", "a node", none)
		case a.Facts != nil && b.Facts != nil:
			ta, tb := tree(a).(map[string]any), tree(b).(map[string]any)
			if a.Kubernetes == nil || b.Kubernetes == nil { // the API's own lines say so
				delete(ta, "kubernetes")
				delete(tb, "kubernetes")
			}
			d.walk("", ta, tb)
		default:
			if a.Facts != nil || b.Facts != nil {
				d.add(Unclear, "", nodeState(a), nodeState(b))
			}
			if a.Kubernetes != nil && b.Kubernetes != nil {
				d.walk("kubernetes", tree(a.Kubernetes), tree(b.Kubernetes))
			}
		}
	}
	return d.changes
}

// appeared is what it means that only one side has the node. Of one that the
// API alone knows nobody can tell, where the other side could not ask the API.
func appeared(n *Node, other Topology) ChangeKind {
	if n.Error == nil || n.Error.Kind != NotInInventory {
		return Drift
	}
	if other.API == nil || other.API.State != fact.IsPresent && other.API.State != fact.IsAbsent || unread(other, "nodes") {
		return Unclear
	}
	return Drift
}

// unread tells whether one of the resources could not be read.
func unread(t Topology, resources ...string) bool {
	return t.API != nil && slices.ContainsFunc(t.API.Value.Unread, func(u cluster.Unread) bool { return slices.Contains(resources, u.Resource) })
}

// cluster compares the API half. Where one side did not ask the API, or could
// not, a single line says so.
func (d *differ) cluster(before, after Topology) {
	switch a, b := before.API, after.API; {
	case a == nil && b == nil:
		return
	case a == nil:
		d.add(Unclear, "api", notAsked, apiState(b))
		return
	case b == nil:
		d.add(Unclear, "api", apiState(a), notAsked)
		return
	case (a.State == fact.IsPresent) != (b.State == fact.IsPresent):
		d.add(kindOf(a.State, b.State), "api", apiState(a), apiState(b))
		return
	}
	d.walk("api", tree(before.API), tree(after.API))
	if before.Cluster == nil || after.Cluster == nil {
		return
	}
	ta, tb := tree(before.Cluster).(map[string]any), tree(after.Cluster).(map[string]any)
	for _, part := range slices.Sorted(maps.Keys(ta)) {
		sources := cluster.Sources(part)
		d.partial = [2]bool{unread(before, sources...), unread(after, sources...)}
		d.walk(part, ta[part], tb[part])
	}
	d.partial = [2]bool{}
}

// apiState is an API on one line: its version, or why there is none.
func apiState(o *Observed[cluster.API]) string {
	if o.State == fact.IsPresent && o.Value.Version.State == fact.IsPresent {
		return o.Value.Version.Value
	}
	return string(o.State)
}

// kindOf is what a change between two states means.
func kindOf(a, b fact.State) ChangeKind {
	for _, s := range []fact.State{a, b} {
		if s != fact.IsPresent && s != fact.IsAbsent {
			return Unclear
		}
	}
	return Drift
}

const notAsked = "not asked"

const none = "none"

func nodeState(n *Node) string {
	switch {
	case n.Facts != nil:
		return "read"
	case n.Error != nil:
		return n.Error.Kind
	}
	return notAsked
}

// tree is a value as generic JSON.
func tree(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var generic any
	_ = decoder.Decode(&generic) // it was written just now
	return generic
}

type differ struct {
	node    string
	changes []Change
	partial [2]bool // what is being compared was not read whole, before and after
}

// missing is what it means that only one side has an entry: nothing certain
// where the other was not read whole.
func (d *differ) missing(side int) ChangeKind {
	if d.partial[side] {
		return Unclear
	}
	return Drift
}

func (d *differ) add(kind ChangeKind, field, before, after string) {
	d.changes = append(d.changes, Change{kind, d.node, field, before, after})
}

// notCompared are what explains a value, not the value.
var notCompared = []string{"why", "evidence", "title", "controls", "error", "unread", "chosen_by", "joined_by"}

func (d *differ) walk(field string, a, b any) {
	ma, aIsMap := a.(map[string]any)
	mb, bIsMap := b.(map[string]any)
	la, aIsList := a.([]any)
	lb, bIsList := b.([]any)
	switch {
	case aIsMap && bIsMap && isFact(ma) && isFact(mb):
		d.facts(field, ma, mb)
	case aIsMap && bIsMap:
		keys := maps.Clone(ma)
		maps.Copy(keys, mb)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			if !slices.Contains(notCompared, key) {
				d.walk(join(field, key), ma[key], mb[key])
			}
		}
	case (aIsList || a == nil) && (bIsList || b == nil) && hasKeys(la) && hasKeys(lb) && len(la)+len(lb) > 0:
		d.entries(field, la, lb)
	default:
		before, after := show(a), show(b)
		switch {
		case before == after:
		case a == "unknown" || b == "unknown", (aIsList || bIsList) && (d.partial[0] || d.partial[1]):
			d.add(Unclear, field, before, after)
		default:
			d.add(Drift, field, before, after)
		}
	}
}

// isFact tells a fact by its form: a state and a value or a reason.
func isFact(m map[string]any) bool {
	switch m["state"] {
	case "present", "absent", "denied", "unknown":
		_, check := m["id"]
		return !check
	}
	return false
}

// facts compares two facts. One that nobody could read is no change.
func (d *differ) facts(field string, a, b map[string]any) {
	unread := func(m map[string]any) bool { return m["state"] == "unknown" || m["state"] == "denied" }
	switch {
	case unread(a) && unread(b):
	case unread(a) || unread(b):
		d.add(Unclear, field, brief(a), brief(b))
	case a["state"] != b["state"]:
		d.add(Drift, field, brief(a), brief(b))
	default:
		d.walk(field, a["value"], b["value"])
	}
}

// entries matches two lists of named things.
func (d *differ) entries(field string, a, b []any) {
	keyOf := identity(a, b)
	byKey := func(list []any) map[string]any {
		found := map[string]any{}
		for _, v := range list {
			found[keyOf(v)] = v
		}
		return found
	}
	ma, mb := byKey(a), byKey(b)
	keys := maps.Clone(ma)
	maps.Copy(keys, mb)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		va, inA := ma[key]
		vb, inB := mb[key]
		switch {
		case !inA:
			d.add(d.missing(0), join(field, label(vb)), none, summary(vb))
		case !inB:
			d.add(d.missing(1), join(field, label(va)), summary(va), none)
		default:
			if label(va) != key { // matched by what stays: the name may differ
				va, vb = maps.Clone(va.(map[string]any)), maps.Clone(vb.(map[string]any))
				delete(va.(map[string]any), "name")
				delete(vb.(map[string]any), "name")
			}
			d.walk(join(field, label(mb[key])), va, vb)
		}
	}
}

// identity chooses what entries are matched by: a disk's serial number or WWN
// where each has one of its own, else the name.
func identity(a, b []any) func(any) string {
	for _, property := range []string{"serial", "wwn"} {
		if unique(a, property) && unique(b, property) {
			return func(v any) string { return fmt.Sprint(v.(map[string]any)[property]) }
		}
	}
	return label
}

func unique(list []any, property string) bool {
	seen := map[any]bool{}
	for _, v := range list {
		id, ok := v.(map[string]any)[property].(string)
		if !ok || seen[id] {
			return false
		}
		seen[id] = true
	}
	return true
}

// naming are the properties that name an entry of a list.
var naming = []string{"name", "id", "target", "device", "path"}

func label(v any) string {
	m, _ := v.(map[string]any)
	for _, property := range naming {
		if s, ok := m[property].(string); ok {
			return place(m) + s
		}
	}
	return ""
}

// place is what stands before the name of an object of the API, whose name
// alone says little: "NodePort Service monitoring/".
func place(m map[string]any) string {
	var before string
	for _, property := range []string{"kind", "object"} {
		if s, ok := m[property].(string); ok && !strings.HasSuffix(before, s+" ") {
			before += s + " "
		}
	}
	if s, ok := m["namespace"].(string); ok {
		before += s + "/"
	}
	return before
}

// hasKeys tells a list whose entries all have a name of their own.
func hasKeys(list []any) bool {
	seen := map[string]bool{}
	for _, v := range list {
		name := label(v)
		if name == "" || seen[name] {
			return false
		}
		seen[name] = true
	}
	return true
}

func join(field, key string) string {
	if field == "" {
		return key
	}
	return field + "." + key
}

// summary is an entry that appeared or went: its name, and its role or state.
func summary(v any) string {
	m, _ := v.(map[string]any)
	for _, property := range []string{"role", "state", "type", "fs_type"} {
		if s, ok := m[property].(string); ok {
			return label(v) + " (" + s + ")"
		}
	}
	return label(v)
}

// brief is a fact that nothing is compared with: its state, or the names of
// what it holds.
func brief(m map[string]any) string {
	const shown = 3
	switch v := m["value"].(type) {
	case map[string]any:
		if name := label(v); name != "" {
			return name
		}
	case []any:
		var parts []string
		for _, e := range v {
			if label(e) == "" {
				return show(m)
			}
			parts = append(parts, label(e))
		}
		if len(parts) > shown {
			parts = append(parts[:shown], fmt.Sprintf("%d more", len(parts)-shown))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return show(m)
}

// show is a value on one line.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return none
	case string:
		return v
	case json.Number, bool:
		return fmt.Sprint(v)
	case map[string]any:
		if isFact(v) && v["state"] != "present" {
			return fmt.Sprint(v["state"])
		}
		if isFact(v) {
			return show(v["value"])
		}
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, show(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
