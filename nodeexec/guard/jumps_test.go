package guard_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/nodeexec/guard"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

func TestJumps(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		ssh  guard.SSH
		want []inventory.Target // Host, User and SSHArgs alone
	}{
		"none":             {},
		"one":              {ssh: guard.SSH{ProxyJump: "gate"}, want: []inventory.Target{{Host: "gate"}}},
		"several, in full": {ssh: guard.SSH{ProxyJump: "me@gate:2222,[2001:db8::1]:22"}, want: []inventory.Target{{Host: "gate", User: "me"}, {Host: "2001:db8::1"}}},
		"a configuration goes with a jump": {
			args: []string{"-4", "-F", "/etc/gate.conf"}, ssh: guard.SSH{ProxyJump: "ssh://me@gate"},
			want: []inventory.Target{{Host: "gate", User: "me", SSHArgs: []string{"-F", "/etc/gate.conf"}}},
		},
		"a command": {args: []string{"-F", "/x"}, ssh: guard.SSH{ProxyCommand: "ssh -W %h:%p gate"}, want: []inventory.Target{{Host: "gate"}}},
		"nc":        {ssh: guard.SSH{ProxyCommand: "nc %h %p"}},
		"unknown":   {ssh: guard.SSH{ProxyCommand: "socat - tcp:gate:22"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := guard.Jumps(inventory.Target{Node: "node1", SSHArgs: c.args}, c.ssh)
			for i := range got {
				require.Equal(t, "node1", got[i].Node)
				require.Equal(t, inventory.TransportSSH, got[i].Transport)
				got[i] = inventory.Target{Host: got[i].Host, User: got[i].User, SSHArgs: got[i].SSHArgs}
			}
			require.Equal(t, c.want, got)
		})
	}
}
