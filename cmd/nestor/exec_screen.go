package main

import (
	"io"
	"os"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// screen is what the output of many nodes, the remarks and the status line
// share. Whatever is written to one of its streams in one call stays in one
// piece, and stands clear of the status line.
type screen struct {
	mu       sync.Mutex
	out, err shared
	status   string // on the terminal now; "" is none
}

// shared is one of the two streams.
type shared struct {
	io.Writer
	screen   *screen
	terminal bool
	width    func() int // columns of the terminal
}

func newScreen(c *cli) *screen {
	s := &screen{}
	s.out, s.err = s.share(c.out), s.share(c.err)
	return s
}

func (s *screen) share(w io.Writer) shared {
	sh := shared{Writer: w, screen: s, width: func() int { return 80 }}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		sh.terminal = true
		sh.width = func() int {
			if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
				return columns
			}
			return 80
		}
	}
	return sh
}

func (s *screen) stdout() *shared { return &s.out }
func (s *screen) stderr() *shared { return &s.err }

// Write writes p in one piece.
func (w *shared) Write(p []byte) (int, error) {
	s := w.screen
	s.mu.Lock()
	defer s.mu.Unlock()
	status := s.status
	if w.terminal || w == &s.err {
		s.draw("")
		defer s.draw(status)
	}
	return w.Writer.Write(p)
}

// show puts the line on the terminal's last line, "" for none. Elsewhere it
// does nothing.
func (s *screen) show(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draw(line)
}

func (s *screen) draw(line string) {
	if !s.err.terminal || line == s.status {
		return
	}
	s.status = line
	text := []rune(line)
	if room := s.err.width() - 1; len(text) > room {
		text = text[:room]
	}
	// A terminal that is gone shows nothing: that is no failure of the command.
	_, _ = io.WriteString(s.err.Writer, "\r\x1b[K"+string(text))
}

// visible writes out what a terminal would obey rather than show, as \x1b.
// Tabs stay.
func visible(line []byte) []byte {
	clean := true
	for _, b := range line {
		if (b < ' ' && b != '\t') || b >= 0x7f {
			clean = false
			break
		}
	}
	if clean {
		return line
	}
	const hex = "0123456789abcdef"
	shown := make([]byte, 0, len(line)+16)
	for len(line) > 0 {
		r, size := utf8.DecodeRune(line)
		switch {
		case r == '\t', unicode.IsGraphic(r) && (r != utf8.RuneError || size > 1):
			shown = append(shown, line[:size]...)
		default:
			for _, b := range line[:size] {
				shown = append(shown, '\\', 'x', hex[b>>4], hex[b&15])
			}
		}
		line = line[size:]
	}
	return shown
}
