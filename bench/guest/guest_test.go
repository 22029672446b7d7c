//go:build integration

package guest_test

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/guest"
)

func within(t *testing.T, limit time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

// One guest for the whole life of one: each step begins where the last ended.
func TestGuestLife(t *testing.T) {
	ctx := within(t, 20*time.Minute)
	began := time.Now()
	g := guest.Start(t, guest.Spec{
		Name: "cp1", Hostname: "lima-cp1", User: "debian", Forward: []int{8080},
		Disks: []guest.Disk{
			{Name: "plain", SizeMiB: 64},
			{Name: "huge", SizeMiB: 1100 << 10, Serial: "HUGE"},
			{Name: "scsi", Bus: guest.SCSI, SizeMiB: 64, Serial: "S1", WWN: 0x5000c500a1b2c3d4},
			{Name: "twice", Bus: guest.SCSI, SizeMiB: 64, Serial: "S2", WWN: 0x5000c500a1b2c3d5, SecondPath: true},
			{Name: "stick", Bus: guest.SCSI, SizeMiB: 64, Serial: "S3", Removable: true},
			{Name: "fixed", Bus: guest.SCSI, SizeMiB: 64, Serial: "S4", ReadOnly: true},
			{Name: "fast", Bus: guest.NVMe, SizeMiB: 64},
			{Name: "disc", Bus: guest.CDROM, SizeMiB: 64},
		}})
	t.Logf("up after %v", time.Since(began).Round(time.Second))
	machineID := g.MustRun(t, "cat /etc/machine-id")

	t.Run("it is a Debian of its own", func(t *testing.T) {
		assert.Contains(t, g.MustRun(t, "cat /etc/os-release"), "Debian GNU/Linux 12")
		assert.Equal(t, "lima-cp1", g.MustRun(t, "hostname"))
		assert.Equal(t, "systemd", g.MustRun(t, "cat /proc/1/comm"))
		clock, err := strconv.ParseInt(g.MustRun(t, "date +%s"), 10, 64)
		require.NoError(t, err)
		assert.InDelta(t, time.Now().Unix(), clock, 120)
		out, err := exec.CommandContext(ctx, "ssh", append(g.SSHArgs(), "id -un; sudo -n id -un")...).Output()
		require.NoError(t, err)
		assert.Equal(t, "debian\nroot\n", string(out))
		out, err = g.Exec(ctx, "printf", "%s|", "a b", `'"$x`, "")
		require.NoError(t, err)
		assert.Equal(t, `a b|'"$x||`, string(out))
		_, err = g.Exec(ctx, "sh", "-c", "echo no >&2; exit 3")
		assert.ErrorContains(t, err, "exit status 3: no")
	})

	t.Run("every disk is what it was asked to be", func(t *testing.T) {
		device := g.MustDevices(t)
		for disk, form := range map[string]string{"plain": "^/dev/vd[b-z]$", "huge": "^/dev/vd[b-z]$", "scsi": "^/dev/sd[a-z]$",
			"twice": "^/dev/sd[a-z]$", "fast": "^/dev/nvme0n1$", "disc": "^/dev/sr0$"} {
			assert.Regexp(t, form, device[disk], disk)
		}
		for path, want := range map[string]string{
			"plain/serial": "", "huge/serial": "HUGE", "stick/removable": "1", "fixed/ro": "1",
			"huge/size": strconv.Itoa(1100 << 30 / 512), "plain/size": strconv.Itoa(64 << 20 / 512),
			"scsi/device/wwid": "naa.5000c500a1b2c3d4",
		} {
			disk, file, _ := strings.Cut(path, "/")
			assert.Equal(t, want, g.MustRun(t, "cat /sys/block/"+strings.TrimPrefix(device[disk], "/dev/")+"/"+file), path)
		}
		// udev and multipathd have made one disk of the two paths.
		assert.Contains(t, g.MustRun(t, "for n in 1 2 3 4 5 6 7 8 9; do multipath -ll | grep -c running | grep -qx 2 && break; sleep 1; done; multipath -ll"), "dm-")
	})

	t.Run("what it writes can be read here", func(t *testing.T) {
		g.MustRun(t, "printf hello | dd of="+g.MustDevice(t, "plain")+" conv=fsync status=none")
		f, err := os.Open(g.DiskFile("plain"))
		require.NoError(t, err)
		defer f.Close()
		head := make([]byte, 5)
		_, err = f.Read(head)
		require.NoError(t, err)
		assert.Equal(t, "hello", string(head))
	})

	t.Run("disks come and go", func(t *testing.T) {
		device := g.MustDevice(t, "plain")
		require.NoError(t, g.Detach(ctx, "plain"))
		assert.Equal(t, "gone", g.MustRun(t, "[ -e "+device+" ] || echo gone"))
		require.NoError(t, g.Attach(ctx, guest.Disk{Name: "plain", SizeMiB: 64}))
		assert.Equal(t, "0", g.MustRun(t, "head -c 5 "+g.MustDevice(t, "plain")+" | tr -d '\\0' | wc -c"))
		assert.ErrorContains(t, g.Attach(ctx, guest.Disk{Name: "plain", SizeMiB: 64}), "two disks are named")
	})

	t.Run("it reaches nothing", func(t *testing.T) {
		assert.Equal(t, "closed", g.MustRun(t, "if timeout 5 bash -c 'exec 3<>/dev/tcp/10.0.2.2/22' 2>/dev/null; then echo open; else echo closed; fi"))
	})

	t.Run("power cut", func(t *testing.T) {
		before := time.Now()
		g.MustRun(t, "touch /root/kept; sync; printf there | dd of="+g.MustDevice(t, "fast")+" conv=fsync status=none")
		require.NoError(t, g.PowerCut(ctx))
		t.Logf("boot takes %v", time.Since(before).Round(time.Second))
		assert.Equal(t, "there", g.MustRun(t, "[ -e /root/kept ]; head -c 5 "+g.MustDevice(t, "fast")))
		assert.Equal(t, machineID, g.MustRun(t, "cat /etc/machine-id"))
	})

	t.Run("reset", func(t *testing.T) {
		before := time.Now()
		require.NoError(t, g.Reset(ctx))
		t.Logf("reset takes %v", time.Since(before).Round(time.Second))
		assert.Equal(t, "new", g.MustRun(t, "[ -e /root/kept ] || echo new"))
		assert.Equal(t, "0", g.MustRun(t, "head -c 5 "+g.MustDevice(t, "fast")+" | tr -d '\\0' | wc -c"))
		assert.NotEqual(t, machineID, g.MustRun(t, "cat /etc/machine-id"))
		assert.Equal(t, "lima-cp1", g.MustRun(t, "hostname"))
	})

	t.Run("down leaves nothing", func(t *testing.T) {
		require.NoError(t, g.Down(ctx))
		assert.NoDirExists(t, g.Dir)
		assert.False(t, g.Running())
		_, err := g.Exec(ctx, "true")
		assert.Error(t, err)
	})
}
