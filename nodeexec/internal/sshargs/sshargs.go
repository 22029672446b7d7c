// Package sshargs reads arguments of ssh(1) as ssh itself does, to tell what
// they ask for: Options walks ["-p", "22", "-o", "ProxyJump=gate"], Host takes
// the host out of "me@gate:2222". It judges nothing; a word that ssh would
// not read as an option comes out with the reason.
package sshargs

import (
	"iter"
	"strings"
)

// Options of ssh(1), OpenSSH 10: those that take a value, and those that do not.
const (
	valued = "bceilmopBDEFIJLOPQRSWw"
	flags  = "1246aACfgGkKMnNqsTtvVxXyY"
)

// Option is one option among ssh's arguments. Its name is the keyword of
// ssh_config(5) in lower case where it has one ("-p 22" and "-o Port=22" are
// both "port"), else the letter with its dash.
type Option struct {
	Name, Value string
	Word        string // the argument that it stands in
	Problem     string // why ssh would not read Word as an option; "" is well
}

var keywords = map[byte]string{'p': "port", 'l': "user", 'J': "proxyjump", 'i': "identityfile", 'F': "-F"}

// Options walks arguments as ssh's getopt does.
func Options(args []string) iter.Seq[Option] {
	return func(yield func(Option) bool) {
		for i := 0; i < len(args); i++ {
			word := args[i]
			if len(word) < 2 || word[0] != '-' || word == "--" {
				if !yield(Option{Word: word, Problem: "is no option of ssh, which would read it as the host"}) {
					return
				}
				continue
			}
			for j := 1; j < len(word); j++ {
				o := Option{Name: "-" + word[j:j+1], Word: word}
				takesValue := strings.IndexByte(valued, word[j]) >= 0
				switch {
				case strings.IndexByte(flags, word[j]) >= 0:
				case !takesValue:
					o.Problem = "is no option of ssh"
				case j < len(word)-1:
					o.Value = word[j+1:]
				case i+1 == len(args):
					o.Problem = "lacks its value"
				default: // the value is the next word
					i++
					o.Value = args[i]
				}
				if takesValue && o.Problem == "" {
					o = o.keyword(word[j])
				}
				if !yield(o) {
					return
				}
				if takesValue || o.Problem != "" {
					break
				}
			}
		}
	}
}

// keyword names an option by its keyword of ssh_config.
func (o Option) keyword(letter byte) Option {
	if name, ok := keywords[letter]; ok {
		o.Name = name
		return o
	}
	if letter == 'o' {
		line := strings.TrimLeft(o.Value, " \t")
		end := strings.IndexAny(line, " \t=")
		if end < 0 {
			end = len(line)
		}
		if end > 0 { // an empty line of configuration is no error to ssh
			o.Name = strings.ToLower(line[:end])
		}
		o.Value = strings.Trim(strings.TrimPrefix(strings.TrimLeft(line[end:], " \t"), "="), " \t\"")
	}
	return o
}

// Host takes the host out of [scheme://][user@]host[:port], as ProxyJump and
// ssh's destination have it. An IPv6 address with a port stands in brackets.
func Host(destination string) string {
	s := strings.TrimSpace(destination)
	if _, rest, ok := strings.Cut(s, "://"); ok {
		s = rest
	}
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		s = s[i+1:]
	}
	if rest, ok := strings.CutPrefix(s, "["); ok {
		s, _, _ = strings.Cut(rest, "]")
		return s
	}
	if strings.Count(s, ":") == 1 {
		s, _, _ = strings.Cut(s, ":")
	}
	return s
}
