package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// tally counts what has become of a fleet's nodes, and tells it: on a
// terminal's status line while they run, on request, and in the end.
type tally struct {
	screen  *screen
	targets []inventory.Target
	began   time.Time
	closing []func()

	mu      sync.Mutex
	running map[int]time.Time // since when
	ended   int
	failed  int
	results map[result][]int // indexes of the nodes
}

// result is what nodes are put together by in the summary.
type result struct {
	class string // "ok", "exit 3", or a kind
	text  string // the failure, with the node's own name and address put generally
}

func newTally(s *screen, targets []inventory.Target) *tally {
	return &tally{screen: s, targets: targets, began: time.Now(), running: map[int]time.Time{}, results: map[result][]int{}}
}

func (t *tally) start(i int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running[i] = time.Now()
}

func (t *tally) done(o nodeexec.Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.running, o.Index)
	t.ended++
	r := resultOf(o, t.targets[o.Index])
	if r.class != okClass {
		t.failed++
	}
	t.results[r] = append(t.results[r], o.Index)
}

const okClass = "ok"

func resultOf(o nodeexec.Outcome, target inventory.Target) result {
	switch {
	case o.Err != nil:
		text := failureText(o)
		if kind := nodeexec.KindOf(o.Err); kind != "" {
			return result{string(kind), string(newOwnWords(target).replace([]byte(text)))}
		}
		return result{"error", text}
	case o.Result.ExitCode == 0:
		return result{class: okClass}
	case o.Result.Signal != "":
		return result{class: fmt.Sprintf("exit %d (%s)", o.Result.ExitCode, o.Result.Signal)}
	}
	return result{class: fmt.Sprintf("exit %d", o.Result.ExitCode)}
}

// failureText is a failure without the node's name in front.
func failureText(o nodeexec.Outcome) string {
	return strings.TrimPrefix(o.Err.Error(), o.Node+": ")
}

func remoteOf(err error) nodeexec.Remote {
	if e, ok := errors.AsType[*nodeexec.Error](err); ok {
		return e.Remote
	}
	return ""
}

// remark says something between the nodes' lines.
func (t *tally) remark(text string) {
	fmt.Fprintf(t.screen.stderr(), "nestor: %s\n", text)
}

// line is how far it is, with the names of those that have run the longest.
func (t *tally) line(slowest int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := fmt.Sprintf("%d/%d done, %d failed, %d running", t.ended, len(t.targets), t.failed, len(t.running))
	byAge := slices.SortedFunc(maps.Keys(t.running), func(a, b int) int {
		return cmp.Or(t.running[a].Compare(t.running[b]), cmp.Compare(a, b))
	})
	for n, i := range byAge[:min(slowest, len(byAge))] {
		s += map[bool]string{true: ": ", false: ", "}[n == 0] +
			fmt.Sprintf("%s %s", t.targets[i].Node, time.Since(t.running[i]).Round(time.Second))
	}
	return s
}

// watch keeps the status line, and answers the signals that ask for one. It
// returns what ends it.
func (t *tally) watch() (end func()) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, statusSignals...)
	over, gone := make(chan struct{}), make(chan struct{})
	tick := time.NewTicker(250 * time.Millisecond)
	go func() {
		defer close(gone)
		for {
			select {
			case <-asked:
				t.remark(t.line(10))
			case <-tick.C:
				t.screen.show(t.line(5))
			case <-over:
				return
			}
		}
	}()
	t.atEnd(func() {
		signal.Stop(asked)
		tick.Stop()
		close(over)
		<-gone
		t.screen.show("")
	})
	return t.end
}

// atEnd has f called by end.
func (t *tally) atEnd(f func()) { t.closing = append(t.closing, f) }

func (t *tally) end() {
	for _, f := range t.closing {
		f()
	}
	t.closing = nil
}

// summary says what became of all, the nodes of each result named. It ends
// the tally.
func (t *tally) summary() {
	t.end()
	var b strings.Builder
	fmt.Fprintf(&b, "nestor: %s in %s: %d ok", nodeCount(len(t.targets)), time.Since(t.began).Round(100*time.Millisecond), len(t.results[result{class: okClass}]))
	delete(t.results, result{class: okClass})
	byClass := map[string]int{}
	for r, nodes := range t.results {
		byClass[r.class] += len(nodes)
	}
	for _, class := range slices.Sorted(maps.Keys(byClass)) {
		fmt.Fprintf(&b, ", %d %s", byClass[class], class)
	}
	b.WriteByte('\n')
	for _, r := range slices.SortedFunc(maps.Keys(t.results), func(a, b result) int {
		return cmp.Or(strings.Compare(a.class, b.class), strings.Compare(a.text, b.text))
	}) {
		nodes := t.results[r]
		slices.Sort(nodes) // the inventory's order
		fmt.Fprintf(&b, "  %s: %s", r.class, fold(t.names(nodes)))
		if r.text != "" && r.class != string(nodeexec.KindNotStarted) {
			fmt.Fprintf(&b, ": %s", r.text)
		}
		b.WriteByte('\n')
	}
	_, _ = t.screen.stderr().Write([]byte(b.String())) // nowhere to tell that it could not be told
}

func (t *tally) names(nodes []int) []string {
	names := make([]string, len(nodes))
	for n, i := range nodes {
		names[n] = t.targets[i].Node
	}
	return names
}

func nodeCount(n int) string {
	if n == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", n)
}
