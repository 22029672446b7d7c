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
		{"255 and silence", ssh, 255, "", KindUnreachable, silent},
		{"a jump host's key", ssh, 255, "Host key verification failed.\r\nkex_exchange_identification: Connection closed by remote host\r\nConnection closed by UNKNOWN port 65535\r\n", KindHostKey, "accept new keys"},
		{"a jump host that finds nobody", ssh, 255, "channel 0: open failed: connect failed: Connection refused\r\nstdio forwarding failed\r\nConnection closed by UNKNOWN port 65535\r\n", KindUnreachable, "channel 0: open failed"},
		{"no host key in common", ssh, 255, "Unable to negotiate with 192.0.2.1 port 22: no matching host key type found. Their offer: ssh-dss\n", KindHostKey, "no matching host key type"},
		{"too many keys", ssh, 255, "Received disconnect from 192.0.2.1 port 22:2: Too many authentication failures\r\nDisconnected from 192.0.2.1 port 22\r\n", KindAuth, "Too many"},
		{"ssh -vvv", ssh, 255, "debug1: connect to address ::1 port 22: Connection refused\ndebug1: Authentications that can continue: publickey\ndebug1: No more authentication methods to try.\nroot@192.0.2.1: Permission denied (publickey).\n", KindAuth, "root@192.0.2.1"},
		{"banner, then refused key", ssh, 255, "Host key verification failed? Call us.\nWarning: Connection refused\nroot@192.0.2.1: Permission denied (publickey).\n", KindAuth, "root@192.0.2.1"},
		{"banner, then hung up", ssh, 255, "  Permission denied (publickey) to strangers\nConnection closed by 192.0.2.1 port 22\n", KindUnreachable, "Connection closed"},
		{"profile's noise and no reason", ssh, 255, "curl: (7) Failed to connect to x port 80: Connection refused\n/root/.bashrc: line 3: foo: command not found\n", KindUnreachable, silent},
		{"up, then cut", ssh, 255, "motd\nConnection to 192.0.2.1 closed by remote host.\r\n", KindLost, "closed by remote host"},
		{"up, then silent", ssh, 255, "Timeout, server 192.0.2.1 not responding.\r\n", KindLost, "not responding"},
		{"up, then reset", ssh, 255, "Read from remote host 192.0.2.1: Connection reset by peer\r\nclient_loop: send disconnect: Broken pipe\r\n", KindLost, "client_loop"},
		{"noise like ssh's, then sudo", ssh, 1, "Host key verification failed.\nroot@x: Permission denied (publickey).\nssh: connect to host x port 1: Connection refused\nsudo: a password is required\n", KindSudo, "NOPASSWD"},
		{"noise like the shim's", ssh, 1, "node-exec: node1: fake\nsudo: il est nécessaire de saisir un mot de passe\n", KindSudo, "mot de passe"},
		{"noise like limactl's", lima, 1, "the file does not exist\nit is stopped\nsudo: a password is required\n", KindSudo, "password"},
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
			kind, detail := classify(inventory.Target{Node: "node1", Transport: tc.transport}, tc.kind == KindSudo, tc.code, tc.stderr)
			assert.Equal(t, tc.kind, kind)
			assert.Contains(t, detail, tc.detail)
			assert.NotContains(t, detail, "\n")
			assert.NotContains(t, detail, "node-exec:")
		})
	}
}

func TestClassifyWithoutSudo(t *testing.T) {
	kind, detail := classify(inventory.Target{Node: "node1", Transport: inventory.TransportSSH}, false, 1, "sudo: use it wisely\n")
	assert.Equal(t, KindProtocol, kind)
	assert.Contains(t, detail, "did not start")
}

// A command may have started once ssh says that a connection which was up
// broke: it must not be run again.
func TestTransient(t *testing.T) {
	for stderr, want := range map[string]bool{
		"kex_exchange_identification: Connection closed by remote host\n":                 true,
		"kex_exchange_identification: read: Connection reset by peer\n":                   true,
		"motd\r\nConnection reset by 192.0.2.1 port 22\r\n":                               true,
		"Read from remote host 192.0.2.1: Connection reset by peer\r\n":                   false,
		"curl: (56) Recv failure: Connection reset by peer\n":                             false,
		"ssh: connect to host 192.0.2.1 port 22: Connection refused\n":                    false,
		"Connection to 192.0.2.1 closed by remote host.\r\nconnection reset by 192.0.2.1": false,
	} {
		assert.Equal(t, want, transient(stderr), stderr)
	}
}
