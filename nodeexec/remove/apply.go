package remove

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/nodeexec/guard"
	"github.com/nestor-tools/nestor/nodeexec/remove/plan"
	"github.com/nestor-tools/nestor/shims"
)

// Status is what became of a node. The list is closed.
type Status string

// The statuses.
const (
	Clean       Status = "clean"       // all steps were taken, and nothing is left
	LeftOver    Status = "leftover"    // all steps were taken, and something is left
	Changed     Status = "changed"     // it is not as planned: nothing was done
	Broken      Status = "failed"      // a step failed: those before it were done
	Refused     Status = "stopped"     // the node refused before the first step: nothing was done
	Unsent      Status = "unsent"      // the steps never reached it: nothing was done
	Interrupted Status = "interrupted" // its last word was not heard: plan again
)

// Outcome is what became of a node.
type Outcome struct {
	Node   string          `json:"node"`
	Status Status          `json:"status"`
	Done   int             `json:"steps_done"` // as far as was heard
	Steps  int             `json:"steps"`
	Begun  string          `json:"begun,omitempty"`  // the step whose end was not heard
	Detail string          `json:"detail,omitempty"` // of a failure or an interruption
	Differ []string        `json:"differ,omitempty"` // "-as planned" and "+as it is"
	Left   []plan.Leftover `json:"left,omitempty"`
	Err    error           `json:"-"` // of the call, where there was one
}

// Apply takes the steps of a plan, whose file this is. confirm is its hash, as
// whoever read it gives it. There must be a permit to change each of its nodes,
// for the same target as the plan was made for. The nodes run at the same time,
// and what becomes of one changes nothing for the others.
//
// The error is of a plan that was not begun: nothing was sent to any node.
func Apply(ctx context.Context, file []byte, confirm string, permits []guard.Permit, journal *Journal, o Options) ([]Outcome, error) {
	p, err := plan.Decode(file)
	if err != nil {
		return nil, err
	}
	hash := plan.Hash(file)
	if confirm != hash {
		return nil, fmt.Errorf("%w: %q is not %s", ErrConfirm, confirm, hash)
	}
	var fleet nodeexec.Fleet
	for _, n := range p.Nodes {
		i := slices.IndexFunc(permits, func(permit guard.Permit) bool { return permit.Node() == n.Node })
		if i < 0 || !permits[i].Apply() {
			return nil, fmt.Errorf("node %q: %w", n.Node, guard.ErrNoPermit)
		}
		if permits[i].Digest() != n.Identity.TargetDigest {
			return nil, fmt.Errorf("node %q: %w: the inventory reaches it in another way than when the plan was made; plan again", n.Node, guard.ErrNoPermit)
		}
		runner, err := o.open(permits[i])
		if err != nil {
			return nil, err
		}
		fleet.Nodes = append(fleet.Nodes, runner)
	}
	runs := make([]*run, len(p.Nodes))
	for i, n := range p.Nodes {
		runs[i] = &run{node: n, told: o.Told, journal: journal, outcome: Outcome{Node: n.Node, Steps: len(n.Steps)}}
		runs[i].entry = Entry{Plan: hash, Node: n.Node}
		if err := runs[i].tell(Sent, 0, ""); err != nil {
			return nil, err
		}
	}
	outcomes := make([]Outcome, len(p.Nodes))
	for ended := range fleet.Run(ctx, func(i int) nodeexec.Command {
		return nodeexec.Command{
			Argv: []string{"sh", "-c", shims.Wipe, "nestor-wipe", "apply", request(p.Nodes[i])}, Stdout: runs[i], Sudo: o.Sudo,
		}
	}) {
		outcomes[ended.Index] = runs[ended.Index].conclude(ended)
	}
	if p.Reboot {
		for i := range outcomes {
			if outcomes[i].Status == Clean {
				outcomes[i] = runs[i].reboot(ctx, fleet.Nodes[i], o)
			}
		}
	}
	return outcomes, nil
}

