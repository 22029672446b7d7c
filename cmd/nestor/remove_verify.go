package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/nestor-tools/nestor/nodeexec/remove"
)

func newRemoveVerifyCmd(c *cli) *cobra.Command {
	var f removeFlags
	cmd := &cobra.Command{
		Use:   "verify NODE...",
		Short: "Read back what is left on the disks that the profile lists; nothing is changed",
		Long: `Read back what is left of bench nodes' storage: signatures, BlueStore labels
at 0, 1, 10, 100 and 1000 GiB, partition tables at both ends, what is built on
the disks, what holds them, /var/lib/rook. Nothing is changed.

Anything left is named, and the exit code is 1.`,
		Example:           `  nestor remove verify node1 --target-kind lima --disks disks.yaml`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: c.completeNodes(false),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.removeVerify(cmd.Context(), args, f) },
	}
	f.add(cmd)
	return cmd
}

func (c *cli) removeVerify(ctx context.Context, names []string, f removeFlags) error {
	if err := c.format("text", "json"); err != nil {
		return err
	}
	profile, err := c.profile(f)
	if err != nil {
		return err
	}
	nodes, err := c.lookAt(ctx, names, profile, f.sudo)
	if err != nil {
		return err
	}
	outcomes, refusals, failures := remove.Verify(ctx, nodes, remove.PlanOptions{Options: remove.Options{Sudo: f.sudo, Open: c.openRemoval}, Profile: profile})
	err = c.printOutcomes("", outcomes)
	if refused := c.refusedPlan(refusals, failures); refused != nil {
		return refused
	}
	return err
}
