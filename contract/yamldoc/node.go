package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Bounds of one document; what goes beyond is refused.
const (
	MaxDepth         = 200
	MaxDocumentBytes = 8 << 20
	MaxExpandedNodes = 1 << 20 // counted only where aliases are used
)

// ProblemKind is why a document cannot be trusted.
type ProblemKind string

// The kinds of problem.
const (
	Syntax    ProblemKind = "syntax"
	Template  ProblemKind = "template"  // text with {{ }} that a template engine has yet to fill in
	Duplicate ProblemKind = "duplicate" // one key twice in one mapping
	Limit     ProblemKind = "limit"     // too deep, too long, too many aliases
)

// Problem is one reason, and its place in the stream, 1-based.
type Problem struct {
	Kind         ProblemKind
	Line, Column int
	Message      string
	Earlier      int // for Duplicate: the line of the first such key
}

// Kind is what a node is.
type Kind string

// The kinds of node. Missing is the kind of the zero Node; Null is a value
// that is written as null, "~" or nothing.
const (
	Missing  Kind = "missing"
	Null     Kind = "null"
	Scalar   Kind = "scalar"
	Mapping  Kind = "mapping"
	Sequence Kind = "sequence"
)

// Node is one value of a document. The zero Node is a value that is not
// there; asking it anything is safe.
type Node struct {
	y    *yaml.Node
	base int // lines before the document
}

