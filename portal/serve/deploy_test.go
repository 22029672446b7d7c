package serve

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/contract/manifest"
)

// The deployment keeps its own contract, and grants no Secret.
func TestDeploymentKeepsItsContract(t *testing.T) {
	check := func(dir string) (rules []string) {
		root := os.DirFS(dir)
		set, findings, err := contract.Load(root, "contract", "")
		require.NoError(t, err)
		tree, err := manifest.Read(context.Background(), root, manifest.Options{Skip: []string{"contract/endpoints.yaml"}})
		require.NoError(t, err)
		assert.NotEmpty(t, tree.Services)
		for _, f := range append(findings, contract.Check(set, tree, contract.Options{Root: root, Today: time.Now()})...) {
			rules = append(rules, f.Rule)
		}
		return rules
	}
	assert.Empty(t, check("../deploy"))

	copied := t.TempDir()
	require.NoError(t, os.CopyFS(copied, os.DirFS("../deploy")))
	role := filepath.Join(copied, "rbac.yaml")
	b, err := os.ReadFile(role)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(role, []byte(strings.Replace(string(b), "[services, nodes]", "[services, nodes, secrets]", 1)), 0o600))
	assert.Contains(t, check(copied), "portal-reads-secrets")
}
