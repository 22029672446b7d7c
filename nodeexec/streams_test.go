package nodeexec_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
	"github.com/nestor-tools/nestor/nodeexec/nodeexectest"
)

// here is this machine as a node.
func here() *nodeexec.Node {
	return nodeexec.Open(inventory.Target{Node: "here", Transport: inventory.TransportLocal}, nodeexec.Options{})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// solo is a writer that two goroutines must not use at once.
type solo struct {
	busy    atomic.Bool
	overlap atomic.Bool
	got     bytes.Buffer
}

func (s *solo) Write(p []byte) (int, error) {
	if !s.busy.CompareAndSwap(false, true) {
		s.overlap.Store(true)
		return len(p), nil
	}
	defer s.busy.Store(false)
	time.Sleep(20 * time.Millisecond)
	return s.got.Write(p)
}

func TestOneWriterForBothStreams(t *testing.T) {
	both := &solo{}
	res, err := here().Run(context.Background(), nodeexec.Command{Stdout: both, Stderr: both,
		Argv: []string{"sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do echo out; echo err >&2; sleep 0.02; done"}})
	require.NoError(t, err)
	assert.Equal(t, 0, res.ExitCode)
	assert.False(t, both.overlap.Load())
	assert.Equal(t, 9, strings.Count(both.got.String(), "out\n"))
	assert.Equal(t, 9, strings.Count(both.got.String(), "err\n"))
	assert.Equal(t, 9, strings.Count(res.Stderr.String(), "err\n"), "its end is kept all the same")
}

func TestSlowWriterLosesNothing(t *testing.T) {
	total := 0
	_, err := here().Run(context.Background(), nodeexec.Command{Argv: []string{"head", "-c", "600000", "/dev/zero"},
		Stdout: writerFunc(func(p []byte) (int, error) { time.Sleep(150 * time.Millisecond); total += len(p); return len(p), nil })})
	require.NoError(t, err)
	assert.Equal(t, 600_000, total)
}

func TestWriterThatBlocksForEver(t *testing.T) {
	for _, script := range []string{"echo one; sleep 600", "echo one; echo err >&2"} {
		release, writes := make(chan struct{}), make(chan int, 100)
		blocked := writerFunc(func(p []byte) (int, error) { writes <- len(p); <-release; return len(p), nil })
		began := time.Now()
		_, err := here().Run(context.Background(), nodeexec.Command{Argv: []string{"sh", "-c", script}, Stdout: blocked, Timeout: time.Second})
		require.ErrorIs(t, err, context.DeadlineExceeded, script)
		assert.Less(t, time.Since(began), patience)
		before := len(writes)
		close(release)
		time.Sleep(50 * time.Millisecond)
		assert.Len(t, writes, before, "nothing is written after Run has returned")
	}
}

func TestReaderThatFailsOrBlocks(t *testing.T) {
	_, err := here().Run(context.Background(), nodeexec.Command{Argv: []string{"sleep", "600"}, Stdin: iotest.ErrReader(errBroken)})
	assert.ErrorIs(t, err, errBroken)
	assert.Equal(t, nodeexec.KindStream, nodeexec.KindOf(err))

	r, w := io.Pipe()
	defer w.Close()
	res, err := here().Run(context.Background(), nodeexec.Command{Argv: []string{"true"}, Stdin: r})
	require.NoError(t, err)
	assert.Equal(t, 0, res.ExitCode)
}

func TestNothingLeaks(t *testing.T) {
	fds := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(entries)
	}
	if _, err := os.Stat("/proc/self/fd"); errors.Is(err, os.ErrNotExist) {
		fds = func() int { return 0 } // macOS: the goroutines are counted all the same
	}
	run := func() {
		canceled, cancel := context.WithCancel(context.Background())
		cancel()
		for _, c := range []nodeexec.Command{
			{Argv: []string{"true"}},
			{Argv: []string{"sh", "-c", "sleep 600"}, Timeout: 50 * time.Millisecond},
			{Argv: []string{"cat"}, Stdin: strings.NewReader("x"), Stdout: io.Discard},
			{Argv: []string{"yes"}, Stdout: brokenWriter{}},
			{Argv: []string{"sleep", "600"}, Timeout: 1},
		} {
			_, _ = here().Run(context.Background(), c)
			_, _ = here().Run(canceled, c)
		}
	}
	run()
	goroutines, files := runtime.NumGoroutine(), fds()
	for range 3 {
		run()
	}
	for end := time.Now().Add(patience); runtime.NumGoroutine() > goroutines && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	assert.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
	assert.LessOrEqual(t, fds(), files)
}

// Whoever wins, the command or the deadline, the answer is true.
func TestDeadlineAsTheCommandEnds(t *testing.T) {
	for i := range 25 {
		timeout := time.Duration(i) * 4 * time.Millisecond
		for _, stdin := range []io.Reader{nil, strings.NewReader("")} {
			res, err := here().Run(context.Background(), nodeexec.Command{Argv: []string{"sh", "-c", "sleep 0.02; exit 7"}, Stdin: stdin, Timeout: timeout + 1})
			if err == nil {
				assert.Equal(t, 7, res.ExitCode)
				continue
			}
			var failed *nodeexec.Error
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, nodeexec.KindDeadline, failed.Kind, "%v: %v", timeout, failed)
			assert.NotEqual(t, nodeexec.RemoteUnknown, failed.Remote, "%v", timeout)
		}
	}
}

func TestBadStubs(t *testing.T) {
	for _, shim := range []string{filepath.Join(t.TempDir(), "none"), t.TempDir()} {
		_, err := nodeexec.Open(inventory.Target{Node: "n", Transport: inventory.TransportLocal}, nodeexec.Options{Shim: shim}).Run(context.Background(), nodeexec.Command{Argv: []string{"true"}})
		assert.Equal(t, nodeexec.KindUnavailable, nodeexec.KindOf(err), err)
		assert.ErrorContains(t, err, shim)
	}
	shim := nodeexectest.StubShim(t, "head -c 70000000 /dev/zero")
	_, err := nodeexec.Open(inventory.Target{Node: "n", Transport: inventory.TransportLocal}, nodeexec.Options{Shim: shim}).Run(context.Background(), nodeexec.Command{Argv: []string{"true"}, Stdout: io.Discard})
	assert.Equal(t, nodeexec.KindProtocol, nodeexec.KindOf(err), "no bytes are dropped silently")
	assert.ErrorContains(t, err, "64 MiB")
}

func TestEffectiveTellsADeadlineFromACancellation(t *testing.T) {
	n := nodeexec.Open(inventory.Target{Node: "n", Transport: inventory.TransportSSH, Host: "192.0.2.1"}, nodeexec.Options{})
	late, cancel := context.WithTimeout(context.Background(), 0)
	defer cancel()
	_, err := n.Effective(late)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Equal(t, nodeexec.KindDeadline, nodeexec.KindOf(err))
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = n.Effective(canceled)
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, nodeexec.KindCanceled, nodeexec.KindOf(err))
}
