package nodeexec_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand"
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
	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// patience is how long anything may take on a busy machine.
const patience = 30 * time.Second

// fleet is a bench of real nodes and how to open them.
type fleet struct {
	*nodes.Bench
	inv     *inventory.Inventory
	control string
}

func startFleet(t *testing.T, spec nodes.Spec) *fleet {
	b := nodes.Start(t, spec)
	abs := b.InventoryPath
	inv, err := inventory.Open(inventory.Options{FS: os.DirFS(filepath.Dir(abs)), Name: filepath.Base(abs), Dir: filepath.Dir(abs), Shown: filepath.Dir(abs), Env: os.LookupEnv})
	require.NoError(t, err)
	control, err := os.MkdirTemp("/tmp", "nx")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(control) })
	return &fleet{Bench: b, inv: inv, control: control}
}

func (f *fleet) target(t *testing.T, name string) inventory.Target {
	target, err := f.inv.Target(name, "")
	require.NoError(t, err)
	return target
}

// cold opens a node without a shared connection, warm with one.
func (f *fleet) cold(t *testing.T, name string) *nodeexec.Node {
	return nodeexec.Open(f.target(t, name), nodeexec.Options{})
}

func (f *fleet) warm(t *testing.T, name string) *nodeexec.Node {
	return nodeexec.Open(f.target(t, name), nodeexec.Options{ControlDir: f.control, ControlPersist: 20 * time.Second})
}

// processes are the names of what runs on the node, seen without ssh.
func (f *fleet) processes(t *testing.T, name string) []string {
	out, err := f.Exec(context.Background(), name, "ps", "-e", "-o", "args=")
	require.NoError(t, err)
	return strings.Split(string(out), "\n")
}

// noneLeft waits until nothing on the node holds the word in its arguments.
func (f *fleet) noneLeft(t *testing.T, name, word string) {
	t.Helper()
	var left []string
	assert.Eventually(t, func() bool {
		left = slices.DeleteFunc(f.processes(t, name), func(p string) bool { return !strings.Contains(p, word) })
		return len(left) == 0
	}, patience, 50*time.Millisecond)
	assert.Empty(t, left, "left on %s", name)
}

func output(t *testing.T, n nodeexec.Runner, argv ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	res, err := n.Run(ctx, nodeexec.Command{Argv: argv})
	require.NoError(t, err)
	require.Equal(t, 0, res.ExitCode, res.Stderr.String())
	return res.Stdout.String()
}

