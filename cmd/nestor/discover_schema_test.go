package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

// validate checks a topology against the published schema.
func validate(t *testing.T, text []byte) {
	t.Helper()
	var tree any
	require.NoError(t, yaml.Unmarshal(text, &tree))
	asJSON, err := json.Marshal(tree)
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	require.NoError(t, err)
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(filepath.Dir(kubeconfigSchema), "topology.v1.json")) // absolute, for tests change the folder
	require.NoError(t, err)
	require.NoError(t, schema.Validate(document))
}
