package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// execFlags are the flags of nestor exec.
type execFlags struct {
	sudo    bool
	noStdin bool
	script  string
	env     []string
	timeout time.Duration
	forks   int
	gather  bool
	diff    bool
	report  bool // --output was given, were it the default
}

func newExecCmd(c *cli) *cobra.Command {
	var f execFlags
	cmd := &cobra.Command{
		Use:   "exec PATTERN [flags] -- ARGV...",
		Short: "Run a command on nodes",
		Long: `Run a command, byte for byte, on the nodes that a pattern of Ansible's selects.

ARGV is a program and its arguments, not a shell line: for a pipe or a
built-in, run sh -c '...'. With --script, a local script runs there instead,
and ARGV is its arguments.

On one host, named as such, without --gather and --output: stdin is the
command's, unless it is a terminal; the output is passed on as it is; the exit
code is the command's own, and 125 is a failure of nestor's, told on stderr
with its kind.

Otherwise the nodes' lines come as they are written, each behind its node's
name; with --gather, nodes that said the same are shown as one, once all have
ended; with --output json, each node is a line of JSON as it ends. stdin is
given to nobody. A summary ends it on stderr. The exit code is 0, 1 (the
command failed somewhere), 2 (not evaluated somewhere), 3 (a node was
unreachable) or 4 (refused), the first of 4, 2, 3, 1 that is true.

Interrupted (^C), it ends the command on every node and reports; interrupted
twice, it waits for no node's answer. SIGUSR1 (^T where the terminal has it)
prints how far it is.`,
		Example: `  nestor exec node1 -- hostname
  nestor exec node1 --sudo -- cat /etc/shadow
  nestor exec node1 -- bash -s <script.sh
  nestor exec cloud --gather -- uname -r
  nestor exec 'cloud:!node3' --script check.sh --timeout 30s -- --verbose
  nestor exec all --output json -- df -P / | jq .`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: c.completeNodes(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.report = cmd.Flags().Changed("output")
			pattern, argv, err := execWords(args, cmd.ArgsLenAtDash(), f)
			if err == nil {
				err = c.format("text", "json")
			}
			if err != nil {
				bare := len(args) < 2 && f.script == ""
				if in, ok := c.in.(*os.File); ok && bare && term.IsTerminal(int(in.Fd())) {
					fmt.Fprint(c.err, cmd.UsageString())
				}
				return fail(exitUnevaluated, fmt.Errorf("exec: %w", err))
			}
			return c.exec(cmd.Context(), pattern, argv, f)
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.sudo, "sudo", false, "run as root, through sudo -n")
	fl.BoolVarP(&f.noStdin, "no-stdin", "n", false, "give the command no stdin, as in a while read loop")
	fl.StringVar(&f.script, "script", "", "run this shell `FILE` on the nodes (-: from stdin)")
	fl.StringArrayVar(&f.env, "env", nil, "`K=V` for the command's environment; its value is visible in the node's process list")
	fl.DurationVar(&f.timeout, "timeout", 0, "end the command on a node after this long (30s, 5m)")
	fl.IntVar(&f.forks, "forks", 32, "how many nodes are busy at once")
	fl.BoolVar(&f.gather, "gather", false, "show nodes with the same output as one")
	fl.BoolVar(&f.diff, "diff", false, "with --gather, show how the others differ from the largest group")
	return cmd
}

// execWords tells the pattern from the command. dash is where "--" stood
// among args, or -1.
func execWords(args []string, dash int, f execFlags) (pattern string, argv []string, err error) {
	switch {
	case len(args) == 0 || dash == 0:
		return "", nil, errors.New("want nodes and a command: nestor exec PATTERN -- ARGV")
	case dash > 1:
		return "", nil, fmt.Errorf("want one pattern before --, as %q", strings.Join(args[:dash], ","))
	case len(args) == 1 && f.script == "":
		return "", nil, errors.New("want a command: nestor exec PATTERN -- ARGV...; no shell is opened")
	case f.forks < 1:
		return "", nil, fmt.Errorf("--forks %d: want 1 or more", f.forks)
	case f.timeout < 0:
		return "", nil, fmt.Errorf("--timeout %s: want a positive one, such as 30s", f.timeout)
	case f.diff && !f.gather:
		return "", nil, errors.New("--diff wants --gather")
	}
	return args[0], args[1:], nil
}

func (c *cli) exec(ctx context.Context, pattern string, argv []string, f execFlags) error {
	if f.gather && c.output == "json" {
		return errors.New("exec: --gather is for people, --output json for programs: choose one")
	}
	inv, err := c.openInventory()
	literal := isLiteral(inv, pattern)
	if err == nil {
		err = c.execOn(ctx, inv, pattern, argv, f, literal)
	}
	coded, ok := errors.AsType[*exitError](err)
	if literal && !f.report && !f.gather && err != nil && (!ok || coded.err != nil) {
		return fail(exitExecFailed, withKind(err))
	}
	return err
}

// execOn runs the command on the nodes that the pattern selects. Nothing runs
// where one of them cannot be resolved.
func (c *cli) execOn(ctx context.Context, inv *inventory.Inventory, pattern string, argv []string, f execFlags, literal bool) error {
	names, err := inv.Select(pattern)
	if err != nil {
		return err
	}
	targets := make([]inventory.Target, len(names))
	for i, name := range names {
		if targets[i], err = c.target(inv, name); err != nil {
			return err
		}
	}
	if err := c.allowExec(targets, f); err != nil {
		return err
	}
	command, err := c.execCommand(argv, f)
	if err != nil {
		return err
	}
	switch {
	case literal && command.script == nil && !f.noStdin && !terminal(c.in):
		command.Stdin = c.in
	case !literal && f.script != "-" && !f.noStdin && feeds(c.in):
		fmt.Fprintln(c.err, "nestor: stdin is given to none of several nodes: --script - runs it on each, -n silences this")
	}
	if literal && !f.report && !f.gather {
		return c.execOne(ctx, targets[0], command)
	}
	return c.execFleet(ctx, targets, command, f)
}

// isLiteral says whether the pattern is one host's name, also of one that the
// inventory does not know or could not be asked for.
func isLiteral(inv *inventory.Inventory, pattern string) bool {
	if inv != nil && slices.Contains(inv.Groups(), pattern) {
		return false
	}
	return inv != nil && slices.Contains(inv.Hosts(), pattern) || !strings.ContainsAny(pattern, ",:!&*?[~")
}

// allowExec keeps what runs as root, or runs a whole script, from production
// that the caller did not name.
func (c *cli) allowExec(targets []inventory.Target, f execFlags) error {
	what := "--sudo"
	if !f.sudo {
		what = "--script"
	}
	if kind, _ := c.kind(); !f.sudo && f.script == "" || kind == inventory.Prod { // its error is target's too
		return nil
	}
	var names []string
	var declared inventory.Origin
	for _, t := range targets {
		if t.Kind == inventory.Prod {
			names = append(names, t.Node)
			declared = t.Origins["target_kind"]
		}
	}
	if len(names) == 0 {
		return nil
	}
	return fail(exitRefused, fmt.Errorf("%s: production (%s): exec %s there needs --target-kind prod", fold(names), declared, what))
}

// execCommand is the command of every node, but for the streams.
type execCommand struct {
	nodeexec.Command
	script []byte // what each node's shell reads; nil without --script
}

func (c *cli) execCommand(argv []string, f execFlags) (execCommand, error) {
	command := execCommand{Command: nodeexec.Command{Argv: argv, Sudo: f.sudo, Timeout: f.timeout, Env: map[string]string{}}}
	for _, kv := range f.env {
		k, v, ok := strings.Cut(kv, "=")
		if !ok {
			return command, fmt.Errorf("--env %q: want K=V", kv)
		}
		command.Env[k] = v
	}
	if f.script == "" {
		return command, nil
	}
	text, err := c.readScript(f.script)
	if err != nil {
		return command, fmt.Errorf("--script: %w", err)
	}
	s, err := parseScript(text)
	if err != nil {
		return command, fmt.Errorf("--script %s: %w", f.script, err)
	}
	command.Argv, command.script = append(s.shell, argv...), s.text
	return command, nil
}

func (c *cli) readScript(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(c.in)
	}
	return os.ReadFile(name)
}

// execOne runs the command on one node as if it ran here.
func (c *cli) execOne(ctx context.Context, t inventory.Target, command execCommand) error {
	run := command.on()
	run.Stdout, run.Stderr = c.out, c.err
	res, err := c.open(t).Run(ctx, run)
	if err != nil {
		return err
	}
	if res.ExitCode != 0 {
		return fail(res.ExitCode, nil)
	}
	return nil
}

// withKind appends the error's kind, for people and scripts that read stderr.
// What has none comes of the inventory or the flags, before anything ran.
func withKind(err error) error {
	return fmt.Errorf("%w [%s]", err, cmp.Or(nodeexec.KindOf(err), nodeexec.KindInvalid))
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

// feeds says whether somebody may have meant r to be read: a pipe, or a file
// with something in it.
func feeds(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return r != nil
	}
	info, err := f.Stat()
	return err == nil && (info.Mode()&os.ModeNamedPipe != 0 || info.Mode().IsRegular() && info.Size() > 0)
}
