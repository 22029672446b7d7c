package lima_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// patience is far above what any call here takes, an emulated guest included.
const patience = 10 * time.Minute

// open is the brick on an instance; its limactl is the subject's.
func (s subject) open(t *testing.T, name string) *nodeexec.Node {
	for _, kv := range s.Environ(os.Environ()) {
		if k, v, _ := strings.Cut(kv, "="); k == "PATH" || k == "LIMA_HOME" {
			t.Setenv(k, v)
		}
	}
	return nodeexec.Open(inventory.Target{Node: name, Kind: inventory.Lima, Transport: inventory.TransportLima, Host: name}, nodeexec.Options{})
}

func run(n *nodeexec.Node, argv ...string) (nodeexec.Result, error) {
	return n.Run(context.Background(), nodeexec.Command{Argv: argv, Timeout: patience})
}

// Whatever the arguments, they arrive byte for byte. rapid's own flags say how
// many lists are tried: -rapid.checks=1000.
func TestBrickArgvAlike(t *testing.T) {
	s := subjectOf(t)
	n := s.open(t, s.running)
	byteOf := rapid.ByteRange(1, 255)
	piece := rapid.OneOf(rapid.SampledFrom(hardArgs), rapid.Map(rapid.SliceOfN(byteOf, 0, 12), func(b []byte) string { return string(b) }))
	arg := rapid.Map(rapid.SliceOfN(piece, 0, 4), func(pieces []string) string { return strings.Join(pieces, "") })
	rapid.Check(t, func(t *rapid.T) {
		args := rapid.SliceOfN(arg, 1, 40).Draw(t, "args")
		res, err := run(n, append(printArgs[:len(printArgs):len(printArgs)], args...)...)
		if err != nil || res.ExitCode != 0 || len(res.Stderr.Bytes()) > 0 {
			t.Fatalf("exit code %d, error %v: %s", res.ExitCode, err, res.Stderr)
		}
		if want := strings.Join(args, "\x00") + "\x00"; res.Stdout.String() != want {
			t.Fatalf("sent %q, %q came back", want, res.Stdout)
		}
	})
}

