// Package shims holds all the bash and sh of nestor and hands it out as text,
// so that one binary carries it: node-exec.sh, the only place that knows how
// a node is reached, and the scripts that run on the nodes themselves.
package shims

import (
	_ "embed" // the scripts are part of the binary
	"strings"
)

// NodeExec is node-exec.sh, run with bash.
//
//go:embed node-exec.sh
var NodeExec string

//go:embed wrap.sh
var wrap string

// Wrap is wrap.sh without its comments: it travels with every command.
var Wrap = stripComments(wrap)

// stripComments drops the comment lines and the blank ones of a script that
// holds no here-document and no string over several lines.
func stripComments(script string) string {
	var b strings.Builder
	for line := range strings.Lines(script) {
		code := strings.TrimSpace(line)
		if code != "" && !strings.HasPrefix(code, "#") {
			b.WriteString(code + "\n")
		}
	}
	return b.String()
}
