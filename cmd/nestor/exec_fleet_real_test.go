package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/nodes"
)

// job is what a node does when it is told to run "job".
type job struct {
	nodes.Node
	script string
	code   int    // what JSON says of it: the exit code, or -1 and the kind
	kind   string // one of several where a race decides
	remote string
}

// badFleet is fifty nodes, not all of them well.
func badFleet() (jobs []job) {
	add := func(count int, j job) {
		for range count {
			j.Name = fmt.Sprintf("node%02d", len(jobs)+1)
			jobs = append(jobs, j)
		}
	}
	fine := `hostname; cat /etc/debian_version`
	add(27, job{script: fine})
	add(1, job{script: fine, Node: nodes.Node{Shell: "fish"}})
	add(1, job{script: fine, Node: nodes.Node{Shell: "zsh", Noisy: true}})
	add(1, job{script: fine, Node: nodes.Node{Shell: "dash", NoBash: true, ForceCommand: true}})
	add(1, job{script: fine}) // node31, the jump host
	add(2, job{script: fine, Node: nodes.Node{Behind: "node31"}})
	add(2, job{script: fine, Node: nodes.Node{Fault: nodes.NoListener}, code: -1, kind: "unreachable", remote: "none"})
	add(1, job{script: fine, Node: nodes.Node{Fault: nodes.RefusedKey}, code: -1, kind: "auth", remote: "none"})
	add(1, job{script: fine, Node: nodes.Node{Fault: nodes.WrongHostKey}, code: -1, kind: "host-key", remote: "none"})
	add(1, job{script: fine, code: -1, kind: "unreachable", remote: "none"}) // node38 is frozen
	add(2, job{script: `echo begun; sleep 600 & sleep 600`, code: -1, kind: "deadline", remote: "killed"})
	add(1, job{script: `echo half; sleep 1; pkill -KILL -f '^sshd: root'`, code: -1, kind: "lost", remote: "unknown"})
	add(1, job{script: `echo half; touch /pull; sleep 600`, code: -1, kind: "deadline", remote: "unknown"}) // node42 loses its cable
	add(1, job{script: `printf '\000\033]0;owned\007\377\n'; head -c 100000 /dev/urandom`})
	add(1, job{script: `head -c 100000000 /dev/zero | tr '\000' x`})
	add(1, job{script: fine, Node: nodes.Node{User: "debian", Sudo: nodes.SudoPassword}, code: -1, kind: "sudo", remote: "none"})
	add(1, job{script: `dd if=/dev/zero of=/full/file bs=64k count=10`, code: 1})
	add(1, job{script: `kill -KILL $$`, code: 137})
	add(1, job{script: `exit 255`, code: 255})
	add(1, job{script: `echo whole; printf partial`})
	add(1, job{script: `echo sorry >&2; exit 3`, code: 3})
	return jobs
}

func startBadFleet(t *testing.T, jobs []job) *nodes.Bench {
	spec := nodes.Spec{Fast: true}
	for _, j := range jobs {
		j.Node.Files = map[string]string{"/usr/local/bin/job": "#!/bin/sh\n" + j.script + "\n"}
		spec.Nodes = append(spec.Nodes, j.Node)
	}
	return nodes.Start(t, spec)
}

// spoil makes of well nodes what they have to be before each run.
func spoil(t *testing.T, b *nodes.Bench) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := b.Exec(ctx, "node46", "sh", "-c", "mkdir -p /full; mountpoint -q /full || mount -t tmpfs -o size=64k tmpfs /full")
	require.NoError(t, err)
	require.NoError(t, b.Freeze(ctx, "node38"))
}

// nestorOn runs nestor against a bench, its sockets kept apart.
func nestorOn(t *testing.T, b *nodes.Bench, args ...string) (code int, stdout, stderr string) {
	sockets, err := os.MkdirTemp("/tmp", "nx")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(sockets) })
	var out, errs bytes.Buffer
	env := map[string]string{"NESTOR_INVENTORY": b.InventoryPath, "XDG_RUNTIME_DIR": sockets}
	code = run(t.Context(), args, &cli{in: strings.NewReader(""), out: &out, err: &errs, env: func(k string) (string, bool) {
		v, ok := env[k]
		return v, ok
	}})
	return code, out.String(), errs.String()
}

// leftovers are the processes of the jobs that are still there, on a node.
func leftovers(t *testing.T, b *nodes.Bench, name string) string {
	out, err := b.Exec(t.Context(), name, "ps", "-eo", "args")
	require.NoError(t, err)
	var left []string
	for line := range strings.Lines(string(out)) {
		for _, word := range []string{"job", "sleep", "nestor:", "tr ", "head "} {
			if strings.Contains(line, word) {
				left = append(left, strings.TrimSpace(line))
				break
			}
		}
	}
	return strings.Join(left, "\n")
}

// localLeftovers are the processes on this machine that have to do with the
// bench, but for the shared connections that are meant to stay a while.
func localLeftovers(t *testing.T, b *nodes.Bench) (left []string) {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // gone
		}
		line := strings.ReplaceAll(string(text), "\x00", " ")
		if strings.Contains(line, b.IdentityPath) && !strings.Contains(line, "[mux]") && !strings.Contains(line, " -W ") {
			left = append(left, line)
		}
	}
	return left
}

// pullCable takes node42 off the network once its job runs.
func pullCable(t *testing.T, b *nodes.Bench) {
	require.NoError(t, b.LinkUp(t.Context(), "node42"))
	_, err := b.Exec(t.Context(), "node42", "rm", "-f", "/pull")
	require.NoError(t, err)
	var pulling sync.WaitGroup
	pulling.Go(func() {
		for t.Context().Err() == nil {
			if _, err := b.Exec(t.Context(), "node42", "test", "-e", "/pull"); err == nil {
				assert.NoError(t, b.LinkDown(t.Context(), "node42"))
				return
			}
			time.Sleep(300 * time.Millisecond)
		}
	})
	t.Cleanup(pulling.Wait)
}

