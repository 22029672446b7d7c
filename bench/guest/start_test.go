//go:build integration

package guest_test

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/guest"
)

// What CI can afford of a guest: that it comes up, with disks. The rest of its
// life is in guest_test.go.
func TestGuestStarts(t *testing.T) {
	began := time.Now()
	g := guest.Start(t, guest.Spec{Hostname: "lima-guest1", User: "debian", Disks: []guest.Disk{
		{Name: "plain", SizeMiB: 64},
		{Name: "fast", Bus: guest.NVMe, SizeMiB: 64},
	}})
	t.Logf("up after %v", time.Since(began).Round(time.Second))
	device := g.MustDevices(t)
	assert.Equal(t, map[string]string{"plain": "/dev/vdb", "fast": "/dev/nvme0n1"}, device)
	assert.Equal(t, "lima-guest1 systemd", g.MustRun(t, "printf dev | dd of="+device["plain"]+" conv=fsync status=none; echo $(hostname) $(cat /proc/1/comm)"))
	f, err := os.Open(g.DiskFile("plain"))
	require.NoError(t, err)
	defer f.Close()
	head := make([]byte, 3)
	_, err = f.Read(head)
	require.NoError(t, err)
	assert.Equal(t, "dev", string(head))
	out, err := exec.CommandContext(t.Context(), "ssh", append(g.SSHArgs(), "id -un; sudo -n id -un")...).Output()
	require.NoError(t, err)
	assert.Equal(t, "debian\nroot\n", string(out))

	require.NoError(t, g.Down(context.Background()))
	assert.NoDirExists(t, g.Dir)
	assert.False(t, g.Running())
}
