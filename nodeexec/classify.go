package nodeexec

import (
	"strings"

	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// messages is the one table of what the shim, ssh, limactl and sudo say when
// a command does not start, the most telling first: a refused host key also
// prints "Connection closed".
var messages = []struct {
	transport inventory.Transport // "" for all
	text      string
	kind      Kind
	remedy    string // appended to the line
}{
	{"", "over the limit of", KindTooLong, ""},
	{"", "is not installed on this machine", KindUnavailable, ""},
	{"", "node-exec: ", KindInvalid, ""},

	{inventory.TransportLima, "does not exist", KindVMMissing, ""},
	{inventory.TransportLima, "is stopped", KindVMStopped, ""},

	{"", "REMOTE HOST IDENTIFICATION HAS CHANGED", KindHostKey, "the host key is not the known one: verify it, then remove the old one with ssh-keygen -R"},
	{"", "Host key verification failed", KindHostKey, "; the key is unknown or refused: verify it and add it to known_hosts, or accept new keys (accept-new)"},
	{"", "No matching host key", KindHostKey, ""},
	{"", "Permission denied (", KindAuth, ""},
	{"", "Too many authentication failures", KindAuth, ""},

	{"", "Could not resolve hostname", KindUnreachable, ""},
	{"", "Connection refused", KindUnreachable, ""},
	{"", "Connection timed out", KindUnreachable, ""},
	{"", "Operation timed out", KindUnreachable, ""},
	{"", "No route to host", KindUnreachable, ""},
	{"", "Network is unreachable", KindUnreachable, ""},
	{"", "kex_exchange_identification", KindUnreachable, ""},
	{"", "banner exchange", KindUnreachable, ""},
	{"", "Connection closed", KindUnreachable, ""},
	{"", "Connection reset", KindUnreachable, ""},
	{"", "Timeout, server", KindUnreachable, ""},
	{"", "client_loop: send disconnect", KindUnreachable, ""},
	{"", "Broken pipe", KindUnreachable, ""},

	{"", "hostname contains invalid characters", KindInvalid, ""},
	{"", "Bad configuration option", KindInvalid, ""},
	{"", "unknown option", KindInvalid, ""},
	{"", "command-line: line", KindInvalid, ""},

	{"", "sudo: ", KindSudo, "; nestor needs passwordless sudo there (NOPASSWD)"},
	{"", "sudo: not found", KindSudo, ""},
	{"", "level=fatal", KindProtocol, ""},
}

// classify says why a command never started, from what was written on stderr
// and the shim's exit code. The detail is one line.
func classify(t inventory.Target, exitCode int, stderr string) (Kind, string) {
	lines := strings.FieldsFunc(stderr, func(r rune) bool { return r == '\n' || r == '\r' })
	for _, m := range messages {
		if m.transport != "" && m.transport != t.Transport {
			continue
		}
		for i := len(lines) - 1; i >= 0; i-- {
			if !strings.Contains(lines[i], m.text) {
				continue
			}
			if strings.HasPrefix(lines[i], "@") { // ssh frames its warning in @
				return m.kind, m.remedy
			}
			return m.kind, strings.TrimPrefix(oneLine(lines[i]), "node-exec: "+t.Node+": ") + m.remedy
		}
	}
	last := lastLine(stderr)
	if last != "" {
		last = ": " + last
	}
	switch {
	case exitCode == 0:
		return KindProtocol, "the transport returned 0 but ran nothing" + last
	case exitCode == 255 && t.Transport == inventory.TransportSSH:
		return KindUnreachable, "ssh ended with 255" + last
	}
	return KindProtocol, "the command did not start" + last
}

// transient says whether a failed connection is worth another try: the node
// was there and hung up before it said who it is, as sshd does when too many
// connect at once (MaxStartups).
func transient(stderr string) bool {
	return strings.Contains(stderr, "kex_exchange_identification") || strings.Contains(stderr, "Connection reset by peer")
}

// staleSocket says whether it was the control socket that failed, not the node.
func staleSocket(stderr string) bool {
	return strings.Contains(stderr, "mux_client") || strings.Contains(stderr, "Control socket connect") ||
		strings.Contains(stderr, "ControlSocket") || strings.Contains(stderr, "master is dead") || strings.Contains(stderr, "unix_listener")
}
