package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const execSchema = "../../docs/schema/exec.v1.json"

// constants are the values of the string constants of a type.
func constants(t *testing.T, file, typeName string) (values []string) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if name, ok := spec.Type.(*ast.Ident); ok && name.Name == typeName {
			for _, v := range spec.Values {
				value, err := strconv.Unquote(v.(*ast.BasicLit).Value)
				require.NoError(t, err)
				values = append(values, value)
			}
		}
		return true
	})
	require.NotEmpty(t, values)
	return values
}

func TestTheSchemaAndTheDocsKnowEveryKind(t *testing.T) {
	text, err := os.ReadFile(execSchema)
	require.NoError(t, err)
	var schema struct {
		Properties struct {
			Error struct {
				Properties struct {
					Kind, Remote struct{ Enum []string }
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal(text, &schema))
	kinds := constants(t, "../../nodeexec/errors.go", "Kind")
	assert.ElementsMatch(t, kinds, schema.Properties.Error.Properties.Kind.Enum)
	assert.ElementsMatch(t, constants(t, "../../nodeexec/errors.go", "Remote"), schema.Properties.Error.Properties.Remote.Enum)

	docs, err := os.ReadFile("../../docs/exit-codes.md")
	require.NoError(t, err)
	for _, kind := range kinds {
		assert.Contains(t, string(docs), "`"+kind+"`")
	}
}

func TestTheSchemaRefusesWhatIsNotALine(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(execSchema)
	require.NoError(t, err)
	const good = `{"schema":"nestor.exec/v1","node":"a","exit_code":0,"stdout":"","stderr":"","signal":null,"dropped":{"stdout":0,"stderr":0},"error":null,"duration_ms":1}`
	for text, valid := range map[string]bool{
		good: true,
		strings.Replace(good, `"node":"a"`, `"node":"a","later":1`, 1):                                                                                          true,
		strings.Replace(good, `"stdout":""`, `"stdout_base64":"/w=="`, 1):                                                                                       true,
		strings.Replace(good, `"stdout":""`, `"stdout":"","stdout_base64":""`, 1):                                                                               false,
		strings.Replace(good, `"stdout":"",`, ``, 1):                                                                                                            false,
		strings.Replace(good, `"exit_code":0`, `"exit_code":null`, 1):                                                                                           false,
		strings.Replace(good, `"exit_code":0`, `"exit_code":256`, 1):                                                                                            false,
		strings.Replace(good, `"error":null`, `"error":{"kind":"lost","message":"a: x","remote":"unknown"}`, 1):                                                 false,
		strings.NewReplacer(`"error":null`, `"error":{"kind":"lost","message":"a: x","remote":"unknown"}`, `:0,"stdout":""`, `:null,"stdout":""`).Replace(good): true,
		strings.NewReplacer(`"error":null`, `"error":{"kind":"bad","message":"a: x","remote":"unknown"}`, `:0,"stdout":""`, `:null,"stdout":""`).Replace(good):  false,
	} {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		require.NoError(t, err)
		if err := schema.Validate(value); valid {
			assert.NoError(t, err, text)
		} else {
			assert.Error(t, err, text)
		}
	}
}
