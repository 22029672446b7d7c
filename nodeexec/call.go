package nodeexec

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nestor-tools/nestor/nodeexec/inventory"
	"github.com/nestor-tools/nestor/shims"
)

const (
	defaultCapture = 4 << 20
	stderrTail     = 64 << 10
	stubLimit      = 64 << 20 // what a stub may print

	// drain is how long output is still read after the command has ended:
	// background processes may hold the streams for ever.
	drain = 100 * time.Millisecond
	// giveUp is how long a writer that blocks is waited for once the caller
	// waits no longer.
	giveUp = time.Second
	// confirm is how long the node has to say that it ended the command: its
	// watcher asks for one second and then insists for up to two.
	confirm = 5 * time.Second
	// attempt is how long a connection that was not up yet at the deadline
	// has to say that the command started after all.
	attempt = 300 * time.Millisecond
)

// call is one attempt to run a command.
type call struct {
	node    *Node
	command Command
	proc    *process
	nonce   string
	report  *report

	out, err           io.Writer // the command's own output
	noiseOut, noiseErr *capture  // what came before it started
	keptOut, keptErr   *capture  // what of the output the Result holds

	readers sync.WaitGroup
	busy    atomic.Int32  // readers that have taken something and not handed it on yet
	reads   atomic.Int64  // so many times something was read
	stuck   atomic.Bool   // a writer of the caller's was given up
	drained chan struct{} // both streams are read to their end
	broken  chan error    // the first failure of the caller's streams
}

// attempt starts the command once and waits for its end.
func (n *Node) attempt(ctx context.Context, c Command, argv []string, control string) (Result, *Error) {
	cl := &call{node: n, command: c, nonce: rand.Text(), report: newReport(),
		drained: make(chan struct{}), broken: make(chan error, 3)}
	cl.sinks()

	mode, seconds := "lifeline", 0
	if c.Stdin != nil {
		mode = "stdin"
	}
	if deadline, ok := ctx.Deadline(); ok { // should the connection be cut, the node acts by itself
		seconds = int(time.Until(deadline)/time.Second) + 10
	}
	env := append(n.env(control, c.Sudo), "NODE_EXEC_WRAPPER="+shims.Wrap,
		fmt.Sprintf("NODE_EXEC_WRAP=%s:%d:%s", cl.nonce, seconds, mode))
	proc, err := start(append(append(n.shim(), n.target.Node, "--"), argv...), env)
	if err != nil {
		return Result{}, cl.startFailure(argv, err)
	}
	cl.proc = proc
	defer proc.close()
	cl.read()
	cl.feed()
	cl.tell()

	select {
	case <-cl.report.bothEndC:
	case <-proc.exited:
		cl.quiet(ctx)
	case <-ctx.Done():
		if !cl.finished() {
			return cl.stop(ctx, ctx.Err())
		}
	case err := <-cl.broken:
		return cl.stop(ctx, err)
	}
	cl.settle(ctx)
	return cl.result(ctx)
}

// finished says whether the command had ended, whatever else happened since.
func (cl *call) finished() bool {
	select {
	case <-cl.report.bothEndC:
		return true
	default:
		return false
	}
}

// sinks decides where each stream goes.
func (cl *call) sinks() {
	limit := cl.node.options.CaptureLimit
	cl.noiseOut, cl.noiseErr = newTail(stderrTail), newTail(stderrTail)
	if cl.node.options.Shim != "" { // a stub's noise is its output
		cl.noiseOut, cl.noiseErr = newCapture(stubLimit), newCapture(stubLimit)
	}
	cl.keptOut, cl.keptErr = newCapture(limit), newCapture(limit)
	cl.out, cl.err = cl.keptOut, cl.keptErr
	if cl.command.Stdout != nil {
		cl.out = cl.command.Stdout
	}
	if cl.command.Stderr != nil {
		cl.keptErr = newTail(stderrTail)
		cl.err = io.MultiWriter(cl.keptErr, cl.command.Stderr)
	}
	if sameWriter(cl.command.Stdout, cl.command.Stderr) {
		shared := &oneAtATime{w: cl.command.Stdout}
		cl.out, cl.err = shared, io.MultiWriter(cl.keptErr, shared)
	}
}

