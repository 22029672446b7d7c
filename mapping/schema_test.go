package mapping_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/golden"
	"github.com/nestor-tools/nestor/mapping"
	"github.com/nestor-tools/nestor/mapping/baseline"
	"github.com/nestor-tools/nestor/mapping/disks"
	"github.com/nestor-tools/nestor/mapping/fact"
)

var schemaFile = filepath.Join("..", "docs", "schema", "topology.v1.json")

// The published schemas are made of the Go types, so that neither can change
// without the other. Rewrite them with "go test ./mapping -run Schema -update".
func TestSchema_IsThatOfTheTypes(t *testing.T) {
	for file, published := range map[string]struct {
		of                 reflect.Type
		title, description string
	}{
		"topology.v1.json": {reflect.TypeFor[mapping.Topology](), mapping.Schema, "What the nodes of a cluster really are, as printed by nestor discover. Unknown fields are to be ignored."},
		"drift.v1.json":    {reflect.TypeFor[mapping.Report](), mapping.DriftSchema, "What differs from an earlier topology, as printed by nestor discover --against FILE --output json. Unknown fields are to be ignored."},
	} {
		s := schemas{defs: map[string]any{}}
		root := s.of(published.of)
		document := map[string]any{
			"$schema":     "https://json-schema.org/draft/2020-12/schema",
			"$id":         "https://github.com/nestor-tools/nestor/docs/schema/" + file,
			"title":       published.title,
			"description": published.description,
			"$defs":       s.defs,
		}
		maps.Copy(document, root)
		text, err := json.MarshalIndent(document, "", "  ")
		require.NoError(t, err)
		golden.File(t, filepath.Join("..", "docs", "schema", file), append(text, '\n'))
	}
}

// enums are the closed lists of words.
var enums = map[reflect.Type][]any{
	reflect.TypeFor[mapping.ChangeKind](): {mapping.Drift, mapping.Unclear},
	reflect.TypeFor[disks.Role]():         {disks.System, disks.Ceph, disks.DataInUse, disks.Free, disks.Unknown},
	reflect.TypeFor[baseline.State]():     {baseline.Pass, baseline.Fail, baseline.Unknown, baseline.NotApplicable},
}

// constants are fields that have one value, by type and name.
var constants = map[string]any{
	"Report.schema":         map[string]any{"const": mapping.DriftSchema},
	"Topology.schema":       map[string]any{"const": mapping.Schema},
	"Topology.generated_by": map[string]any{"const": "nestor discover"},
	"Node.hardening":        map[string]any{"enum": []any{"hardened", "partial", "plain", "unknown"}},
	"cluster.Unread.state":  map[string]any{"enum": []any{fact.IsDenied, fact.IsUnknown}},
}

type schemas struct{ defs map[string]any }

func (s schemas) of(t reflect.Type) map[string]any {
	if words, ok := enums[t]; ok {
		return map[string]any{"enum": words}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Struct:
		if strings.HasPrefix(t.Name(), "Observed[") {
			return s.observed(t)
		}
		return s.object(t)
	}
	panic(fmt.Sprint("no schema for ", t))
}

func (s schemas) observed(t reflect.Type) map[string]any {
	value, _ := t.FieldByName("Value")
	without := map[string]any{
		"properties": map[string]any{"state": map[string]any{"enum": []any{fact.IsAbsent, fact.IsDenied, fact.IsUnknown}}, "why": map[string]any{"type": "string"}, "value": false},
		"required":   []any{"state"},
	}
	with := map[string]any{
		"properties": map[string]any{"state": map[string]any{"const": fact.IsPresent}, "value": s.of(value.Type), "why": false},
		"required":   []any{"state", "value"},
	}
	return map[string]any{"type": "object", "oneOf": []any{with, without}}
}

func (s schemas) object(t reflect.Type) map[string]any {
	name := t.Name()
	if pkg := filepath.Base(t.PkgPath()); pkg != "mapping" {
		name = pkg + "." + name
	}
	ref := map[string]any{"$ref": "#/$defs/" + name}
	if _, ok := s.defs[name]; ok {
		return ref
	}
	properties, required := map[string]any{}, []any{}
	object := map[string]any{"type": "object", "properties": properties}
	s.defs[name] = object // before its fields: a volume lies on volumes
	var add func(reflect.Type)
	add = func(t reflect.Type) {
		for f := range t.Fields() {
			tag, option, _ := strings.Cut(f.Tag.Get("json"), ",")
			if tag == "-" {
				continue
			}
			if f.Anonymous && tag == "" && f.Type.Kind() == reflect.Pointer { // nil: none of its fields
				fieldsOf := len(required)
				add(f.Type.Elem())
				required = required[:fieldsOf]
				continue
			}
			if f.Anonymous && tag == "" {
				add(f.Type)
				continue
			}
			properties[tag] = s.of(f.Type)
			if c, ok := constants[name+"."+tag]; ok {
				properties[tag] = c
			}
			if option != "omitempty" {
				required = append(required, tag)
			}
		}
	}
	add(t)
	object["required"] = required
	return ref
}

// Every topology validates; none has a field that the schema does not name.
func TestSchema_EveryOutputValidates(t *testing.T) {
	schema := compileSchema(t, false)
	strict := compileSchema(t, true)
	for _, name := range recorded(t) {
		for _, o := range []mapping.Options{{}, {Loops: true}} {
			node := mapping.FromProbe(record(t, name), o)
			node.Name = name
			topology := mapping.NewTopology([]mapping.Node{node, {Name: "gone", Error: &mapping.Failure{Kind: "unreachable", Message: "x"}}})
			text, err := json.Marshal(topology)
			require.NoError(t, err)
			document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
			require.NoError(t, err)
			require.NoError(t, schema.Validate(document), name)
			require.NoError(t, strict.Validate(document), name)
		}
	}
	for _, wrong := range []string{
		`{"schema":"nestor.topology/v2","generated_by":"nestor discover","nodes":[]}`,
		`{"schema":"nestor.topology/v1","generated_by":"nestor discover"}`,
		`{"schema":"nestor.topology/v1","generated_by":"nestor discover","nodes":[{"name":"a","roles":[],"hardening":"very"}]}`,
		`{"schema":"nestor.topology/v1","generated_by":"nestor discover","nodes":[{"name":"a","roles":[],"hardening":"plain","facts":{"hostname":{"state":"present"}}}]}`,
	} {
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(wrong))
		require.NoError(t, err)
		require.Error(t, schema.Validate(document), wrong)
	}
}

func unmarshalJSON(text []byte) (any, error) { return jsonschema.UnmarshalJSON(bytes.NewReader(text)) }

// compileSchema compiles the published schema; closed to other fields where
// strict.
func compileSchema(t *testing.T, strict bool) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(golden.Read(t, schemaFile)))
	require.NoError(t, err)
	if strict {
		defs := document.(map[string]any)["$defs"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(defs)) {
			defs[name].(map[string]any)["additionalProperties"] = false
		}
	}
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("topology.json", document))
	schema, err := c.Compile("topology.json")
	require.NoError(t, err)
	return schema
}
