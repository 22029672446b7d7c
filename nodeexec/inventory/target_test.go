package inventory_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

func TestCheckRefusesSSHArgsThatDivertTheCommand(t *testing.T) {
	target := func(args ...string) inventory.Target {
		return inventory.Target{Node: "n", Transport: inventory.TransportSSH, Host: "192.0.2.1", SSHArgs: args}
	}
	for _, args := range [][]string{{"-f"}, {"-N"}, {"-n"}, {"-4nq"}, {"-W", "a:1"}, {"-Oexit"}, {"-s"}, {"-V"},
		{"-o", "StdinNull=yes"}, {"-oSessionType=none"}, {"-o", "RemoteCommand id"}, {"-o", "ForkAfterAuthentication=yes"}} {
		err := target(args...).Check()
		assert.ErrorIs(t, err, inventory.ErrUnsafe, "%q", args)
	}
	for _, args := range [][]string{{"-4", "-q", "-C"}, {"-J", "a"}, {"-o", "StdinNull=no"}, {"-o", "RemoteCommand=none"}, {"-o", "SessionType=default"}, {"-vvv"}} {
		assert.NoError(t, target(args...).Check(), "%q", args)
	}
}
