package yamldoc

import (
	"bytes"
)

// Chunk is the text of one document.
type Chunk struct {
	Line int // the number of its first line in the stream, 1-based
	Text []byte
}

var bom = []byte("\xef\xbb\xbf")

// Split cuts a stream at its document markers: a line that starts with "---"
// or "..." followed by a blank or nothing. YAML forbids such a line inside a
// scalar, so no parser is needed to find them. A document that holds only
// blanks and comments is left out.
func Split(stream []byte) []Chunk {
	stream = bytes.TrimPrefix(stream, bom)
	if i := bytes.IndexByte(stream, '\r'); i >= 0 {
		stream = loneCRToLF(stream)
	}
	var chunks []Chunk
	start, startLine := 0, 1
	cut := func(end, line int) {
		text := stream[start:end]
		switch {
		case hasContent(text):
			chunks = append(chunks, Chunk{startLine, text})
		case directive(text) >= 0:
			// %YAML and %TAG belong to the document that follows
			at := directive(text)
			startLine += bytes.Count(text[:at], []byte("\n"))
			start += at
			return
		}
		start, startLine = end, line
	}
	for at, line := 0, 1; at < len(stream); line++ {
		end := len(stream)
		if i := bytes.IndexByte(stream[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		switch text := stream[at:end]; {
		case isMarker(text, "---"):
			cut(at, line)
		case isMarker(text, "..."):
			cut(end, line+1)
			start, startLine = end, line+1
		}
		at = end
	}
	cut(len(stream), 0)
	return chunks
}

func isMarker(line []byte, marker string) bool {
	if len(line) < 3 || string(line[:3]) != marker {
		return false
	}
	return len(line) == 3 || line[3] == ' ' || line[3] == '\t' || line[3] == '\n' || line[3] == '\r'
}

// loneCRToLF makes a line end of each carriage return that is not part of a
// CRLF: to YAML it is one.
func loneCRToLF(b []byte) []byte {
	var out []byte
	for i, c := range b {
		if c != '\r' || (i+1 < len(b) && b[i+1] == '\n') {
			continue
		}
		if out == nil {
			out = bytes.Clone(b)
		}
		out[i] = '\n'
	}
	if out == nil {
		return b
	}
	return out
}

// hasContent tells whether a document holds anything but its markers, blanks,
// comments and directives.
func hasContent(text []byte) bool {
	for first := true; len(text) > 0; first = false {
		line := text
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			line = text[:i]
			text = text[i+1:]
		} else {
			text = nil
		}
		if first || isMarker(line, "---") || isMarker(line, "...") {
			if isMarker(line, "---") || isMarker(line, "...") {
				line = line[3:]
			}
		}
		indented := len(line) > 0 && line[0] == ' '
		line = bytes.TrimLeft(line, " \t\r")
		if len(line) == 0 || line[0] == '#' || (line[0] == '%' && !indented) {
			continue
		}
		return true
	}
	return false
}

// directive finds the first line that starts with %, -1 without one.
func directive(text []byte) int {
	if bytes.HasPrefix(text, []byte("%")) {
		return 0
	}
	if i := bytes.Index(text, []byte("\n%")); i >= 0 {
		return i + 1
	}
	return -1
}