// request is what wipe.sh is told to do.
func request(n plan.Node) string {
	var b strings.Builder
	for _, line := range n.State {
		b.WriteString("expect\t" + line + "\n")
	}
	for _, s := range n.Steps {
		b.WriteString("step\t" + strconv.Itoa(s.ID) + "\t" + string(s.Verb))
		for _, a := range s.Args {
			b.WriteString("\t" + a)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// run reads what wipe.sh prints of one node, writes the journal and keeps what
// the outcome is made of.
type run struct {
	node    plan.Node
	entry   Entry
	told    func(Entry)
	journal *Journal
	outcome Outcome
	partial []byte
	after   bytes.Buffer // the inspection afterwards
	begun   int
	same    bool
	done    bool
	err     error // what the node printed makes no sense, or the journal failed
}

func (r *run) tell(event Event, step int, detail string) error {
	e := r.entry
	e.Event, e.Step, e.Detail = event, step, detail
	if s, ok := r.step(step); ok {
		e.What = strings.Join(append([]string{string(s.Verb)}, s.Args...), " ")
	}
	if err := r.journal.add(e); err != nil {
		return err
	}
	if r.told != nil {
		r.told(e)
	}
	return nil
}

func (r *run) step(id int) (plan.Step, bool) {
	i := slices.IndexFunc(r.node.Steps, func(s plan.Step) bool { return s.ID == id })
	if i < 0 {
		return plan.Step{}, false
	}
	return r.node.Steps[i], true
}

// Write takes what the node printed, whole lines at a time. An error ends the
// command on the node: what cannot be written down must not go on.
func (r *run) Write(b []byte) (int, error) {
	r.partial = append(r.partial, b...)
	for r.err == nil {
		line, rest, whole := bytes.Cut(r.partial, []byte("\n"))
		if !whole {
			break
		}
		r.partial = rest
		r.err = r.line(string(line))
	}
	if len(r.partial)+r.after.Len() > 16<<20 {
		r.err = fmt.Errorf("the node printed more than 16 MiB")
	}
	return len(b), r.err
}

func (r *run) line(line string) error {
	f := strings.SplitN(line, "\t", 3)
	id := 0
	if len(f) > 1 {
		id, _ = strconv.Atoi(f[1]) // 0 is no step's
	}
	switch f[0] {
	case "nestor-wipe":
		return nil
	case "stop":
		r.outcome.Status, r.outcome.Detail = Refused, strings.Join(f[1:], " ")
		return r.tell(Stopped, 0, r.outcome.Detail)
	case "differ":
		difference := strings.Join(strings.Split(line, "\t")[1:], " ")
		r.outcome.Status = Changed
		r.outcome.Differ = append(r.outcome.Differ, difference)
		return r.tell(Differs, 0, difference)
	case "same":
		r.same = true
		return r.tell(Same, 0, "")
	case "begin":
		if _, ok := r.step(id); !ok || !r.same {
			return fmt.Errorf("the node begins step %d, which is not planned", id)
		}
		r.begun = id
		return r.tell(Begin, id, "")
	case "end":
		if id != r.begun {
			return fmt.Errorf("the node ends step %d, and began %d", id, r.begun)
		}
		r.begun = 0
		r.outcome.Done++
		return r.tell(End, id, "")
	case "fail":
		r.outcome.Status = Broken
		if len(f) > 2 {
			r.outcome.Detail = f[2]
		}
		r.begun = 0
		return r.tell(Failed, id, r.outcome.Detail)
	case "done":
		r.done = r.outcome.Done == r.outcome.Steps
		return nil
	}
	r.after.WriteString(line + "\n")
	return nil
}

// conclude says what became of the node, once the call has ended.
func (r *run) conclude(ended nodeexec.Outcome) Outcome {
	r.outcome.Err = ended.Err
	if ended.Err == nil {
		r.outcome.Err = r.err
	}
	if s, ok := r.step(r.begun); ok {
		r.outcome.Begun = s.String()
	}
	if r.outcome.Status != "" && r.outcome.Err == nil {
		return r.outcome
	}
	if r.outcome.Err == nil && !r.done {
		r.outcome.Err = fmt.Errorf("%s: wipe.sh ended with exit code %d before it was done: %s", r.node.Node, ended.Result.ExitCode, complaint(ended.Result))
	}
	var in plan.Inspection
	if r.outcome.Err == nil {
		in, r.outcome.Err = plan.ParseInspection(append([]byte("nestor-wipe\t1\n"), r.after.Bytes()...))
	}
	if r.outcome.Err != nil {
		return r.lost()
	}
	r.outcome.Status, r.outcome.Left = Clean, plan.Leftovers(in, true)
	for _, l := range r.outcome.Left {
		r.outcome.Status = LeftOver
		r.note(Leftover, l.String())
	}
	if r.outcome.Status == Clean {
		r.note(Verified, "")
	}
	return r.outcome
}

// note writes what cannot be undone by an error any more; the error joins the
// outcome.
func (r *run) note(event Event, detail string) {
	if err := r.tell(event, 0, detail); err != nil && r.outcome.Err == nil {
		r.outcome.Err = err
	}
}

// lost is the outcome of a node whose last word was not heard.
func (r *run) lost() Outcome {
	r.outcome.Detail = r.outcome.Err.Error()
	if e, ok := errors.AsType[*nodeexec.Error](r.outcome.Err); ok && e.Remote == nodeexec.RemoteNone && !r.same {
		r.outcome.Status = Unsent
		r.note(NotSent, r.outcome.Detail)
		return r.outcome
	}
	if r.outcome.Status == "" {
		r.outcome.Status = Interrupted
	}
	r.note(Lost, r.outcome.Detail)
	return r.outcome
}

// reboot restarts a node that is clean.
func (r *run) reboot(ctx context.Context, node nodeexec.Runner, o Options) Outcome {
	r.note(Reboot, "")
	res, err := node.Run(ctx, nodeexec.Command{Argv: []string{"sh", "-c", shims.Wipe, "nestor-wipe", "reboot"}, Sudo: o.Sudo})
	if err == nil && res.ExitCode != 0 {
		err = fmt.Errorf("%s: reboot: exit code %d: %s", r.node.Node, res.ExitCode, complaint(res))
	}
	r.outcome.Err = err
	return r.outcome
}
