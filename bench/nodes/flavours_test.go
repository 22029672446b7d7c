package nodes_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/nodes"
)

type result struct {
	code           int
	stdout, stderr string
}

// login runs a command line on a node with plain ssh.
func login(t testing.TB, b *nodes.Bench, name, stdin, line string) result {
	t.Helper()
	return program(t, stdin, "ssh", append(b.SSHArgs(name), line)...)
}

func program(t testing.TB, stdin, name string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

func TestFlavours(t *testing.T) {
	spec := nodes.Flavours()
	spec.Fast = true
	b := nodes.Start(t, spec)

	t.Run("each is its own", func(t *testing.T) {
		machine, err := os.Hostname()
		require.NoError(t, err)
		seen := map[string]string{}
		for _, n := range b.Nodes {
			if n.Fault != "" {
				continue
			}
			got := login(t, b, n.Name, "", "hostname; uname -n; cat /etc/hostname /etc/machine-id; id -un")
			require.Zero(t, got.code, "%s: %s", n.Name, got.stderr)
			lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
			lines = lines[len(lines)-5:]
			assert.Equal(t, []string{n.Name, n.Name, n.Name}, lines[:3])
			assert.Equal(t, n.User, lines[4])
			assert.NotEqual(t, machine, lines[0])
			assert.Regexp(t, "^[0-9a-f]{32}$", lines[3])
			assert.Empty(t, seen[lines[3]], "machine-id of another node")
			seen[lines[3]] = n.Name
		}
	})

	for name, want := range map[string]string{
		"bash": `^5[^:]*::\n$`, "zsh": `^:5[^:]*:\n$`, "fish": `^::3[^:]*\n$`, "dash": `^::\n$`, "no-bash": `^::\n$`, "busybox": `^::\n$`,
	} {
		t.Run("login shell of "+name, func(t *testing.T) {
			got := login(t, b, name, "", `echo "$BASH_VERSION:$ZSH_VERSION:$FISH_VERSION"`)
			assert.Regexp(t, want, got.stdout, got.stderr)
			assert.Empty(t, got.stderr)
		})
	}

	for _, name := range []string{"noisy", "noisy-zsh", "noisy-fish", "noisy-dash"} {
		t.Run(name, func(t *testing.T) {
			got := login(t, b, name, "", "echo out; echo err >&2")
			stdout := strings.Split(strings.TrimSpace(got.stdout), "\n")
			assert.Len(t, stdout, nodes.NoisyLines+1)
			assert.Equal(t, "out", stdout[len(stdout)-1])
			assert.Equal(t, nodes.NoisyLines, strings.Count(got.stderr, "warning, line"))
			assert.Contains(t, got.stderr, "Authorised use only", "the banner")
		})
	}

	t.Run("forced command", func(t *testing.T) {
		got := login(t, b, "forced", "", `printf '[%s]\n' "a b"; exit 7`)
		assert.Equal(t, result{7, "this session is being recorded\n[a b]\n", "this session is being recorded\n"}, got)
		got = login(t, b, "forced", "in", "cat")
		assert.Equal(t, "this session is being recorded\nin", got.stdout, "stdin passes")
	})

	t.Run("sudo", func(t *testing.T) {
		got := login(t, b, "sudo-free", "", "sudo -n id -un")
		assert.Equal(t, result{0, "root\n", ""}, got)
		got = login(t, b, "sudo-password", "", "sudo -n id -un")
		assert.Equal(t, 1, got.code)
		assert.Contains(t, got.stderr, "a password is required")
		got = login(t, b, "sudo-password", nodes.Password+"\n", "sudo -S id -un")
		assert.Zero(t, got.code, got.stderr)
		assert.Equal(t, "root\n", got.stdout)
		got = login(t, b, "sudo-none", "", "sudo -n id -un")
		assert.Equal(t, 1, got.code)
	})

	t.Run("behind jump hosts", func(t *testing.T) {
		one, two := b.Node("inner1"), b.Node("inner2")
		assert.Equal(t, one.Addr, two.Addr, "one address behind both")
		assert.NotEqual(t, b.Node("jump1").Addr, b.Node("jump2").Addr)
		assert.Equal(t, "inner1\n", login(t, b, "inner1", "", "hostname").stdout)
		assert.Equal(t, "inner2\n", login(t, b, "inner2", "", "hostname").stdout)
		c, err := net.DialTimeout("tcp", net.JoinHostPort(one.Addr, "22"), 2*time.Second)
		if err == nil {
			c.Close()
		}
		assert.Error(t, err, "nobody has the address on this side")
		_, err = b.Exec(context.Background(), "jump1", "timeout", "2", "bash", "-c", "exec 3<>/dev/tcp/"+b.Node("jump2").Addr+"/22")
		assert.NoError(t, err, "jump hosts see each other")
		_, err = b.Exec(context.Background(), "inner1", "timeout", "2", "bash", "-c", "exec 3<>/dev/tcp/"+b.Node("bash").Addr+"/22")
		assert.Error(t, err, "an inner node sees its jump host only")
	})

	t.Run("without bash", func(t *testing.T) {
		for _, name := range []string{"no-bash", "busybox"} {
			assert.Equal(t, 127, login(t, b, name, "", "bash -c true").code)
			assert.Equal(t, 127, login(t, b, name, "", "/bin/bash -c true").code)
		}
		assert.Contains(t, login(t, b, "busybox", "", "ls --help 2>&1").stdout, "BusyBox")
		assert.NotContains(t, login(t, b, "no-bash", "", "ls --help 2>&1").stdout, "BusyBox")
		assert.FileExists(t, "/bin/bash", "the machine keeps its own")
	})

	for name, want := range map[string]string{
		"refused-key":    "Permission denied (publickey)",
		"wrong-host-key": "Host key verification failed",
		"no-listener":    "Connection refused",
	} {
		t.Run(name, func(t *testing.T) {
			got := login(t, b, name, "", "true")
			assert.Equal(t, 255, got.code)
			assert.Contains(t, got.stderr, want)
		})
	}

	t.Run("an inventory of some", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "inventory.yaml")
		require.NoError(t, b.WriteInventory(file, "inner2"))
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Contains(t, string(content), `"inner2":`)
		assert.NotContains(t, string(content), `"inner1":`)
		assert.Error(t, b.WriteInventory(file, "nobody"))
	})

	// The inventory is Ansible's to read: each node answers to its name.
	t.Run("inventory", func(t *testing.T) {
		if _, err := exec.LookPath("ansible"); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatal("NOT RUN: ansible is missing: install the package ansible-core")
			}
			t.Skip("NOT RUN: ansible is missing: install the package ansible-core")
		}
		cmd := exec.Command("ansible", "-i", b.InventoryPath, "bash:fish:inner1:inner2:sudo-free", "-m", "raw", "-a", "hostname")
		cmd.Env = append(os.Environ(), "ANSIBLE_LOCAL_TEMP="+t.TempDir(), "ANSIBLE_HOME="+t.TempDir(), "ANSIBLE_SSH_ARGS=-C")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		for _, name := range []string{"bash", "fish", "inner1", "inner2", "sudo-free"} {
			assert.Regexp(t, fmt.Sprintf(`(?m)^%s \| CHANGED.*\n%s\r?$`, name, name), string(out))
		}
	})
}

