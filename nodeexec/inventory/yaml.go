package inventory

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"gopkg.in/yaml.v3"
)

// maxDepth bounds how deep values may nest. Real inventories stay below ten.
const maxDepth = 100

// maxMerged bounds the entries that "<<" brings in, all of a file together.
const maxMerged = 1_000_000

// parseYAML reads one YAML document as Ansible does: the last of two equal
// keys wins (with a remark), "<<" merges, scalars are YAML 1.1.
func (l *loader) parseYAML(file string, b []byte) (Value, error) {
	if len(b) > maxYAML {
		return Value{}, &ReadError{Origin: Origin{File: file}, Why: fmt.Sprintf("YAML larger than %d MiB; JSON and INI may be larger", maxYAML>>20), Err: errSyntax}
	}
	dec := yaml.NewDecoder(bytes.NewReader(b))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return Value{origin: Origin{File: file}}, nil
	case err != nil:
		return Value{}, syntaxError(file, err)
	}
	var second yaml.Node
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		if err != nil {
			return Value{}, syntaxError(file, err)
		}
		return Value{}, &ReadError{Origin: Origin{File: file, Line: second.Line}, Why: "a second YAML document starts here; Ansible reads one per file"}
	}
	c := converter{file: file, warn: l.warn, done: map[*yaml.Node]Value{}, open: map[*yaml.Node]bool{}}
	return c.value(doc.Content[0], 0)
}

// converter turns yaml nodes into values. An anchored node is converted once
// and shared, so that aliases of aliases cost nothing.
type converter struct {
	file string
	warn func(Warning)
	done map[*yaml.Node]Value
	open map[*yaml.Node]bool

	merges int
}

func (c *converter) origin(n *yaml.Node) Origin { return Origin{File: c.file, Line: n.Line} }

func (c *converter) fail(n *yaml.Node, format string, args ...any) error {
	return &ReadError{Origin: c.origin(n), Why: fmt.Sprintf(format, args...)}
}

