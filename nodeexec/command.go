package nodeexec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
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

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// words is the argv with the environment in front of it.
func (c Command) words() ([]string, error) {
	if len(c.Argv) == 0 {
		return nil, errors.New("no command")
	}
	for i, a := range c.Argv {
		if strings.ContainsRune(a, 0) {
			return nil, fmt.Errorf("argument %d holds a NUL byte, which no program can receive", i)
		}
	}
	for _, name := range c.envNames() {
		if !envName.MatchString(name) {
			return nil, fmt.Errorf("environment name %q: want letters, digits and _", name)
		}
		if strings.ContainsRune(c.Env[name], 0) {
			return nil, fmt.Errorf("environment value of %s holds a NUL byte", name)
		}
	}
	return c.withEnv(func(name string) string { return c.Env[name] }), nil
}

// masked is the argv as it may be shown.
func (c Command) masked() []string { return c.withEnv(func(string) string { return "***" }) }

func (c Command) envNames() []string { return slices.Sorted(maps.Keys(c.Env)) }

func (c Command) withEnv(value func(name string) string) []string {
	if len(c.Env) == 0 {
		return c.Argv
	}
	words := []string{"env"}
	for _, name := range c.envNames() {
		words = append(words, name+"="+value(name))
	}
	if len(c.Argv) > 0 && strings.Contains(c.Argv[0], "=") { // env would take it for one more
		words = append(words, "sh", "-c", `exec "$@"`, "sh")
	}
	return append(words, c.Argv...)
}

// linuxSignals are the signals of Linux by number, for the nodes are Linux
// whatever this machine is. signal(7).
var linuxSignals = strings.Fields(`HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM
	STKFLT CHLD CONT STOP TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS`)

func signalName(code int) string {
	if n := code - 128; n > 0 && n <= len(linuxSignals) {
		return linuxSignals[n-1]
	}
	return ""
}
