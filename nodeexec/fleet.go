package nodeexec

import (
	"context"
	"iter"
	"slices"
	"sync"
)

// Fleet runs commands on many nodes, some at once. What becomes of one node
// changes nothing for the others.
type Fleet struct {
	Nodes []Runner

	// Forks is how many nodes are busy at once; 0 means 32.
	Forks int

	// PerJump is how many of them may be connecting through one jump host at
	// once, since its sshd turns away what exceeds its MaxStartups; 0 means
	// 8. It counts for a *Node whose Target.Jump names one.
	PerJump int

	// Abandon, when closed, makes a cancelled Run return at once, without
	// the nodes' word that they ended the command: Error.Remote is then
	// RemoteUnknown.
	Abandon <-chan struct{}
}

// Outcome is what became of one node of a Fleet.
type Outcome struct {
	Index  int // in Fleet.Nodes
	Node   string
	Result Result
	Err    error // as from Runner.Run, or KindNotStarted
}

// member is what a Fleet adds to a Node that it runs.
type member struct {
	started func()          // called when the command has started on the node
	abandon <-chan struct{} // Fleet.Abandon
}

// Run runs a command on every node and gives each outcome as it comes. The
// nodes start in their order, except that a full jump host keeps only its own
// nodes waiting. Once ctx is done, what runs is ended on its node, and the
// rest is KindNotStarted; leaving the loop does the same, unseen.
//
// command gives the command for the node of that index, just before it
// starts. It is called by the loop's own goroutine, and what the loop's body
// spends holds up the nodes to come. A stream that several commands share
// must allow for that.
func (f Fleet) Run(ctx context.Context, command func(index int) Command) iter.Seq[Outcome] {
	return func(yield func(Outcome) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		r := f.start(ctx)
		for len(r.waiting) > 0 || r.busy > 0 {
			var o Outcome
			if ctx.Err() != nil && len(r.waiting) > 0 {
				o = r.notStarted()
			} else {
				for r.startNext(command) {
				}
				select {
				case i := <-r.connected:
					r.leaveJump(i)
					continue
				case o = <-r.finished:
					r.busy--
					r.leaveJump(o.Index)
				case <-r.stopped():
					continue
				}
			}
			if yield != nil && !yield(o) {
				cancel()
				yield, r.waiting = nil, nil
			}
		}
	}
}

// RunAll is Run that waits for all, and gives the outcomes in the nodes' order.
func (f Fleet) RunAll(ctx context.Context, command func(index int) Command) []Outcome {
	return slices.SortedFunc(f.Run(ctx, command), func(a, b Outcome) int { return a.Index - b.Index })
}

// round is one Run of a Fleet. Only the loop's goroutine changes it.
type round struct {
	Fleet
	ctx       context.Context
	waiting   []int          // indexes, in order
	busy      int            // nodes that are running
	jumps     []string       // each node's jump host; "" where it is in nobody's way
	crossing  map[string]int // nodes that are connecting, by jump host
	connected chan int       // has room for all, so that nobody waits for the loop
	finished  chan Outcome
}

func (f Fleet) start(ctx context.Context) *round {
	if f.Forks <= 0 {
		f.Forks = 32
	}
	if f.PerJump <= 0 {
		f.PerJump = 8
	}
	r := &round{Fleet: f, ctx: ctx, jumps: make([]string, len(f.Nodes)), crossing: map[string]int{},
		connected: make(chan int, len(f.Nodes)), finished: make(chan Outcome)}
	for i, node := range f.Nodes {
		r.waiting = append(r.waiting, i)
		if n, ok := node.(*Node); ok {
			r.jumps[i] = n.target.Jump()
		}
	}
	return r
}

// startNext starts the first node that may start, and says whether one did.
func (r *round) startNext(command func(index int) Command) bool {
	if r.busy >= r.Forks {
		return false
	}
	at := slices.IndexFunc(r.waiting, func(i int) bool {
		return r.jumps[i] == "" || r.crossing[r.jumps[i]] < r.PerJump
	})
	if at < 0 {
		return false
	}
	i := r.waiting[at]
	r.waiting = slices.Delete(r.waiting, at, at+1)
	r.busy++
	r.crossing[r.jumps[i]]++
	node := r.Nodes[i]
	if n, ok := node.(*Node); ok {
		ours := *n
		ours.member = member{started: sync.OnceFunc(func() { r.connected <- i }), abandon: r.Abandon}
		node = &ours
	}
	c := command(i)
	go func() {
		res, err := node.Run(r.ctx, c)
		r.finished <- Outcome{Index: i, Node: node.Name(), Result: res, Err: err}
	}()
	return true
}

// leaveJump makes room at a node's jump host, once: nobody reads the count of "".
func (r *round) leaveJump(i int) {
	r.crossing[r.jumps[i]]--
	r.jumps[i] = ""
}

// stopped is closed once no node is to be started any more; nil where none waits.
func (r *round) stopped() <-chan struct{} {
	if len(r.waiting) == 0 {
		return nil
	}
	return r.ctx.Done()
}

// notStarted is the outcome of the next node that waits for nothing.
func (r *round) notStarted() Outcome {
	i := r.waiting[0]
	r.waiting = r.waiting[1:]
	e := &Error{Node: r.Nodes[i].Name(), Kind: KindNotStarted, Remote: RemoteNone,
		Detail: "not started", Err: r.ctx.Err()}
	if n, ok := r.Nodes[i].(*Node); ok {
		e.Transport = n.target.Transport
	}
	return Outcome{Index: i, Node: e.Node, Err: e}
}
