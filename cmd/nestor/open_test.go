package main

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestControlDirIsOurs(t *testing.T) {
	base, err := os.MkdirTemp("/tmp", "nx") // short enough for a socket
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	dirFor := func(runtimeDir string) string {
		c := &cli{env: func(name string) (string, bool) { return runtimeDir, name == "XDG_RUNTIME_DIR" }}
		return c.controlDir()
	}
	own := filepath.Join("/tmp", "nestor-"+strconv.Itoa(os.Getuid()))
	assert.Equal(t, filepath.Join(base, "nestor"), dirFor(base))
	for _, unfit := range []string{"", "relative", filepath.Join(base, "none"), "/tmp/a-path-that-is-far-too-long-for-a-control-socket"} {
		assert.Equal(t, own, dirFor(unfit), unfit)
	}
	theirs := "/" // root's: as root, another's is made
	if os.Getuid() == 0 {
		theirs = base
		require.NoError(t, os.Chown(base, 65534, -1))
	}
	assert.Equal(t, own, dirFor(theirs), "sudo -E hands on the runtime folder of another user")
}
