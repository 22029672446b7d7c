package main

import (
	"context"
	"fmt"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"github.com/nestor-tools/nestor/contract/printable"
	"github.com/nestor-tools/nestor/nodeexec/guard"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
	"github.com/nestor-tools/nestor/nodeexec/remove"
	"github.com/nestor-tools/nestor/nodeexec/remove/plan"
)

func newRemovePlanCmd(c *cli) *cobra.Command {
	var f removeFlags
	cmd := &cobra.Command{
		Use:   "plan NODE...",
		Short: "Plan the wipe of bench nodes; nothing is changed",
		Long: `Plan the wipe of bench nodes, named literally. Nothing is changed on them.

The profile says which disks may be wiped; there is no default:

  nodes:
    - name: node1
      disks:
        - {by_id: ata-QEMU_HARDDISK_QM00003, role: data}
        - {device: /dev/vdc, role: metadata}
  ceph: {fsid: 11111111-2222-3333-4444-555555555555}

The plan goes to --out as JSON, and to stdout as text for people (--output json:
the JSON). Its hash is what "nestor remove apply" must be given. One disk that
may not be wiped, and there is no plan: exit code 4, each refusal on stderr with
its rule, the value and where it is written.`,
		Example: `  nestor remove plan node1 node2 --target-kind lima --disks disks.yaml --out plan.json
  DATA_DEVICE_GLOB='/dev/vd[b-d]' nestor remove plan node1 --target-kind lima --ceph-fsid UUID --out plan.json`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: c.completeNodes(false),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.removePlan(cmd.Context(), args, f) },
	}
	f.add(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.out, "out", "", "write the plan to this file (required)")
	fl.StringArrayVar(&f.fsids, "ceph-fsid", nil, "a cluster whose OSDs may be wiped, beside the profile's ceph.fsid; may be repeated")
	fl.BoolVar(&f.reboot, "reboot", false, "restart each node at the end")
	fl.BoolVar(&f.trim, "discard", false, "discard each disk before it is cleared; it is cleared all the same")
	_ = cmd.MarkFlagRequired("out") // its only error is a flag that there is not
	return cmd
}

func (c *cli) removePlan(ctx context.Context, names []string, f removeFlags) error {
	if err := c.format("text", "json"); err != nil {
		return err
	}
	profile, err := c.profile(f)
	if err != nil {
		return err
	}
	nodes, err := c.lookAt(ctx, names, profile, f)
	if err != nil {
		return err
	}
	planned, refusals, failures := remove.Plan(ctx, nodes, remove.PlanOptions{
		Options: remove.Options{Sudo: f.sudo, Open: c.openRemoval}, Profile: profile, Kind: inventory.Lima, Discard: f.trim,
	})
	if len(planned) == 0 {
		return c.refusedPlan(refusals, failures)
	}
	p := plan.Plan{TargetKind: string(inventory.Lima), StackID: stackOf(nodes[0].Permit), Reboot: f.reboot, Nodes: planned}
	for _, s := range profile.FSIDs {
		p.CephFSIDs = append(p.CephFSIDs, s.Value)
	}
	file, err := plan.Encode(p)
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(f.out, file, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", f.out, err)
	}
	if c.output == "json" {
		_, err = c.out.Write(file)
		return err
	}
	_, err = fmt.Fprintf(c.out, "%s\n%s: sha256 %s\n", printable.Lines(plan.Text(p)), f.out, plan.Hash(file))
	return err
}

func stackOf(p guard.Permit) string {
	t, err := p.Target()
	if err != nil {
		return ""
	}
	return t.StackID
}
