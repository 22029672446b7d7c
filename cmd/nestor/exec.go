package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// execFlags are the flags of nestor exec.
type execFlags struct {
	sudo    bool
	noStdin bool
	env     []string
	timeout time.Duration
}

func newExecCmd(c *cli) *cobra.Command {
	var f execFlags
	cmd := &cobra.Command{
		Use:   "exec NODE [flags] -- ARGV...",
		Short: "Run a command on a node",
		Long: `Run a command on a node, byte for byte.

ARGV is a program and its arguments, not a shell line: for a pipe or a
built-in, run sh -c '...'. stdin is the command's, unless it is a terminal.

The exit code is the command's own; 125 is a failure of nestor's, told on
stderr with its kind. With --output json one line is printed, and the exit
code is 0, 1 (the command failed), 2 (not evaluated) or 3 (unreachable).`,
		Example: `  nestor exec node1 -- hostname
  nestor exec node1 --sudo -- cat /etc/shadow
  nestor exec node1 -- bash -s <script.sh
  nestor exec node1 --timeout 30s --env LANG=C -- sh -c 'dmesg | tail'`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return fail(exitUnevaluated, errors.New("exec: want a node and a command: nestor exec NODE -- ARGV..."))
			}
			err := c.exec(cmd.Context(), args[0], args[1:], f)
			coded, ok := errors.AsType[*exitError](err)
			if c.output == "text" && err != nil && (!ok || coded.code != exitRefused && coded.err != nil) {
				return fail(exitExecFailed, withKind(err))
			}
			return err
		},
	}
	cmd.Flags().SetInterspersed(true)
	cmd.Flags().BoolVar(&f.sudo, "sudo", false, "run as root, through sudo -n")
	cmd.Flags().BoolVarP(&f.noStdin, "no-stdin", "n", false, "give the command no stdin, as in a while read loop")
	cmd.Flags().StringArrayVar(&f.env, "env", nil, "`K=V` for the command's environment; its value is visible in the node's process list")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "end the command on the node after this long (30s, 5m)")
	return cmd
}

// withKind appends the error's kind, for people and scripts that read stderr.
func withKind(err error) error {
	if kind := nodeexec.KindOf(err); kind != "" {
		return fmt.Errorf("%w [%s]", err, kind)
	}
	return err
}

func (c *cli) exec(ctx context.Context, name string, argv []string, f execFlags) error {
	inv, err := c.openInventory()
	if err != nil {
		return err
	}
	target, err := c.target(inv, name)
	if err != nil {
		return err
	}
	if kind, _ := c.kind(); f.sudo && target.Kind == inventory.Prod && kind != inventory.Prod {
		return fail(exitRefused, fmt.Errorf("%s is production (%s): exec --sudo there needs --target-kind prod", name, target.Origins["target_kind"]))
	}
	command := nodeexec.Command{Argv: argv, Sudo: f.sudo, Timeout: f.timeout, Env: map[string]string{}}
	for _, kv := range f.env {
		k, v, ok := strings.Cut(kv, "=")
		if !ok {
			return fmt.Errorf("--env %q: want K=V", kv)
		}
		command.Env[k] = v
	}
	if !f.noStdin && !terminal(c.in) {
		command.Stdin = c.in
	}
	node := c.open(target)
	if c.output == "json" {
		res, err := node.Run(ctx, command)
		return errors.Join(json.NewEncoder(c.out).Encode(newExecLine(name, res, err)), execExit(res, err))
	}
	command.Stdout, command.Stderr = c.out, c.err
	res, err := node.Run(ctx, command)
	if err != nil {
		return err
	}
	if res.ExitCode != 0 {
		return fail(res.ExitCode, nil)
	}
	return nil
}

// terminal says whether r is a terminal, or another device such as /dev/null
// from which there is nothing to hand on.
func terminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// execExit is the exit code of a run that is reported as data.
func execExit(res nodeexec.Result, err error) error {
	switch kind := nodeexec.KindOf(err); {
	case err == nil && res.ExitCode == 0:
		return nil
	case err == nil:
		return fail(exitFindings, nil)
	case unreachable(err):
		return fail(exitUnreachable, err)
	case kind == nodeexec.KindDeadline:
		return fail(exitFindings, err)
	}
	return fail(exitUnevaluated, err)
}

// execLine is one line of nestor.exec/v1.
type execLine struct {
	Schema       string     `json:"schema"`
	Node         string     `json:"node"`
	ExitCode     *int       `json:"exit_code"`
	Stdout       *string    `json:"stdout,omitempty"`
	StdoutBase64 []byte     `json:"stdout_base64,omitempty"`
	Stderr       *string    `json:"stderr,omitempty"`
	StderrBase64 []byte     `json:"stderr_base64,omitempty"`
	Signal       *string    `json:"signal"`
	Dropped      dropped    `json:"dropped"`
	Error        *execError `json:"error"`
	DurationMS   int64      `json:"duration_ms"`
}

type dropped struct {
	Stdout int64 `json:"stdout"`
	Stderr int64 `json:"stderr"`
}

type execError struct {
	Kind    nodeexec.Kind   `json:"kind"`
	Message string          `json:"message"`
	Remote  nodeexec.Remote `json:"remote"`
}

func newExecLine(node string, res nodeexec.Result, err error) execLine {
	line := execLine{
		Schema: "nestor.exec/v1", Node: node, DurationMS: res.Duration.Milliseconds(),
		Dropped: dropped{Stdout: res.Stdout.Dropped, Stderr: res.Stderr.Dropped},
	}
	line.Stdout, line.StdoutBase64 = textOrBytes(res.Stdout.Bytes())
	line.Stderr, line.StderrBase64 = textOrBytes(res.Stderr.Bytes())
	switch e, ok := errors.AsType[*nodeexec.Error](err); {
	case ok:
		line.Error = &execError{Kind: e.Kind, Message: e.Error(), Remote: e.Remote}
	case err == nil:
		line.ExitCode = &res.ExitCode
		if res.Signal != "" {
			line.Signal = &res.Signal
		}
	}
	return line
}

func textOrBytes(b []byte) (*string, []byte) {
	if utf8.Valid(b) {
		s := string(b)
		return &s, nil
	}
	return nil, b
}
