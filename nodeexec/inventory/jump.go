package inventory

import (
	"path"
	"strings"

	"github.com/nestor-tools/nestor/nodeexec/internal/sshargs"
	"github.com/nestor-tools/nestor/nodeexec/inventory/internal/shlex"
)

// Jump names the first machine on the way to the node, as far as the
// inventory's own ssh arguments tell: "user@host:22" as ProxyJump has it, the
// destination of a ProxyCommand that is an ssh, else the text of the
// ProxyCommand. "" is the direct way, or one that only ssh's own
// configuration knows. Nodes with the same Jump share that machine.
func (t Target) Jump() string {
	if t.Transport != TransportSSH {
		return ""
	}
	for o := range sshargs.Options(t.SSHArgs) {
		switch { // ssh keeps the first of the two that it is given
		case o.Problem != "" || o.Value == "":
		case o.Name == "proxyjump" || o.Name == "proxycommand":
			if strings.EqualFold(o.Value, "none") {
				return ""
			}
			if o.Name == "proxyjump" {
				first, _, _ := strings.Cut(o.Value, ",")
				return first
			}
			return proxied(o.Value)
		}
	}
	return ""
}

// proxied names where a ProxyCommand connects to.
func proxied(command string) string {
	words, err := shlex.Split(command)
	if err == nil && len(words) > 0 && words[0] == "exec" {
		words = words[1:]
	}
	if err != nil || len(words) == 0 || path.Base(words[0]) != "ssh" {
		return command
	}
	var host, user, port string
	args := words[1:]
	for i, w := range args {
		if w == "--" { // the word after it is the host
			args = append(args[:i:i], args[i+1:]...)
			break
		}
	}
	for o := range sshargs.Options(args) {
		switch {
		case o.Problem == "" && o.Name == "user" && user == "":
			user = o.Value + "@"
		case o.Problem == "" && o.Name == "port" && port == "":
			port = ":" + o.Value
		case o.Problem != "" && host != "": // the command that it runs there
			return user + host + port
		case o.Problem != "":
			host = o.Word
		}
	}
	if host == "" {
		return command
	}
	return user + host + port
}