func sameWriter(a, b io.Writer) bool {
	return a != nil && b != nil && reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

// oneAtATime is a writer for two streams.
type oneAtATime struct {
	mu sync.Mutex
	w  io.Writer
}

func (o *oneAtATime) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(p)
}

// untilStuck is a writer that takes no more once the call has been given up.
type untilStuck struct {
	cl *call
	w  io.Writer
}

func (u untilStuck) Write(p []byte) (int, error) {
	if u.cl.stuck.Load() {
		return 0, errors.New("given up")
	}
	return u.w.Write(p)
}

// read starts to take the records out of both streams.
func (cl *call) read() {
	marker := []byte("nestor:" + cl.nonce + ":")
	for _, s := range []struct {
		from          *os.File
		noise, output io.Writer
	}{{cl.proc.stdout, cl.noiseOut, cl.out}, {cl.proc.stderr, cl.noiseErr, cl.err}} {
		split := &splitter{marker: marker, report: cl.report, noise: s.noise, output: untilStuck{cl, s.output}}
		cl.readers.Go(func() {
			if cl.copyOut(split, s.from) != nil {
				return
			}
			if err := split.flush(); err != nil {
				cl.broken <- fmt.Errorf("write output: %w", err)
			}
		})
	}
	go func() {
		cl.readers.Wait()
		close(cl.drained)
	}()
}

// feed copies the caller's Stdin once the command has started, so that a
// connection that fails has taken no byte of it. Without a Stdin ours stays
// open: it is the lifeline.
func (cl *call) feed() {
	if cl.command.Stdin == nil {
		return
	}
	go func() { // not waited for: nobody can interrupt a Read
		if cl.node.options.Shim == "" {
			select {
			case <-cl.report.startC:
			case <-cl.proc.exited:
				return
			}
		}
		_, err := io.Copy(writeOnly{cl.proc.stdin}, cl.command.Stdin)
		_ = cl.proc.stdin.Close() // tells the command that this was all
		if err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, os.ErrClosed) {
			cl.broken <- fmt.Errorf("read stdin: %w", err)
		}
	}()
}

// tell lets the fleet know that the connection stands.
func (cl *call) tell() {
	started := cl.node.member.started
	if started == nil {
		return
	}
	go func() {
		select {
		case <-cl.report.startC:
			started()
		case <-cl.proc.exited:
		}
	}()
}

// writeOnly hides *os.File's ReadFrom, which would hold a reference to it
// while it waits for the caller's reader.
type writeOnly struct{ io.Writer }

// copyOut reads a stream to its end, whether or not it can be handed on. It
// is busy from before it takes something until that is handed on, so that
// quiet cannot miss it however long this thread waits for a processor.
func (cl *call) copyOut(w io.Writer, from *os.File) error {
	conn, err := from.SyscallConn()
	if err != nil {
		return nil // closed by us
	}
	buf := make([]byte, 64<<10)
	var failed error
	for {
		var n int
		var readErr error
		err := conn.Read(func(fd uintptr) bool {
			cl.busy.Add(1)
			n, readErr = syscall.Read(int(fd), buf)
			if readErr == syscall.EAGAIN {
				cl.busy.Add(-1)
			}
			return readErr != syscall.EAGAIN
		})
		if err != nil {
			return failed // closed by us
		}
		cl.reads.Add(1)
		if n > 0 && failed == nil {
			if _, failed = w.Write(buf[:n]); failed != nil {
				cl.broken <- fmt.Errorf("write output: %w", failed)
			}
		}
		cl.busy.Add(-1)
		if n <= 0 && readErr != syscall.EINTR {
			return failed // the end
		}
	}
}

// quiet waits, once the transport has exited, for what it left in the pipes:
// to their end, or until they are empty and nothing came for a while where
// something else still holds them, or the caller waits no longer.
func (cl *call) quiet(ctx context.Context) {
	for {
		before := cl.reads.Load()
		select {
		case <-cl.drained:
			return
		case <-ctx.Done():
			return
		case <-time.After(drain):
		}
		if !readable(cl.proc.stdout) && !readable(cl.proc.stderr) && cl.busy.Load() == 0 && cl.reads.Load() == before {
			return
		}
	}
}

// readable says whether a pipe of ours holds something, or its end.
func readable(pipe *os.File) (yes bool) {
	conn, err := pipe.SyscallConn()
	if err != nil {
		return false // closed by us
	}
	err = conn.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, _ := unix.Poll(fds, 0) // interrupted: asked again
		yes = n != 0
	})
	return err == nil && yes
}

