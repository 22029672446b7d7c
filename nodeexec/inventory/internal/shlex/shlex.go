// Package shlex splits a line into words as Python's shlex.split does in POSIX
// mode, which is how Ansible splits ssh arguments and lines of INI files:
//
//	-o ProxyCommand="ssh -W %h:%p gate"   ->   -o, ProxyCommand=ssh -W %h:%p gate
//
// Blanks separate, single quotes keep everything, a backslash within double
// quotes escapes only itself and the quote. Nothing is expanded. A quote that
// is not closed is an error, and so is a backslash at the end.
package shlex

import (
	"errors"
	"strings"
)

// Split splits s into words.
func Split(s string) ([]string, error) { return split(s, false) }

// SplitComments is Split, and an unquoted # ends the line, even within a word.
func SplitComments(s string) ([]string, error) { return split(s, true) }

func split(s string, comments bool) ([]string, error) {
	var words []string
	var word strings.Builder
	in := false // a word is open, if only by an empty pair of quotes
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			if in {
				words = append(words, word.String())
				word.Reset()
				in = false
			}
		case c == '\'' || c == '"':
			in = true
			end, err := quotedWord(s, i, &word)
			if err != nil {
				return nil, err
			}
			i = end
		case c == '\\':
			if i++; i == len(s) {
				return nil, errors.New("it ends in a backslash")
			}
			in = true
			word.WriteByte(s[i])
		case c == '#' && comments:
			next := strings.IndexByte(s[i:], '\n')
			if next < 0 {
				i = len(s)
			} else {
				i += next
			}
			if in {
				words = append(words, word.String())
				word.Reset()
				in = false
			}
		default:
			in = true
			word.WriteByte(c)
		}
	}
	if in {
		words = append(words, word.String())
	}
	return words, nil
}

// quotedWord reads from the quote at s[at] and returns where the other one is.
func quotedWord(s string, at int, word *strings.Builder) (int, error) {
	quote := s[at]
	for i := at + 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == quote:
			return i, nil
		case c == '\\' && quote == '"' && i+1 < len(s):
			if next := s[i+1]; next == '"' || next == '\\' {
				i++
			}
			word.WriteByte(s[i])
		default:
			word.WriteByte(c)
		}
	}
	return 0, errors.New("a quote is not closed")
}
