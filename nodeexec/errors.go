package nodeexec

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// Kind is why no trustworthy exit code exists. The list is closed.
type Kind string

// The kinds, by what a caller can do about each.
const (
	KindInvalid     Kind = "invalid"      // the target or the command was refused; nothing ran
	KindTooLong     Kind = "too-long"     // the command line does not fit; send a script on stdin
	KindUnreachable Kind = "unreachable"  // refused, timed out, no route, no such name; nothing ran
	KindAuth        Kind = "auth"         // the node refused the user or the key; nothing ran
	KindHostKey     Kind = "host-key"     // the host key is unknown or has changed; nothing ran
	KindVMStopped   Kind = "vm-stopped"   // the Lima instance exists and does not run
	KindVMMissing   Kind = "vm-missing"   // there is no such Lima instance
	KindSudo        Kind = "sudo"         // sudo wants a password or refuses; nothing ran
	KindDeadline    Kind = "deadline"     // the deadline passed; see Error.Remote
	KindCanceled    Kind = "canceled"     // the context was cancelled; see Error.Remote
	KindNotStarted  Kind = "not-started"  // the fleet was stopped before the node's turn; nothing ran
	KindLost        Kind = "lost"         // the connection broke when it was up; the command may have started
	KindProtocol    Kind = "protocol"     // what came back makes no sense: 0 with nothing run, a shim's fault
	KindStream      Kind = "stream"       // the caller's own Stdin, Stdout or Stderr failed
	KindUnavailable Kind = "no-transport" // bash, ssh or limactl is missing on this machine
)

// Remote is what is known of the command on the node after an error.
type Remote string

// What became of the command.
const (
	RemoteNone    Remote = "none"    // it never started
	RemoteKilled  Remote = "killed"  // it was ended, and the node confirmed it
	RemoteGone    Remote = "gone"    // it had already ended by itself
	RemoteUnknown Remote = "unknown" // it may still be running
)

// Error says why a command has no trustworthy exit code.
type Error struct {
	Node      string
	Transport inventory.Transport
	Kind      Kind
	Remote    Remote
	Argv      []string // as shown to people: Env values are masked
	Detail    string   // one line: what went wrong
	Stderr    string   // what arrived on stderr, at most its last 64 KiB
	Err       error    // the cause, if there is one
}

// Error is one line: the node, what went wrong, and what became of the
// command where it had started.
func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s", e.Node, oneLine(e.Detail))
	if e.Remote != RemoteNone && e.Remote != "" {
		s += " (remote: " + string(e.Remote) + ")"
	}
	return s
}

// Unwrap gives the cause: context.DeadlineExceeded for a deadline,
// context.Canceled for a cancelled context.
func (e *Error) Unwrap() error {
	switch {
	case e.Err != nil:
		return e.Err
	case e.Kind == KindDeadline:
		return context.DeadlineExceeded
	case e.Kind == KindCanceled, e.Kind == KindNotStarted:
		return context.Canceled
	}
	return nil
}

// KindOf gives the Kind of the first *Error in err's chain, "" without one.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}

// lastLine is the last line of text that is not blank, folded.
func lastLine(text string) string {
	last := ""
	for line := range strings.Lines(text) {
		if line = oneLine(line); line != "" {
			last = line
		}
	}
	return last
}

// oneLine folds every run of blanks and control characters into one blank.
func oneLine(s string) string { return strings.Join(strings.FieldsFunc(s, isBlank), " ") }

func isBlank(r rune) bool { return r <= ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) }
