// Package probe reads what shims/probe.sh printed.
//
//	5f3a nestor-probe 1
//	5f3a begin kernel
//	Linux 6.1.0-18-amd64 x86_64
//
//	5f3a end 0
//	5f3a done 1
//
// It refuses bytes that do not start with the probe's own line. A stream that
// was cut is read as far as it goes: what is missing is then unknown.
package probe

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/nestor-tools/nestor/mapping/fact"
)

// Frame is the output of one section of the probe, or of one item of a
// section ("section:item").
type Frame struct {
	Name   string
	Status string // an exit code, or absent, denied, cut; empty: the stream ended within
	Stdout []byte
	Stderr []byte
}

// Output is all that one probe printed.
type Output struct {
	Nonce    string
	Frames   []Frame // in the order of arrival, which says nothing
	Complete bool    // the last line arrived and counts all sections
}

// ErrNotProbe is returned for bytes that do not start as the probe's output.
var ErrNotProbe = errors.New("not the output of nestor's probe")

// Parse reads the probe's output.
func Parse(b []byte) (Output, error) {
	first, rest, _ := bytes.Cut(b, []byte("\n"))
	nonce, title, _ := strings.Cut(string(first), " ")
	if nonce == "" || !strings.HasPrefix(title, "nestor-probe ") {
		return Output{}, ErrNotProbe
	}
	if version := strings.TrimPrefix(title, "nestor-probe "); version != "1" {
		return Output{}, fmt.Errorf("the probe's format is %q, this nestor reads 1", version)
	}
	o := Output{Nonce: nonce}
	p := parser{mark: []byte(nonce + " "), rest: rest}
	sections := 0
	for {
		verb, arg, ok := p.line()
		if !ok {
			return o, nil
		}
		switch verb {
		case "begin":
			f := p.frame(arg)
			o.Frames = append(o.Frames, f)
			if !strings.Contains(f.Name, ":") {
				sections++
			}
		case "done":
			o.Complete = arg == strconv.Itoa(sections)
			return o, nil
		default: // the end of a frame whose beginning was lost
		}
	}
}

type parser struct {
	mark []byte // the nonce and a blank
	rest []byte
}

// line reads the marker line at the start of rest, or looks for the next one.
func (p *parser) line() (verb, arg string, ok bool) {
	if !bytes.HasPrefix(p.rest, p.mark) {
		i := bytes.Index(p.rest, append([]byte("\n"), p.mark...))
		if i < 0 {
			return "", "", false
		}
		p.rest = p.rest[i+1:]
	}
	line, rest, whole := bytes.Cut(p.rest[len(p.mark):], []byte("\n"))
	p.rest = rest
	if !whole {
		return "", "", false
	}
	verb, arg, _ = strings.Cut(string(line), " ")
	return verb, arg, true
}

// body reads up to the newline before the next marker line.
func (p *parser) body() []byte {
	if bytes.HasPrefix(p.rest, p.mark) {
		return nil
	}
	i := bytes.Index(p.rest, append([]byte("\n"), p.mark...))
	if i < 0 {
		b := p.rest
		p.rest = nil
		return b
	}
	b := p.rest[:i]
	p.rest = p.rest[i+1:]
	return b
}

// frame reads a frame to its end. A frame that was cut within ends where the
// next one begins, and has no status.
func (p *parser) frame(name string) Frame {
	f := Frame{Name: name, Stdout: p.body()}
	for {
		before := p.rest
		verb, arg, ok := p.line()
		switch {
		case ok && verb == "err":
			f.Stderr = p.body()
		case ok && verb == "end":
			f.Status = arg
			return f
		default:
			p.rest = before
			return f
		}
	}
}

// Frame gives the frame of that name.
func (o Output) Frame(name string) (Frame, bool) {
	for _, f := range o.Frames {
		if f.Name == name {
			return f, true
		}
	}
	return Frame{}, false
}

// Items gives the items of a section, without the section's name.
func (o Output) Items(section string) []Frame {
	var items []Frame
	for _, f := range o.Frames {
		if item, ok := strings.CutPrefix(f.Name, section+":"); ok {
			f.Name = item
			items = append(items, f)
		}
	}
	return items
}

// Bytes is what the frame of that name printed, or why there is nothing to
// read.
func (o Output) Bytes(name string) fact.Observed[[]byte] {
	f, ok := o.Frame(name)
	if ok {
		return f.Bytes()
	}
	section, item, _ := strings.Cut(name, ":")
	switch s, ok := o.Frame(section); {
	case item != "" && ok && s.Status != "0":
		b := s.Bytes()
		return fact.Observed[[]byte]{State: b.State, Why: b.Why}
	case !o.Complete:
		return fact.Unknown[[]byte]("the probe's output was cut")
	}
	return fact.Unknown[[]byte]("the probe did not look for it")
}

// Bytes is what the frame printed when it ended well. Exit code 127 is the
// shell's for a command that does not exist.
func (f Frame) Bytes() fact.Observed[[]byte] {
	section, item, _ := strings.Cut(f.Name, ":")
	what := item
	if what == "" {
		what = section
	}
	switch f.Status {
	case "0":
		return fact.Present(f.Stdout)
	case "absent":
		return fact.Absent[[]byte](what + " does not exist")
	case "denied":
		return fact.Denied[[]byte](what + " may not be read by this user")
	case "cut":
		return fact.Unknown[[]byte](what + " did not answer in time")
	case "":
		return fact.Unknown[[]byte](what + " was cut")
	case "127":
		return fact.Unknown[[]byte](f.notFound())
	}
	complaint := firstLine(f.Stderr)
	if permission.MatchString(complaint) {
		return fact.Denied[[]byte](complaint)
	}
	if complaint == "" {
		complaint = what
	}
	return fact.Unknown[[]byte](fmt.Sprintf("%s (exit code %s)", complaint, f.Status))
}

// permission is how the C library and the tools of a node say EACCES, EPERM
// and "not root".
var permission = regexp.MustCompile(`(?i)permission denied|operation not permitted|must be (run as )?root|requires? root|are you root`)

// notFound names the command that the shell did not find: "sh: 3: lsblk: not
// found", "sh: line 3: lsblk: command not found".
func (f Frame) notFound() string {
	parts := strings.Split(firstLine(f.Stderr), ": ")
	for i := 1; i < len(parts); i++ {
		if strings.HasSuffix(parts[i], "not found") {
			return parts[i-1] + " is not installed"
		}
	}
	return "its tool is not installed"
}

func firstLine(b []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	return strings.TrimSpace(line)
}
