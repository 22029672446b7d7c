package lima_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/lima"
	"github.com/nestor-tools/nestor/bench/nodes"
)

// result is what one call of limactl left.
type result struct {
	code           int
	stdout, stderr string
}

type call struct {
	stdin string
	dir   string
	env   []string
}

func (c call) run(t *testing.T, l *lima.Lima, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(l.Bin, "limactl"), args...)
	cmd.Env = append(l.Environ(os.Environ()), c.env...)
	cmd.Dir = c.dir
	cmd.Stdin = strings.NewReader(c.stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// printArgs prints each argument, ended by NUL.
var printArgs = []string{"sh", "-c", `printf '%s\0' "$@"`, "sh"}

var hardArgs = []string{
	"plain", "", " ", "a b", "'", `"`, `\`, `\\`, `a\'b`, "$HOME", "$(id)", "`id`", "*", "?", "[a]", "~", "#", ";", "&", "|", "<", ">",
	"new\nline", "tab\t", "!", "!!", "-n", "--", "K=V", "K=a b", "é", "\xff\xfe", "\x01", "{a,b}", "%s", "(", ")",
}

// What limactl shell does, alike in the stand-in and in the real one.
func TestShellAlike(t *testing.T) {
	s := subjectOf(t)

	t.Run("argv arrives byte for byte", func(t *testing.T) {
		got := call{}.run(t, s.Lima, append(append([]string{"shell", s.running}, printArgs...), hardArgs...)...)
		require.Zero(t, got.code, got.stderr)
		assert.Equal(t, strings.Join(hardArgs, "\x00")+"\x00", got.stdout)
	})

	for name, tc := range map[string]struct {
		args []string
		call
		want result // stderr: a part of it; "" means none
	}{
		"leading assignments are environment": {
			args: []string{"--", "FOO=a b", "BAR=$X", "printenv", "FOO", "BAR"}, want: result{stdout: "a b\n$X\n"},
		},
		"left of = nothing is quoted": {
			args: []string{"--", "X;echo ran;Y=1", "true"},
			want: result{stdout: "ran\n", stderr: "X: command not found"},
		},
		"left of = a blank splits": {
			args: []string{"--", "A B=c", "true"}, want: result{code: 127, stderr: "A: command not found"},
		},
		"env protects an assignment": {
			args: []string{"--", "env", "--", "a=b", "printenv", "a"}, want: result{stdout: "b\n"},
		},
		"a first dash is an option of bash": {
			args: []string{"--", "-n"}, want: result{code: 2, stderr: "-c: option requires an argument"},
		},
		"only the first -- is dropped": {
			args: []string{"--", "--", "true"}, want: result{code: 2, stderr: "--: invalid option"},
		},
		"a later -- stays": {args: []string{"echo", "--", "x"}, want: result{stdout: "-- x\n"}},
		"flags after the name are the command's": {
			args: []string{"--workdir", "/tmp"}, want: result{code: 2, stderr: "bash"},
		},
		"exit code 0":               {args: []string{"true"}},
		"exit code 1":               {args: []string{"false"}, want: result{code: 1}},
		"exit code 3":               {args: []string{"sh", "-c", "exit 3"}, want: result{code: 3}},
		"exit code 255":             {args: []string{"sh", "-c", "exit 255"}, want: result{code: 255}},
		"no such command":           {args: []string{"no-such-command"}, want: result{code: 127, stderr: "command not found"}},
		"a directory is no command": {args: []string{"/etc"}, want: result{code: 126, stderr: "s a directory"}},
		"a signal is 255":           {args: []string{"sh", "-c", "kill -9 $$"}, want: result{code: 255}},
		"streams stay apart":        {args: []string{"sh", "-c", "echo out; echo err >&2"}, want: result{stdout: "out\n", stderr: "err\n"}},
		"stdin passes":              {args: []string{"cat"}, call: call{stdin: "a\x00b\n"}, want: result{stdout: "a\x00b\n"}},
		"without mounts it begins in the guest's home": {
			args: []string{"sh", "-c", `[ "$PWD" = "$HOME" ] && echo home`}, want: result{stdout: "home\n"},
		},
		"the client's environment stays behind": {
			args: []string{"printenv", "CLIENT_ONLY"}, call: call{env: []string{"CLIENT_ONLY=1"}}, want: result{code: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := tc.run(t, s.Lima, append([]string{"--tty=false", "shell", s.running}, tc.args...)...)
			assert.Equal(t, tc.want.code, got.code, got.stderr)
			assert.Equal(t, tc.want.stdout, got.stdout)
			if tc.want.stderr == "" {
				assert.Empty(t, got.stderr)
			}
			assert.Contains(t, got.stderr, tc.want.stderr)
		})
	}

	for name, tc := range map[string]struct {
		args []string
		want result
	}{
		"unknown instance": {
			[]string{"shell", missing, "true"},
			result{code: 1, stderr: "level=fatal msg=\"instance `" + missing + "` does not exist, run `limactl create " + missing + "` to create a new instance\"\n"},
		},
		"stopped instance": {
			[]string{"shell", s.stopped, "true"},
			result{code: 1, stderr: "level=fatal msg=\"instance `" + s.stopped + "` is stopped, run `limactl start " + s.stopped + "` to start the instance\"\n"},
		},
		"no instance named": {[]string{"shell"}, result{code: 1, stderr: "level=fatal msg=\"requires instance name as first argument\"\n"}},
		"unknown flag":      {[]string{"shell", "--nope", s.running}, result{code: 1, stderr: "level=fatal msg=\"unknown flag: --nope\"\n"}},
		"workdir":           {[]string{"shell", "--workdir", "/usr", s.running, "pwd"}, result{stdout: "/usr\n"}},
		"workdir absent": {
			[]string{"shell", "--workdir", "/no such", s.running, "pwd"},
			result{code: 1, stderr: "cd: /no such: No such file or directory\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := call{}.run(t, s.Lima, append([]string{"--tty=false"}, tc.args...)...)
			assert.Equal(t, tc.want.code, got.code, got.stderr)
			assert.Equal(t, tc.want.stdout, got.stdout)
			if tc.want.stderr == "" {
				assert.Empty(t, got.stderr)
			}
			assert.True(t, strings.HasSuffix(got.stderr, tc.want.stderr), got.stderr)
		})
	}

	t.Run("five megabytes of stdin arrive", func(t *testing.T) {
		sent := make([]byte, 5<<20)
		rand.Read(sent)
		got := call{stdin: string(sent)}.run(t, s.Lima, "shell", s.running, "cat")
		assert.Zero(t, got.code, got.stderr)
		assert.True(t, got.stdout == string(sent), "%d bytes of %d came back, or others", len(got.stdout), len(sent))
	})

	t.Run("list", func(t *testing.T) {
		got := call{}.run(t, s.Lima, "list", "--format", "{{.Status}} {{.Hostname}}", s.running, s.stopped)
		assert.Equal(t, result{0, "Running lima-" + s.running + "\nStopped lima-" + s.stopped + "\n", ""}, got)
		got = call{}.run(t, s.Lima, "list", "--format", "{{.Status}}", missing)
		assert.Equal(t, 1, got.code)
		assert.Contains(t, got.stderr, "level=warning msg=\"No instance matching "+missing+" found.\"")
		got = call{}.run(t, s.Lima, "list", s.running)
		assert.Regexp(t, `^NAME +STATUS +SSH +VMTYPE +ARCH +CPUS +MEMORY +DISK +DIR\n`+s.running+` +Running +127\.0\.0\.1:[0-9]+ +qemu +x86_64 `, got.stdout)
	})

	for name, tc := range map[string]struct {
		verb, instance string
		code           int
		stderr         string
	}{
		"start a running one": {"start", s.running, 0, "level=info msg=\"The instance `" + s.running + "` is already running. Run `limactl shell " + s.running + "` to open the shell.\"\n"},
		"stop a stopped one":  {"stop", s.stopped, 1, "level=fatal msg=\"expected status `Running`, got `Stopped` (maybe use `limactl stop -f`?)\"\n"},
		"stop none":           {"stop", missing, 1, "level=fatal msg=\"open " + s.Home + "/" + missing + "/lima.yaml: no such file or directory\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := call{}.run(t, s.Lima, "--tty=false", tc.verb, tc.instance)
			assert.Equal(t, tc.code, got.code, got.stderr)
			assert.True(t, strings.HasSuffix(got.stderr, tc.stderr), got.stderr)
		})
	}
}

