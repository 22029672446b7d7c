package nodeexec

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"sync"
)

// report is what the wrapper's records (shims/wrap.sh) have said so far on
// either stream. Its methods may be called from several goroutines.
type report struct {
	mu       sync.Mutex
	known    records
	ends     int           // streams on which the end was seen
	startC   chan struct{} // closed at the first start record
	bothEndC chan struct{} // closed when both streams have ended
}

// records are what is known of a command.
type records struct {
	started bool
	pid     int // the wrapper's process on the node
	ended   bool
	whole   bool // both streams arrived to their end
	code    int
	killed  string // "yes", "partly", or "" when no watcher acted
}

func newReport() *report {
	return &report{startC: make(chan struct{}), bothEndC: make(chan struct{})}
}

// note takes one record: "start:PID", "killed:yes" or "end:CODE". It says
// whether the text is a record at all.
func (r *report) note(text string) bool {
	word, value, _ := strings.Cut(text, ":")
	r.mu.Lock()
	defer r.mu.Unlock()
	switch word {
	case "start":
		pid, err := strconv.Atoi(value)
		if err != nil {
			return false
		}
		r.known.pid = pid
		if !r.known.started {
			r.known.started = true
			close(r.startC)
		}
	case "killed":
		r.known.killed = value
	case "end":
		code, err := strconv.Atoi(value)
		if err != nil || code < 0 || code > 255 {
			return false
		}
		r.known.ended, r.known.code = true, code
		if r.ends++; r.ends == 2 {
			r.known.whole = true
			close(r.bothEndC)
		}
	default:
		return false
	}
	return true
}

// state is what is known now.
func (r *report) state() records {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known
}

// maxRecord bounds a record's text, newline included.
const maxRecord = 32

// splitter takes the records out of one stream. What comes before the start
// record is noise of login shells and banners; what comes after it is the
// command's output, byte for byte.
type splitter struct {
	marker []byte // "nestor:NONCE:"
	report *report
	noise  io.Writer
	output io.Writer
	held   []byte // may be the beginning of a record
	begun  bool   // the start record was seen on this stream
}

func (s *splitter) Write(p []byte) (int, error) {
	data := p
	if len(s.held) > 0 {
		data = append(s.held, p...)
	}
	for {
		at := bytes.Index(data, s.marker)
		if at < 0 {
			break
		}
		text := data[at+len(s.marker):]
		end := bytes.IndexByte(text, '\n')
		if end < 0 && len(text) < maxRecord { // not whole yet
			if err := s.emit(data[:at]); err != nil {
				return 0, err
			}
			s.held = bytes.Clone(data[at:])
			return len(p), nil
		}
		skip := at + len(s.marker)
		if err := s.emit(data[:at]); err != nil {
			return 0, err
		}
		if end >= 0 && end < maxRecord && s.report.note(string(text[:end])) {
			s.begun = true
			skip += end + 1
		} else if err := s.emit(s.marker); err != nil { // the command's own words
			return 0, err
		}
		data = data[skip:]
	}
	keep := partialSuffix(data, s.marker)
	err := s.emit(data[:len(data)-keep])
	s.held = bytes.Clone(data[len(data)-keep:])
	return len(p), err
}

// flush passes on what was held: the stream is over.
func (s *splitter) flush() error {
	held := s.held
	s.held = nil
	return s.emit(held)
}

func (s *splitter) emit(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	w := s.output
	if !s.begun {
		w = s.noise
	}
	_, err := w.Write(p)
	return err
}

// partialSuffix is the length of the longest end of data that marker begins with.
func partialSuffix(data, marker []byte) int {
	for n := min(len(data), len(marker)-1); n > 0; n-- {
		if bytes.HasSuffix(data, marker[:n]) {
			return n
		}
	}
	return 0
}
