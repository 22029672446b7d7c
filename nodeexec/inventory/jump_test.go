package inventory

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestJump(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{nil, ""},
		{[]string{"-o", "ForwardAgent=yes", "-C"}, ""},
		{[]string{"-J", "bastion"}, "bastion"},
		{[]string{"-CJadmin@bastion:2222"}, "admin@bastion:2222"},
		{[]string{"-o", "ProxyJump=outer,inner"}, "outer"},
		{[]string{"-oproxyjump outer"}, "outer"},
		{[]string{"-J", "first", "-o", "ProxyCommand=ssh -W %h:%p second"}, "first"},
		{[]string{"-o", "ProxyCommand=ssh -W %h:%p second", "-J", "first"}, "second"},
		{[]string{"-o", "ProxyJump=none", "-J", "late"}, ""},
		{[]string{"-o", "ProxyCommand none"}, ""},
		{[]string{"-o", "ProxyCommand=/usr/bin/ssh -i 'my key' -p 2222 -l admin -W %h:%p -- bastion"}, "admin@bastion:2222"},
		{[]string{"-o", "ProxyCommand=exec ssh -q admin@bastion nc -q 1 -p 9 %h %p"}, "admin@bastion"},
		{[]string{"-o", "ProxyCommand=ssh bastion -p 2222 -W %h:%p"}, "bastion:2222"},
		{[]string{"-o", "ProxyCommand=nc -X 5 -x proxy:1080 %h %p"}, "nc -X 5 -x proxy:1080 %h %p"},
		{[]string{"-o", "ProxyCommand=ssh 'open quote"}, "ssh 'open quote"},
		{[]string{"-o", "ProxyCommand=ssh -q"}, "ssh -q"},
	} {
		assert.Equal(t, tc.want, Target{Transport: TransportSSH, SSHArgs: tc.args}.Jump(), "%q", tc.args)
		assert.Empty(t, Target{Transport: TransportLima, SSHArgs: tc.args}.Jump())
	}
}

func TestJumpIsTheSameForTwoNodesBehindIt(t *testing.T) {
	a := Target{Transport: TransportSSH, SSHArgs: []string{"-o", "ProxyCommand=ssh -o UserKnownHostsFile=a -W %h:%p root@bastion"}}
	b := Target{Transport: TransportSSH, SSHArgs: []string{"-o", "ProxyCommand=ssh -o UserKnownHostsFile=b -W %h:%p root@bastion"}}
	assert.Equal(t, a.Jump(), b.Jump())
}