// settle reads on for a short while after the command's end, and ends what is
// left of the transport here. Over local the transport is the command itself,
// and what it left in the background is its own affair.
func (cl *call) settle(ctx context.Context) {
	select {
	case <-cl.drained:
	case <-time.After(drain):
	}
	if !cl.proc.waitExit(drain) && cl.node.target.Transport != inventory.TransportLocal {
		cl.proc.kill()
	}
	cl.hangUp(ctx)
}

// hangUp closes our ends and waits until nothing writes to the caller any
// more. A writer that blocks is given up once the caller waits no longer.
func (cl *call) hangUp(ctx context.Context) {
	cl.proc.close()
	select {
	case <-cl.drained:
		return
	case <-ctx.Done():
	}
	select {
	case <-cl.drained:
	case <-time.After(giveUp):
		cl.stuck.Store(true)
	}
}

// stop ends the command on the node, then the transport here.
func (cl *call) stop(ctx context.Context, cause error) (Result, *Error) {
	_ = cl.proc.stdin.Close() // the lifeline, or the end of the command's input
	started := cl.report.state().started
	if !started {
		select {
		case <-cl.report.startC:
			started = true
		case <-cl.proc.exited:
		case <-cl.node.member.abandon:
		case <-time.After(attempt):
		}
	}
	remote := RemoteNone
	if started {
		remote = cl.stopRemote()
	}
	gone := cl.proc.kill()
	cl.hangUp(ctx)
	if cl.node.target.Transport == inventory.TransportLocal && gone && remote == RemoteUnknown {
		remote = RemoteKilled
	}
	if !started && cl.command.Stdin != nil && cl.node.target.Transport != inventory.TransportLocal {
		remote = RemoteUnknown // no lifeline would end it, had it just started
	}

	res, _ := cl.result(ctx)
	e := cl.failure(KindStream, cause.Error(), remote)
	e.Err = cause
	elapsed := "in time"
	if cl.command.Timeout > 0 {
		elapsed = "within " + cl.command.Timeout.String()
	}
	switch {
	case errors.Is(cause, context.DeadlineExceeded) && started:
		e.Kind, e.Detail = KindDeadline, "the command did not end "+elapsed
	case errors.Is(cause, context.DeadlineExceeded):
		e.Kind, e.Detail = KindDeadline, "no connection "+elapsed
	case errors.Is(cause, context.Canceled):
		e.Kind, e.Detail = KindCanceled, "cancelled"
	}
	return res, e
}

// stopRemote waits for the node's word that the command was ended.
func (cl *call) stopRemote() Remote {
	ctx, cancel := context.WithTimeout(context.Background(), confirm)
	defer cancel()
	if cl.command.Stdin != nil {
		if cl.killFromOutside() {
			return RemoteKilled
		}
	}
	select {
	case <-cl.report.bothEndC:
	case <-cl.proc.exited:
		cl.quiet(ctx)
	case <-cl.node.member.abandon:
	case <-ctx.Done():
	}
	switch known := cl.report.state(); {
	case known.killed == "yes":
		return RemoteKilled
	case known.killed == "" && known.ended:
		return RemoteGone
	}
	return RemoteUnknown
}

// killFromOutside ends, by a second session, a command whose stdin is no
// lifeline, and says whether it did. That the wrapper is gone proves nothing
// but for its end record: the command may have ended it.
func (cl *call) killFromOutside() bool {
	pid := cl.report.state().pid
	ctx, cancel := context.WithTimeout(context.Background(), 2*confirm) // it connects first
	defer cancel()
	n := cl.node
	killer := &call{node: n, command: Command{Sudo: cl.command.Sudo}, nonce: rand.Text(), report: newReport(),
		drained: make(chan struct{}), broken: make(chan error, 3)}
	killer.sinks()
	env := append(n.env("", cl.command.Sudo), "NODE_EXEC_WRAPPER="+shims.Wrap, "NODE_EXEC_WRAP="+killer.nonce+":0:kill")
	var err error
	if killer.proc, err = start(append(n.shim(), n.target.Node, "--", fmt.Sprint(pid), cl.nonce), env); err != nil {
		return false
	}
	killer.read()
	select {
	case <-killer.report.bothEndC:
	case <-killer.proc.exited:
	case <-cl.node.member.abandon:
		killer.proc.kill()
	case <-ctx.Done():
		killer.proc.kill()
	}
	killer.settle(ctx)
	known := killer.report.state()
	return known.ended && known.code == 0
}

