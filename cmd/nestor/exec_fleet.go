package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// execReport is one way to show what the nodes of a fleet said.
type execReport interface {
	// streams receive the output of the node of that index; nil captures it.
	streams(index int) (stdout, stderr io.Writer)
	// outcome is told once of each node, as it ends.
	outcome(o nodeexec.Outcome) error
	// end is told that all nodes have ended.
	end() error
}

// execFleet runs the command on all targets and reports.
func (c *cli) execFleet(ctx context.Context, targets []inventory.Target, command execCommand, f execFlags) error {
	s := newScreen(c)
	progress := newTally(s, targets)
	ctx, abandon, ended := interruptible(ctx, func() {
		progress.remark("stopping: ending the command on every node; once more to wait for none of them")
	})
	defer ended()
	fleet := nodeexec.Fleet{Forks: f.forks, Abandon: abandon}
	for _, t := range targets {
		fleet.Nodes = append(fleet.Nodes, c.open(t))
	}
	var report execReport
	switch {
	case c.output == "json":
		report = jsonReport{s}
	case f.gather:
		report = newGatherReport(s, targets, f.diff)
	default:
		report = newLiveReport(s, targets, c.colours())
	}
	defer progress.watch()()
	code := exitOK
	for o := range fleet.Run(ctx, func(i int) nodeexec.Command {
		progress.start(i)
		run := command.on()
		run.Stdout, run.Stderr = report.streams(i)
		return run
	}) {
		progress.done(o)
		code = worse(code, outcomeCode(o))
		if err := report.outcome(o); err != nil {
			return fmt.Errorf("exec: %w", err)
		}
	}
	if err := report.end(); err != nil {
		return fmt.Errorf("exec: %w", err)
	}
	progress.summary()
	if code != exitOK {
		return fail(code, nil)
	}
	return nil
}

// outcomeCode is the exit code that one node alone would give.
func outcomeCode(o nodeexec.Outcome) int {
	switch remote, kind := remoteOf(o.Err), nodeexec.KindOf(o.Err); {
	case o.Err == nil && o.Result.ExitCode == 0:
		return exitOK
	case o.Err == nil:
		return exitFindings
	case unreachable(o.Err), kind == nodeexec.KindDeadline && remote == nodeexec.RemoteNone:
		return exitUnreachable
	case kind == nodeexec.KindDeadline:
		return exitFindings
	}
	return exitUnevaluated
}

// worse is the exit code for both.
func worse(a, b int) int {
	order := []int{exitOK, exitFindings, exitUnreachable, exitUnevaluated, exitRefused}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}
