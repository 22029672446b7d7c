package inventory

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// ErrUnreadable is matched by every [*ReadError].
var ErrUnreadable = errors.New("inventory cannot be read")

// ReadError says that a part of the inventory could not be read, so that no
// part of it is used.
type ReadError struct {
	Origin Origin
	Why    string
	Err    error // the cause, if there is one
}

func (e *ReadError) Error() string { return at(e.Origin) + oneLine(e.Why) }

// Is makes errors.Is(err, ErrUnreadable) true.
func (e *ReadError) Is(target error) bool { return target == ErrUnreadable }

// Unwrap gives the cause.
func (e *ReadError) Unwrap() error { return e.Err }

// UnknownNodeError says that the inventory holds no such host.
type UnknownNodeError struct {
	Node      string
	Inventory string
	Nearest   []string // the likeliest names, best first
	Group     bool     // there is a group of that name
}

func (e *UnknownNodeError) Error() string {
	s := fmt.Sprintf("%s: no host %q", e.Inventory, e.Node)
	switch {
	case e.Group:
		s += "; a group has that name, and one host is needed here"
	case len(e.Nearest) > 0:
		s += "; nearest: " + strings.Join(e.Nearest, ", ")
	}
	return s
}

// KindError says that a node is not of the kind that the caller stated.
type KindError struct {
	Node     string
	Want     Kind
	Declared Kind   // "" when undeclared
	Origin   Origin // of the declaration
}

func (e *KindError) Error() string {
	if e.Declared == "" {
		return fmt.Sprintf("node %q declares no target_kind, and %s was stated; add \"target_kind: %s\" to its inventory if that is true", e.Node, e.Want, e.Want)
	}
	return fmt.Sprintf("%snode %q is declared %s, and %s was stated", at(e.Origin), e.Node, e.Declared, e.Want)
}

// ValueError says that a variable which this call needs has no value that can
// be used: an unresolved template, a closed vault, a port that is no number.
type ValueError struct {
	Node     string
	Variable string
	Origin   Origin
	Why      string
}

func (e *ValueError) Error() string {
	return fmt.Sprintf("%snode %q: %s %s", at(e.Origin), e.Node, e.Variable, oneLine(e.Why))
}

// PatternError says that a pattern selects nothing or names something unknown.
type PatternError struct {
	Pattern string
	Why     string
}

func (e *PatternError) Error() string { return fmt.Sprintf("pattern %.100q %s", e.Pattern, e.Why) }

// Codes of warnings. The list is closed.
const (
	WarnDuplicate  = "duplicate-key"     // a key stands twice in one mapping
	WarnShadowed   = "shadowed-file"     // a variables file that Ansible never reads
	WarnAnyAddress = "any-address"       // 0.0.0.0 or :: as an address
	WarnRenamed    = "renamed-host"      // ssh's configuration sends the host to this machine
	WarnSelfJump   = "self-jump"         // a jump through the node itself
	WarnShared     = "shared-address"    // another node has the same address
	WarnPassword   = "plaintext-secret"  // a password in plain text
	WarnHostKeys   = "host-keys-off"     // host keys are switched off
	WarnBoolean    = "boolean"           // an unquoted yes, no or 0 that is no word
	WarnIgnored    = "ignored-variable"  // a variable that looks like one of Ansible's and is not
	WarnName       = "name-clash"        // a group and a host share a name
	WarnPlugin     = "connection-plugin" // reached by ssh in place of the plugin named
)

// Warning is something legal in the inventory that people should know.
type Warning struct {
	Origin  Origin `json:"origin"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (w Warning) String() string { return at(w.Origin) + oneLine(w.Message) }

func at(o Origin) string {
	if o.File == "" {
		return ""
	}
	return o.String() + ": "
}

// oneLine folds every run of blanks and control characters into one blank, and
// writes what is invisible, or would turn the text around, as Go does.
func oneLine(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return r <= ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0)
	}), " ")
	if !strings.ContainsFunc(s, invisible) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if invisible(r) {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// invisible finds characters that show nothing, or show others in another
// order or on another line: formats, line and paragraph separators.
func invisible(r rune) bool { return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) }