// result tells what became of a command whose streams are read to their end.
func (cl *call) result(ctx context.Context) (Result, *Error) {
	known := cl.report.state()
	if !known.started && cl.node.options.Shim != "" {
		return cl.trusted()
	}
	res := Result{ExitCode: known.code, Stdout: cl.keptOut.output(), Stderr: cl.keptErr.output()}
	select {
	case err := <-cl.broken:
		e := cl.failure(KindStream, err.Error(), RemoteGone)
		e.Err = err
		return res, e
	default:
	}
	if cl.stuck.Load() && known.ended {
		e := cl.failure(KindStream, "the command ended, but a writer did not take its output in time", RemoteGone)
		e.Err = ctx.Err()
		return res, e
	}
	switch {
	case known.killed != "": // not by us
		remote := RemoteKilled
		if known.killed != "yes" {
			remote = RemoteUnknown
		}
		if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) { // ours was not served in time
			return res, cl.failure(KindDeadline, "the node ended the command at its deadline", remote)
		}
		return res, cl.failure(KindLost, "the node ended the command, since the stdin of its connection closed", remote)
	case known.whole:
		res.Signal = signalName(known.code)
		return res, nil
	case known.ended: // the exit code is known, the other stream's end is not
		return res, cl.failure(KindLost, "the connection was lost as the command ended: part of its output may be missing", RemoteGone)
	case known.started:
		detail := "the connection was lost while the command ran"
		if last := lastLine(cl.stderrText()); last != "" {
			detail += ": " + last
		}
		return res, cl.failure(KindLost, detail, RemoteUnknown)
	}
	code := cl.proc.exitCode()
	kind, detail := classify(cl.node.target, cl.command.Sudo, code, cl.stderrText())
	remote := RemoteNone
	if kind == KindLost || code < 0 || kind == KindUnreachable && detail == silent { // its start record may be what was lost
		remote = RemoteUnknown
	}
	return res, cl.failure(kind, detail, remote)
}

// trusted is the Result of a stub: a shim that knows nothing of records.
func (cl *call) trusted() (Result, *Error) {
	out, stderr := cl.noiseOut.output(), cl.noiseErr.output()
	if out.Dropped > 0 || stderr.Dropped > 0 {
		return Result{}, cl.failure(KindProtocol, fmt.Sprintf("the shim printed more than the %d MiB that a stub may", stubLimit>>20), RemoteGone)
	}
	for _, s := range []struct {
		to   io.Writer
		text Output
	}{{cl.out, out}, {cl.err, stderr}} {
		if _, err := s.to.Write(s.text.Bytes()); err != nil {
			return Result{}, cl.failure(KindStream, "write output: "+err.Error(), RemoteGone)
		}
	}
	code := cl.proc.exitCode()
	if code < 0 {
		return Result{}, cl.failure(KindProtocol, "the shim was killed", RemoteUnknown)
	}
	return Result{ExitCode: code, Signal: signalName(code), Stdout: cl.keptOut.output(), Stderr: cl.keptErr.output()}, nil
}

// stderrText is what arrived on stderr, before and after the start.
func (cl *call) stderrText() string {
	return cl.noiseErr.output().String() + cl.keptErr.output().String()
}

func (cl *call) failure(kind Kind, detail string, remote Remote) *Error {
	e := cl.node.fail(kind, cl.command, detail, nil)
	e.Remote, e.Stderr = remote, cl.stderrText()
	return e
}

// startFailure is for a bash that could not be started.
func (cl *call) startFailure(argv []string, err error) *Error {
	switch {
	case errors.Is(err, syscall.E2BIG):
		size := 0
		for _, a := range argv {
			size += len(a) + 1
		}
		return cl.node.fail(KindTooLong, cl.command, fmt.Sprintf("the command takes %d bytes, over the limit of %d once encoded; send a script on stdin", size, 120<<10), err)
	case errors.Is(err, errNoBash):
		return cl.node.fail(KindUnavailable, cl.command, err.Error(), err)
	}
	return cl.node.fail(KindUnavailable, cl.command, "start bash: "+err.Error(), err)
}
