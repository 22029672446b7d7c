package nodes_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/nodes"
)

// childDir asks this test binary to start a bench like a test does, say
// "ready" and wait: to see what is left when it is killed.
const childDir = "BENCH_NODES_TEST_CHILD"

func TestChild(t *testing.T) {
	if os.Getenv(childDir) == "" {
		return // only the other process has something to do here
	}
	b := nodes.Start(t, nodes.Spec{Nodes: []nodes.Node{{Name: "node1"}}})
	fmt.Println("ready", b.Dir)
	time.Sleep(5 * time.Minute)
}

func needRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() == 0 {
		return
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("NOT RUN: %v", nodes.ErrNeedsRoot)
	}
	t.Skipf("NOT RUN: %v", nodes.ErrNeedsRoot)
}

// stateOf reads what the tests need of a bench's state file.
func stateOf(t *testing.T, dir string) (s struct {
	Uplink     string
	Outer, Hub struct{ PID int }
	Members    []struct{ Init struct{ PID int } }
}) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, "state.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(content, &s))
	require.NotEmpty(t, s.Uplink)
	return s
}

func gone(t *testing.T, uplink string, pids ...int) bool {
	t.Helper()
	if _, err := net.InterfaceByName(uplink); err == nil {
		return false
	}
	for _, pid := range pids {
		if syscall.Kill(pid, 0) == nil {
			return false
		}
	}
	return true
}

// However a test's process ends, its bench ends with it.
func TestLeash(t *testing.T) {
	needRoot(t)
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, "-test.run=^TestChild$")
	cmd.Env = append(os.Environ(), childDir+"=1")
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill() })
	var dir string
	for lines := bufio.NewScanner(stdout); dir == "" && lines.Scan(); {
		dir, _ = strings.CutPrefix(lines.Text(), "ready ")
		if dir == lines.Text() {
			dir = ""
		}
	}
	require.NotEmpty(t, dir)
	s := stateOf(t, dir)
	require.False(t, gone(t, s.Uplink))
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	assert.Eventually(t, func() bool { return gone(t, s.Uplink, s.Hub.PID, s.Members[0].Init.PID) }, 30*time.Second, 20*time.Millisecond)

	// Files are what a killed process leaves, and Down removes them.
	require.NoError(t, nodes.Down(context.Background(), dir))
	assert.NoDirExists(t, dir)
}

func TestUpAndDown(t *testing.T) {
	needRoot(t)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	dir := filepath.Join(t.TempDir(), "bench")
	t.Cleanup(func() { assert.NoError(t, nodes.Down(context.Background(), dir)) })
	require.NoError(t, nodes.Down(ctx, dir), "nothing there is no error")
	spec := nodes.Spec{Fast: true, Nodes: []nodes.Node{
		{Name: "node1", Files: map[string]string{"/etc/bytes": "\xff\x00"}}, {Name: "node2", Shell: "dash"},
	}}

	b, err := nodes.Up(ctx, dir, spec)
	require.NoError(t, err)
	assert.Equal(t, "node2\n", login(t, b, "node2", "", "hostname").stdout)
	assert.Equal(t, "\xff\x00", login(t, b, "node1", "", "cat /etc/bytes").stdout)
	first := stateOf(t, dir)

	again, err := nodes.Up(ctx, dir, spec)
	require.NoError(t, err)
	assert.Equal(t, first, stateOf(t, dir), "the same bench, running, is left alone")
	assert.Equal(t, b.Node("node1"), again.Node("node1"))

	other := nodes.Spec{Nodes: []nodes.Node{{Name: "node1"}}}
	_, err = nodes.Up(ctx, dir, other)
	assert.ErrorContains(t, err, "another bench that runs")

	// Two at once share nothing.
	second := nodes.Start(t, spec)
	assert.NotEqual(t, b.Node("node1").Addr, second.Node("node1").Addr)
	assert.Equal(t, "node1\n", login(t, second, "node1", "", "hostname").stdout)

	// One that crashed is replaced.
	require.NoError(t, syscall.Kill(first.Hub.PID, syscall.SIGKILL))
	require.Eventually(t, func() bool { return gone(t, first.Uplink, first.Hub.PID) }, 30*time.Second, 20*time.Millisecond)
	b, err = nodes.Up(ctx, dir, spec)
	require.NoError(t, err)
	replaced := stateOf(t, dir)
	assert.NotEqual(t, first.Hub.PID, replaced.Hub.PID)
	assert.Equal(t, "node1\n", login(t, b, "node1", "", "hostname").stdout)

	// A dead node makes the bench a broken one: the next Up mends it.
	require.NoError(t, b.Kill(ctx, "node1"))
	b, err = nodes.Up(ctx, dir, spec)
	require.NoError(t, err)
	assert.Equal(t, "node1\n", login(t, b, "node1", "", "hostname").stdout)

	// What somebody else put there stays.
	s := stateOf(t, dir)
	foreign := filepath.Join(dir, "notes.txt")
	require.NoError(t, os.WriteFile(foreign, []byte("mine"), 0o600))
	require.NoError(t, nodes.Down(ctx, dir))
	assert.True(t, gone(t, s.Uplink, s.Hub.PID, s.Outer.PID, s.Members[0].Init.PID, s.Members[1].Init.PID), "at once")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
	_, err = nodes.Up(ctx, dir, spec)
	assert.ErrorContains(t, err, "not empty and holds no bench")
	assert.FileExists(t, foreign)
	require.NoError(t, os.Remove(foreign))
	assert.Equal(t, "node1\n", login(t, second, "node1", "", "hostname").stdout, "the other bench runs on")
}

