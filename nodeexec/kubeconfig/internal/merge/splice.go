package merge

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// change replaces del bytes at an offset.
type change struct {
	at, del int
	ins     string
}

// splicer collects the changes that make the text what the tree should be. It
// works on lines, and gives up where their layout is not the usual one.
type splicer struct {
	text    string
	lines   []int // the offset of each
	eol     string
	root    node
	changes []change
	failed  bool
}

// splice edits the text in place; ok is false where it could not.
func splice(text []byte, root node, entries []Entry, current string) ([]byte, bool) {
	s := &splicer{text: string(text), lines: []int{0}, eol: "\n", root: root}
	if strings.Contains(s.text, "\r\n") {
		s.eol = "\r\n"
	}
	// What else YAML takes for the end of a line would spoil the count.
	if strings.ContainsAny(strings.ReplaceAll(s.text, "\r\n", "\n"), "\r\u0085\u2028\u2029") || flow(root) {
		return nil, false
	}
	for i := range s.text {
		if s.text[i] == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	for _, e := range entries {
		s.put(e)
	}
	if current != "" {
		if v := value(root, "current-context"); v != nil {
			s.replace(v, current)
		} else {
			s.append("current-context: " + scalar(current))
		}
	}
	if s.failed {
		return nil, false
	}
	slices.SortStableFunc(s.changes, func(a, b change) int {
		return cmp.Or(a.at-b.at, min(a.del, 1)-min(b.del, 1)) // what is put in comes before what is taken away there
	})
	var out bytes.Buffer
	done := 0
	for _, c := range s.changes {
		if c.at < done {
			return nil, false
		}
		out.WriteString(s.text[done:c.at] + c.ins)
		done = c.at + c.del
	}
	out.WriteString(s.text[done:])
	return out.Bytes(), true
}

func (s *splicer) put(e Entry) {
	list := value(s.root, e.List)
	switch {
	case list == nil:
		s.append(e.List + ":\n" + e.lines(""))
		return
	case empty(list):
		s.fill(e)
		return
	case flow(list):
		s.failed = true
		return
	}
	item, _ := named(list, e) // its error has been seen
	if item == nil {
		s.add(list, e)
		return
	}
	inner := value(item, e.Of)
	if flow(item) || flow(inner) {
		s.failed = true
		return
	}
	for _, key := range e.drops() {
		if i := find(inner, key); i >= 0 {
			s.dropLine(inner.Content[i], inner.Content[i+1])
		}
	}
	var fresh []string
	for _, f := range e.Fields {
		switch v := value(inner, f.Key); {
		case f.Value == "":
		case v != nil:
			s.replace(v, f.Value)
		default:
			fresh = append(fresh, f.Key+": "+scalar(f.Value))
		}
	}
	if len(fresh) == 0 {
		return
	}
	// New fields stand right below "cluster:", above any comment there.
	of := item.Content[find(item, e.Of)]
	rest := s.line(of.Line)[s.offset(of)-s.lines[of.Line-1]+len(of.Value):]
	if rest, ok := strings.CutPrefix(strings.TrimSpace(rest), ":"); !ok || !blank(rest) || len(inner.Content) == 0 || of.Line >= len(s.lines) {
		s.failed = true
		return
	}
	indent := strings.Repeat(" ", inner.Content[0].Column-1)
	for _, line := range fresh {
		s.change(s.lines[of.Line], 0, indent+line+"\n")
	}
}

// lines are the entry's own lines as an element of a list.
func (e Entry) lines(indent string) string {
	var b strings.Builder
	first := "- "
	line := func(text string) {
		b.WriteString(indent + first + text + "\n")
		first = "  "
	}
	line(e.Of + ":")
	for _, f := range e.Fields {
		if f.Value != "" {
			line("  " + f.Key + ": " + scalar(f.Value))
		}
	}
	line("name: " + scalar(e.Name))
	return b.String()
}

// add puts a new entry behind the last one of a list.
func (s *splicer) add(list node, e Entry) {
	head := s.line(list.Content[0].Line)
	indent := head[:len(head)-len(strings.TrimLeft(head, " "))]
	if !strings.HasPrefix(head[len(indent):], "-") {
		s.failed = true
		return
	}
	end := len(s.lines) // the line behind the list, 1-based; the last one may be empty
	if s.lines[end-1] < len(s.text) {
		end++
	}
	for i := 0; i < len(s.root.Content); i += 2 {
		if key := s.root.Content[i]; key.Line > list.Line && key.Line < end {
			end = key.Line
		}
	}
	for end > 1 && blank(s.line(end-1)) {
		end--
	}
	if end > len(s.lines) {
		s.append(strings.TrimSuffix(e.lines(indent), "\n"))
		return
	}
	s.change(s.lines[end-1], 0, e.lines(indent))
}

// blank says whether a line holds nothing, or a comment alone.
func blank(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || line[0] == '#'
}

// fill makes a list of one that is empty.
func (s *splicer) fill(e Entry) {
	key := s.root.Content[find(s.root, e.List)]
	line := strings.TrimRight(s.line(key.Line), "\r\n")
	rest, ok := strings.CutPrefix(line, e.List+":")
	word, comment := strings.TrimSpace(rest), ""
	if i := strings.Index(rest, "#"); i >= 0 {
		word, comment = strings.TrimSpace(rest[:i]), " "+rest[i:]
	}
	if !ok || !slices.Contains([]string{"", "null", "~", "[]", "[ ]"}, word) || key.Anchor != "" {
		s.failed = true
		return
	}
	from := s.lines[key.Line-1]
	s.change(from, len(s.line(key.Line)), e.List+":"+comment+"\n"+e.lines(""))
}

// replace writes a scalar in the place of one that stands on one line.
func (s *splicer) replace(v node, with string) {
	if v.Anchor != "" || v.Kind != scalarNode || strings.Contains(v.Value, "\n") {
		s.failed = true
		return
	}
	if v.Value == with && v.ShortTag() == "!!str" {
		return
	}
	at := s.offset(v)
	for _, raw := range []string{`"` + v.Value + `"`, "'" + v.Value + "'", v.Value} {
		rest, ok := strings.CutPrefix(s.text[at:], raw)
		if ok && raw != "" && (rest == "" || strings.ContainsAny(rest[:1], " \r\n")) {
			s.change(at, len(raw), scalar(with))
			return
		}
	}
	s.failed = true
}

// dropLine takes away the line that holds a key and its value, and no more.
func (s *splicer) dropLine(key, v node) {
	line := s.line(key.Line)
	if v.Kind != scalarNode || v.Anchor != "" || v.Line != key.Line || strings.TrimSpace(line[:s.offset(key)-s.lines[key.Line-1]]) != "" {
		s.failed = true
		return
	}
	s.change(s.lines[key.Line-1], len(line), "")
}

// append puts lines behind the end.
func (s *splicer) append(lines string) {
	before := ""
	if s.text != "" && !strings.HasSuffix(s.text, "\n") && !slices.ContainsFunc(s.changes, func(c change) bool { return c.at == len(s.text) }) {
		before = "\n"
	}
	s.change(len(s.text), 0, before+strings.TrimSuffix(lines, "\n")+"\n")
}

func (s *splicer) change(at, del int, ins string) {
	s.changes = append(s.changes, change{at, del, strings.ReplaceAll(ins, "\n", s.eol)})
}

// line is a line of the text with its end, 1-based.
func (s *splicer) line(n int) string {
	if n < len(s.lines) {
		return s.text[s.lines[n-1]:s.lines[n]]
	}
	return s.text[s.lines[n-1]:]
}

// offset is where a node begins. Its column counts characters, and not the
// mark at the beginning of a file.
func (s *splicer) offset(n node) int {
	at := s.lines[n.Line-1]
	if n.Line == 1 && strings.HasPrefix(s.text, "\ufeff") {
		at += len("\ufeff")
	}
	for range n.Column - 1 {
		_, size := utf8.DecodeRuneInString(s.text[at:])
		at += size
	}
	return at
}
