package nodeexec_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/lima"
	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// installLima puts the stand-in for limactl first on this process's PATH.
func installLima(t *testing.T) *lima.Lima {
	l := lima.Install(t)
	for _, kv := range l.Environ(os.Environ()) {
		if k, v, _ := strings.Cut(kv, "="); k == "PATH" || k == "LIMA_HOME" {
			t.Setenv(k, v)
		}
	}
	return l
}

func vm(name string) inventory.Target {
	return inventory.Target{Node: name, Kind: inventory.Lima, Transport: inventory.TransportLima, Host: name}
}

func TestOverLima(t *testing.T) {
	l := installLima(t)
	l.Add(t, "node1", lima.VM{})
	l.Add(t, "quiet", lima.VM{Stderr: "mux_client_request_session: session request failed: Session open refused by peer\n"})
	l.Add(t, "stopped", lima.VM{Status: "Stopped"})
	l.Add(t, "nothing", lima.VM{Fault: lima.NothingRun})
	l.Add(t, "dead", lima.VM{Fault: lima.Unreachable})
	l.Add(t, "hung", lima.VM{Fault: lima.Hang})
	l.Add(t, "noisy", lima.VM{})
	require.NoError(t, os.WriteFile(filepath.Join(l.GuestHome("noisy"), ".bash_profile"), []byte("seq 100; seq 100 >&2\n"), 0o600))

	t.Run("argv from go", func(t *testing.T) {
		checkFidelity(t, arguments(), fromGo(nodeexec.Open(vm("node1"), nodeexec.Options{})))
	})
	t.Run("argv from bash", func(t *testing.T) {
		checkFidelity(t, arguments(), fromBash(vm("node1"), ""))
	})

	t.Run("results", func(t *testing.T) {
		for _, name := range []string{"node1", "noisy", "quiet"} {
			for _, code := range []string{"0", "1", "125", "255"} {
				res, err := nodeexec.Open(vm(name), nodeexec.Options{}).Run(context.Background(), nodeexec.Command{Argv: []string{"sh", "-c", "pwd; echo level=fatal >&2; exit " + code}})
				require.NoError(t, err)
				assert.Equal(t, "/\n", res.Stdout.String())
				assert.Equal(t, "level=fatal\n", res.Stderr.String())
				assert.Equal(t, code, strconv.Itoa(res.ExitCode))
			}
		}
		res, err := nodeexec.Open(vm("node1"), nodeexec.Options{}).Run(context.Background(), nodeexec.Command{Argv: []string{"X;touch " + l.Home + "/pwned;Y=1", "true"}})
		require.NoError(t, err)
		assert.Equal(t, 127, res.ExitCode)
		assert.NoFileExists(t, filepath.Join(l.Home, "pwned"))
	})

	t.Run("errors", func(t *testing.T) {
		for name, kind := range map[string]nodeexec.Kind{"stopped": nodeexec.KindVMStopped, "missing": nodeexec.KindVMMissing, "nothing": nodeexec.KindProtocol, "dead": nodeexec.KindUnreachable} {
			_, err := nodeexec.Open(vm(name), nodeexec.Options{}).Run(context.Background(), nodeexec.Command{Argv: []string{"true"}, Timeout: patience})
			assert.Equal(t, kind, nodeexec.KindOf(err), "%s: %v", name, err)
			assert.NotContains(t, err.Error(), "\n")
		}
		_, err := nodeexec.Open(vm("hung"), nodeexec.Options{}).Run(context.Background(), nodeexec.Command{Argv: []string{"true"}, Timeout: time.Second})
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = nodeexec.Open(vm("node1"), nodeexec.Options{}).Run(context.Background(), nodeexec.Command{Argv: []string{"echo", strings.Repeat("'", 20_000)}})
		assert.Equal(t, nodeexec.KindTooLong, nodeexec.KindOf(err), "limactl quotes twice: %v", err)
	})

	t.Run("without limactl", func(t *testing.T) {
		t.Setenv("PATH", "/usr/bin:/bin")
		_, err := nodeexec.Open(vm("node1"), nodeexec.Options{}).Run(context.Background(), nodeexec.Command{Argv: []string{"true"}})
		assert.Equal(t, nodeexec.KindUnavailable, nodeexec.KindOf(err), err)
		assert.ErrorContains(t, err, "limactl is not installed")
	})

	t.Run("a deadline ends the command and limactl's ssh", func(t *testing.T) {
		for _, stdin := range []bool{false, true} {
			c := nodeexec.Command{Argv: []string{"sh", "-c", "sleep 4711 & sleep 4711"}, Timeout: time.Second}
			if stdin {
				r, w := io.Pipe()
				defer w.Close()
				c.Stdin = r
			}
			_, err := nodeexec.Open(vm("node1"), nodeexec.Options{}).Run(context.Background(), c)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.ErrorContains(t, err, "remote: killed")
			assert.Eventually(t, func() bool {
				return exec.Command("pgrep", "-f", "^sleep 4711|"+l.Home).Run() != nil
			}, patience, 50*time.Millisecond, "nothing is left")
		}
	})
}

func TestVMShIsLimaOrAnError(t *testing.T) {
	l := installLima(t)
	l.Add(t, "node1", lima.VM{})
	inv := filepath.Join(t.TempDir(), "hosts.yaml")
	require.NoError(t, os.WriteFile(inv, []byte("all: {vars: {target_kind: prod}, hosts: {node1: {ansible_host: 127.0.0.1, ansible_port: 1}, node2: {ansible_host: 127.0.0.1, ansible_port: 1}}}\n"), 0o600))
	shell := func(script string) (stdout, stderr string, code int) {
		cmd := exec.Command("bash", "-c", ". ../shims/bench-compat.sh; "+script)
		cmd.Env = append(os.Environ(), "NESTOR_INVENTORY="+inv, "NESTOR_BIN="+nestor(t))
		var out, errs bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("echo from the script"), &out, &errs
		_ = cmd.Run() // the exit code says it
		return out.String(), errs.String(), cmd.ProcessState.ExitCode()
	}
	out, _, code := shell(`vm_sh node1 sh -c 'echo "$0 $SSH_CONNECTION"'`)
	assert.Equal(t, 0, code)
	assert.Contains(t, out, "sh 127.0.0.1", "inside the guest")
	out, _, _ = shell(`vm_sh node1 bash -s`)
	assert.Equal(t, "from the script\n", out)
	_, stderr, code := shell(`vm_sh node2 true`)
	assert.Equal(t, 125, code, "node2 is production only")
	assert.Contains(t, stderr, "level=fatal")
	assert.NotContains(t, stderr, "ssh")
}