// A process that took the pid of one of ours is none of ours.
func TestDownSparesStrangers(t *testing.T) {
	stranger := exec.Command("sleep", "60")
	require.NoError(t, stranger.Start())
	t.Cleanup(func() {
		stranger.Process.Kill()
		stranger.Wait()
	})
	dir := t.TempDir()
	pid := fmt.Sprintf(`{"pid": %d, "start": "1"}`, stranger.Process.Pid)
	state := `{"schema": "nestor.bench/v1", "namespaced": true, "spec": {"Nodes": [{"Name": "node1"}]},
		"outer": ` + pid + `, "hub": ` + pid + `, "members": [{"addr": "", "init": ` + pid + `}], "made": ["id"]}`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "state.json"), []byte(state), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "other"), nil, 0o600))
	require.NoError(t, nodes.Down(context.Background(), dir))
	assert.NoError(t, stranger.Process.Signal(syscall.Signal(0)))
	assert.FileExists(t, filepath.Join(dir, "other"))

	escape := strings.Replace(state, `"made": ["id"]`, `"made": ["../x"]`, 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "state.json"), []byte(escape), 0o600))
	assert.ErrorContains(t, nodes.Down(context.Background(), dir), "no file of the bench")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "state.json"), []byte("{}"), 0o600))
	assert.ErrorContains(t, nodes.Down(context.Background(), dir), "not a state of")
}

func TestLoopback(t *testing.T) {
	b := nodes.Loopback(t, 2)
	require.Len(t, b.Nodes, 2)
	machine, err := os.Hostname()
	require.NoError(t, err)
	for _, name := range []string{"node1", "node2"} {
		got := login(t, b, name, "", "hostname")
		assert.Equal(t, machine+"\n", got.stdout, got.stderr)
	}
	assert.NotEqual(t, b.Node("node1").Port, b.Node("node2").Port)
	inventory, err := os.ReadFile(b.InventoryPath)
	require.NoError(t, err)
	assert.Contains(t, string(inventory), `target_kind: "prod"`, "this machine is no bench to be wiped")

	again, err := nodes.UpLoopback(context.Background(), b.Dir, 2)
	require.NoError(t, err)
	assert.Equal(t, b.Node("node2"), again.Node("node2"), "left alone")

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s := begin(t, b, "node1")
	here, err := b.Exec(ctx, "node1", "hostname")
	require.NoError(t, err)
	assert.Equal(t, machine+"\n", string(here), "Exec is this machine's")
	require.NoError(t, syscall.Kill(s.pid, 0))
	require.NoError(t, b.Kill(ctx, "node1"))
	assert.Equal(t, 255, s.end(t))
	assert.Eventually(t, func() bool { return syscall.Kill(s.pid, 0) != nil }, 20*time.Second, 20*time.Millisecond)
	assert.Contains(t, login(t, b, "node1", "", "true").stderr, "Connection refused")
	assert.Zero(t, login(t, b, "node2", "", "true").code)
	require.NoError(t, b.StopSSHD(ctx, "node2"))
	assert.Contains(t, login(t, b, "node2", "", "true").stderr, "Connection refused")
}

