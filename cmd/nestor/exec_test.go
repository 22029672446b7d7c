package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/nodeexec"
)

// stubbed is a place with an inventory and a stub shim: nodes that are here.
type stubbed struct {
	in  io.Reader
	env map[string]string
}

const stubInventory = `
all:
  children:
    cloud:
      hosts:
        node[01:04]: {ansible_host: 10.9.9.9}
    bench:
      vars: {target_kind: lima}
      hosts:
        vm1:
    live:
      vars: {target_kind: prod}
      hosts:
        web1:
        web2:
`

// stub writes the inventory and a stub shim that has the node's name in $node
// and runs the argv, unless the given lines did something else.
func stub(t *testing.T, lines string) *stubbed {
	dir := t.TempDir()
	files := map[string]string{
		"inventory.yaml": stubInventory,
		"shim.sh":        "export node=$1\nshift 2\n" + lines + "\nexec \"$@\"\n",
	}
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return &stubbed{in: strings.NewReader(""), env: map[string]string{
		"NESTOR_INVENTORY": filepath.Join(dir, "inventory.yaml"),
		"NODE_EXEC_SHIM":   filepath.Join(dir, "shim.sh"),
	}}
}

func (s *stubbed) exec(t *testing.T, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(t.Context(), append([]string{"exec"}, args...), &cli{in: s.in, out: &out, err: &errs, env: func(k string) (string, bool) {
		v, ok := s.env[k]
		return v, ok
	}})
	return code, out.String(), errs.String()
}

func TestExecOnOneHostIsTheCommandItself(t *testing.T) {
	s := stub(t, `[ "$node" != node04 ] || kill -KILL $$`)
	code, out, errs := s.exec(t, "node01", "--", "sh", "-c", `printf 'a\0b'; echo c >&2; exit 7`)
	assert.Equal(t, 7, code)
	assert.Equal(t, "a\x00b", out)
	assert.Equal(t, "c\n", errs)

	s.in = strings.NewReader("fed")
	_, out, _ = s.exec(t, "node01", "--", "cat")
	assert.Equal(t, "fed", out)
	s.in = strings.NewReader("fed")
	_, out, _ = s.exec(t, "node01", "-o", "json", "--", "cat")
	assert.Contains(t, out, `"stdout":"fed"`, "one host, so stdin is its")

	code, _, errs = s.exec(t, "node04", "--", "true")
	assert.Equal(t, 125, code)
	assert.Equal(t, "nestor: node04: the shim was killed (remote: unknown) [protocol]\n", errs)

	for _, name := range []string{"node99", "web1.example.com"} { // a host that there is not is one host's failure
		code, _, errs = s.exec(t, name, "--", "true")
		assert.Equal(t, 125, code)
		assert.Contains(t, errs, "neither a host nor a group")
		assert.Contains(t, errs, " [invalid]\n")
	}
	s.env["NESTOR_INVENTORY"] = "/nonexistent"
	code, _, _ = s.exec(t, "node01", "--", "true")
	assert.Equal(t, 125, code)
}

