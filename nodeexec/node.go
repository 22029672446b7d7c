package nodeexec

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nestor-tools/nestor/nodeexec/inventory"
	"github.com/nestor-tools/nestor/shims"
)

// Options say how a node is reached beyond what its Target states. The zero
// value is right for one command.
type Options struct {
	// Shim is the path of another shim than the embedded one, run with bash
	// as "bash Shim NODE -- ARGV...". One that prints no start record is
	// trusted: its stdout and exit code are the Result. Its stdin ends only
	// where Command.Stdin does. Meant for tests.
	Shim string

	// ControlDir is where the sockets of shared ssh connections live, a
	// directory that is ours alone; it is made where it is missing. Empty:
	// every command connects anew, as a mutating one must.
	ControlDir string

	// ControlPersist is how long a shared connection outlives its last
	// command, in whole seconds; 0 means one minute.
	ControlPersist time.Duration

	// AcceptNewHostKeys lets ssh learn the key of a node it has never seen.
	// A changed key is refused all the same.
	AcceptNewHostKeys bool

	// CaptureLimit bounds each captured stream, in bytes; 0 means 4 MiB.
	CaptureLimit int

	// Logger gets one line per command: the program and sizes, never output.
	Logger *slog.Logger
}

// Node is a place to run commands.
type Node struct {
	target  inventory.Target
	options Options
	member  member
}

