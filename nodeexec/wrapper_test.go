package nodeexec_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/nodeexec"
)

// What a command can do to the wrapper, its session and its streams.
func TestHostileCommands(t *testing.T) {
	t.Run("ends", func(t *testing.T) {
		for script, want := range map[string]string{
			"exec >&- 2>&-; exit 3": "",
			"exec 3>&1 4>&2 8>&1 9>&2; echo a >&3; echo b >&8; exit 3": "a\nb\n",
			"echo x >&3; echo y >&8; echo z >&9; exit 3":               "", // none is open
			"trap '' HUP INT TERM; echo a; exit 3":                     "a\n",
			"printf 'nestor:'; printf 'a\\0b\\377'; exit 3":            "nestor:a\x00b\xff",
			"setsid sleep 3 & echo a; exit 3":                          "a\n",
		} {
			res, err := here().Run(context.Background(), nodeexec.Command{Argv: []string{"sh", "-c", script}, Timeout: patience})
			require.NoError(t, err, script)
			assert.Equal(t, want, res.Stdout.String(), script)
			assert.Equal(t, 3, res.ExitCode, script)
		}
	})

	t.Run("both streams at once", func(t *testing.T) {
		res, err := here().Run(context.Background(), nodeexec.Command{Argv: []string{"sh", "-c", "head -c 3000000 /dev/zero & head -c 3000000 /dev/zero >&2; wait"}, Timeout: patience})
		require.NoError(t, err)
		assert.Len(t, res.Stdout.Bytes(), 3_000_000)
		assert.Len(t, res.Stderr.Bytes(), 3_000_000)
	})

	t.Run("a deadline leaves nothing", func(t *testing.T) {
		for i, script := range []string{
			"kill -STOP $$", "kill -STOP $PPID; sleep %[1]s", "trap '' HUP INT TERM; sleep %[1]s & sleep %[1]s; sleep %[1]s",
		} {
			mark := fmt.Sprintf("68%d.%d", os.Getpid(), i)
			if strings.Contains(script, "%") {
				script = fmt.Sprintf(script, mark)
			}
			_, err := here().Run(context.Background(), nodeexec.Command{Argv: []string{"sh", "-c", script}, Timeout: time.Second})
			var failed *nodeexec.Error
			require.ErrorAs(t, err, &failed, script)
			assert.Equal(t, nodeexec.KindDeadline, failed.Kind, script)
			assert.Equal(t, nodeexec.RemoteKilled, failed.Remote, script)
			assert.Error(t, exec.Command("pgrep", "-f", "sleep "+mark).Run(), script)
		}
	})
}

// Then nobody can tell the exit code, but what the command left is ended when
// the connection is.
func TestCommandThatEndsItsWrapper(t *testing.T) {
	mark := fmt.Sprintf("69%d", os.Getpid())
	_, err := here().Run(context.Background(), nodeexec.Command{Argv: []string{"sh", "-c", "kill -9 $PPID; sleep " + mark}, Timeout: patience})
	var failed *nodeexec.Error
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, nodeexec.KindLost, failed.Kind)
	assert.Equal(t, nodeexec.RemoteUnknown, failed.Remote)
	assert.Eventually(t, func() bool { return exec.Command("pgrep", "-f", "sleep "+mark).Run() != nil }, patience, 50*time.Millisecond)
}

// A node may lack every program but a shell.
func TestNodeWithoutTools(t *testing.T) {
	bin := t.TempDir()
	for _, tool := range []string{"bash", "sh"} {
		path, err := exec.LookPath(tool)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(path, filepath.Join(bin, tool)))
	}
	sleep, err := exec.LookPath("sleep")
	require.NoError(t, err)
	t.Setenv("PATH", bin)
	for _, stdin := range []bool{false, true} {
		c := nodeexec.Command{Argv: []string{sleep, "0.3"}, Timeout: patience}
		if stdin {
			r, w := io.Pipe()
			defer w.Close()
			c.Stdin = r
		}
		res, err := here().Run(context.Background(), c)
		require.NoError(t, err, "its deadline is far")
		assert.Equal(t, 0, res.ExitCode)

		c.Argv, c.Timeout = []string{sleep, "600"}, time.Second
		_, err = here().Run(context.Background(), c)
		var failed *nodeexec.Error
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, nodeexec.RemoteKilled, failed.Remote, "stdin %v", stdin)
	}
}
