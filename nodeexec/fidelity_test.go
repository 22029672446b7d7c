package nodeexec_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/nodes"
	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// echo prints each of its arguments and a NUL, which no argument can hold.
var echo = []string{"sh", "-c", `[ $# -eq 0 ] || printf '%s\0' "$@"`, "sh"}

// nasty are the pieces that have broken a quoting somewhere.
var nasty = []string{"", " ", "'", `"`, `\`, `\\`, `\'`, "'\\''", "\n", "\r\n", "\t", "$", "$HOME", "$(id)", "`id`", "*", "?", "[a-z]", "~", "!", "!!", "#", "%s", "&", ";", "|", "<", ">",
	"(", ")", "{a,b}", "=", "A=b", "-n", "--", "-e", "\x01", "\x7f", "\x80", "\xff", "é", "\u2028", "$'x'", "\\n", "nestor:", "^", "@", "+", "EOF"}

// randomArgs are up to 50 arguments: any byte but NUL, and the nasty ones.
func randomArgs(r *rand.Rand) []string {
	args := make([]string, 1+r.Intn(50))
	for i := range args {
		var b strings.Builder
		for range r.Intn(8) {
			if r.Intn(2) == 0 {
				b.WriteString(nasty[r.Intn(len(nasty))])
				continue
			}
			for range r.Intn(12) {
				b.WriteByte(byte(1 + r.Intn(255)))
			}
		}
		args[i] = b.String()
	}
	return args
}

// checkFidelity sends random arguments until there were enough, and wants
// them back byte for byte.
func checkFidelity(t *testing.T, enough int, send func(argv []string) ([]byte, error)) {
	t.Helper()
	seed := time.Now().UnixNano()
	r := rand.New(rand.NewSource(seed))
	for sent := 0; sent < enough; {
		args := randomArgs(r)
		sent += len(args)
		got, err := send(append(echo[:len(echo):len(echo)], args...))
		require.NoError(t, err, "seed %d", seed)
		want := strings.Join(args, "\x00") + "\x00"
		if string(got) != want {
			require.Failf(t, "not what was sent", "seed %d\nsent %q\ngot  %q", seed, args, strings.Split(string(got), "\x00"))
		}
	}
}

// fromGo sends through the library.
func fromGo(n *nodeexec.Node) func([]string) ([]byte, error) {
	return func(argv []string) ([]byte, error) {
		res, err := n.Run(context.Background(), nodeexec.Command{Argv: argv, Timeout: 2 * patience})
		if err == nil && (res.ExitCode != 0 || len(res.Stderr.Bytes()) > 0) {
			err = fmt.Errorf("exit code %d: %s", res.ExitCode, res.Stderr)
		}
		return res.Stdout.Bytes(), err
	}
}

// fromBash sends through node_exec, sourced, with the target in variables.
func fromBash(t inventory.Target, control string) func([]string) ([]byte, error) {
	return func(argv []string) ([]byte, error) {
		cmd := exec.Command("bash", append([]string{"-c", `. ../shims/node-exec.sh; node_exec "$@"`, "bash", "-n", t.Node, "--"}, argv...)...)
		cmd.Env = append(os.Environ(), "NODE_EXEC_NODE="+t.Node, "NODE_EXEC_TRANSPORT="+string(t.Transport), "NODE_EXEC_HOST="+t.Host,
			"NODE_EXEC_USER="+t.User, "NODE_EXEC_IDENTITY="+t.IdentityFile, "NODE_EXEC_SSH_ARG="+strings.Join(t.SSHArgs, "\n"),
			fmt.Sprint("NODE_EXEC_PORT=", t.Port), "NODE_EXEC_CONTROL_PATH="+control, "NODE_EXEC_CONTROL_PERSIST=20")
		if control == "" {
			cmd.Env = append(cmd.Env, "NODE_EXEC_CONTROL_PERSIST=")
		}
		var out, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &stderr
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("%w: %s", err, &stderr)
		}
		return out.Bytes(), nil
	}
}

// arguments is how many go each way: 10,000 in CI, where patience is cheap.
func arguments() int {
	if os.Getenv("CI") != "" {
		return 10_000
	}
	return 2_000
}

func TestArgvArrivesByteForByteLocally(t *testing.T) {
	here := inventory.Target{Node: "here", Transport: inventory.TransportLocal}
	for name, send := range map[string]func([]string) ([]byte, error){
		"go":   fromGo(nodeexec.Open(here, nodeexec.Options{})),
		"bash": fromBash(here, ""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkFidelity(t, arguments(), send)
		})
	}
}

func TestArgvArrivesByteForByteOverSSH(t *testing.T) {
	spec := nodes.Spec{Fast: true}
	shells := []string{"bash", "dash", "fish", "zsh"}
	for _, shell := range shells {
		spec.Nodes = append(spec.Nodes, nodes.Node{Name: shell, Shell: shell})
	}
	f := startFleet(t, spec)
	for _, shell := range shells {
		for how, send := range map[string]func([]string) ([]byte, error){
			"go":   fromGo(f.warm(t, shell)),
			"bash": fromBash(f.target(t, shell), filepath.Join(f.control, "bash-"+shell)),
		} {
			t.Run(shell+" from "+how, func(t *testing.T) {
				t.Parallel()
				checkFidelity(t, arguments(), send)
			})
		}
	}
}