// Each way to fail has its own answer, and none is mistaken for the command's.
func TestBrickAnswersAlike(t *testing.T) {
	s := subjectOf(t)

	t.Run("a VM that is stopped", func(t *testing.T) {
		_, err := run(s.open(t, s.stopped), "true")
		assert.Equal(t, nodeexec.KindVMStopped, nodeexec.KindOf(err), err)
		t.Log(err)
	})
	t.Run("a VM that does not exist", func(t *testing.T) {
		_, err := run(s.open(t, missing), "true")
		assert.Equal(t, nodeexec.KindVMMissing, nodeexec.KindOf(err), err)
		t.Log(err)
	})
	t.Run("no limactl on this machine", func(t *testing.T) {
		n := s.open(t, s.running)
		t.Setenv("PATH", "/usr/bin:/bin")
		_, err := run(n, "true")
		assert.Equal(t, nodeexec.KindUnavailable, nodeexec.KindOf(err), err)
		assert.ErrorContains(t, err, "limactl is not installed")
		t.Log(err)
	})
	t.Run("the command's own failures are results", func(t *testing.T) {
		n := s.open(t, s.running)
		for script, code := range map[string]int{"exit 1": 1, "exit 125": 125, "exit 255": 255, "echo level=fatal >&2; exit 1": 1, "kill -9 $$": 137} {
			res, err := run(n, "sh", "-c", script)
			require.NoError(t, err, script)
			assert.Equal(t, code, res.ExitCode, script)
		}
		res, err := run(n, "no-such-command")
		require.NoError(t, err)
		assert.Equal(t, 127, res.ExitCode)
	})
	t.Run("a first word with = is a program's name", func(t *testing.T) {
		mark := "/tmp/nestor-was-here"
		n := s.open(t, s.running)
		res, err := run(n, "X;touch "+mark+";Y=1", "true")
		require.NoError(t, err)
		assert.Equal(t, 127, res.ExitCode)
		res, err = run(n, "test", "-e", mark)
		require.NoError(t, err)
		assert.Equal(t, 1, res.ExitCode, "nothing of it was run")
	})
	t.Run("a shared connection's socket that is stale", func(t *testing.T) {
		n := s.open(t, s.running)
		s.staleSocket(t)
		res, err := run(n, "echo", "x")
		require.NoError(t, err)
		assert.Equal(t, "x\n", res.Stdout.String())
		assert.Empty(t, res.Stderr.String())
	})
	t.Run("twenty calls at once", func(t *testing.T) {
		n := s.open(t, s.running)
		var group sync.WaitGroup
		for i := range 20 {
			group.Go(func() {
				word := strings.Repeat("x", i+1)
				res, err := run(n, "echo", word)
				if assert.NoError(t, err) {
					assert.Zero(t, res.ExitCode)
					assert.Equal(t, word+"\n", res.Stdout.String())
					assert.Empty(t, res.Stderr.String(), "what ssh says of its connections is not the command's")
				}
			})
		}
		group.Wait()
	})
	t.Run("a deadline ends the command in the guest", func(t *testing.T) {
		n := s.open(t, s.running)
		began := time.Now()
		deadline := 5 * time.Second
		if s.real { // an emulated guest may take that to begin
			deadline = time.Minute
		}
		_, err := n.Run(context.Background(), nodeexec.Command{Argv: []string{"sh", "-c", "sleep 4712 & sleep 4712"}, Timeout: deadline})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorContains(t, err, "remote: killed")
		assert.Less(t, time.Since(began), patience)
		res, err := run(n, "sh", "-c", "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -c '[s]leep 4712'")
		require.NoError(t, err)
		assert.Equal(t, "0\n", res.Stdout.String())
	})
}

// A script of the bench, written as those before nestor were.
func TestOldScriptsAlike(t *testing.T) {
	s := subjectOf(t)
	s.open(t, s.running)
	shell := func(script string, args ...string) (string, error) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, "bash", append([]string{"-c", "set -eu -o pipefail\n. ../../shims/bench-compat.sh\n" + script, "bash"}, args...)...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := shell(`
for vm in "$@"; do
  vm_sh "$vm" sh -c 'echo "vm_sh: $1"' sh 'a  b'
done`, s.running, missing)
	require.Error(t, err, "set -e ends the loop at the missing VM")
	assert.Contains(t, out, "vm_sh: a  b\n")
	assert.Contains(t, out, "does not exist")

	out, err = shell(`
vm_sh "$1" env CILIUM_POD_CIDR=10.245.0.0/16 bash -s <<<'echo "bash -s: $CILIUM_POD_CIDR"'
if vm_sh "$1" false; then echo 'false is true'; else echo "false: $?"; fi
vm_sh "$2" true || echo "missing: $?"`, s.running, missing)
	require.NoError(t, err, out)
	assert.Contains(t, out, "bash -s: 10.245.0.0/16\n")
	assert.Contains(t, out, "false: 1\n")
	assert.Contains(t, out, "missing: 125\n")

	// run_cni: a script over stdin, and one that no pipe holds at once.
	t.Setenv("VM_SH", "1")
	out, err = shell(`examples/run-cni.sh "$1"
{
  cat examples/cni.sh
  for i in $(seq 20000); do echo "sum=\$((sum + 1)) # $i"; done
  echo 'echo "$sum more lines"'
} | vm_sh "$1" env CILIUM_POD_CIDR=10.245.0.0/16 sum=0 bash -s`, s.running)
	require.NoError(t, err, out)
	assert.Equal(t, 2, strings.Count(out, "pod CIDR 10.245.0.0/16\n"))
	assert.Contains(t, out, "20000 more lines\n")
}
