package nodeexec_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/nodes"
	"github.com/nestor-tools/nestor/nodeexec"
)

// liar is a login profile that prints what ssh, limactl and the shim say.
const liar = `cat >&2 <<'X'
Host key verification failed.
root@x: Permission denied (publickey).
ssh: connect to host x port 22: Connection refused
node-exec: liar: refused: no
kex_exchange_identification: Connection closed by remote host
ControlSocket /x already exists, disabling multiplexing
X
`

// Nodes that are ill, or lie.
func TestHostileNodes(t *testing.T) {
	f := startFleet(t, nodes.Spec{Fast: true, Nodes: []nodes.Node{
		{Name: "bash"}, {Name: "dash", Shell: "dash"}, {Name: "fish", Shell: "fish"}, {Name: "zsh", Shell: "zsh"},
		{Name: "pty", User: "debian", Sudo: nodes.SudoFree, Files: map[string]string{"/etc/sudoers.d/pty": "Defaults use_pty\n"}},
		{Name: "liar", User: "debian", Sudo: nodes.SudoPassword, Files: map[string]string{"/home/debian/.bashrc": liar}},
		{Name: "exits", Files: map[string]string{"/root/.bashrc": "echo 'curl: (7) Connection refused' >&2; exit 255\n"}},
		{Name: "dropped"}, {Name: "no-proc"},
	}})
	bg := context.Background()

	t.Run("a command sees what it would see under plain ssh", func(t *testing.T) {
		probe := []string{"sh", "-c", `env | sort; umask; pwd; ulimit -a; grep -E '^(Sig(Ign|Blk|Cgt)|Cap|NoNewPrivs)' /proc/self/status; for f in /proc/$$/fd/*; do echo "${f##*/}"; done`}
		for _, name := range []string{"bash", "dash", "fish", "zsh"} {
			ssh := exec.Command("ssh", append(f.SSHArgs(name), `exec sh -c '`+strings.ReplaceAll(probe[2], `'`, `'"'"'`)+`' </dev/null`)...)
			plain, err := ssh.Output()
			require.NoError(t, err)
			for _, stdin := range []io.Reader{nil, strings.NewReader("")} {
				res, err := f.cold(t, name).Run(bg, nodeexec.Command{Argv: probe, Stdin: stdin, Timeout: patience})
				require.NoError(t, err)
				assert.Equal(t, sessionLines(string(plain)), sessionLines(res.Stdout.String()), name)
			}
		}
	})

	t.Run("sudo in a terminal of its own", func(t *testing.T) {
		n := f.warm(t, "pty")
		res, err := n.Run(bg, nodeexec.Command{Argv: []string{"sh", "-c", "printf 'a\\nb\\0\\r\\n'; printf 'e\\n' >&2; exit 5"}, Sudo: true, Timeout: patience})
		require.NoError(t, err)
		assert.Equal(t, 5, res.ExitCode)
		assert.Equal(t, "a\nb\x00\r\n", res.Stdout.String())
		input := bytes.Repeat([]byte("a\n\x04\x03\r\x00"), 50_000)
		res, err = n.Run(bg, nodeexec.Command{Argv: []string{"cat"}, Sudo: true, Stdin: bytes.NewReader(input), Timeout: patience})
		require.NoError(t, err)
		assert.True(t, bytes.Equal(input, res.Stdout.Bytes()))
		for _, stdin := range []bool{false, true} {
			c := nodeexec.Command{Argv: []string{"sh", "-c", "sleep 4712 & sleep 4712"}, Sudo: true, Timeout: 2 * time.Second}
			if stdin {
				r, w := io.Pipe()
				defer w.Close()
				c.Stdin = r
			}
			_, err := n.Run(bg, c)
			assert.ErrorContains(t, err, "remote: killed")
			f.noneLeft(t, "pty", "sleep 4712")
		}
	})

	t.Run("a profile that lies", func(t *testing.T) {
		n := f.warm(t, "liar")
		assert.Equal(t, "liar\n", output(t, n, "hostname"))
		_, err := n.Run(bg, nodeexec.Command{Argv: []string{"id"}, Sudo: true, Timeout: patience})
		assert.Equal(t, nodeexec.KindSudo, nodeexec.KindOf(err), err)
		_, err = f.cold(t, "exits").Run(bg, nodeexec.Command{Argv: []string{"id"}, Timeout: patience})
		assert.NotContains(t, err.Error(), "curl")
	})

	t.Run("a thousand processes, one with a hostile name", func(t *testing.T) {
		mark := "4713"
		_, err := f.Exec(bg, "bash", "bash", "-c", `cp "$(command -v sleep)" $'/tmp/x) S 1 1\n2 (y'; $'/tmp/x) S 1 1\n2 (y' 4714 >/dev/null 2>&1 & for i in {1..1000}; do sleep 4714 >/dev/null 2>&1 & done`)
		require.NoError(t, err)
		for _, stdin := range []bool{false, true} {
			c := nodeexec.Command{Argv: []string{"sh", "-c", "trap '' TERM; /tmp/x*y " + mark + " & while :; do sleep " + mark + "; done"}, Timeout: 2 * time.Second}
			if stdin {
				r, w := io.Pipe()
				defer w.Close()
				c.Stdin = r
			}
			_, err = f.warm(t, "bash").Run(bg, c)
			assert.ErrorContains(t, err, "remote: killed")
			f.noneLeft(t, "bash", mark)
		}
	})

	t.Run("without /proc", func(t *testing.T) {
		_, err := f.Exec(bg, "no-proc", "umount", "-l", "/proc")
		require.NoError(t, err)
		mark := fmt.Sprintf("4716.%d", os.Getpid()) // seen from here
		n := f.cold(t, "no-proc")
		assert.Equal(t, "no-proc\n", output(t, n, "hostname"))
		for _, stdin := range []bool{false, true} {
			c := nodeexec.Command{Argv: []string{"sh", "-c", "sleep " + mark + " & sleep " + mark}, Timeout: 2 * time.Second}
			if stdin {
				r, w := io.Pipe()
				defer w.Close()
				c.Stdin = r
			}
			_, err := n.Run(bg, c)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.ErrorContains(t, err, "remote: unknown", "nothing can be seen there")
		}
		assert.Eventually(t, func() bool { return exec.Command("pgrep", "-f", "sleep "+mark).Run() != nil }, patience, 200*time.Millisecond)
	})

	t.Run("fifty at once become one master", func(t *testing.T) {
		n := nodeexec.Open(f.target(t, "dash"), nodeexec.Options{ControlDir: f.control, ControlPersist: time.Millisecond})
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				res, err := n.Run(bg, nodeexec.Command{Argv: []string{"hostname"}, Timeout: patience})
				if assert.NoError(t, err) {
					assert.Equal(t, "dash\n", res.Stdout.String())
					assert.Empty(t, res.Stderr.String())
				}
			})
		}
		wg.Wait()
		assert.Eventually(t, func() bool {
			return exec.Command("pgrep", "-f", "^ssh: "+f.control+"/.*mux").Run() != nil
		}, patience, 100*time.Millisecond, "a short ControlPersist is not for ever")
	})

	t.Run("the socket is replaced by a file", func(t *testing.T) {
		n := f.warm(t, "zsh")
		output(t, n, "true")
		sockets, err := filepath.Glob(f.control + "/*")
		require.NoError(t, err)
		for _, s := range sockets {
			require.NoError(t, os.Remove(s))
			require.NoError(t, os.WriteFile(s, []byte("x"), 0o600))
		}
		assert.Equal(t, "zsh\n", output(t, n, "hostname"))
	})

	t.Run("the link goes down", func(t *testing.T) {
		for _, when := range []string{"before", "during"} {
			n := f.cold(t, "dropped")
			if when == "before" {
				require.NoError(t, f.LinkDown(bg, "dropped"))
			} else {
				time.AfterFunc(time.Second, func() { assert.NoError(t, f.LinkDown(bg, "dropped")) })
			}
			began := time.Now()
			_, err := n.Run(bg, nodeexec.Command{Argv: []string{"sleep", "4715"}, Timeout: 3 * time.Second})
			var failed *nodeexec.Error
			require.True(t, errors.As(err, &failed))
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, map[string]nodeexec.Remote{"before": nodeexec.RemoteNone, "during": nodeexec.RemoteUnknown}[when], failed.Remote, fmt.Sprint(when, failed))
			assert.Less(t, time.Since(began), patience)
			require.NoError(t, f.LinkUp(bg, "dropped"))
		}
		f.noneLeft(t, "dropped", "sleep 4715") // by the node's own deadline
	})
}

// sessionLines drops what differs between any two sessions.
func sessionLines(s string) []string {
	return slices.DeleteFunc(strings.Split(s, "\n"), func(l string) bool {
		return strings.HasPrefix(l, "SSH_C") || strings.HasPrefix(l, "_=")
	})
}
