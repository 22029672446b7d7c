package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// liveReport prints the nodes' lines as they come, each behind its node.
type liveReport struct {
	screen  *screen
	nodes   []string // names, padded to one width
	colours []string // SGR parameters; none: no colour
	running map[int][2]*liveStream
}

func newLiveReport(s *screen, targets []inventory.Target, colours []string) *liveReport {
	r := &liveReport{screen: s, colours: colours, running: map[int][2]*liveStream{}}
	width := 0
	for _, t := range targets {
		width = max(width, utf8.RuneCountInString(t.Node))
	}
	for _, t := range targets {
		r.nodes = append(r.nodes, fmt.Sprintf("%-*s", width, t.Node))
	}
	return r
}

// palette is told apart on dark and light grounds; red is left to failures.
var palette = []string{"36", "33", "35", "32", "34", "96", "95", "92"}

// colours is the palette, or none where colours are not wanted.
func (c *cli) colours() []string {
	if v, _ := c.env("NO_COLOR"); v != "" {
		return nil
	}
	if v, _ := c.env("TERM"); v == "dumb" {
		return nil
	}
	return palette
}

func (r *liveReport) streams(i int) (stdout, stderr io.Writer) {
	pair := [2]*liveStream{r.stream(i, r.screen.stdout()), r.stream(i, r.screen.stderr())}
	r.running[i] = pair
	return pair[0], pair[1]
}

func (r *liveReport) stream(i int, to *shared) *liveStream {
	l := &liveStream{to: to, name: r.nodes[i]}
	if to.terminal && len(r.colours) > 0 {
		l.name = "\x1b[" + r.colours[i%len(r.colours)] + "m" + l.name + "\x1b[0m"
	}
	return l
}

func (r *liveReport) outcome(o nodeexec.Outcome) error {
	for _, l := range r.running[o.Index] {
		if l == nil { // never started
			continue
		}
		if err := l.flush(); err != nil {
			return err
		}
	}
	delete(r.running, o.Index)
	if o.Err == nil || nodeexec.KindOf(o.Err) == nodeexec.KindNotStarted {
		return nil // the summary names those
	}
	_, err := fmt.Fprintf(r.stream(o.Index, r.screen.stderr()), "nestor: %s\n", failureText(o))
	return err
}

func (r *liveReport) end() error { return nil }

// maxLine is what is kept of a line until its end comes; a longer one is
// shown in pieces.
const maxLine = 1 << 20

// liveStream puts a node's name before each line of a stream of it, and
// hands on whole lines only. A continued line has a + behind the name.
type liveStream struct {
	to   *shared
	name string
	held []byte
	cut  bool // held continues what was handed on already
}

func (l *liveStream) Write(p []byte) (int, error) {
	var batch bytes.Buffer
	l.held = cutLines(l.held, p, maxLine, func(line []byte, whole bool) { l.put(&batch, line, whole) })
	if batch.Len() == 0 {
		return len(p), nil
	}
	if _, err := l.to.Write(batch.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// flush hands on a last line that no newline ended.
func (l *liveStream) flush() error {
	if len(l.held) == 0 {
		return nil
	}
	var batch bytes.Buffer
	l.put(&batch, l.held, true)
	l.held = nil
	_, err := l.to.Write(batch.Bytes())
	return err
}

func (l *liveStream) put(batch *bytes.Buffer, line []byte, whole bool) {
	batch.WriteString(l.name)
	batch.WriteString(map[bool]string{false: " | ", true: " + "}[l.cut])
	if l.to.terminal {
		line = visible(bytes.TrimSuffix(line, []byte("\r")))
	}
	batch.Write(line)
	batch.WriteByte('\n')
	l.cut = !whole
}

// cutLines gives the lines of held and p to emit, without their newline, and
// returns what no newline has ended yet. Of that no more than limit bytes are
// kept: the line is given in pieces, all but the last of which are not whole.
func cutLines(held, p []byte, limit int, emit func(line []byte, whole bool)) []byte {
	for {
		at := bytes.IndexByte(p, '\n')
		if at < 0 {
			break
		}
		line := p[:at]
		if len(held) > 0 {
			line = append(held, line...)
		}
		emit(line, true)
		held, p = held[:0], p[at+1:]
	}
	held = append(held, p...)
	for len(held) > limit {
		piece := limit
		for piece > limit-utf8.UTFMax && !utf8.RuneStart(held[piece]) {
			piece--
		}
		emit(held[:piece], false)
		held = slices.Delete(held, 0, piece)
	}
	return held
}