// Ways in which only the stand-in can be made to go wrong.
func TestFaults(t *testing.T) {
	l := lima.Install(t)
	l.Add(t, "nothing", lima.VM{Fault: lima.NothingRun})
	l.Add(t, "unreachable", lima.VM{Fault: lima.Unreachable})
	l.Add(t, "talks", lima.VM{Stderr: "ControlSocket already exists, disabling multiplexing\n"})
	assert.Equal(t, result{}, call{}.run(t, l, "shell", "nothing", "echo", "x"))
	assert.Equal(t, result{0, "x\n", "ControlSocket already exists, disabling multiplexing\n"}, call{}.run(t, l, "shell", "talks", "echo", "x"))
	got := call{}.run(t, l, "shell", "unreachable", "true")
	assert.Equal(t, 255, got.code)
	assert.True(t, strings.HasSuffix(got.stderr, "Connection refused\n"), got.stderr)
}

func TestProfilesRun(t *testing.T) {
	l := lima.Install(t)
	l.Add(t, "node1", lima.VM{})
	profile := "echo welcome\necho warning >&2\n"
	require.NoError(t, os.WriteFile(filepath.Join(l.GuestHome("node1"), ".bash_profile"), []byte(profile), 0o600))
	got := call{}.run(t, l, "shell", "node1", "echo", "x")
	assert.Equal(t, result{0, "welcome\nx\n", "warning\n"}, got)
}

