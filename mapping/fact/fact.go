// Package fact has the type of everything that nestor says about a node.
//
//	fact.Present("node1")
//	fact.Denied[string]("/etc/shadow: not readable by debian")
//
// A node without swap, a swap file that may not be read and a tool that is
// not installed are three answers, and none of them is an empty value.
package fact

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// State is what is known of a fact.
type State string

// The states.
const (
	IsPresent State = "present" // it was read; Value holds it, and may well be empty
	IsAbsent  State = "absent"  // the node was asked and does not have it
	IsDenied  State = "denied"  // it takes rights that the login user lacks
	IsUnknown State = "unknown" // nobody can tell: a tool is missing, hung or not understood
)

// Observed is a fact: its value where it could be read, else why not. The
// zero Observed is unknown.
type Observed[T any] struct {
	Value T
	State State
	Why   string // one line; empty when present
}

// Present is a fact that was read.
func Present[T any](v T) Observed[T] { return Observed[T]{Value: v, State: IsPresent} }

// Absent is a fact that the node does not have.
func Absent[T any](why string) Observed[T] { return Observed[T]{State: IsAbsent, Why: why} }

// Denied is a fact that the login user may not read.
func Denied[T any](why string) Observed[T] { return Observed[T]{State: IsDenied, Why: why} }

// Unknown is a fact that could not be told.
func Unknown[T any](why string) Observed[T] { return Observed[T]{State: IsUnknown, Why: why} }

// Get gives the value and whether it was read.
func (o Observed[T]) Get() (T, bool) { return o.Value, o.State == IsPresent }

// Then makes a fact of another one. What was not read stays so, for the same
// reason; what was read and makes no sense is unknown.
func Then[T, U any](o Observed[T], parse func(T) (U, error)) Observed[U] {
	if o.State != IsPresent {
		return Observed[U]{State: o.state(), Why: o.Why}
	}
	v, err := parse(o.Value)
	if err != nil {
		return Unknown[U](err.Error())
	}
	return Present(v)
}

func (o Observed[T]) state() State {
	if o.State == "" {
		return IsUnknown
	}
	return o.State
}

// wire is an Observed in JSON: a value or a reason, never both.
type wire[T any] struct {
	State State  `json:"state"`
	Value *T     `json:"value,omitempty"`
	Why   string `json:"why,omitempty"`
}

// MarshalJSON writes {"state":"present","value":...} or
// {"state":...,"why":...}.
func (o Observed[T]) MarshalJSON() ([]byte, error) {
	w := wire[T]{State: o.state(), Why: o.Why}
	if o.State == IsPresent {
		w.Value, w.Why = &o.Value, ""
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (o *Observed[T]) UnmarshalJSON(b []byte) error {
	var w wire[T]
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	switch w.State {
	case IsPresent:
		if w.Value == nil {
			return fmt.Errorf("a present fact has no value")
		}
		*o = Present(*w.Value)
	case IsAbsent, IsDenied, IsUnknown:
		*o = Observed[T]{State: w.State, Why: w.Why}
	default:
		return fmt.Errorf("state %q is not present, absent, denied or unknown", w.State)
	}
	return nil
}

// Text gives s as it may stand in a document: bytes that are not UTF-8 become
// the kernel's octal escapes.
func Text(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var out strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&out, `\%03o`, s[0])
		} else {
			out.WriteString(s[:n])
		}
		s = s[n:]
	}
	return out.String()
}
