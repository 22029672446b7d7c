package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestOutputsAreAsPublished holds what the verbs print against the schemas
// that scripts are told to rely on, good answers and bad ones.
func TestOutputsAreAsPublished(t *testing.T) {
	const published = "https://github.com/nestor-tools/nestor/docs/schema/"
	files, err := filepath.Glob("../../docs/schema/*.json")
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	for _, name := range files { // under their own names, as they refer to each other
		text, err := os.Open(name)
		require.NoError(t, err)
		document, err := jsonschema.UnmarshalJSON(text)
		require.NoError(t, err, name)
		require.NoError(t, text.Close())
		require.NoError(t, compiler.AddResource(published+filepath.Base(name), document))
	}
	odd := workstation{files: map[string]string{
		"hosts.yaml": "all:\n  vars: {ansible_ssh_pass: x}\n  hosts:\n    a: {ansible_host: '{{ nobody }}'}\n    b: {ansible_connection: local}\n    c: {transport: lima, target_kind: lima, ansible_port: '22', ansible_ssh_port: 23}\n",
		"contract/endpoints.yaml": "contract_version: \"1.0\"\nendpoints: []\naccept:\n" +
			"  - {kind: HostPort, namespace: mail, name: relay, port: 1025, reason: of the nodes}\n",
	}, env: map[string]string{"NESTOR_INVENTORY": "hosts.yaml", "HOME": "/home/me"}}
	for _, c := range []struct {
		schema string
		at     workstation
		args   []string
		code   int
	}{
		{"target.v1.json", prod, []string{"resolve", "node1"}, 0},
		{"target.v1.json", odd, []string{"resolve", "b"}, 0},
		{"nodes.v1.json", prod, []string{"nodes"}, 0},
		{"nodes.v1.json", odd, []string{"nodes"}, 2},
		{"explain.v1.json", prod, []string{"explain", "node1"}, 0},
		{"explain.v1.json", odd, []string{"explain", "a"}, 2},
		{"explain.v1.json", odd, []string{"explain", "c"}, 0},
		{"allowlist.v1.json", odd, []string{"contract", "allowlist"}, 0},
	} {
		schema, err := compiler.Compile(published + c.schema)
		require.NoError(t, err, c.schema)
		code, out, errs := c.at.run(t, append(c.args, "--output", "json")...)
		require.Equal(t, c.code, code, "%v: %s", c.args, errs)
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(out))
		require.NoError(t, err, out)
		assert.NoError(t, schema.Validate(value), "%v: %s", c.args, out)
		assert.Error(t, schema.Validate(map[string]any{"schema": "nestor.other/v1"}), "it refuses another document")
	}
}