func TestExecExitCodesOfAFleet(t *testing.T) {
	s := stub(t, `case $node in node04) kill -KILL $$ ;; esac`)
	for _, tc := range []struct {
		args []string
		code int
	}{
		{[]string{"node01,node02", "--", "true"}, exitOK},
		{[]string{"node01,node02", "--", "sh", "-c", "[ $node = node01 ] || exit 9"}, exitFindings},
		{[]string{"cloud", "--", "sh", "-c", "[ $node = node01 ] || exit 9"}, exitUnevaluated},
		{[]string{"node01", "--gather", "--", "sh", "-c", "exit 9"}, exitFindings},
		{[]string{"node01", "-o", "json", "--", "sh", "-c", "exit 9"}, exitFindings},
		{[]string{"node01", "-o", "text", "--", "sh", "-c", "exit 9"}, exitFindings},
		{[]string{"vm1,node01", "--timeout", "500ms", "--", "sleep", "60"}, exitUnreachable}, // a stub never says that it started
		{[]string{"cloud:!node0*", "--", "true"}, exitUnevaluated},
		{[]string{"clod:node01", "--", "true"}, exitUnevaluated},
		{[]string{"live", "--sudo", "--", "true"}, exitRefused},
		{[]string{"node01,live", "--sudo", "--", "true"}, exitRefused},
		{[]string{"web1", "--sudo", "--", "true"}, exitExecFailed},
		{[]string{"web1", "--script", "/dev/null"}, exitExecFailed},
		{[]string{"live", "--", "true"}, exitOK},
		{[]string{"live", "--sudo", "--target-kind", "prod", "--", "true"}, exitOK},
		{[]string{"live", "--script", "/dev/null", "--target-kind", "prod"}, exitOK},
		{[]string{"vm1", "--sudo", "--", "true"}, exitOK},
		{[]string{"live", "--target-kind", "lima", "--", "true"}, exitRefused},
		{[]string{"cloud", "-o", "yaml", "--", "true"}, exitUnevaluated},
		{[]string{"cloud", "-o", "json", "--gather", "--", "true"}, exitUnevaluated},
		{[]string{"cloud", "--diff", "--", "true"}, exitUnevaluated},
		{[]string{"cloud", "--forks", "0", "--", "true"}, exitUnevaluated},
		{[]string{"cloud", "--timeout", "-5s", "--", "true"}, exitUnevaluated},
		{[]string{"cloud", "--script", "/nonexistent"}, exitUnevaluated},
		{[]string{"cloud", "--env", "X", "--", "true"}, exitUnevaluated},
		{[]string{"node01", "node02", "--", "true"}, exitUnevaluated},
		{[]string{"cloud"}, exitUnevaluated},
		{[]string{"--", "true"}, exitUnevaluated},
		{[]string{}, exitUnevaluated},
	} {
		code, out, errs := s.exec(t, tc.args...)
		assert.Equal(t, tc.code, code, "%q: %s%s", tc.args, out, errs)
		if tc.code == exitRefused || tc.code == exitUnevaluated {
			assert.NotEmpty(t, errs, "%q", tc.args)
		}
	}
	_, _, errs := s.exec(t, "node01,live", "--sudo", "--", "true")
	assert.Contains(t, errs, "web[1-2]: production (")
	assert.Contains(t, errs, "exec --sudo there needs --target-kind prod")
	_, _, errs = s.exec(t, "node01", "node02", "--", "true")
	assert.Contains(t, errs, `as "node01,node02"`)
}

func TestExecWithoutACommandOpensNoShell(t *testing.T) {
	code, out, errs := stub(t, `echo "a shell: $*"`).exec(t, "node01")
	assert.Equal(t, exitUnevaluated, code)
	assert.Empty(t, out)
	assert.Equal(t, "nestor: exec: want a command: nestor exec PATTERN -- ARGV...; no shell is opened\n", errs)
}

func TestExecTellsThatStdinIsGivenToNobody(t *testing.T) {
	const remark = "stdin is given to none"
	s := stub(t, "exec 0</dev/null") // a stub has the lifeline for stdin
	s.in = strings.NewReader("rm -rf /")
	_, out, errs := s.exec(t, "cloud", "--", "cat")
	assert.Empty(t, out)
	assert.Contains(t, errs, remark)
	_, _, errs = s.exec(t, "cloud", "-n", "--", "cat")
	assert.NotContains(t, errs, remark)
	s.in = nil
	_, _, errs = s.exec(t, "cloud", "--", "cat")
	assert.NotContains(t, errs, remark)
}

