package nodeexec

import (
	"context"
	"fmt"
	"io"
	"time"
)

// Runner is what a usage of the brick needs from a node. *Node is one, and so
// is nodeexectest.Node.
type Runner interface {
	// Name is the node's name in the inventory.
	Name() string
	// Run runs the command to its end. See (*Node).Run.
	Run(ctx context.Context, c Command) (Result, error)
}

// Command is one command to run on a node. Only Argv is required.
type Command struct {
	// Argv is the program and its arguments, any byte but NUL. It is no
	// shell line: for pipes and built-ins use []string{"sh", "-c", line}.
	Argv []string

	// Stdin is what the command reads. Without it the command reads
	// /dev/null. Secrets belong here, never in Argv.
	Stdin io.Reader

	// Stdout and Stderr receive the output as it comes. A stream without a
	// writer is captured in the Result, bounded by Options.CaptureLimit.
	Stdout, Stderr io.Writer

	// Env is added to the command's environment on the node. The values are
	// masked in errors and logs, but the node's process list shows them.
	Env map[string]string

	// Sudo runs the command as root through "sudo -n".
	Sudo bool

	// Timeout ends the command on the node when it elapses; 0 means none.
	// The earlier of it and the context's deadline wins.
	Timeout time.Duration
}

// Result is what a command that ran to its end left behind. Beside an error
// it holds what had arrived until then, and ExitCode means nothing.
type Result struct {
	ExitCode int
	// Signal is the signal's name without "SIG" ("KILL") when ExitCode is
	// 128+N. By convention only: a shell cannot tell it from "exit 137".
	Signal   string
	Stdout   Output // empty where Command.Stdout was given
	Stderr   Output // the last 64 KiB where Command.Stderr was given
	Duration time.Duration
}

// Output is a captured stream: all of it, or its two ends.
type Output struct {
	Head, Tail []byte
	Dropped    int64 // bytes lost between Head and Tail
}

// Bytes returns the captured bytes. When Dropped is not 0 a line saying so
// stands between the two ends.
func (o Output) Bytes() []byte {
	b := append([]byte(nil), o.Head...)
	if o.Dropped > 0 {
		b = fmt.Appendf(b, "\n[... %d bytes dropped ...]\n", o.Dropped)
	}
	return append(b, o.Tail...)
}

// String is Bytes as a string.
func (o Output) String() string { return string(o.Bytes()) }
