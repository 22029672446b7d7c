package nodeexec_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/nodes"
)

// Bash scripts and the binary as callers, on real nodes.
func TestCallers(t *testing.T) {
	f := startFleet(t, nodes.Spec{Fast: true, Nodes: []nodes.Node{{Name: "node1"}, {Name: "node2", Shell: "fish", User: "debian", Sudo: nodes.SudoFree}, {Name: "asks", User: "debian", Sudo: nodes.SudoPassword}}})
	bin := nestor(t)
	shell := func(t *testing.T, script string) (stdout, stderr string, code int) {
		cmd := exec.Command("bash", "-c", "set -u; . ../shims/node-exec.sh\n"+script)
		cmd.Env = append(os.Environ(), "NESTOR_INVENTORY="+f.InventoryPath, "NESTOR_BIN="+bin)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		_ = cmd.Run() // the exit code says it
		return out.String(), errs.String(), cmd.ProcessState.ExitCode()
	}

	t.Run("the first promise", func(t *testing.T) {
		out, stderr, code := shell(t, `node_exec node1 -- hostname`)
		assert.Equal(t, "node1\n", out, stderr)
		assert.Equal(t, 0, code)
	})

	t.Run("two nodes in a row, and a script on stdin", func(t *testing.T) {
		out, stderr, _ := shell(t, `node_exec node1 hostname; node_exec node2 hostname; node_exec node1 bash -s one two <<<'echo "$(hostname) $#"'`)
		assert.Equal(t, "node1\nnode2\nnode1 2\n", out, stderr)
	})

	t.Run("in a while read loop", func(t *testing.T) {
		out, stderr, _ := shell(t, `while read -r n; do node_exec -n "$n" -- hostname; done <<<$'node1\nnode2\nnode1'`)
		assert.Equal(t, "node1\nnode2\nnode1\n", out, stderr)
	})

	t.Run("one node's variables exported while another is called", func(t *testing.T) {
		export := fmt.Sprintf("export NODE_EXEC_NODE=node1 NODE_EXEC_TRANSPORT=ssh NODE_EXEC_HOST=%s; ", f.Node("node1").Addr)
		out, stderr, code := shell(t, export+`node_exec node2 hostname`)
		assert.Equal(t, 125, code)
		assert.Empty(t, out)
		assert.Contains(t, stderr, "node-exec: node2: refused")
	})

	t.Run("a kind that was not meant", func(t *testing.T) {
		out, stderr, code := shell(t, `node_exec --target-kind prod node1 hostname`)
		assert.Equal(t, 125, code)
		assert.Empty(t, out)
		assert.Contains(t, stderr, "lima")
	})

	t.Run("an unknown node", func(t *testing.T) {
		_, stderr, code := shell(t, `node_exec node9 hostname`)
		assert.Equal(t, 125, code)
		assert.Contains(t, stderr, "node9")
	})

	run := func(t *testing.T, stdin io.Reader, args ...string) (stdout, stderr string, state *os.ProcessState) {
		cmd := exec.Command(bin, args...)
		cmd.Env = append(os.Environ(), "NESTOR_INVENTORY="+f.InventoryPath)
		var out, errs bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &out, &errs
		_ = cmd.Run() // the exit code says it
		return out.String(), errs.String(), cmd.ProcessState
	}

	t.Run("the binary's exit codes", func(t *testing.T) {
		for _, code := range []int{0, 3, 255} {
			_, stderr, state := run(t, nil, "exec", "node1", "--", "sh", "-c", fmt.Sprint("exit ", code))
			assert.Equal(t, code, state.ExitCode())
			assert.Empty(t, stderr)
		}
		for _, tc := range []struct {
			args []string
			says string
		}{
			{[]string{"exec", "asks", "--sudo", "--", "id"}, "[sudo]"},
			{[]string{"exec", "node1", "--timeout", "1s", "--", "sleep", "600"}, "[deadline]"},
			{[]string{"exec", "node1", "--target-kind", "prod", "--", "id"}, "lima"},
			{[]string{"exec", "node9", "--", "id"}, "node9"},
			{[]string{"exec", "node1"}, "command"},
		} {
			out, stderr, state := run(t, nil, tc.args...)
			if tc.args[len(tc.args)-1] != "node1" {
				assert.Equal(t, 125, state.ExitCode(), tc.args)
			}
			assert.Empty(t, out)
			assert.Contains(t, stderr, tc.says)
			assert.Equal(t, 1, strings.Count(stderr, "\n"), "one line: %q", stderr)
		}
	})

	t.Run("1 GiB in constant memory", func(t *testing.T) {
		cmd := exec.Command(bin, "exec", "-i", f.InventoryPath, "node1", "--", "head", "-c", "1073741824", "/dev/zero")
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		_, err = io.CopyN(io.Discard, out, 1<<30)
		require.NoError(t, err)
		peak := peakMemory(t, cmd.Process.Pid)
		rest, err := io.Copy(io.Discard, out)
		require.NoError(t, err)
		require.NoError(t, cmd.Wait())
		assert.Zero(t, rest)
		t.Logf("peak RSS %d MiB", peak>>20)
		assert.Less(t, peak, int64(64<<20))
	})

	t.Run("nothing is left on the nodes", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for _, name := range []string{"node1", "node2", "asks"} {
			out, err := f.Exec(ctx, name, "ps", "-e", "-o", "args=")
			require.NoError(t, err)
			assert.NotContains(t, string(out), "sleep")
		}
	})
}

// peakMemory is the most that a running process has ever held, in bytes. The
// maximum that wait4 reports is no use: it counts the process that forked it.
func peakMemory(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			var kib int64
			_, err := fmt.Sscanf(rest, "%d kB", &kib)
			require.NoError(t, err)
			return kib << 10
		}
	}
	t.Fatalf("no VmHWM in the status of %d", pid)
	return 0
}