// Open returns the node that the target describes. Nothing is started and
// nothing is checked until Run.
func Open(t inventory.Target, o Options) *Node {
	if o.CaptureLimit <= 0 {
		o.CaptureLimit = defaultCapture
	}
	if o.ControlPersist <= 0 {
		o.ControlPersist = time.Minute
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Node{target: t, options: o}
}

// Name is the node's name in the inventory.
func (n *Node) Name() string { return n.target.Node }

// Target is what the node was opened with.
func (n *Node) Target() inventory.Target { return n.target }

// Run runs the command on the node and waits for its end. A command that ran
// to its end is a Result, whatever its exit code. Otherwise the error is an
// *Error, and the Result holds what had arrived.
//
// The writers may be one and the same. Run waits for them, unless the context
// or the timeout ends: a Write that still blocks then is left behind, as is a
// Read of Stdin that blocks after the command's end.
func (n *Node) Run(ctx context.Context, c Command) (Result, error) {
	began := time.Now()
	res, err := n.run(ctx, c)
	res.Duration = time.Since(began)
	log := n.options.Logger.With("node", n.target.Node, "duration", res.Duration)
	if err != nil {
		log.Info("command failed", "kind", KindOf(err))
	} else {
		log.Info("command ended", "program", c.Argv[0], "exit", res.ExitCode,
			"stdout", len(res.Stdout.Head)+len(res.Stdout.Tail), "stderr", len(res.Stderr.Head)+len(res.Stderr.Tail))
	}
	return res, err
}

// run checks the command and tries it, again only where it cannot have
// started and nothing was read from its Stdin.
func (n *Node) run(ctx context.Context, c Command) (Result, error) {
	if err := n.target.Check(); err != nil {
		return Result{}, n.fail(KindInvalid, c, err.Error(), err)
	}
	argv, err := c.words()
	if err != nil {
		return Result{}, n.fail(KindInvalid, c, err.Error(), err)
	}
	if info, err := os.Stat(n.options.Shim); n.options.Shim != "" && (err != nil || info.IsDir()) {
		return Result{}, n.fail(KindUnavailable, c, "the shim "+n.options.Shim+" is no file on this machine", err)
	}
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	control := ""
	if n.options.ControlDir != "" && n.target.Transport == inventory.TransportSSH {
		if control, err = controlPath(n.options.ControlDir, n.target, n.hostKeys()); err != nil {
			return Result{}, n.fail(KindInvalid, c, err.Error(), err)
		}
	}
	for try := range 3 {
		if err := ctx.Err(); err != nil {
			return Result{}, n.ended(c, err)
		}
		res, failed := n.attempt(ctx, c, argv, control)
		switch {
		case failed == nil:
			return res, nil
		case failed.Remote != RemoteNone || failed.Kind == KindDeadline || failed.Kind == KindCanceled || try == 2:
			return res, failed
		case control != "" && staleSocket(failed.Stderr):
			control = ""
		case failed.Kind == KindUnreachable && transient(failed.Stderr):
			select {
			case <-ctx.Done():
			case <-time.After(time.Duration(1+try) * 200 * time.Millisecond):
			}
		default:
			return res, failed
		}
	}
	panic("unreachable") // the last try returns
}

// Effective is what ssh makes of the node: a first line "# ssh ..." with the
// words that would run, then the lines of "ssh -G". It connects to nothing.
func (n *Node) Effective(ctx context.Context) (string, error) {
	c := Command{Argv: []string{"--effective"}}
	if err := n.target.Check(); err != nil {
		return "", n.fail(KindInvalid, c, err.Error(), err)
	}
	p, err := start(append(n.shim(), "--effective", n.target.Node), n.env("", false))
	if err != nil {
		return "", n.fail(KindUnavailable, c, err.Error(), err)
	}
	stop := context.AfterFunc(ctx, func() { p.kill() })
	defer stop()
	defer p.close()
	out, stderr := newCapture(n.options.CaptureLimit), newTail(stderrTail)
	var readers sync.WaitGroup
	readers.Go(func() { _, _ = io.Copy(out, p.stdout) }) // a capture never fails
	readers.Go(func() { _, _ = io.Copy(stderr, p.stderr) })
	readers.Wait()
	<-p.exited
	if err := ctx.Err(); err != nil {
		return "", n.ended(c, err)
	}
	if code := p.exitCode(); code != 0 {
		kind, detail := classify(n.target, false, code, stderr.output().String())
		return "", n.fail(kind, c, detail, nil)
	}
	return out.output().String(), nil
}

// ended is the error of a context that ended before anything ran.
func (n *Node) ended(c Command, err error) *Error {
	if errors.Is(err, context.DeadlineExceeded) {
		return n.fail(KindDeadline, c, "the deadline passed before it started", err)
	}
	return n.fail(KindCanceled, c, "cancelled before it started", err)
}

// shim is how bash is told what to run.
func (n *Node) shim() []string {
	if n.options.Shim != "" {
		return []string{n.options.Shim}
	}
	return []string{"-c", shims.NodeExec, "node-exec.sh"}
}

func (n *Node) hostKeys() string {
	if n.options.AcceptNewHostKeys {
		return "accept-new"
	}
	return "strict"
}

// env states the target in the shim's variables.
func (n *Node) env(control string, sudo bool) []string {
	t := n.target
	env := []string{
		"NODE_EXEC_NODE=" + t.Node,
		"NODE_EXEC_TARGET_KIND=" + string(t.Kind),
		"NODE_EXEC_TRANSPORT=" + string(t.Transport),
		"NODE_EXEC_HOST=" + t.Host,
		"NODE_EXEC_USER=" + t.User,
		"NODE_EXEC_IDENTITY=" + t.IdentityFile,
		"NODE_EXEC_SSH_ARG=" + strings.Join(t.SSHArgs, "\n"),
		"NODE_EXEC_HOST_KEYS=" + n.hostKeys(),
	}
	if t.Port != 0 {
		env = append(env, "NODE_EXEC_PORT="+strconv.Itoa(t.Port))
	}
	if control != "" {
		env = append(env, "NODE_EXEC_CONTROL_PATH="+control,
			"NODE_EXEC_CONTROL_PERSIST="+strconv.Itoa(int((n.options.ControlPersist+time.Second-1)/time.Second))) // 0 would be for ever
	}
	if sudo {
		env = append(env, "NODE_EXEC_SUDO=1")
	}
	return env
}

// fail makes an error about a command that never started.
func (n *Node) fail(kind Kind, c Command, detail string, cause error) *Error {
	return &Error{Node: n.target.Node, Transport: n.target.Transport, Kind: kind, Remote: RemoteNone,
		Argv: c.masked(), Detail: detail, Err: cause}
}