func TestWorkingDirectory(t *testing.T) {
	l := lima.Install(t)
	here := t.TempDir()
	gone := filepath.Join(here, "gone")
	l.Add(t, "shares", lima.VM{Mounts: []string{here}})
	l.Add(t, "plain", lima.VM{})

	got := call{dir: here}.run(t, l, "shell", "shares", "pwd")
	assert.Equal(t, result{0, here + "\n", ""}, got, "a shared folder is kept")
	got = call{dir: here}.run(t, l, "shell", "plain", "pwd")
	assert.Equal(t, result{0, l.GuestHome("plain") + "\n", ""}, got, "without mounts it is the guest's home, in silence")

	// The guest lacks what the configuration says is shared.
	require.NoError(t, os.Mkdir(gone, 0o700))
	script := `cd "$1" && rmdir "$1" && exec "$2" shell shares pwd`
	cmd := exec.Command("sh", "-c", script, "sh", gone, filepath.Join(l.Bin, "limactl"))
	cmd.Env = l.Environ(os.Environ())
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Contains(t, string(out), `level=warning msg="failed to get the current directory"`)
}

// Killed alone, limactl leaves its ssh and the guest's command behind.
func TestOrphan(t *testing.T) {
	l := lima.Install(t)
	l.Add(t, "node1", lima.VM{})
	for name, wholeGroup := range map[string]bool{"limactl alone": false, "its process group": true} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(filepath.Join(l.Bin, "limactl"), "shell", "node1", "sh", "-c", "echo $$ $PPID; exec sleep 300")
			cmd.Env = l.Environ(os.Environ())
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			stdout, err := os.Create(filepath.Join(t.TempDir(), "out"))
			require.NoError(t, err)
			defer stdout.Close()
			cmd.Stdout = stdout
			require.NoError(t, cmd.Start())
			var pids []string
			require.Eventually(t, func() bool {
				out, err := os.ReadFile(stdout.Name())
				pids = strings.Fields(string(out))
				return err == nil && len(pids) == 2
			}, 30*time.Second, 20*time.Millisecond)
			command, err := strconv.Atoi(pids[0])
			require.NoError(t, err)
			ssh, err := strconv.Atoi(pids[1])
			require.NoError(t, err)
			t.Cleanup(func() {
				syscall.Kill(command, syscall.SIGKILL)
				syscall.Kill(ssh, syscall.SIGKILL)
			})
			target := cmd.Process.Pid
			if wholeGroup {
				target = -target
			}
			require.NoError(t, syscall.Kill(target, syscall.SIGTERM))
			require.Error(t, cmd.Wait())
			status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
			require.True(t, ok)
			assert.Equal(t, syscall.SIGTERM, status.Signal(), "a shell shows 143")
			if wholeGroup {
				assert.Eventually(t, func() bool { return !alive(ssh) }, 30*time.Second, 20*time.Millisecond)
			} else {
				assert.True(t, alive(ssh), "ssh is orphaned")
			}
			assert.True(t, alive(command), "the guest's command lives on")
		})
	}
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestList(t *testing.T) {
	l := lima.Install(t)
	got := call{}.run(t, l, "list", "--json")
	assert.Equal(t, result{0, "", got.stderr}, got)
	assert.Contains(t, got.stderr, "level=warning msg=\"No instance found. Run `limactl create` to create an instance.\"")

	l.Add(t, "node1", lima.VM{})
	l.Add(t, "node2", lima.VM{Status: "Stopped"})
	l.Add(t, "node3", lima.VM{Status: "Broken", Errors: []string{"host agent is running but driver is not"}})
	got = call{}.run(t, l, "list", "--json")
	require.Zero(t, got.code, got.stderr)
	lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
	require.Len(t, lines, 3, "one object a line")
	var statuses []string
	for _, line := range lines {
		var instance struct{ Name, Status, Hostname string }
		require.NoError(t, json.Unmarshal([]byte(line), &instance))
		statuses = append(statuses, instance.Name+" "+instance.Hostname+" "+instance.Status)
	}
	assert.Equal(t, []string{"node1 lima-node1 Running", "node2 lima-node2 Stopped", "node3 lima-node3 Broken"}, statuses)
	assert.True(t, strings.HasSuffix(got.stderr,
		"level=warning msg=\"instance `node3` has errors\" errors=\"[host agent is running but driver is not]\"\n"), got.stderr)

	got = call{}.run(t, l, "list", "-q", "node2", "nobody")
	assert.Equal(t, 1, got.code)
	assert.Equal(t, "node2\n", got.stdout)
	assert.Contains(t, got.stderr, `level=warning msg="No instance matching nobody found."`)
	assert.Contains(t, got.stderr, `level=fatal msg="unmatched instances"`)
}

