package inventory

import (
	"iter"
	"strings"
)

// Options of ssh(1), OpenSSH 10: those that take a value, and those that do not.
const (
	sshValued = "bceilmopBDEFIJLOPQRSWw"
	sshFlags  = "1246aACfgGkKMnNqsTtvVxXyY"
)

// sshOption is one option among ssh's arguments. Its name is the keyword of
// ssh_config(5) where it has one ("-p 22" and "-o port=22" are both "port"),
// else the letter with its dash.
type sshOption struct {
	name, value string
	word        string // as it was written
	problem     string // why ssh would not read the word as an option; "" is well
}

var sshKeyword = map[byte]string{'p': "port", 'l': "user", 'J': "proxyjump", 'i': "identityfile", 'F': "-F"}

// sshOptions walks arguments as ssh's getopt does.
func sshOptions(args []string) iter.Seq[sshOption] {
	return func(yield func(sshOption) bool) {
		for i := 0; i < len(args); i++ {
			word := args[i]
			if len(word) < 2 || word[0] != '-' || word == "--" {
				if !yield(sshOption{word: word, problem: "is no option of ssh, which would read it as the host"}) {
					return
				}
				continue
			}
			for j := 1; j < len(word); j++ {
				o := sshOption{name: "-" + word[j:j+1], word: word}
				valued := strings.IndexByte(sshValued, word[j]) >= 0
				switch {
				case strings.IndexByte(sshFlags, word[j]) >= 0:
				case !valued:
					o.problem = "is no option of ssh"
				case j < len(word)-1:
					o.value = word[j+1:]
				case i+1 == len(args):
					o.problem = "lacks its value"
				default: // the value is the next word
					i++
					o.value = args[i]
				}
				if valued && o.problem == "" {
					o = o.keyword(word[j])
				}
				if !yield(o) {
					return
				}
				if valued || o.problem != "" {
					break
				}
			}
		}
	}
}

// keyword names an option by its keyword of ssh_config.
func (o sshOption) keyword(letter byte) sshOption {
	if name, ok := sshKeyword[letter]; ok {
		o.name = name
		return o
	}
	if letter == 'o' {
		line := strings.TrimLeft(o.value, " \t")
		end := strings.IndexAny(line, " \t=")
		if end < 0 {
			end = len(line)
		}
		o.name = strings.ToLower(line[:end])
		o.value = strings.Trim(strings.TrimPrefix(strings.TrimLeft(line[end:], " \t"), "="), " \t\"")
	}
	return o
}
