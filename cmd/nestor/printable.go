package main

import (
	"strconv"
	"strings"
	"unicode"
)

// printable makes one line of s that moves no cursor and hides nothing: what a
// terminal would obey, or would show as something else, is written as Go
// writes it in a string.
func printable(s string) string {
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

// printableLines is printable for a text whose lines are meant.
func printableLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = printable(lines[i])
	}
	return strings.Join(lines, "\n")
}
