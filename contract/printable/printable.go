// Package printable makes texts of others harmless for a terminal: names and
// messages come from clusters, nodes and files, and may hold escape sequences.
//
//	printable.Line("a\x1b[2Jb")    // a\x1b[2Jb, readable and obeyed by nothing
//
// It refuses nothing: what a terminal would obey, or would show as something
// else, is written as Go writes it in a string.
package printable

import (
	"strconv"
	"strings"
	"unicode"
)

// Line makes one line of s that moves no cursor and hides nothing.
func Line(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// Lines is Line for a text whose lines are meant.
func Lines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = Line(lines[i])
	}
	return strings.Join(lines, "\n")
}
