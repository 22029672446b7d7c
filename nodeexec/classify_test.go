package nodeexec

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

func TestClassify(t *testing.T) {
	const ssh, lima = inventory.TransportSSH, inventory.TransportLima
	for _, tc := range []struct {
		name      string
		transport inventory.Transport
		code      int
		stderr    string
		kind      Kind
		detail    string // a part of it
	}{
		{"refused", ssh, 255, "ssh: connect to host 127.0.0.1 port 1: Connection refused\r\n", KindUnreachable, "port 1: Connection refused"},
		{"timed out", ssh, 255, "ssh: connect to host 192.0.2.1 port 22: Connection timed out\n", KindUnreachable, "timed out"},
		{"no such name", ssh, 255, "ssh: Could not resolve hostname nope: Name or service not known\n", KindUnreachable, "Could not resolve"},
		{"wrong key", ssh, 255, "Warning: Permanently added\nroot@node1: Permission denied (publickey).\n", KindAuth, "Permission denied (publickey)"},
		{"unknown host key", ssh, 255, "No ED25519 host key is known for node1 and you have requested strict checking.\nHost key verification failed.\n", KindHostKey, "accept new keys"},
		{"changed host key", ssh, 255, "@@@@@@@\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n@@@@@@@\nHost key verification failed.\r\n", KindHostKey, "ssh-keygen -R"},
		{"too many at once", ssh, 255, "kex_exchange_identification: Connection closed by remote host\nConnection closed by 127.0.0.1 port 22\n", KindUnreachable, "kex_exchange"},
		{"an option of another ssh", ssh, 255, "command-line: line 0: Bad configuration option: foo\n", KindInvalid, "Bad configuration option"},
		{"255 and silence", ssh, 255, "", KindUnreachable, "ssh ended with 255"},
		{"stopped", lima, 1, `time="2026-01-01T00:00:00Z" level=fatal msg="instance \"node1\" is stopped, run limactl start"` + "\n", KindVMStopped, "is stopped"},
		{"missing", lima, 1, `time="2026-01-01T00:00:00Z" level=fatal msg="instance \"node1\" does not exist"` + "\n", KindVMMissing, "does not exist"},
		{"sudo", ssh, 1, "motd\nsudo: a password is required\n", KindSudo, "NOPASSWD"},
		{"no sudo", ssh, 127, "sh: 1: exec: sudo: not found\n", KindSudo, "not found"},
		{"no limactl", lima, 125, "node-exec: node1: limactl is not installed on this machine\n", KindUnavailable, "limactl is not installed"},
		{"too long", ssh, 125, "node-exec: node1: the command takes 130000 bytes encoded, over the limit of 122880; send a script on stdin: x\n", KindTooLong, "the command takes 130000"},
		{"nothing ran", lima, 0, "hello\n", KindProtocol, "returned 0 but ran nothing: hello"},
		{"no sh", ssh, 127, "exec: sh: not found\n", KindProtocol, "did not start"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			kind, detail := classify(inventory.Target{Node: "node1", Transport: tc.transport}, tc.code, tc.stderr)
			assert.Equal(t, tc.kind, kind)
			assert.Contains(t, detail, tc.detail)
			assert.NotContains(t, detail, "\n")
			assert.NotContains(t, detail, "node-exec:")
		})
	}
}