func TestExecRunsAScriptOnEachNode(t *testing.T) {
	s := stub(t, "")
	file := filepath.Join(t.TempDir(), "check.sh")
	require.NoError(t, os.WriteFile(file, []byte("#!/usr/bin/env bash\r\nlist=(\"$@\")\r\ncat\r\necho \"$node ${#list[@]} $2\"\r\n"), 0o600))
	code, out, errs := s.exec(t, "cloud", "--forks", "1", "--script", file, "--", "a", "b c", "-d")
	assert.Equal(t, exitOK, code, errs)
	assert.Equal(t, "node01 | node01 3 b c\nnode02 | node02 3 b c\nnode03 | node03 3 b c\nnode04 | node04 3 b c\n", out)

	s.in = strings.NewReader("echo $node; exit 3") // is read once, for all
	code, out, _ = s.exec(t, "node01,node02", "--script", "-", "--gather")
	assert.Equal(t, exitFindings, code)
	assert.Equal(t, "== node[01-02] (2 nodes): exit 3\n<node>\n", out)

	s.in = strings.NewReader("echo hi $1")
	code, out, _ = s.exec(t, "node01", "--script", "-", "--", "you")
	assert.Equal(t, exitOK, code)
	assert.Equal(t, "hi you\n", out)
}

func TestExecGivesTheEnvironment(t *testing.T) {
	_, out, _ := stub(t, "").exec(t, "node01,node02", "--forks", "1", "--env", "GREETING=good day", "--env", "EMPTY=", "--", "sh", "-c", `echo "$GREETING${EMPTY-unset}"`)
	assert.Equal(t, "node01 | good day\nnode02 | good day\n", out)
}

func TestExecStopsWhereItCannotWrite(t *testing.T) {
	s := stub(t, "")
	var errs bytes.Buffer
	code := run(t.Context(), []string{"exec", "cloud", "-o", "json", "--", "true"}, &cli{in: s.in, out: full{}, err: &errs, env: func(k string) (string, bool) {
		v, ok := s.env[k]
		return v, ok
	}})
	assert.Equal(t, exitUnevaluated, code)
	assert.Contains(t, errs.String(), "nestor: exec: the disk is full")
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

func TestOutcomeCode(t *testing.T) {
	fails := func(kind nodeexec.Kind, remote nodeexec.Remote) nodeexec.Outcome {
		return nodeexec.Outcome{Err: &nodeexec.Error{Kind: kind, Remote: remote}}
	}
	for _, tc := range []struct {
		outcome nodeexec.Outcome
		code    int
	}{
		{nodeexec.Outcome{}, exitOK},
		{nodeexec.Outcome{Result: nodeexec.Result{ExitCode: 255}}, exitFindings},
		{fails(nodeexec.KindUnreachable, nodeexec.RemoteNone), exitUnreachable},
		{fails(nodeexec.KindAuth, nodeexec.RemoteNone), exitUnreachable},
		{fails(nodeexec.KindHostKey, nodeexec.RemoteNone), exitUnreachable},
		{fails(nodeexec.KindVMStopped, nodeexec.RemoteNone), exitUnreachable},
		{fails(nodeexec.KindLost, nodeexec.RemoteUnknown), exitUnreachable},
		{fails(nodeexec.KindDeadline, nodeexec.RemoteNone), exitUnreachable},
		{fails(nodeexec.KindDeadline, nodeexec.RemoteKilled), exitFindings},
		{fails(nodeexec.KindCanceled, nodeexec.RemoteKilled), exitUnevaluated},
		{fails(nodeexec.KindNotStarted, nodeexec.RemoteNone), exitUnevaluated},
		{fails(nodeexec.KindSudo, nodeexec.RemoteNone), exitUnevaluated},
		{fails(nodeexec.KindProtocol, nodeexec.RemoteUnknown), exitUnevaluated},
		{nodeexec.Outcome{Err: errors.New("another")}, exitUnevaluated},
	} {
		assert.Equal(t, tc.code, outcomeCode(tc.outcome), "%+v", tc.outcome.Err)
	}
	order := []int{4, 2, 3, 1, 0}
	for i, a := range order {
		for _, b := range order[i:] {
			assert.Equal(t, a, worse(a, b))
			assert.Equal(t, a, worse(b, a))
		}
	}
}

func TestNohupIsHonoured(t *testing.T) {
	assert.Contains(t, stopSignals(), syscall.SIGHUP)
	signal.Ignore(syscall.SIGHUP) // as nohup does before it starts nestor
	defer signal.Reset(syscall.SIGHUP)
	assert.NotContains(t, stopSignals(), syscall.SIGHUP)
}
