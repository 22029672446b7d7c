package main

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/nodeexec"
)

// script is a local shell script, ready to be read from stdin on a node.
type script struct {
	shell []string // the interpreter, up to where the script's arguments follow
	text  []byte
}

// shells read a script from stdin when told -s.
var shells = []string{"sh", "bash", "dash", "ash", "ksh", "mksh", "zsh"}

// parseScript takes the interpreter from the first line, sh without one, and
// makes of the script one compound command: the shell has to read it to its
// end before it runs anything, so that a script that a lost connection cut
// short runs not at all, and a command in it that reads stdin does not eat
// the rest of the script.
func parseScript(b []byte) (script, error) {
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	b = bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n"))
	b = bytes.TrimSuffix(b, []byte("\r"))
	if bytes.IndexByte(b, 0) >= 0 {
		return script{}, errors.New("holds a NUL byte: no shell script")
	}
	shell := []string{"sh"}
	if line, ok := bytes.CutPrefix(b, []byte("#!")); ok {
		line, _, _ = bytes.Cut(line, []byte("\n"))
		shell = strings.Fields(string(line))
		if len(shell) > 1 && path.Base(shell[0]) == "env" {
			shell = shell[1:]
		}
		if len(shell) == 0 || !slices.Contains(shells, path.Base(shell[0])) {
			return script{}, fmt.Errorf("its first line asks for %q: only scripts for %s are sent", strings.TrimSpace(string(line)), strings.Join(shells, ", "))
		}
	}
	text := slices.Concat([]byte("{ :; "), b, []byte("\n\n} </dev/null\n"))
	return script{shell: append(shell, "-s", "--"), text: text}, nil
}

// on is the command for one more node.
func (c execCommand) on() nodeexec.Command {
	run := c.Command
	if c.script != nil {
		run.Stdin = bytes.NewReader(c.script)
	}
	return run
}
