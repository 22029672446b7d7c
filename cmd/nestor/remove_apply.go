package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nestor-tools/nestor/contract/printable"
	"github.com/nestor-tools/nestor/nodeexec/guard"
	"github.com/nestor-tools/nestor/nodeexec/remove"
	"github.com/nestor-tools/nestor/nodeexec/remove/plan"
)

func newRemoveApplyCmd(c *cli) *cobra.Command {
	var confirm, journal string
	var sudo bool
	cmd := &cobra.Command{
		Use:   "apply PLAN",
		Short: "Take the steps of a plan",
		Long: `Take the steps of a plan that "nestor remove plan" wrote. --confirm is its
hash, as plan printed it (sha256sum PLAN prints it too), and BANC_JETABLE=1 in
the environment says that this bench may be lost.

Each node reads everything once more before its first step, and does nothing
where anything differs from the plan (exit code 4); the other nodes run all the
same. The first step that fails is the last. Afterwards the node is read back:
anything left is named, and the exit code is 1.

What was done is in the journal (PLAN.journal, JSON lines, only appended to),
also where this process is killed. After an interruption, plan again: what is
left is planned.`,
		Example: `  BANC_JETABLE=1 nestor remove apply plan.json --target-kind lima --confirm 5f3a...`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if journal == "" {
				journal = args[0] + ".journal"
			}
			return c.removeApply(cmd.Context(), args[0], confirm, journal, sudo)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&confirm, "confirm", "", "the plan's hash (required)")
	fl.StringVar(&journal, "journal", "", "append to this journal (default PLAN.journal)")
	fl.BoolVar(&sudo, "sudo", false, `act as root, through "sudo -n"`)
	_ = cmd.MarkFlagRequired("confirm") // its only error is a flag that there is not
	return cmd
}

func (c *cli) removeApply(ctx context.Context, name, confirm, journalName string, sudo bool) error {
	if err := c.format("text", "json"); err != nil {
		return err
	}
	file, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	p, err := plan.Decode(file)
	if err != nil {
		return fail(exitRefused, fmt.Errorf("refused: %s: %w", name, err))
	}
	var names []string
	for _, n := range p.Nodes {
		names = append(names, n.Node)
	}
	inv, err := c.openInventory()
	if err != nil {
		return err
	}
	permits, err := c.authorize(ctx, inv, names, true)
	if err != nil {
		return err
	}
	if confirm != plan.Hash(file) {
		return fail(exitRefused, fmt.Errorf("%s: %w", name, remove.ErrConfirm))
	}
	journal, err := remove.OpenJournal(journalName)
	if err != nil {
		return err
	}
	defer journal.Close()
	outcomes, err := remove.Apply(ctx, file, confirm, permits, journal, remove.Options{Sudo: sudo, Open: c.openRemoval, Told: c.removeProgress})
	if errors.Is(err, guard.ErrNoPermit) || errors.Is(err, remove.ErrConfirm) {
		return fail(exitRefused, err)
	}
	if err != nil {
		return err
	}
	return c.printOutcomes(plan.Hash(file), outcomes)
}

// removeProgress tells on stderr what happens, as it happens.
func (c *cli) removeProgress(e remove.Entry) {
	text := string(e.Event)
	if e.Step != 0 {
		text = fmt.Sprintf("%s %d %s", e.Event, e.Step, e.What)
	}
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	fmt.Fprintf(c.err, "%s\n", printable.Line(e.Node+" "+text))
}

// removalV1 is nestor.removal/v1.
type removalV1 struct {
	Schema string           `json:"schema"`
	Plan   string           `json:"plan,omitempty"` // its hash
	Nodes  []remove.Outcome `json:"nodes"`
}

// printOutcomes prints what became of each node, and gives the exit code.
func (c *cli) printOutcomes(hash string, outcomes []remove.Outcome) error {
	code := exitOK
	worse := map[int]int{exitOK: 0, exitFindings: 1, exitUnreachable: 2, exitUnevaluated: 3, exitRefused: 4}
	for _, o := range outcomes {
		if now := outcomeExit(o); worse[now] > worse[code] {
			code = now
		}
	}
	if c.output == "json" {
		if err := json.NewEncoder(c.out).Encode(removalV1{Schema: "nestor.removal/v1", Plan: hash, Nodes: append([]remove.Outcome{}, outcomes...)}); err != nil {
			return err
		}
	} else {
		for _, o := range outcomes {
			fmt.Fprint(c.out, printable.Lines(outcomeText(o)))
		}
	}
	if code == exitOK {
		return nil
	}
	return fail(code, nil)
}

func outcomeExit(o remove.Outcome) int {
	switch o.Status {
	case remove.Clean:
		if o.Err != nil {
			return callExit(o.Err)
		}
		return exitOK
	case remove.Changed:
		return exitRefused
	case remove.Interrupted, remove.Unsent:
		return callExit(o.Err)
	case remove.Refused:
		return exitUnevaluated
	}
	return exitFindings
}

func outcomeText(o remove.Outcome) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", o.Node, o.Status)
	if o.Steps > 0 {
		fmt.Fprintf(&b, ", %d of %d steps", o.Done, o.Steps)
	}
	if o.Detail != "" {
		fmt.Fprintf(&b, ": %s", o.Detail)
	}
	b.WriteString("\n")
	if o.Begun != "" {
		fmt.Fprintf(&b, "  begun, and its end was not heard: %s\n", o.Begun)
	}
	for _, d := range o.Differ {
		fmt.Fprintf(&b, "  %s\n", d)
	}
	for _, l := range o.Left {
		fmt.Fprintf(&b, "  left: %s\n", l)
	}
	return b.String()
}
