package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/nestor-tools/nestor/contract/printable"
	"github.com/nestor-tools/nestor/mapping"
	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/nodeexec/discover"
	"github.com/nestor-tools/nestor/nodeexec/guard"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
	"github.com/nestor-tools/nestor/nodeexec/remove"
	"github.com/nestor-tools/nestor/nodeexec/remove/plan"
)

func newRemoveCmd(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "remove",
		Short: "Wipe a bench node's storage: the disks that are listed, and /var/lib/rook",
		Long: `Wipe a bench node's storage: the disks that a profile lists, and
/var/lib/rook. A wipe is a plan, bound to machines and disks by their identity,
checked again on the node, and read back afterwards.

No verb of remove has a way to a node that is not declared "target_kind: lima",
and none has a flag that forces anything. See docs/remove.md.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newRemovePlanCmd(c), newRemoveApplyCmd(c), newRemoveVerifyCmd(c))
	return cmd
}

// removeFlags are shared by plan and verify.
type removeFlags struct {
	disks  string
	fsids  []string
	sudo   bool
	slow   time.Duration
	out    string
	reboot bool
	trim   bool
}

func (f *removeFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.disks, "disks", "", "the profile: a file that lists each node's disks ($DATA_DEVICE_GLOB and $NVME_BLOCK_DEVICE where there is none)")
	fl.BoolVar(&f.sudo, "sudo", false, `act as root, through "sudo -n"`)
	fl.DurationVar(&f.slow, "timeout", time.Minute, "what each source may take on a node; what did not answer is unknown, and refused")
}

// profile reads what may be wiped: the file, else the environment.
func (c *cli) profile(f removeFlags) (plan.Profile, error) {
	var p plan.Profile
	if f.disks != "" {
		text, err := os.ReadFile(f.disks)
		if err != nil {
			return p, err
		}
		if p, err = plan.ParseProfile(text, f.disks); err != nil {
			if errors.Is(err, plan.ErrGenerated) {
				return p, fail(exitRefused, fmt.Errorf("refused (rule %s): %w", plan.RuleGenerated, err))
			}
			return p, err
		}
	} else {
		var ok bool
		if p, ok = plan.EnvProfile(c.env); !ok {
			return p, errors.New("no disk is listed: write --disks FILE, or set DATA_DEVICE_GLOB or NVME_BLOCK_DEVICE; there is no default")
		}
	}
	for _, fsid := range f.fsids {
		p.FSIDs = append(p.FSIDs, plan.Stated{Value: fsid, Origin: inventory.Origin{File: "--ceph-fsid"}})
	}
	return p, nil
}

// openRemoval opens a node without a shared connection, and never learns a
// host key.
func (c *cli) openRemoval(t inventory.Target) nodeexec.Runner {
	return nodeexec.Open(t, nodeexec.Options{})
}

// lookAt asks the guard about the nodes, and discover about their disks.
func (c *cli) lookAt(ctx context.Context, names []string, p plan.Profile, f removeFlags) ([]remove.Node, error) {
	inv, err := c.openInventory()
	if err != nil {
		return nil, err
	}
	permits, err := c.authorize(ctx, inv, names, false)
	if err != nil {
		return nil, err
	}
	for node := range p.Nodes {
		if !slices.Contains(inv.Hosts(), node) {
			return nil, fmt.Errorf("the profile lists disks of node %q, which the inventory does not know", node)
		}
	}
	var nodes []discover.Node
	for _, permit := range permits {
		t, err := permit.Target()
		if err != nil {
			return nil, fail(exitRefused, err)
		}
		nodes = append(nodes, discover.Node{Runner: c.openRemoval(t)})
	}
	topology, failures := discover.Run(ctx, nodes, discover.Options{
		Sudo: f.sudo, Loops: true, SectionTimeout: f.slow, Timeout: f.slow + 4*time.Minute,
	})
	if len(failures) > 0 {
		for _, f := range failures[1:] {
			fmt.Fprintf(c.err, "nestor: %s\n", printable.Lines(f.Error()))
		}
		return nil, fail(callExit(failures[0].Err), failures[0].Err)
	}
	var found []remove.Node
	for _, permit := range permits {
		i := slices.IndexFunc(topology.Nodes, func(n mapping.Node) bool { return n.Name == permit.Node() })
		found = append(found, remove.Node{Permit: permit, Facts: *topology.Nodes[i].Facts})
	}
	return found, nil
}

// callExit gives the exit code for a node that could not be asked.
func callExit(err error) int {
	switch {
	case errors.Is(err, guard.ErrNoPermit):
		return exitRefused
	case unreachable(err):
		return exitUnreachable
	}
	return exitUnevaluated
}

// refusedPlan prints the refusals, and gives the error for them.
func (c *cli) refusedPlan(refusals []plan.Refusal, failures []remove.Failure) error {
	for _, r := range refusals {
		fmt.Fprintf(c.err, "nestor: %s\n", printable.Lines(r.Error()))
	}
	for _, f := range failures {
		fmt.Fprintf(c.err, "nestor: %s\n", printable.Lines(f.Err.Error()))
	}
	switch {
	case len(refusals) > 0:
		return fail(exitRefused, nil)
	case len(failures) > 0:
		return fail(callExit(failures[0].Err), nil)
	}
	return nil
}