// nothingLeft checks that a run left nothing behind. The node that cannot be
// told ends its command by itself, some ten seconds after the deadline.
func nothingLeft(t *testing.T, b *nodes.Bench, jobs []job) {
	for _, j := range jobs {
		if j.Name == "node42" {
			assert.Eventually(t, func() bool { return leftovers(t, b, j.Name) == "" }, time.Minute, time.Second, j.Name)
			continue
		}
		assert.Empty(t, leftovers(t, b, j.Name), j.Name)
	}
	assert.Empty(t, localLeftovers(t, b))
}

func TestExecOnABadFleet(t *testing.T) {
	jobs := badFleet()
	require.Len(t, jobs, 50)
	b := startBadFleet(t, jobs)
	spoil(t, b)
	argv := []string{"exec", "all", "--sudo", "--timeout", "20s"}

	t.Run("lines", func(t *testing.T) {
		pullCable(t, b)
		code, out, errs := nestorOn(t, b, append(argv, "--", "job")...)
		assert.Equal(t, exitUnevaluated, code, "sudo on node45")
		bytesOf := map[string]int{}
		for line := range strings.Lines(out) {
			require.Regexp(t, `(?s)^node\d\d [|+] .*\n$`, line[:min(len(line), 9)]+line[len(line)-1:])
			bytesOf[line[:6]] += len(line) - len("node00 | ")
		}
		assert.Equal(t, 100000000, bytesOf["node44"]-bytes.Count([]byte(out), []byte("\nnode44 ")))
		assert.Contains(t, out, "node49 | whole\n")
		assert.Contains(t, out, "node49 | partial\n")
		assert.Contains(t, errs, "node50 | sorry\n")
		assert.Contains(t, errs, "node46 | dd: error writing '/full/file': No space left on device\n")
		assert.Contains(t, errs, "node34 | nestor: ssh: connect to host")
		_, summary, _ := strings.Cut(errs, "nestor: 50 nodes in ")
		t.Log(summary)
		for _, line := range []string{
			" 36 ok, 1 auth, 3 deadline, 1 exit 1, 1 exit 137 (KILL), 1 exit 255, 1 exit 3, 1 host-key, 1 lost, 1 sudo, 3 unreachable\n",
			"\n  auth: node36: ",
			"\n  deadline: node[39-40]: the command did not end within 20s (remote: killed)\n",
			"\n  deadline: node42: the command did not end within 20s (remote: unknown)\n",
			"\n  unreachable: node38: Connection timed out during banner exchange\n",
			"\n  exit 1: node46\n", "\n  exit 137 (KILL): node47\n", "\n  exit 255: node48\n", "\n  exit 3: node50\n",
			"\n  lost: node41: the connection was lost while the command ran",
			"\n  sudo: node45: sudo: a password is required; nestor needs passwordless sudo there (NOPASSWD)\n",
			"\n  unreachable: node[34-35]: ssh: connect to host <address> port 22: Connection refused\n",
		} {
			assert.Contains(t, summary, line)
		}
		nothingLeft(t, b, jobs)
	})

	t.Run("json", func(t *testing.T) {
		pullCable(t, b)
		code, out, errs := nestorOn(t, b, append(argv, "--output", "json", "--", "job")...)
		assert.Equal(t, exitUnevaluated, code, "sudo on node45")
		checkLines(t, jobs, out)
		assert.Contains(t, errs, "nestor: 50 nodes in ")
		nothingLeft(t, b, jobs)
	})

	t.Run("gather", func(t *testing.T) {
		argv[1] = "all:!node38:!node39:!node40:!node42:!node43:!node44:!node45"
		code, out, _ := nestorOn(t, b, append(argv, "--gather", "--", "job")...)
		assert.Equal(t, exitUnreachable, code)
		assert.Regexp(t, `^== node\[01-33\] \(33 nodes\)\n<node>\n[0-9.]+\n== `, out)
		assert.Contains(t, out, "\n== node[34-35] (2 nodes): unreachable: ssh: connect to host <address> port 22: Connection refused\n")
		assert.Contains(t, out, "\n== node49 (1 node)\nwhole\npartial\n== node50 (1 node): exit 3\n-- stderr\nsorry\n")
	})
}

// checkLines checks NDJSON against the schema and against what each node is.
func checkLines(t *testing.T, jobs []job, ndjson string) {
	schema, err := jsonschema.NewCompiler().Compile(execSchema)
	require.NoError(t, err)
	byNode := map[string]execLine{}
	for text := range strings.Lines(ndjson) {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		require.NoError(t, err)
		require.NoError(t, schema.Validate(value), "%.500s", text)
		var line execLine
		require.NoError(t, json.Unmarshal([]byte(text), &line))
		byNode[line.Node] = line
	}
	assert.Len(t, byNode, len(jobs))
	for _, j := range jobs {
		line := byNode[j.Name]
		if j.kind != "" {
			if assert.NotNil(t, line.Error, j.Name) {
				assert.Equal(t, j.kind, string(line.Error.Kind), "%s: %s", j.Name, line.Error.Message)
				assert.Equal(t, j.remote, string(line.Error.Remote), "%s: %s", j.Name, line.Error.Message)
			}
			continue
		}
		if assert.NotNil(t, line.ExitCode, "%s: %+v", j.Name, line.Error) {
			assert.Equal(t, j.code, *line.ExitCode, j.Name)
		}
	}
}