// An ordinary user can have loopback nodes too: seen on a node, where there is
// an ordinary user with a login shell.
func TestLoopbackWithoutRoot(t *testing.T) {
	needRoot(t)
	program := filepath.Join(t.TempDir(), "bench-nodes")
	build := exec.Command("go", "build", "-o", program, "./cmd/bench-nodes")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	binary, err := os.ReadFile(program)
	require.NoError(t, err)
	b := nodes.Start(t, nodes.Spec{Fast: true, Nodes: []nodes.Node{{
		Name: "host", User: "debian", Sudo: nodes.SudoFree, Files: map[string]string{"/usr/local/bin/bench-nodes": string(binary)},
	}}})
	_, err = b.Exec(context.Background(), "host", "chmod", "755", "/usr/local/bin/bench-nodes")
	require.NoError(t, err)

	got := login(t, b, "host", "", `set -e
		PATH=$PATH:/usr/local/bin
		bench-nodes loopback up --dir $HOME/nodes --count 2
		port=$(sed -n 's/.*ansible_port: //p' nodes/inventory.yaml | tail -n 1)
		ssh -F none -i nodes/id -o UserKnownHostsFile=nodes/known_hosts -o BatchMode=yes -p $port 127.0.0.1 id -un
		bench-nodes down nodes
		ls -A | grep nodes || echo clean
		pgrep -u debian -f '[n]odes/node' || echo none`)
	assert.Equal(t, result{0, "/home/debian/nodes/inventory.yaml\ndebian\nclean\nnone\n", got.stderr}, got)

	got = login(t, b, "host", "", "bench-nodes up --dir x")
	assert.Equal(t, result{3, "", "bench-nodes: namespaced nodes need root on linux\n"}, got)
	got = login(t, b, "host", "", "sudo bench-nodes up --dir x")
	assert.Equal(t, result{3, "", "bench-nodes: namespaced nodes need root on linux, and this root lacks CAP_MKNOD\n"}, got)
	// On this node sshd is what somebody forgot to install.
	_, err = b.Exec(context.Background(), "host", "rm", "/usr/sbin/sshd")
	require.NoError(t, err)
	got = login(t, b, "host", "", "bench-nodes loopback up --dir x")
	assert.Equal(t, result{3, "", "bench-nodes: sshd is missing: install the package openssh-server\n"}, got)
	got = login(t, b, "host", "", "bench-nodes loopback up")
	assert.Equal(t, 2, got.code)
	assert.FileExists(t, "/usr/sbin/sshd", "the machine keeps its own")
}

// BenchmarkFifty starts 50 nodes and takes them down again.
func BenchmarkFifty(b *testing.B) {
	needRoot(b)
	var spec nodes.Spec
	for i := range 50 {
		spec.Nodes = append(spec.Nodes, nodes.Node{Name: fmt.Sprint("node", i+1)})
	}
	ctx := context.Background()
	dir := filepath.Join(b.TempDir(), "bench")
	var up, down time.Duration
	for b.Loop() {
		start := time.Now()
		bench, err := nodes.Up(ctx, dir, spec)
		require.NoError(b, err)
		up += time.Since(start)
		start = time.Now()
		require.NoError(b, bench.Down(ctx))
		down += time.Since(start)
	}
	b.ReportMetric(up.Seconds()/float64(b.N), "s/up")
	b.ReportMetric(down.Seconds()/float64(b.N), "s/down")
}