func (c *converter) value(n *yaml.Node, depth int) (Value, error) {
	if depth > maxDepth {
		return Value{}, c.fail(n, "nested deeper than %d levels", maxDepth)
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Anchor == "" {
		return c.convert(n, depth)
	}
	if v, ok := c.done[n]; ok {
		return v, nil
	}
	if c.open[n] {
		return Value{}, c.fail(n, "the anchor &%s holds itself", n.Anchor)
	}
	c.open[n] = true
	v, err := c.convert(n, depth)
	delete(c.open, n)
	if err == nil {
		c.done[n] = v
	}
	return v, err
}

func (c *converter) convert(n *yaml.Node, depth int) (Value, error) {
	tag := ""
	if n.Style&yaml.TaggedStyle != 0 {
		tag = n.Tag
	}
	switch tag {
	case "", "!!str", "!!int", "!!float", "!!bool", "!!null", "!!seq", "!!map", "!unsafe", "!vault", "!vault-encrypted", "!!timestamp":
	case "!!binary", "!!set", "!!omap", "!!pairs":
		return Value{typ: Opaque, text: strings.TrimPrefix(tag, "!!"), origin: c.origin(n)}, nil
	default:
		return Value{}, c.fail(n, "unknown tag %s", tag)
	}
	switch n.Kind {
	case yaml.ScalarNode:
		return c.scalar(n, tag)
	case yaml.SequenceNode:
		items := make([]Value, len(n.Content))
		for i, child := range n.Content {
			var err error
			if items[i], err = c.value(child, depth+1); err != nil {
				return Value{}, err
			}
			items[i].unsafe = items[i].unsafe || tag == "!unsafe"
		}
		return Value{typ: List, nest: &nested{items: items}, origin: c.origin(n)}, nil
	case yaml.MappingNode:
		entries, err := c.mapping(n, depth)
		if err != nil {
			return Value{}, err
		}
		if tag == "!unsafe" {
			for i := range entries {
				entries[i].value.unsafe = true
			}
		}
		return Value{typ: Map, nest: &nested{entries: entries}, origin: c.origin(n)}, nil
	}
	return Value{}, c.fail(n, "unexpected YAML node")
}

func (c *converter) scalar(n *yaml.Node, tag string) (Value, error) {
	o := c.origin(n)
	v := stringValue(n.Value, o)
	var err error
	quoted := n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
	switch tag {
	case "":
		if !quoted {
			v, err = plainScalar(n.Value, o)
		}
	case "!!str":
	case "!unsafe":
		v.unsafe = true
	case "!vault", "!vault-encrypted":
		v.typ = Vault
	case "!!null":
		v = Value{origin: o}
	default:
		v, err = plainScalar(n.Value, o)
		if want := map[string]Type{"!!int": Int, "!!float": Float, "!!bool": Bool, "!!timestamp": Date}[tag]; err == nil && v.typ != want {
			// "!!float 3" and the like: legal, and of no use in an inventory.
			v = Value{typ: Opaque, text: tag + " " + n.Value, origin: o}
		}
	}
	if err != nil {
		return Value{}, c.fail(n, "cannot read %q: %v", n.Value, err)
	}
	return v, nil
}

// mapping converts a mapping's entries: merged ones first, each overridden by
// the mapping's own.
func (c *converter) mapping(n *yaml.Node, depth int) ([]entry, error) {
	entries := make([]entry, 0, len(n.Content)/2)
	type key struct {
		typ  Type
		text string
	}
	index := make(map[key]int, len(n.Content)/2)
	put := func(k, v Value) (old Value, had bool) {
		at, had := index[key{k.typ, k.text}]
		if had {
			old = entries[at].value
			entries[at].value = v
			return old, true
		}
		index[key{k.typ, k.text}] = len(entries)
		entries = append(entries, entry{k, v})
		return Value{}, false
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !isMerge(n.Content[i]) {
			continue
		}
		sources, err := c.merged(n.Content[i+1], depth)
		if err != nil {
			return nil, err
		}
		for _, source := range sources {
			if c.merges += 1 + len(source.entries()); c.merges > maxMerged {
				return nil, c.fail(n, "more than %d merged entries", maxMerged)
			}
			for _, e := range source.entries() {
				put(e.key, e.value)
			}
		}
	}
	own := map[key]int{} // the line of each key of the mapping's own
	for i := 0; i+1 < len(n.Content); i += 2 {
		if isMerge(n.Content[i]) {
			continue
		}
		k, err := c.value(n.Content[i], depth+1)
		if err != nil {
			return nil, err
		}
		if k.typ == List || k.typ == Map {
			return nil, c.fail(n.Content[i], "%s cannot be a key", k.typ)
		}
		v, err := c.value(n.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		put(k, v)
		line := n.Content[i].Line
		if first, dup := own[key{k.typ, k.text}]; dup {
			c.warn(Warning{Origin: Origin{File: c.file, Line: line}, Code: WarnDuplicate,
				Message: fmt.Sprintf("the key %q stands here again, first at line %d; the last one counts", k.text, first)})
		} else {
			own[key{k.typ, k.text}] = line
		}
	}
	return entries, nil
}

// merged returns what "<<" brings in, the weakest first.
func (c *converter) merged(n *yaml.Node, depth int) ([]Value, error) {
	target := n
	if n.Kind == yaml.AliasNode {
		target = n.Alias
	}
	if target.Kind == yaml.MappingNode {
		v, err := c.value(n, depth+1)
		return []Value{v}, err
	}
	if target.Kind != yaml.SequenceNode {
		return nil, c.fail(n, "<< needs a mapping or a list of mappings")
	}
	var sources []Value
	for i := len(target.Content) - 1; i >= 0; i-- {
		v, err := c.value(target.Content[i], depth+1)
		if err != nil {
			return nil, err
		}
		if v.typ != Map {
			return nil, c.fail(target.Content[i], "<< needs a mapping or a list of mappings")
		}
		sources = append(sources, v)
	}
	return sources, nil
}

func isMerge(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Value == "<<" && n.Style&^yaml.FlowStyle == 0
}

// errSyntax is matched by the error of a file that is no YAML at all, and so
// may still be INI.
var errSyntax = errors.New("not YAML")

// syntaxError takes the line out of a message of yaml.v3, whose errors carry
// it in no other way.
func syntaxError(file string, err error) error {
	e := &ReadError{Origin: Origin{File: file}, Err: errSyntax}
	e.Why = strings.TrimPrefix(err.Error(), "yaml: ")
	if _, scanErr := fmt.Sscanf(e.Why, "line %d:", &e.Origin.Line); scanErr == nil {
		_, e.Why, _ = strings.Cut(e.Why, ": ")
	}
	return e
}
