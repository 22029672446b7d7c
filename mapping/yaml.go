package mapping

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

// YAML writes the topology. The same topology gives the same bytes. Fields
// are those of its JSON, in the same order.
func (t Topology) YAML() ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(t); err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(&text)
	decoder.UseNumber()
	node, err := toYAML(decoder)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	writer := yaml.NewEncoder(&out)
	writer.SetIndent(2)
	if err := writer.Encode(node); err != nil {
		return nil, fmt.Errorf("write topology: %w", err)
	}
	return out.Bytes(), writer.Close()
}

// ParseTopology reads a topology, in YAML or JSON. Fields that this version
// does not know are ignored; another schema is refused.
func ParseTopology(b []byte) (Topology, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(b, &document); err != nil {
		return Topology{}, fmt.Errorf("read topology: %s", strings.Join(strings.Fields(err.Error()), " "))
	}
	var tree struct {
		Schema string
		Rest   map[string]any `yaml:",inline"`
	}
	if err := document.Decode(&tree); err != nil {
		return Topology{}, fmt.Errorf("read topology: %s", strings.Join(strings.Fields(err.Error()), " "))
	}
	if tree.Schema != Schema {
		return Topology{}, fmt.Errorf("read topology: schema %q is not %s", tree.Schema, Schema)
	}
	text, err := json.Marshal(tree.Rest)
	if err != nil {
		return Topology{}, fmt.Errorf("read topology: %w", err)
	}
	t := Topology{Schema: tree.Schema}
	if err := json.Unmarshal(text, &t); err != nil {
		return Topology{}, fmt.Errorf("read topology: %w", err)
	}
	return t, nil
}

// toYAML reads one JSON value as a YAML node. Going through JSON keeps one
// set of names and the order of the fields.
func toYAML(d *json.Decoder) (*yaml.Node, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case json.Delim:
		n := &yaml.Node{Kind: yaml.MappingNode}
		if v == '[' {
			n.Kind = yaml.SequenceNode
		}
		for d.More() {
			child, err := toYAML(d) // in a mapping: key, value, key, ...
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, child)
		}
		if isShort(n) {
			n.Style = yaml.FlowStyle
		}
		_, err := d.Token() // the closing bracket
		return n, err
	case string:
		n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: v}
		if !plain.MatchString(v) || looksTyped.MatchString(v) {
			n.Style = yaml.DoubleQuotedStyle
		}
		return n, nil
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}, nil
	default: // json.Number, bool
		return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(v)}, nil
	}
}

// isShort tells what fits on one line: an empty list, and a fact whose value
// is one word or number.
func isShort(n *yaml.Node) bool {
	if len(n.Content) == 0 {
		return true
	}
	if n.Kind != yaml.MappingNode || n.Content[0].Value != "state" {
		return false
	}
	for _, c := range n.Content {
		if c.Kind != yaml.ScalarNode {
			return false
		}
	}
	return true
}

// plain is what needs no quotes in any YAML; looksTyped is what a YAML 1.1
// reader would not take for a string.
var (
	plain      = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9_./+-]*( [A-Za-z0-9_./+(-][A-Za-z0-9_./+()-]*)*$`)
	looksTyped = regexp.MustCompile(`(?i)^(y|n|yes|no|on|off|true|false|null)$`)
)
