package inventory

import (
	"path"
	"strings"
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
	for o := range sshOptions(t.SSHArgs) {
		switch { // ssh keeps the first of the two that it is given
		case o.problem != "" || o.value == "":
		case o.name == "proxyjump" || o.name == "proxycommand":
			if strings.EqualFold(o.value, "none") {
				return ""
			}
			if o.name == "proxyjump" {
				first, _, _ := strings.Cut(o.value, ",")
				return first
			}
			return proxied(o.value)
		}
	}
	return ""
}

// proxied names where a ProxyCommand connects to.
func proxied(command string) string {
	words, err := splitShell(command)
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
	for o := range sshOptions(args) {
		switch {
		case o.problem == "" && o.name == "user" && user == "":
			user = o.value + "@"
		case o.problem == "" && o.name == "port" && port == "":
			port = ":" + o.value
		case o.problem != "" && host != "": // the command that it runs there
			return user + host + port
		case o.problem != "":
			host = o.word
		}
	}
	if host == "" {
		return command
	}
	return user + host + port
}
