package main

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/contract/manifest"
)

func check(tb testing.TB, dir string) (*manifest.Tree, []contract.Finding) {
	tb.Helper()
	root := os.DirFS(dir)
	set, findings, err := contract.Load(root, "contract", "")
	require.NoError(tb, err)
	read, err := manifest.Read(context.Background(), root, manifest.Options{Skip: []string{"contract"}})
	require.NoError(tb, err)
	return read, append(findings, contract.Check(set, read, contract.Options{Root: root, Today: time.Now()})...)
}

// The tree that is measured is read whole and keeps its contract: otherwise
// its figures would be about something else.
func TestGenerate(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, generate(dir, tree{files: 120, bytes: 4000}))
	read, findings := check(t, dir)
	assert.Empty(t, findings)
	assert.Len(t, read.Files, 120)
	assert.Len(t, read.Services, 123)
	assert.Len(t, read.Workloads, 120)
}

func BenchmarkCheck(b *testing.B) {
	dir := b.TempDir()
	size := tree{files: 200, bytes: 20_000}
	require.NoError(b, generate(dir, size))
	b.SetBytes(int64(size.files) * int64(size.bytes))
	for b.Loop() {
		check(b, dir)
	}
}
