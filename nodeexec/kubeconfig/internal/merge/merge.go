// Package merge puts entries into the lists of a kubeconfig that somebody
// wrote, and changes nothing else of it:
//
//	text, anew, err := merge.Apply(old, []merge.Entry{{
//		List: "clusters", Of: "cluster", Name: "bench",
//		Fields: []merge.Field{{Key: "server", Value: "https://192.0.2.11:6443"}},
//	}}, "")
//
// Of an entry that is there, the named fields change and the others stay. The
// text around stays byte for byte; where its layout does not allow that (a
// JSON file, an anchor in the way), the document is written anew with its
// comments, order and unknown keys. Whatever was done is read again and
// compared with what it should be.
//
// It refuses a document whose lists are no lists, or hold a name twice.
package merge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Entry is what a list holds under a name: "- name: NAME", and below the key
// Of the fields.
type Entry struct {
	List, Of, Name string
	Fields         []Field
	Drop           []string // keys that must not be there
}

// Field is a key and a string. An empty Value drops the key.
type Field struct{ Key, Value string }

// drops says whether the entry must not have the key.
func (e Entry) drops() []string {
	drop := slices.Clone(e.Drop)
	for _, f := range e.Fields {
		if f.Value == "" {
			drop = append(drop, f.Key)
		}
	}
	return drop
}

// text says whether YAML can hold the entry as it is.
func (e Entry) text() bool {
	return utf8.ValidString(e.Name) && !slices.ContainsFunc(e.Fields, func(f Field) bool { return !utf8.ValidString(f.Value) })
}

// Apply puts the entries into the text, and makes current the current
// context unless it is "". anew says that the text was written anew. The text
// must hold one YAML document, a mapping.
func Apply(text []byte, entries []Entry, current string) (out []byte, anew bool, err error) {
	doc, err := decode(text)
	if err != nil {
		return nil, false, err
	}
	want, err := decode(text)
	if err != nil {
		return nil, false, err
	}
	for _, e := range entries {
		if !e.text() {
			return nil, false, fmt.Errorf("an entry for %s is no text", e.List)
		}
		if err := put(want, e); err != nil {
			return nil, false, err
		}
	}
	if current != "" {
		set(want, "current-context", current, true)
	}
	if same(doc, want) {
		return text, false, nil
	}
	if out, ok := splice(text, doc, entries, current); ok && reads(out, want) {
		return out, false, nil
	}
	if json.Valid(text) {
		asJSON(want)
	}
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(want); err != nil || encoder.Close() != nil || !reads(b.Bytes(), want) {
		return nil, false, errors.New("its YAML cannot be edited")
	}
	return b.Bytes(), true, nil
}

// asJSON has a tree written as JSON, for programs that read nothing else.
func asJSON(n *yaml.Node) {
	switch {
	case n.Kind != yaml.ScalarNode:
		n.Style = yaml.FlowStyle
	case n.ShortTag() == "!!str":
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, item := range n.Content {
		asJSON(item)
	}
}

// decode gives the document's mapping.
func decode(text []byte) (*yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("it is no YAML mapping") // the cause may quote the text
	}
	return doc.Content[0], nil
}

// reads says whether the text reads as the mapping.
func reads(text []byte, want *yaml.Node) bool {
	got, err := decode(text)
	return err == nil && same(got, want)
}

func same(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.Anchor != b.Anchor || a.Value != b.Value || len(a.Content) != len(b.Content) {
		return false
	}
	if a.Kind == yaml.ScalarNode && a.ShortTag() != b.ShortTag() {
		return false
	}
	for i := range a.Content {
		if !same(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}

// find gives the index of a key in a mapping, -1 without it.
func find(m *yaml.Node, key string) int {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return i
		}
	}
	return -1
}

func value(m *yaml.Node, key string) *yaml.Node {
	if i := find(m, key); i >= 0 {
		return m.Content[i+1]
	}
	return nil
}

