package nodeexec

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// shortDir is a directory whose path leaves room for a socket's name.
func shortDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/tmp", "nx")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestControlPathTellsConnectionsApart(t *testing.T) {
	dir := shortDir(t)
	base := inventory.Target{Node: "a", Host: "10.0.0.1", User: "u", Port: 22, IdentityFile: "k", SSHArgs: []string{"-J", "one"}, Inventory: "/inv/a.yaml"}
	same, err := controlPath(dir, base, "strict")
	require.NoError(t, err)
	again, err := controlPath(dir, base, "strict")
	require.NoError(t, err)
	assert.Equal(t, same, again)

	for name, change := range map[string]func(*inventory.Target){
		"jump host": func(t *inventory.Target) { t.SSHArgs = []string{"-J", "two"} },
		"inventory": func(t *inventory.Target) { t.Inventory = "/inv/b.yaml" },
		"node":      func(t *inventory.Target) { t.Node = "b" },
		"user":      func(t *inventory.Target) { t.User = "v" },
		"port":      func(t *inventory.Target) { t.Port = 2222 },
		"key":       func(t *inventory.Target) { t.IdentityFile = "l" },
		"arguments": func(t *inventory.Target) { t.SSHArgs = []string{"-Jone"} },
	} {
		other := base
		change(&other)
		path, err := controlPath(dir, other, "strict")
		require.NoError(t, err)
		assert.NotEqual(t, same, path, name)
	}
}

func TestControlPathRefusals(t *testing.T) {
	open := filepath.Join(shortDir(t), "open")
	require.NoError(t, os.Mkdir(open, 0o755))
	_, err := controlPath(open, inventory.Target{}, "strict")
	assert.ErrorContains(t, err, "chmod 700")

	file := filepath.Join(shortDir(t), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = controlPath(file, inventory.Target{}, "strict")
	assert.Error(t, err)

	link := filepath.Join(shortDir(t), "link")
	require.NoError(t, os.Symlink(shortDir(t), link))
	_, err = controlPath(link, inventory.Target{}, "strict")
	assert.ErrorContains(t, err, "not a directory")

	_, err = controlPath(filepath.Join(shortDir(t), strings.Repeat("d", 80)), inventory.Target{}, "strict")
	assert.ErrorContains(t, err, "shorter directory")

	_, err = controlPath(filepath.Join(shortDir(t), "%h"), inventory.Target{}, "strict")
	assert.ErrorContains(t, err, "expand")
}
