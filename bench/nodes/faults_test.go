package nodes_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/nodes"
)

// session is an ssh that has a long command on a node.
type session struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
	ended  chan error
	pid    int // of the command, as the node counts
}

func begin(t *testing.T, b *nodes.Bench, name string) *session {
	t.Helper()
	s := &session{cmd: exec.Command("ssh", append([]string{"-o", "ServerAliveInterval=1", "-o", "ServerAliveCountMax=2"},
		append(b.SSHArgs(name), "echo $$; exec sleep 300")...)...), ended: make(chan error, 1)}
	s.cmd.Stderr = &s.stderr
	stdout, err := s.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, s.cmd.Start())
	t.Cleanup(func() { s.cmd.Process.Kill() })
	_, err = fmt.Fscanln(stdout, &s.pid)
	require.NoError(t, err)
	go func() { s.ended <- s.cmd.Wait() }()
	return s
}

// end waits for the session to end by itself and gives ssh's exit code.
func (s *session) end(t *testing.T) int {
	t.Helper()
	select {
	case <-s.ended:
	case <-time.After(time.Minute):
		t.Fatal("the session goes on")
	}
	return s.cmd.ProcessState.ExitCode()
}

func TestFaults(t *testing.T) {
	b := nodes.Start(t, nodes.Spec{Fast: true, Nodes: []nodes.Node{
		{Name: "killed"}, {Name: "cut"}, {Name: "stopped"}, {Name: "frozen"}, {Name: "jump"}, {Name: "inner", Behind: "jump"},
	}})
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	up := func(name string) { assert.Zero(t, login(t, b, name, "", "true").code, name) }

	t.Run("a node dies", func(t *testing.T) {
		s := begin(t, b, "killed")
		ps, err := b.Exec(ctx, "killed", "ps", "-e", "-o", "args=")
		require.NoError(t, err)
		assert.Contains(t, string(ps), "sleep 300", "Exec sees what runs")
		require.NoError(t, b.Kill(ctx, "killed"))
		assert.Equal(t, 255, s.end(t))
		got := login(t, b, "killed", "", "true")
		assert.Equal(t, 255, got.code)
		assert.Contains(t, got.stderr, "Connection refused")
		_, err = b.Exec(ctx, "killed", "true")
		assert.ErrorContains(t, err, "dead")
		up("cut")
	})

	for _, name := range []string{"cut", "inner"} {
		t.Run("the link of "+name+" goes down and up", func(t *testing.T) {
			s := begin(t, b, name)
			require.NoError(t, b.LinkDown(ctx, name))
			assert.Equal(t, 255, s.end(t))
			assert.Contains(t, s.stderr.String(), "Timeout, server")
			require.NoError(t, b.LinkUp(ctx, name))
			up(name)
		})
	}

	t.Run("sshd stops and starts", func(t *testing.T) {
		s := begin(t, b, "stopped")
		require.NoError(t, b.StopSSHD(ctx, "stopped"))
		assert.Contains(t, login(t, b, "stopped", "", "true").stderr, "Connection refused")
		ps, err := b.Exec(ctx, "stopped", "ps", "-e", "-o", "args=")
		require.NoError(t, err)
		assert.Contains(t, string(ps), "sleep 300", "open sessions live on")
		require.NoError(t, b.StartSSHD(ctx, "stopped"))
		up("stopped")
		require.NoError(t, s.cmd.Process.Kill())
	})

	t.Run("sshd freezes and thaws", func(t *testing.T) {
		require.NoError(t, b.Freeze(ctx, "frozen"))
		c, err := net.DialTimeout("tcp", net.JoinHostPort(b.Node("frozen").Addr, "22"), 10*time.Second)
		require.NoError(t, err, "the kernel still answers")
		require.NoError(t, c.SetReadDeadline(time.Now().Add(500*time.Millisecond)))
		_, err = c.Read(make([]byte, 1))
		assert.Error(t, err, "and nothing is said")
		c.Close()
		require.NoError(t, b.Thaw(ctx, "frozen"))
		up("frozen")
	})

	t.Run("nobody", func(t *testing.T) {
		for what, err := range map[string]error{
			"Kill": b.Kill(ctx, "nobody"), "LinkDown": b.LinkDown(ctx, "nobody"), "Freeze": b.Freeze(ctx, "nobody"),
		} {
			assert.ErrorContains(t, err, "nobody", what)
		}
		_, err := b.Exec(ctx, "nobody", "true")
		assert.ErrorContains(t, err, "nobody")
		_, err = b.Exec(ctx, "cut", "sh", "-c", "echo why >&2; exit 3")
		assert.ErrorContains(t, err, "exit status 3: why")
	})
	assert.Zero(t, strings.Count(b.Log("cut"), "fatal"), b.Log("cut"))
}
