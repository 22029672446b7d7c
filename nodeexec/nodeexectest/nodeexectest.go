// Package nodeexectest stands in for real nodes in the tests of packages that
// use nodeexec, as httptest does for net/http.
//
// A [Node] answers from a Go function. A [StubShim] is a few lines of bash
// that the real nodeexec runs in place of its own shim:
//
//	shim := nodeexectest.StubShim(t, `case "$*" in *lsblk*) cat testdata/lsblk.json ;; esac`)
//	node := nodeexec.Open(target, nodeexec.Options{Shim: shim})
//
// Neither proves anything about a transport: that is what bench/nodes is for.
package nodeexectest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nestor-tools/nestor/nodeexec"
)

// Call is one command that a Node was asked to run.
type Call struct {
	nodeexec.Command
	Input []byte // what was read from Stdin
}

// Reply is a Node's answer. A non-nil Err is returned as it is.
type Reply struct {
	Stdout, Stderr string
	ExitCode       int
	Err            error
}

// Node is a fake node. It is safe for use by several goroutines.
type Node struct {
	NodeName string
	// Answer decides what each command gives; without it every command
	// succeeds and prints nothing.
	Answer func(Call) Reply

	mu    sync.Mutex
	calls []Call
}

var _ nodeexec.Runner = (*Node)(nil)

// Name is NodeName.
func (n *Node) Name() string { return n.NodeName }

// Calls are the commands so far, in order.
func (n *Node) Calls() []Call {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]Call(nil), n.calls...)
}

// Run reads Stdin to its end, asks Answer and hands the streams on as a real
// node does: to the command's writers, or in the Result.
func (n *Node) Run(ctx context.Context, c nodeexec.Command) (nodeexec.Result, error) {
	began := time.Now()
	fail := func(kind nodeexec.Kind, detail string, err error) (nodeexec.Result, error) {
		return nodeexec.Result{}, &nodeexec.Error{Node: n.NodeName, Kind: kind, Remote: nodeexec.RemoteNone, Argv: c.Argv, Detail: detail, Err: err}
	}
	if len(c.Argv) == 0 {
		return fail(nodeexec.KindInvalid, "no command", nil)
	}
	if err := ctx.Err(); errors.Is(err, context.DeadlineExceeded) {
		return fail(nodeexec.KindDeadline, "the deadline passed before it started", err)
	} else if err != nil {
		return fail(nodeexec.KindCanceled, "cancelled before it started", err)
	}
	call := Call{Command: c}
	if c.Stdin != nil {
		input, err := io.ReadAll(c.Stdin)
		if err != nil {
			return fail(nodeexec.KindStream, "read stdin: "+err.Error(), err)
		}
		call.Input = input
	}
	n.mu.Lock()
	n.calls = append(n.calls, call)
	n.mu.Unlock()
	var reply Reply
	if n.Answer != nil {
		reply = n.Answer(call)
	}
	res := nodeexec.Result{ExitCode: reply.ExitCode, Duration: time.Since(began)}
	for _, s := range []struct {
		text string
		to   io.Writer
		kept *nodeexec.Output
	}{{reply.Stdout, c.Stdout, &res.Stdout}, {reply.Stderr, c.Stderr, &res.Stderr}} {
		if s.to == nil || s.kept == &res.Stderr { // the real one keeps the end of stderr in any case
			s.kept.Head = []byte(s.text)
		}
		if s.to == nil {
			continue
		}
		if _, err := io.Copy(s.to, bytes.NewReader([]byte(s.text))); err != nil {
			return res, &nodeexec.Error{Node: n.NodeName, Kind: nodeexec.KindStream, Remote: nodeexec.RemoteGone, Argv: c.Argv, Detail: "write output: " + err.Error(), Err: err}
		}
	}
	return res, reply.Err
}

// StubShim writes bash lines to a file that goes with the test, and returns
// its path for nodeexec.Options.Shim (or NODE_EXEC_SHIM for the binary). The
// lines get "NODE -- ARGV..." as arguments and run in the folder of the test;
// what they print and their exit code are the Result. They read the command's
// Stdin, or /dev/null where it has none.
func StubShim(t testing.TB, lines string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shim.sh")
	if err := os.WriteFile(path, fmt.Appendf(nil, "#!/usr/bin/env bash\ncase ${NODE_EXEC_WRAP-} in *:lifeline) exec </dev/null ;; esac\n%s\n", lines), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
