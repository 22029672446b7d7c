package probe

import (
	"cmp"
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Options of Run. The zero value is for use.
type Options struct {
	Parallel int           // how many at once; 0: 16
	Timeout  time.Duration // of one target, a look for the other scheme apart; 0: 5 s
	// Progress is told after each target; calls do not overlap.
	Progress func(done, total int)
}

// Run tries every target, and gives their results in the same order. When ctx
// ends, what is left is Stopped.
func Run(ctx context.Context, targets []Target, o Options) []Result {
	o.Parallel = cmp.Or(max(o.Parallel, 0), 16)
	o.Timeout = cmp.Or(max(o.Timeout, 0), 5*time.Second)
	results := make([]Result, len(targets))
	var mu sync.Mutex
	done := 0
	var group errgroup.Group
	group.SetLimit(o.Parallel)
	for i, t := range targets {
		group.Go(func() error {
			results[i] = one(ctx, t, o.Timeout)
			mu.Lock()
			defer mu.Unlock()
			done++
			if o.Progress != nil {
				o.Progress(done, len(targets))
			}
			return nil
		})
	}
	_ = group.Wait() // none fails: what goes wrong is a result
	return results
}

// one tries a target.
func one(ctx context.Context, t Target, timeout time.Duration) Result {
	if t.Result != nil {
		return *t.Result
	}
	r := Result{Endpoint: t.Endpoint, URL: t.URL, Node: t.Node, Hints: []string{}}
	if ctx.Err() != nil {
		r.State, r.Kind, r.Message = Failed, Stopped, "the probe was interrupted before its turn"
		return r
	}
	try(ctx, &r, timeout)
	if r.State == Reachable {
		return r
	}
	r.State = Failed
	if ctx.Err() != nil {
		r.Kind, r.Message = Stopped, "the probe was interrupted"
		return r
	}
	if t.NotReady {
		r.Hints = append(r.Hints, "node "+t.Node+" is not Ready: kubectl describe node "+t.Node)
	}
	r.Hints = append(r.Hints, t.Hints...)
	switch r.Kind {
	case TimedOut, Refused, Reset, Silent, Closed:
		r.Hints = append(r.Hints, policyHint(t)...)
	}
	return r
}