// empty says whether a list holds nothing: it is not there, null or [].
func empty(list *yaml.Node) bool {
	return list == nil || list.Kind == yaml.ScalarNode && list.ShortTag() == "!!null" || list.Kind == yaml.SequenceNode && len(list.Content) == 0
}

// named gives the entry of a name in a list that is not empty.
func named(list *yaml.Node, e Entry) (found *yaml.Node, err error) {
	if list.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("%s is no plain list (line %d)", e.List, list.Line)
	}
	for _, item := range list.Content {
		if item.Kind != yaml.MappingNode {
			return nil, fmt.Errorf("%s holds an entry that is no plain mapping (line %d)", e.List, item.Line)
		}
		if name := value(item, "name"); name == nil || name.Value != e.Name {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%s holds the entry %q twice (lines %d and %d)", e.List, e.Name, found.Line, item.Line)
		}
		found = item
	}
	return found, nil
}

// put changes the tree.
func put(root *yaml.Node, e Entry) error {
	list := value(root, e.List)
	if empty(list) {
		fresh := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: []*yaml.Node{e.Item()}}
		if list == nil {
			root.Content = append(root.Content, Scalar(e.List), fresh)
		} else {
			root.Content[find(root, e.List)+1] = fresh
		}
		return nil
	}
	item, err := named(list, e)
	if err != nil {
		return err
	}
	if item == nil {
		list.Content = append(list.Content, e.Item())
		return nil
	}
	inner := value(item, e.Of)
	if inner == nil || inner.Kind != yaml.MappingNode {
		return fmt.Errorf("%s: the entry %q has no %s (line %d)", e.List, e.Name, e.Of, item.Line)
	}
	for _, key := range e.drops() {
		if i := find(inner, key); i >= 0 {
			inner.Content = slices.Delete(inner.Content, i, i+2)
		}
	}
	for _, f := range slices.Backward(e.Fields) { // those that are new come first, in their order
		if f.Value != "" {
			set(inner, f.Key, f.Value, false)
		}
	}
	return nil
}

// set gives a key a string; a new key comes first or last.
func set(m *yaml.Node, key, s string, last bool) {
	i := find(m, key)
	switch old := (*yaml.Node)(nil); {
	case i >= 0:
		if old = m.Content[i+1]; old.Kind == yaml.ScalarNode && old.Value == s && old.ShortTag() == "!!str" {
			return
		}
		fresh := Scalar(s)
		fresh.LineComment, fresh.HeadComment, fresh.FootComment = old.LineComment, old.HeadComment, old.FootComment
		m.Content[i+1] = fresh
	case last:
		m.Content = append(m.Content, Scalar(key), Scalar(s))
	default:
		m.Content = slices.Insert(m.Content, 0, Scalar(key), Scalar(s))
	}
}

// Item is the entry as a new one.
func (e Entry) Item() *yaml.Node {
	inner := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, f := range e.Fields {
		if f.Value != "" {
			inner.Content = append(inner.Content, Scalar(f.Key), Scalar(f.Value))
		}
	}
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{Scalar(e.Of), inner, Scalar("name"), Scalar(e.Name)}}
}

// Scalar is a string, quoted where YAML would take it for something else.
func Scalar(s string) *yaml.Node {
	n := new(yaml.Node)
	n.SetString(s)
	if slices.Contains(oldWords, strings.ToLower(s)) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// oldWords are those that kubectl's YAML 1.1 takes for true, false and a
// merge, and that the encoder leaves plain.
var oldWords = []string{"y", "yes", "on", "n", "no", "off", "<<"}

// What splice.go needs of the tree.
type node = *yaml.Node

const scalarNode = yaml.ScalarNode

// flow says whether a node is written as JSON is, or stands elsewhere.
func flow(n node) bool { return n.Style&yaml.FlowStyle != 0 || n.Kind == yaml.AliasNode }

// scalar is a string as YAML has it on one line.
func scalar(s string) string {
	b, err := yaml.Marshal(&yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{Scalar(s)}})
	if err != nil {
		return "" // and Apply finds that the result is not what it should be
	}
	return strings.TrimSpace(strings.TrimPrefix(string(b), "- "))
}
