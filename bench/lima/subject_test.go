package lima_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/lima"
)

// subject is the limactl that a test is run against: the stand-in or, by hand,
// the real one. The same tests show that the two behave alike:
//
//	bench/lima/bench.sh up node1
//	limactl --tty=false create --name idle bench/lima/.work/node1.yaml   # without its extra disks
//	NESTOR_LIMACTL=$(command -v limactl) NESTOR_LIMACTL_VM=node1 NESTOR_LIMACTL_STOPPED=idle \
//	  go test -v -run Alike ./bench/lima
type subject struct {
	*lima.Lima
	real             bool
	running, stopped string // names of instances
}

// missing is the name of no instance.
const missing = "nobody"

func subjectOf(t *testing.T) subject {
	t.Helper()
	if program := os.Getenv("NESTOR_LIMACTL"); program != "" {
		home := os.Getenv("LIMA_HOME")
		if home == "" {
			dir, err := os.UserHomeDir()
			require.NoError(t, err)
			home = filepath.Join(dir, ".lima")
		}
		s := subject{&lima.Lima{Bin: filepath.Dir(program), Home: home}, true, os.Getenv("NESTOR_LIMACTL_VM"), os.Getenv("NESTOR_LIMACTL_STOPPED")}
		require.NotEmpty(t, s.running, "NESTOR_LIMACTL_VM names a running instance")
		require.NotEmpty(t, s.stopped, "NESTOR_LIMACTL_STOPPED names a stopped instance")
		t.Logf("the real limactl, %s", program)
		return s
	}
	s := subject{lima.Install(t), false, "node1", "stopped"}
	s.Add(t, s.running, lima.VM{})
	s.Add(t, s.stopped, lima.VM{Status: "Stopped"})
	return s
}

// staleSocket puts a socket that nobody listens on where limactl's ssh looks
// for the connection it shares, as a master that was killed leaves one.
func (s subject) staleSocket(t *testing.T) {
	t.Helper()
	file := filepath.Join(s.Home, s.running, "ssh.sock")
	if _, err := os.Stat(file); err == nil {
		out, err := exec.Command("ssh", "-F", "none", "-S", file, "-O", "exit", "nobody").CombinedOutput()
		require.NoError(t, err, string(out))
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: file, Net: "unix"})
	require.NoError(t, err)
	listener.SetUnlinkOnClose(false)
	require.NoError(t, listener.Close())
	require.FileExists(t, file)
}