func TestStartAndStop(t *testing.T) {
	l := lima.Install(t)
	l.Add(t, "node1", lima.VM{})
	require.Zero(t, call{}.run(t, l, "stop", "node1").code)
	require.Equal(t, 1, call{}.run(t, l, "shell", "node1", "true").code)
	require.Zero(t, call{}.run(t, l, "start", "node1").code)
	require.Zero(t, call{}.run(t, l, "shell", "node1", "true").code)
	got := call{}.run(t, l, "start", "nobody")
	assert.Equal(t, 1, got.code)
	assert.Contains(t, got.stderr, "level=fatal")
}

// With a real node for a guest, its host name and its files are the node's.
func TestRealGuest(t *testing.T) {
	b := nodes.Start(t, nodes.Spec{Fast: true, Nodes: []nodes.Node{{Name: "lima-node1", User: "debian"}}})
	l := lima.Install(t)
	l.Add(t, "node1", lima.VM{SSH: b.SSHArgs("lima-node1")})
	got := call{}.run(t, l, "shell", "--workdir", "/", "node1", "sh", "-c", "hostname; id -un; pwd")
	assert.Equal(t, result{0, "lima-node1\ndebian\n/\n", ""}, got)
	got = call{}.run(t, l, append(append([]string{"shell", "node1"}, printArgs...), hardArgs...)...)
	assert.Equal(t, strings.Join(hardArgs, "\x00")+"\x00", got.stdout)
	assert.Equal(t, 255, call{}.run(t, l, "shell", "node1", "sh", "-c", "kill -9 $$").code)

	require.NoError(t, b.Kill(t.Context(), "lima-node1"))
	got = call{}.run(t, l, "shell", "node1", "true")
	assert.Equal(t, 255, got.code)
	assert.Contains(t, got.stderr, "Connection refused")
}

// To a person at a terminal limactl says its last word in another form.
func TestTerminal(t *testing.T) {
	if _, err := exec.LookPath("script"); err != nil || runtime.GOOS != "linux" {
		if os.Getenv("CI") != "" {
			t.Fatal("NOT RUN: script is missing: install the package bsdutils")
		}
		t.Skip("NOT RUN: needs script of util-linux: install the package bsdutils")
	}
	l := lima.Install(t)
	cmd := exec.Command("script", "-qec", filepath.Join(l.Bin, "limactl")+" --tty=false shell nobody true", "/dev/null")
	cmd.Env = l.Environ(os.Environ())
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	assert.Equal(t, 1, exit.ExitCode())
	assert.NotContains(t, string(out), "level=fatal")
	assert.Contains(t, string(out), "\x1b[31mFATA\x1b[0m[0000] instance `nobody` does not exist")
}