func TestOnRealNodes(t *testing.T) {
	spec := nodes.Flavours()
	spec.Fast = true
	spec.Nodes = append(spec.Nodes, nodes.Node{Name: "ran-nothing", SSHD: []string{"ForceCommand /bin/true"}},
		nodes.Node{Name: "few-sessions", SSHD: []string{"MaxSessions 3"}})
	f := startFleet(t, spec)

	t.Run("every login shell, noise and all", func(t *testing.T) {
		for _, name := range []string{"bash", "dash", "fish", "zsh", "noisy", "noisy-zsh", "noisy-fish", "noisy-dash", "forced", "no-bash", "busybox", "inner1", "inner2"} {
			for how, n := range map[string]*nodeexec.Node{"cold": f.cold(t, name), "warm": f.warm(t, name)} {
				res, err := n.Run(context.Background(), nodeexec.Command{Argv: []string{"sh", "-c", "hostname; echo oops >&2; exit 3"}, Timeout: patience})
				require.NoError(t, err, "%s %s", name, how)
				assert.Equal(t, name+"\n", res.Stdout.String(), "%s %s", name, how)
				assert.Equal(t, "oops\n", res.Stderr.String(), "%s %s", name, how)
				assert.Equal(t, 3, res.ExitCode)
			}
		}
	})

	t.Run("one address behind two jump hosts", func(t *testing.T) {
		assert.Equal(t, f.target(t, "inner1").Host, f.target(t, "inner2").Host)
		for range 3 {
			assert.Equal(t, "inner1\n", output(t, f.warm(t, "inner1"), "hostname"))
			assert.Equal(t, "inner2\n", output(t, f.warm(t, "inner2"), "hostname"))
		}
	})

	t.Run("no trustworthy exit code", func(t *testing.T) {
		nowhere := f.target(t, "bash")
		nowhere.Host = strings.Repeat("a", 64) // no label of a name may be that long: no resolver is asked
		for _, tc := range []struct {
			name   string
			target inventory.Target
			sudo   bool
			kind   nodeexec.Kind
			says   string
		}{
			{"refused", f.target(t, "no-listener"), false, nodeexec.KindUnreachable, "Connection refused"},
			{"unknown host", nowhere, false, nodeexec.KindUnreachable, "Could not resolve hostname"},
			{"wrong host key", f.target(t, "wrong-host-key"), false, nodeexec.KindHostKey, "ssh-keygen -R"},
			{"wrong key", f.target(t, "refused-key"), false, nodeexec.KindAuth, "Permission denied"},
			{"sudo wants a password", f.target(t, "sudo-password"), true, nodeexec.KindSudo, "NOPASSWD"},
			{"not a sudoer", f.target(t, "sudo-none"), true, nodeexec.KindSudo, ""},
			{"0 with nothing run", f.target(t, "ran-nothing"), false, nodeexec.KindProtocol, "ran nothing"},
		} {
			t.Run(tc.name, func(t *testing.T) {
				res, err := nodeexec.Open(tc.target, nodeexec.Options{}).Run(context.Background(), nodeexec.Command{Argv: []string{"touch", "/tmp/ran"}, Sudo: tc.sudo, Timeout: patience})
				var failed *nodeexec.Error
				require.ErrorAs(t, err, &failed, "%+v", res)
				assert.Equal(t, tc.kind, failed.Kind, failed)
				assert.Equal(t, nodeexec.RemoteNone, failed.Remote)
				assert.Contains(t, failed.Error(), tc.says)
				assert.NotContains(t, failed.Error(), "\n")
			})
		}
	})

	t.Run("exit codes are the command's", func(t *testing.T) {
		for _, code := range []int{0, 1, 3, 125, 126, 127, 254, 255} {
			res, err := f.warm(t, "bash").Run(context.Background(), nodeexec.Command{Argv: []string{"sh", "-c", fmt.Sprint("exit ", code)}})
			require.NoError(t, err)
			assert.Equal(t, code, res.ExitCode)
		}
		res, err := f.warm(t, "dash").Run(context.Background(), nodeexec.Command{Argv: []string{"sh", "-c", "kill -9 $$"}})
		require.NoError(t, err)
		assert.Equal(t, 137, res.ExitCode)
		assert.Equal(t, "KILL", res.Signal)
		res, err = f.warm(t, "fish").Run(context.Background(), nodeexec.Command{Argv: []string{"no-such-program"}})
		require.NoError(t, err)
		assert.Equal(t, 127, res.ExitCode)
	})

	t.Run("the first word is a program, whatever it looks like", func(t *testing.T) {
		for _, word := range []string{"A=b", "-c", "--", "cd", "a b", "exit", "X;touch /tmp/pwned;Y=1", ""} {
			for _, name := range []string{"bash", "dash", "fish", "zsh", "sudo-free"} {
				res, err := f.warm(t, name).Run(context.Background(), nodeexec.Command{Argv: []string{word, "true"}, Sudo: name == "sudo-free"})
				require.NoError(t, err)
				assert.Contains(t, []int{126, 127}, res.ExitCode, "%q on %s", word, name)
			}
		}
	})

	t.Run("sudo and environment", func(t *testing.T) {
		res, err := f.warm(t, "sudo-free").Run(context.Background(), nodeexec.Command{
			Argv: []string{"sh", "-c", `id -u; printf '%s|' "$A" "$B"`}, Sudo: true, Env: map[string]string{"A": "it's \\ $HOME", "B": "two\nlines"}})
		require.NoError(t, err)
		assert.Equal(t, "0\nit's \\ $HOME|two\nlines|", res.Stdout.String())
		assert.Equal(t, "debian\n", output(t, f.warm(t, "sudo-free"), "id", "-un"))
	})

	t.Run("a deadline ends the command on the node", func(t *testing.T) {
		for _, name := range []string{"bash", "fish", "forced", "busybox", "inner1", "sudo-free"} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				for how, n := range map[string]*nodeexec.Node{"cold": f.cold(t, name), "warm": f.warm(t, name)} {
					for _, stdin := range []bool{false, true} {
						c := nodeexec.Command{Argv: []string{"sh", "-c", "echo begun; sleep 600 & sleep 600"}, Sudo: name == "sudo-free", Timeout: 2 * time.Second}
						if stdin {
							r, w := io.Pipe() // stays open: its end must not be what ends the command
							defer w.Close()
							c.Stdin = r
						}
						began := time.Now()
						res, err := n.Run(context.Background(), c)
						var failed *nodeexec.Error
						require.ErrorAs(t, err, &failed, "%s stdin %v", how, stdin)
						assert.ErrorIs(t, err, context.DeadlineExceeded)
						assert.Equal(t, nodeexec.RemoteKilled, failed.Remote, "%s stdin %v: %v", how, stdin, failed)
						assert.Equal(t, "begun\n", res.Stdout.String(), "what had arrived")
						assert.Less(t, time.Since(began), 2*time.Second+patience)
						f.noneLeft(t, name, "sleep")
					}
				}
			})
		}
	})

	t.Run("a process that ignores TERM is killed", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, cancel)
		_, err := f.warm(t, "dash").Run(ctx, nodeexec.Command{Argv: []string{"sh", "-c", "trap '' TERM; while :; do sleep 1; done"}})
		var failed *nodeexec.Error
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, nodeexec.KindCanceled, failed.Kind)
		assert.Equal(t, nodeexec.RemoteKilled, failed.Remote)
		f.noneLeft(t, "dash", "trap")
	})

	t.Run("what a command leaves behind holds nobody", func(t *testing.T) {
		for _, n := range []*nodeexec.Node{f.cold(t, "zsh"), f.warm(t, "zsh")} {
			began := time.Now()
			assert.Equal(t, "hi\n", output(t, n, "sh", "-c", "sleep 45 & echo hi"))
			assert.Less(t, time.Since(began), patience)
		}
		assert.Contains(t, strings.Join(f.processes(t, "zsh"), "\n"), "sleep 45", "it is left alone")
	})

	t.Run("late output of the background is still read", func(t *testing.T) {
		assert.Equal(t, "hi\nlate\n", output(t, f.warm(t, "bash"), "bash", "-c", "echo hi > >(cat; sleep 0.03; echo late)"))
	})

	t.Run("binary stdin and stdout", func(t *testing.T) {
		input := make([]byte, 3<<20)
		rand.New(rand.NewSource(1)).Read(input)
		for _, name := range []string{"bash", "noisy-fish", "forced"} {
			var got bytes.Buffer
			res, err := f.warm(t, name).Run(context.Background(), nodeexec.Command{Argv: []string{"cat"}, Stdin: bytes.NewReader(input), Stdout: &got})
			require.NoError(t, err)
			assert.Equal(t, 0, res.ExitCode)
			assert.Equal(t, sha256.Sum256(input), sha256.Sum256(got.Bytes()))
		}
	})

	t.Run("a command that reads no stdin", func(t *testing.T) {
		res, err := f.warm(t, "bash").Run(context.Background(), nodeexec.Command{Argv: []string{"true"}, Stdin: bytes.NewReader(make([]byte, 8<<20))})
		require.NoError(t, err)
		assert.Equal(t, 0, res.ExitCode)
	})

	t.Run("captured output keeps both ends", func(t *testing.T) {
		n := nodeexec.Open(f.target(t, "bash"), nodeexec.Options{ControlDir: f.control, CaptureLimit: 1000})
		res, err := n.Run(context.Background(), nodeexec.Command{Argv: []string{"sh", "-c", "echo first; head -c 100000 /dev/zero; echo last"}})
		require.NoError(t, err)
		assert.True(t, bytes.HasPrefix(res.Stdout.Head, []byte("first\n")))
		assert.True(t, bytes.HasSuffix(res.Stdout.Tail, []byte("last\n")))
		assert.EqualValues(t, len("first\nlast\n")+100000-1000, res.Stdout.Dropped)
	})

	t.Run("a stale socket", func(t *testing.T) {
		n := f.warm(t, "noisy")
		output(t, n, "true")
		masters := exec.Command("pgrep", "-f", "^ssh: "+f.control+"/.*mux")
		pids, err := masters.Output()
		require.NoError(t, err)
		for _, pid := range strings.Fields(string(pids)) {
			require.NoError(t, exec.Command("kill", "-9", pid).Run())
		}
		sockets, err := os.ReadDir(f.control)
		require.NoError(t, err)
		require.NotEmpty(t, sockets, "the sockets are still there")
		assert.Equal(t, "noisy\n", output(t, n, "hostname"))
	})

	t.Run("more calls at once than the node allows sessions", func(t *testing.T) {
		n := f.warm(t, "few-sessions")
		output(t, n, "true")
		var wg sync.WaitGroup
		for range 12 {
			wg.Go(func() {
				res, err := n.Run(context.Background(), nodeexec.Command{Argv: []string{"sh", "-c", "sleep 0.5; hostname"}, Timeout: patience})
				if assert.NoError(t, err) {
					assert.Equal(t, "few-sessions\n", res.Stdout.String())
				}
			})
		}
		wg.Wait()
	})

	t.Run("the caller's own streams fail", func(t *testing.T) {
		_, err := f.warm(t, "bash").Run(context.Background(), nodeexec.Command{Argv: []string{"yes", "sleep-marker"}, Stdout: brokenWriter{}})
		assert.Equal(t, nodeexec.KindStream, nodeexec.KindOf(err))
		assert.ErrorIs(t, err, errBroken)
		f.noneLeft(t, "bash", "sleep-marker")
	})

	t.Run("too long a command line", func(t *testing.T) {
		for _, size := range []int{130_000, 4 << 20} {
			_, err := f.warm(t, "bash").Run(context.Background(), nodeexec.Command{Argv: []string{"echo", strings.Repeat("x", size)}})
			assert.Equal(t, nodeexec.KindTooLong, nodeexec.KindOf(err))
			assert.ErrorContains(t, err, "122880")
		}
		assert.Len(t, output(t, f.warm(t, "bash"), "echo", strings.Repeat("x", 110_000)), 110_001)
	})

	t.Run("a caller that is killed", func(t *testing.T) {
		for _, signal := range []os.Signal{os.Interrupt, os.Kill} {
			cmd := exec.Command(nestor(t), "exec", "-i", f.InventoryPath, "bash", "--", "sh", "-c", "echo begun; sleep 601 & sleep 601")
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			_, err = io.ReadFull(out, make([]byte, len("begun\n")))
			require.NoError(t, err)
			require.NoError(t, cmd.Process.Signal(signal))
			_ = cmd.Wait() // it was ended
			f.noneLeft(t, "bash", "sleep 601")
		}
	})

	t.Run("the node dies in the middle", func(t *testing.T) {
		n := f.cold(t, "noisy-dash")
		time.AfterFunc(time.Second, func() { assert.NoError(t, f.Kill(context.Background(), "noisy-dash")) })
		res, err := n.Run(context.Background(), nodeexec.Command{Argv: []string{"sh", "-c", "echo half; sleep 600"}, Timeout: patience})
		var failed *nodeexec.Error
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, nodeexec.KindLost, failed.Kind, failed)
		assert.Equal(t, nodeexec.RemoteUnknown, failed.Remote)
		assert.Equal(t, "half\n", res.Stdout.String())
	})
}

var errBroken = errors.New("broken")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

// nestor builds the binary once.
var buildNestor = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "nestor-bin")
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "nestor")
	out, err := exec.Command("go", "build", "-o", bin, "../cmd/nestor").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return bin, nil
})

func nestor(t *testing.T) string {
	bin, err := buildNestor()
	require.NoError(t, err)
	return bin
}
