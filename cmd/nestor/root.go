package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nestor-tools/nestor/contract/printable"
)

// Exit codes, from docs/exit-codes.md. Several at once: refused, then
// unevaluated, then unreachable, then findings.
const (
	exitOK          = 0
	exitFindings    = 1 // findings, drift, or a command failed on some node
	exitUnevaluated = 2 // usage, unreadable input, unknown node, a partial view
	exitUnreachable = 3 // a node was unreachable
	exitRefused     = 4 // refused by a guard
	exitExecFailed  = 125
)

// cli is what every verb shares: the streams, the environment and the global
// flags.
type cli struct {
	in       io.Reader
	out, err io.Writer
	env      func(string) (string, bool)

	inventory  string
	targetKind string
	stackID    string
	hostKeys   string
	output     string

	vaultPasswordFile string
}

// exitError carries an exit code to main. A nil err prints nothing.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// fail gives err the exit code.
func fail(code int, err error) error { return &exitError{code: code, err: err} }

// run executes one command line and returns its exit code. Whatever goes
// wrong is said in one line on c.err.
func run(ctx context.Context, args []string, c *cli) int {
	root := newRootCmd(c)
	root.SetArgs(args)
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.err)
	sayHelp(root)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	code := exitUnevaluated
	coded, ok := errors.AsType[*exitError](err)
	if ok {
		code = coded.code
	}
	if !ok || coded.err != nil {
		fmt.Fprintf(c.err, "nestor: %s\n", printable.Lines(err.Error()))
	}
	return code
}

// sayHelp has the errors of arguments and flags, which are cobra's own, say of
// which command they are and where its usage stands.
func sayHelp(cmd *cobra.Command) {
	if args := cmd.Args; args != nil {
		cmd.Args = func(cmd *cobra.Command, given []string) error { return withHelp(cmd, args(cmd, given)) }
	}
	cmd.SetFlagErrorFunc(withHelp)
	for _, sub := range cmd.Commands() {
		sayHelp(sub)
	}
}

func withHelp(cmd *cobra.Command, err error) error {
	if err == nil || errors.Is(err, pflag.ErrHelp) {
		return err
	}
	return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
}

func newRootCmd(c *cli) *cobra.Command {
	root := &cobra.Command{
		Use:           "nestor",
		Short:         "Reach the nodes of a cluster, read what is really on them, publish its UIs",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	f := root.PersistentFlags()
	f.StringVarP(&c.inventory, "inventory", "i", "", "Ansible inventory, a file or a directory (default: $NESTOR_INVENTORY, else the bench's or production's own)")
	f.StringVar(&c.targetKind, "target-kind", "", "the kind of node you mean, lima or prod; refused where the inventory says otherwise ($EXPECTED_TARGET_KIND)")
	f.StringVar(&c.stackID, "stack-id", "", "the stack you mean; refused where the inventory says otherwise ($STACK_ID)")
	f.StringVar(&c.hostKeys, "host-keys", "strict", "host keys: strict, or accept-new to learn unknown ones")
	f.StringVarP(&c.output, "output", "o", "text", "text or json; discover has yaml and table too, resolve shim")
	f.StringVar(&c.vaultPasswordFile, "vault-password-file", "", "the file with the password of the inventory's vaulted values ($ANSIBLE_VAULT_PASSWORD_FILE)")

	for flag, values := range map[string][]string{"target-kind": {"lima", "prod"}, "host-keys": {"strict", "accept-new"}} {
		// Its only error is a flag that there is not, or is there twice.
		_ = root.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}

	root.AddCommand(
		newContractCmd(c),
		newDiscoverCmd(c),
		newExecCmd(c),
		newExplainCmd(c, c.shimView),
		newKubeconfigCmd(c),
		newNodesCmd(c),
		newPortalCmd(c),
		newProbeCmd(c),
		newRemoveCmd(c),
		newResolveCmd(c),
		newStateCmd(c),
		newVersionCmd(c),
	)
	return root
}