// Parse reads the chunk. With any problem the node is the zero Node: a
// document that cannot be trusted is not read at all.
func (c Chunk) Parse() (root Node, problems []Problem) {
	defer func() {
		// gopkg.in/yaml.v3 is archived and panics on some inputs
		if r := recover(); r != nil {
			root, problems = Node{}, []Problem{{Kind: Syntax, Line: c.Line, Message: fmt.Sprintf("the YAML reader broke down: %v", r)}}
		}
	}()
	if len(c.Text) > MaxDocumentBytes {
		return Node{}, []Problem{{Kind: Limit, Line: c.Line, Message: fmt.Sprintf("document of %d bytes, more than %d", len(c.Text), MaxDocumentBytes)}}
	}
	text := c.Text
	if bytes.HasPrefix(text, []byte("%YAML 1.2")) {
		// the parser knows 1.1 alone, and manifests mean the same in both
		text = append([]byte("#"), text[1:]...)
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, rest yaml.Node
	err := dec.Decode(&doc)
	if err == nil {
		if err = dec.Decode(&rest); err == nil {
			err = errors.New("text after the end of the document")
		} else if errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if err != nil {
		return Node{}, []Problem{c.syntaxProblem(err)}
	}
	if len(doc.Content) != 1 {
		return Node{}, nil
	}
	v := vetter{base: c.Line - 1}
	v.vet(doc.Content[0], 0)
	if v.problems == nil && v.aliases {
		v.sizes = map[*yaml.Node]int{}
		v.expand(doc.Content[0])
	}
	if v.problems != nil {
		return Node{}, v.problems
	}
	return Node{doc.Content[0], c.Line - 1}, nil
}

var (
	errorLine = regexp.MustCompile(`^line (\d+): `)
	// where a value or a line begins with {{ YAML has no text but a mapping
	unquotedAction = regexp.MustCompile(`(?m)^[ \t]*(?:- +)*(?:[^\s#'"][^\n'"#]*: +)?\{\{`)
)

func (c Chunk) syntaxProblem(err error) Problem {
	p := Problem{Kind: Syntax, Line: c.Line, Message: strings.TrimPrefix(err.Error(), "yaml: ")}
	m := errorLine.FindStringSubmatch(p.Message)
	if m != nil {
		p.Message = p.Message[len(m[0]):]
		if n, err := strconv.Atoi(m[1]); err == nil {
			p.Line = c.Line + n - 1
		}
	}
	switch at := unquotedAction.FindIndex(c.Text); {
	case at != nil:
		p.Kind = Template
		p.Message = fmt.Sprintf("%s (near line %d)", p.Message, p.Line)
		p.Line = c.Line + bytes.Count(c.Text[:at[1]], []byte("\n"))
	case m != nil && strings.HasPrefix(p.Message, "did not find expected"):
		// 0-based where the parser and not the scanner speaks; at most the last line
		p.Line = min(p.Line+1, c.Line+bytes.Count(bytes.TrimRight(c.Text, "\r\n"), []byte("\n")))
	}
	return p
}

// vetter looks at every node once.
type vetter struct {
	base     int
	aliases  bool
	problems []Problem
	sizes    map[*yaml.Node]int // what each node expands to; -1 while being counted
}

func (v *vetter) report(kind ProblemKind, y *yaml.Node, earlier int, format string, args ...any) {
	v.problems = append(v.problems, Problem{Kind: kind, Line: y.Line + v.base, Column: y.Column, Earlier: earlier, Message: fmt.Sprintf(format, args...)})
}

func (v *vetter) vet(y *yaml.Node, depth int) {
	if depth > MaxDepth {
		if len(v.problems) == 0 {
			v.report(Limit, y, 0, "nested deeper than %d", MaxDepth)
		}
		return
	}
	switch y.Kind {
	case yaml.AliasNode:
		v.aliases = true
	case yaml.MappingNode:
		v.keys(y)
	}
	for _, child := range y.Content {
		v.vet(child, depth+1)
	}
}

func (v *vetter) keys(m *yaml.Node) {
	const small = 8 // below it comparing is cheaper than a map
	var seen map[string]int
	if len(m.Content)/2 > small {
		seen = make(map[string]int, len(m.Content)/2)
	}
	for i := 0; i < len(m.Content); i += 2 {
		key := m.Content[i]
		if key.Kind != yaml.ScalarNode {
			if key.Kind == yaml.MappingNode && key.Style&yaml.FlowStyle != 0 {
				v.report(Template, m, 0, "a mapping as a key: `{{` that is not quoted")
			}
			continue
		}
		earlier := 0
		if seen != nil {
			earlier = seen[key.Value]
			if earlier == 0 {
				seen[key.Value] = key.Line
			}
		} else {
			for j := 0; j < i && earlier == 0; j += 2 {
				if m.Content[j].Kind == yaml.ScalarNode && m.Content[j].Value == key.Value {
					earlier = m.Content[j].Line
				}
			}
		}
		if earlier != 0 {
			v.report(Duplicate, key, earlier+v.base, "key %q is given twice, first at line %d", key.Value, earlier+v.base)
		}
	}
}

// expand counts what y becomes once aliases are followed.
func (v *vetter) expand(y *yaml.Node) int {
	if y.Kind == yaml.AliasNode {
		y = y.Alias
	}
	if n, ok := v.sizes[y]; ok {
		if n < 0 && v.problems == nil {
			v.report(Limit, y, 0, "anchor %q contains itself", y.Anchor)
		}
		return n
	}
	v.sizes[y] = -1
	n := 1
	for _, child := range y.Content {
		if v.problems != nil {
			return n
		}
		n += v.expand(child)
		if n > MaxExpandedNodes && v.problems == nil {
			v.report(Limit, y, 0, "aliases expand to more than %d values", MaxExpandedNodes)
		}
	}
	v.sizes[y] = n
	return n
}

func (n Node) target() *yaml.Node {
	for n.y != nil && n.y.Kind == yaml.AliasNode {
		n.y = n.y.Alias
	}
	return n.y
}

// Kind tells what the node is.
func (n Node) Kind() Kind {
	y := n.target()
	switch {
	case y == nil:
		return Missing
	case y.Kind == yaml.MappingNode:
		return Mapping
	case y.Kind == yaml.SequenceNode:
		return Sequence
	case y.Tag == "!!null":
		return Null
	}
	return Scalar
}

// Line is the node's line in the stream, 1-based; 0 for the zero Node.
func (n Node) Line() int {
	if n.y == nil {
		return 0
	}
	return n.y.Line + n.base
}

// Column is the node's column, 1-based, in characters; 0 for the zero Node.
func (n Node) Column() int {
	if n.y == nil {
		return 0
	}
	return n.y.Column
}

// Flow tells whether a list or a mapping is written with brackets or braces.
func (n Node) Flow() bool {
	y := n.target()
	return y != nil && y.Style&yaml.FlowStyle != 0
}

// Get follows keys through mappings, merge keys ("<<") included, and gives
// the zero Node where one is missing.
func (n Node) Get(keys ...string) Node {
	for _, key := range keys {
		n = n.get(key, 0)
	}
	return n
}

func (n Node) get(key string, depth int) Node {
	y := n.target()
	if y == nil || y.Kind != yaml.MappingNode || depth > MaxDepth {
		return Node{}
	}
	merge := Node{}
	for i := 0; i < len(y.Content); i += 2 {
		k := y.Content[i]
		switch {
		case k.Kind != yaml.ScalarNode:
		case k.Value == key:
			return Node{y.Content[i+1], n.base}
		case k.Tag == "!!merge":
			merge = Node{y.Content[i+1], n.base}
		}
	}
	if merge.Kind() == Sequence {
		for item := range merge.Items() {
			if found := item.get(key, depth+1); found.y != nil {
				return found
			}
		}
		return Node{}
	}
	return merge.get(key, depth+1)
}

// Items gives the values of a sequence, nothing for anything else.
func (n Node) Items() iter.Seq[Node] {
	return func(yield func(Node) bool) {
		if y := n.target(); y != nil && y.Kind == yaml.SequenceNode {
			for _, item := range y.Content {
				if !yield(Node{item, n.base}) {
					return
				}
			}
		}
	}
}

// Pairs gives the keys and values of a mapping, nothing for anything else:
// first its own, then those that merge keys ("<<") bring and that it does not
// write itself.
func (n Node) Pairs() iter.Seq2[Node, Node] {
	return func(yield func(key, value Node) bool) { n.pairs(nil, 0, yield) }
}

// pairs leaves out the keys that are seen; without a set, nothing was yet.
func (n Node) pairs(seen map[string]bool, depth int, yield func(key, value Node) bool) bool {
	y := n.target()
	if y == nil || y.Kind != yaml.MappingNode || depth > MaxDepth {
		return true
	}
	merge := Node{}
	var own []string
	for i := 0; i < len(y.Content); i += 2 {
		k := y.Content[i]
		switch {
		case k.Tag == "!!merge":
			merge = Node{y.Content[i+1], n.base}
			continue
		case seen[k.Value]:
			continue
		}
		if !yield(Node{k, n.base}, Node{y.Content[i+1], n.base}) {
			return false
		}
		own = append(own, k.Value)
	}
	if merge.y == nil && seen == nil {
		return true // as nearly always: no set is needed
	}
	if seen == nil {
		seen = map[string]bool{}
	}
	for _, key := range own {
		seen[key] = true
	}
	for item := range merge.Items() {
		if !item.pairs(seen, depth+1, yield) {
			return false
		}
	}
	return merge.pairs(seen, depth+1, yield)
}

// Text is a scalar as it is written, without its quotes; "" for a null, a
// mapping, a sequence or the zero Node.
func (n Node) Text() string {
	if n.Kind() != Scalar {
		return ""
	}
	return n.target().Value
}

// IsString tells whether the node is a text for every reader of YAML: quoted,
// or a word that none takes for a number or a truth value.
func (n Node) IsString() bool {
	return n.Kind() == Scalar && n.target().Tag == "!!str"
}

// Int gives a whole number; false for anything else, a quoted one included.
func (n Node) Int() (int, bool) {
	if n.Kind() != Scalar || n.target().Tag != "!!int" {
		return 0, false
	}
	var i int
	if err := n.target().Decode(&i); err != nil {
		return 0, false
	}
	return i, true
}

// Bool gives a truth value as YAML 1.1 readers, kubectl and Ansible among
// them, see it: true, yes, on and y, unquoted. False for anything else.
func (n Node) Bool() (value, ok bool) {
	if n.Kind() != Scalar {
		return false, false
	}
	y := n.target()
	if y.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) != 0 {
		return false, false
	}
	switch y.Value {
	case "true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y":
		return true, true
	case "false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N":
		return false, true
	}
	return false, false
}

// BlockStart is the line on which the text of a block scalar ("|" or ">")
// begins, 0 for any other node.
func (n Node) BlockStart() int {
	y := n.target()
	if y == nil || y.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
		return 0
	}
	return y.Line + n.base + 1
}