// What a node does stays on the node.
func TestIsolation(t *testing.T) {
	b := nodes.Start(t, nodes.Spec{Fast: true, Nodes: []nodes.Node{
		{Name: "node1", Files: map[string]string{
			"/etc/rancher/k3s/k3s.yaml": "a: b\n",
			"/usr/local/bin/tool":       "#!/bin/sh\necho from tool\n",
			"/run/containerd/marker":    "here\n",
			"/etc/os-release":           "ID=alpine\n",
		}},
		{Name: "node2", Port: 2222},
	}})
	mark := filepath.Base(t.TempDir()) + fmt.Sprint(os.Getpid())
	for _, dir := range []string{"/root", "/tmp", "/run", "/etc", "/var/lib", "/home", "/dev/shm"} {
		file := filepath.Join(dir, "bench-"+mark)
		got := login(t, b, "node1", "", "echo x > "+file+" && cat "+file)
		assert.Equal(t, result{0, "x\n", ""}, got)
		assert.NoFileExists(t, file, "on the machine")
		assert.NotZero(t, login(t, b, "node2", "", "cat "+file).code, "on the other node")
	}
	assert.Equal(t, "a: b\nhere\nID=alpine\nfrom tool\n",
		login(t, b, "node1", "", "cat /etc/rancher/k3s/k3s.yaml /run/containerd/marker /etc/os-release; tool").stdout)

	for what, line := range map[string]string{
		"block devices":        "find /dev -type b | grep .",
		"making a device":      "mknod /tmp/disk b 7 0",
		"the machine's sysctl": "echo 1 > /proc/sys/kernel/printk",
		"the machine's /sys":   "echo 1 > /sys/kernel/uevent_seqnum",
		"the machine's /root":  "ls -A /root | grep -v -e '^.ssh$' -e '^bench-'",
	} {
		assert.NotZero(t, login(t, b, "node1", "", line).code, what)
	}
	ps := login(t, b, "node1", "", "ps -e -o comm=").stdout
	assert.Less(t, strings.Count(ps, "\n"), 12, "only the node's processes:\n%s", ps)
	assert.Regexp(t, `^Linux`, login(t, b, "node1", "", `sh -c 'uname; tty -s || test -e /dev/ptmx'`).stdout)
	tty := program(t, "", "ssh", append(append([]string{"-tt"}, b.SSHArgs("node1")...), "tty")...)
	assert.Equal(t, "/dev/pts/0\r\n", tty.stdout, "a terminal works: %s", tty.stderr)
}

// An orphan of the node is reaped, so that looking for leftovers shows none.
func TestReaping(t *testing.T) {
	b := nodes.Start(t, nodes.Spec{Fast: true, Nodes: []nodes.Node{{Name: "node1"}}})
	require.Zero(t, login(t, b, "node1", "", "(sleep 0.2 >/dev/null 2>&1 </dev/null &)").code)
	assert.Eventually(t, func() bool {
		out, err := b.Exec(context.Background(), "node1", "ps", "-e", "-o", "stat=,comm=")
		return err == nil && !strings.Contains(string(out), "sleep")
	}, 20*time.Second, 100*time.Millisecond)
}
