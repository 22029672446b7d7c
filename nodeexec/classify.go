package nodeexec

import (
	"regexp"
	"strings"

	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// message is one thing that ssh says when it gives up, with exit code 255.
type message struct {
	line *regexp.Regexp
	kind Kind
	// echo: it follows from an earlier message where there is one, as a jump
	// host that fails makes the connection through it fail too.
	echo bool
}

// messages is the one table of what ssh says. The patterns are whole
// beginnings of lines: banners and login profiles print what they like.
var messages = []message{
	{regexp.MustCompile(`^Host key verification failed`), KindHostKey, false},
	{regexp.MustCompile(`^Unable to negotiate with .*: no matching host key type`), KindHostKey, false},
	{regexp.MustCompile(`^(\S+: )?Permission denied \(`), KindAuth, false},
	{regexp.MustCompile(`^Received disconnect from .*Too many authentication failures`), KindAuth, false},

	{regexp.MustCompile(`^ssh: (connect to host|Could not resolve hostname) `), KindUnreachable, false},
	{regexp.MustCompile(`^channel \d+: open failed: `), KindUnreachable, false},
	{regexp.MustCompile(`^Unable to negotiate with `), KindUnreachable, false},
	{regexp.MustCompile(`^(kex_exchange_identification|ssh_exchange_identification|banner exchange): `), KindUnreachable, true},
	{regexp.MustCompile(`^Connection (closed by|reset by|timed out)`), KindUnreachable, true},
	{regexp.MustCompile(`^(Received disconnect|Disconnected) from `), KindUnreachable, true},

	// Said of a connection that was up: the command may have started.
	{regexp.MustCompile(`^Connection to \S+ closed by remote host`), KindLost, false},
	{regexp.MustCompile(`^(Timeout, server |client_loop: |packet_write_wait: |Read from remote host |ssh_dispatch_run_fatal: )`), KindLost, false},

	{regexp.MustCompile(`^hostname contains invalid characters|^unknown option |^Bad (port|owner or permissions) |^Cannot execute command-line`), KindInvalid, false},
	{regexp.MustCompile(`^command-line: line |^\S+: line \d+: Bad configuration option|: terminating, \d+ bad configuration options`), KindInvalid, false},
}

// classify says why no start record came, from the shim's exit code, which
// tells who speaks, and from what was written on stderr. The detail is one line.
func classify(t inventory.Target, sudo bool, exitCode int, stderr string) (Kind, string) {
	lines := strings.FieldsFunc(stderr, func(r rune) bool { return r == '\n' || r == '\r' })
	last := func(text string) string {
		for i := len(lines) - 1; i >= 0; i-- {
			if strings.Contains(lines[i], text) {
				return oneLine(lines[i])
			}
		}
		return ""
	}
	if line := last("node-exec: "); exitCode == 125 && strings.HasPrefix(line, "node-exec: ") {
		return shimFailure(strings.TrimPrefix(strings.TrimPrefix(line, "node-exec: "), t.Node+": "))
	}
	if line := last("level=fatal"); exitCode == 1 && t.Transport == inventory.TransportLima && line != "" {
		switch {
		case strings.Contains(line, "does not exist"):
			return KindVMMissing, line
		case strings.Contains(line, "is stopped"):
			return KindVMStopped, line
		}
		return KindProtocol, line
	}
	if exitCode == 255 && t.Transport != inventory.TransportLocal {
		return sshFailure(lines)
	}
	if line := last("sudo"); sudo && exitCode > 0 && line != "" {
		if exitCode == 126 || exitCode == 127 {
			return KindSudo, line + "; sudo is not installed there"
		}
		return KindSudo, line + "; nestor needs passwordless sudo there (NOPASSWD)"
	}
	said := lastLine(stderr)
	if said != "" {
		said = ": " + said
	}
	if exitCode == 0 {
		return KindProtocol, "the transport returned 0 but ran nothing" + said
	}
	return KindProtocol, "the command did not start" + said
}

// shimFailure is what the shim itself refused.
func shimFailure(line string) (Kind, string) {
	switch {
	case strings.Contains(line, "bytes encoded, over the limit of "):
		return KindTooLong, line
	case strings.Contains(line, "is not installed on this machine"):
		return KindUnavailable, line
	}
	return KindInvalid, line
}

// silent is the detail where ssh gave no reason.
const silent = "ssh ended with 255 and no reason"

// sshFailure reads what ssh said from its end, where its reason stands.
func sshFailure(lines []string) (Kind, string) {
	kind, detail := Kind(""), ""
	for i := len(lines) - 1; i >= 0; i-- {
		for _, m := range messages {
			if !m.line.MatchString(lines[i]) {
				continue
			}
			if !m.echo {
				return m.kind, remedy(m.kind, oneLine(lines[i]), lines[:i])
			}
			kind, detail = m.kind, oneLine(lines[i])
			break
		}
	}
	if kind == "" { // whatever profiles and banners printed is none
		return KindUnreachable, silent
	}
	return kind, detail
}

// remedy adds to ssh's reason what the caller can do about it.
func remedy(kind Kind, reason string, before []string) string {
	if kind != KindHostKey {
		return reason
	}
	for _, line := range before {
		if strings.HasPrefix(line, "@") && strings.Contains(line, "REMOTE HOST IDENTIFICATION HAS CHANGED") {
			return "the host key is not the known one: verify it, then remove the old one with ssh-keygen -R"
		}
	}
	return strings.TrimSuffix(reason, ".") + "; the key is unknown or refused: verify it and add it to known_hosts, or accept new keys (accept-new)"
}

var (
	hungUp = regexp.MustCompile(`(?m)^(kex_exchange_identification: |Connection reset by )`)
	muxed  = regexp.MustCompile(`(?m)^(mux_client|muxclient|Control socket connect|ControlSocket |ControlPath |unix_listener|.*master is dead)`)
)

// transient says whether a failed connection is worth another try: the node
// was there and hung up before it said who it is, as sshd does when too many
// connect at once (MaxStartups).
func transient(stderr string) bool { return hungUp.MatchString(stderr) }

// staleSocket says whether it was the control socket that failed, not the node.
func staleSocket(stderr string) bool { return muxed.MatchString(stderr) }
