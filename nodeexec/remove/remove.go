// Package remove wipes the storage of bench nodes: the disks that a profile
// lists, and /var/lib/rook.
//
//	nodes, refusals, failures := remove.Plan(ctx, nodes, remove.PlanOptions{Profile: profile, Kind: inventory.Lima})
//	outcomes, err := remove.Apply(ctx, file, hash, permits, journal, remove.Options{})
//
// A wipe is a plan that is bound to machines and disks. Plan makes it, from what
// discover found and from what shims/wipe.sh reads on the node. Apply takes its
// steps: wipe.sh reads everything once more in the same session, stops where
// anything differs, and reads back afterwards what is left. Both need a permit
// of package guard, which none is given for production.
//
// It refuses a plan without its hash, a node without a permit for this very
// plan's target, and whatever package plan refuses.
package remove

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nestor-tools/nestor/mapping"
	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/nodeexec/guard"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
	"github.com/nestor-tools/nestor/nodeexec/remove/plan"
	"github.com/nestor-tools/nestor/shims"
)

// Options say how the nodes are asked. The zero value is right for root.
type Options struct {
	// Open opens the node of a permit's target; nil means nodeexec.Open
	// without a shared connection.
	Open func(inventory.Target) nodeexec.Runner

	// Sudo runs wipe.sh through "sudo -n": it needs root.
	Sudo bool

	// Told hears what happens, as it happens: the entries of the journal.
	Told func(Entry)
}

func (o Options) open(p guard.Permit) (nodeexec.Runner, error) {
	t, err := p.Target()
	if err != nil {
		return nil, err
	}
	if o.Open != nil {
		return o.Open(t), nil
	}
	return nodeexec.Open(t, nodeexec.Options{}), nil
}

// Node is a node to plan for, or to verify.
type Node struct {
	Permit guard.Permit
	Facts  mapping.NodeFacts // what discover found
}

// PlanOptions are what a plan is made under.
type PlanOptions struct {
	Options
	Profile plan.Profile
	Kind    inventory.Kind // that the inventory declares
	Discard bool           // discard each disk first
}

// Failure is a node that could not be asked.
type Failure struct {
	Node string
	Err  error
}

// Plan plans the wipe of each node. One refusal, and there is no plan at all.
func Plan(ctx context.Context, nodes []Node, o PlanOptions) ([]plan.Node, []plan.Refusal, []Failure) {
	var planned []plan.Node
	var refusals []plan.Refusal
	var failures []Failure
	for _, n := range nodes {
		p, refused, err := planOne(ctx, n, o)
		switch {
		case err != nil:
			failures = append(failures, Failure{Node: n.Permit.Node(), Err: err})
		case len(refused) > 0:
			refusals = append(refusals, refused...)
		default:
			planned = append(planned, p)
		}
	}
	for i, p := range planned {
		for _, earlier := range planned[:i] {
			if p.Identity.MachineID == earlier.Identity.MachineID {
				refusals = append(refusals, plan.Refusal{Node: p.Node, Rule: plan.RuleNode, Value: p.Identity.MachineID,
					Why: fmt.Sprintf("is also the machine-id of node %q: one machine under two names, or a clone", earlier.Node)})
			}
		}
	}
	if len(refusals)+len(failures) > 0 {
		planned = nil
	}
	return planned, refusals, failures
}

func planOne(ctx context.Context, n Node, o PlanOptions) (plan.Node, []plan.Refusal, error) {
	choices, refusals := plan.Choose(n.Permit.Node(), n.Facts, o.Profile)
	if len(refusals) > 0 {
		return plan.Node{}, refusals, nil
	}
	in, err := inspect(ctx, n.Permit, choices, o.Options)
	if err != nil {
		return plan.Node{}, nil, err
	}
	if id := n.Facts.MachineID.Value; id != in.MachineID {
		return plan.Node{}, []plan.Refusal{{Node: n.Permit.Node(), Rule: plan.RuleHostChange, Value: in.MachineID, Why: fmt.Sprintf("is its machine-id, and it was %q a moment ago", id)}}, nil
	}
	p, refusals := plan.Make(plan.Input{
		Node: n.Permit.Node(), Choices: choices, Inspection: in, Profile: o.Profile, Kind: o.Kind, Discard: o.Discard,
	})
	if len(refusals) > 0 {
		return plan.Node{}, refusals, nil
	}
	t, err := n.Permit.Target()
	if err != nil {
		return plan.Node{}, nil, err
	}
	p.Identity.Address, p.Identity.TargetDigest = t.Host, n.Permit.Digest()
	p.LeftAlone = append(p.LeftAlone, plan.LeftAlone(n.Facts, choices)...)
	return p, nil, nil
}

// inspect has the node print what the chosen disks are.
func inspect(ctx context.Context, permit guard.Permit, choices []plan.Choice, o Options) (plan.Inspection, error) {
	node, err := o.open(permit)
	if err != nil {
		return plan.Inspection{}, err
	}
	argv := []string{"sh", "-c", shims.Wipe, "nestor-wipe", "inspect"}
	for _, c := range choices {
		argv = append(argv, c.Path)
	}
	var out bytes.Buffer
	res, err := node.Run(ctx, nodeexec.Command{Argv: argv, Stdout: &out, Sudo: o.Sudo, Timeout: 5 * time.Minute})
	if err != nil {
		return plan.Inspection{}, err
	}
	if res.ExitCode != 0 {
		return plan.Inspection{}, fmt.Errorf("%s: the inspection ended with exit code %d: %s", permit.Node(), res.ExitCode, complaint(res))
	}
	in, err := plan.ParseInspection(out.Bytes())
	if err != nil {
		return plan.Inspection{}, fmt.Errorf("%s: %w", permit.Node(), err)
	}
	return in, nil
}

func complaint(res nodeexec.Result) string {
	first, _, _ := strings.Cut(strings.TrimSpace(res.Stderr.String()), "\n")
	if len(first) > 200 {
		first = first[:200]
	}
	return first
}

// Verify reads back what is left of what a profile lists, without changing
// anything.
func Verify(ctx context.Context, nodes []Node, o PlanOptions) ([]Outcome, []plan.Refusal, []Failure) {
	var outcomes []Outcome
	var refusals []plan.Refusal
	var failures []Failure
	for _, n := range nodes {
		name := n.Permit.Node()
		choices, refused := plan.Find(name, n.Facts, o.Profile)
		if len(refused) > 0 {
			refusals = append(refusals, refused...)
			continue
		}
		in, err := inspect(ctx, n.Permit, choices, o.Options)
		if err != nil {
			failures = append(failures, Failure{Node: name, Err: err})
			continue
		}
		outcome := Outcome{Node: name, Status: Clean, Left: plan.Leftovers(in, false)}
		if len(outcome.Left) > 0 {
			outcome.Status = LeftOver
		}
		outcomes = append(outcomes, outcome)
	}
	return outcomes, refusals, failures
}

// ErrConfirm is matched where the hash that was confirmed is not the plan's.
var ErrConfirm = errors.New("refused: the confirmed hash is not the plan's")
