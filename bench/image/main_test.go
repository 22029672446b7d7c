package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestImage(t *testing.T) {
	dir := t.TempDir()
	binary, out := filepath.Join(dir, "nestor"), filepath.Join(dir, "image.tar")
	require.NoError(t, os.WriteFile(binary, bytes.Repeat([]byte("ELF"), 1000), 0o600))
	require.NoError(t, write(binary, "arm64", "nestor:dev", out))

	image, err := tarball.ImageFromPath(out, nil)
	require.NoError(t, err)
	config, err := image.ConfigFile()
	require.NoError(t, err)
	assert.Equal(t, "linux/arm64", config.OS+"/"+config.Architecture)
	assert.Equal(t, "65532:65532", config.Config.User)
	assert.Equal(t, []string{"/nestor"}, config.Config.Entrypoint)
	layers, err := image.Layers()
	require.NoError(t, err)
	require.Len(t, layers, 1)
	content, err := layers[0].Uncompressed()
	require.NoError(t, err)
	b, err := io.ReadAll(content)
	require.NoError(t, err)
	assert.Contains(t, string(b), "ELFELF")

	again := filepath.Join(dir, "again.tar")
	require.NoError(t, write(binary, "arm64", "nestor:dev", again))
	first, err := os.ReadFile(out)
	require.NoError(t, err)
	second, err := os.ReadFile(again)
	require.NoError(t, err)
	assert.Equal(t, first, second)

	assert.Error(t, write(filepath.Join(dir, "nothing"), "amd64", "nestor:dev", out))
	assert.Error(t, write(binary, "amd64", "not a name", out))
}
