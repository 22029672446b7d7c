package nodeexec_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// runner is a node that only waits.
type runner struct {
	name string
	run  func(ctx context.Context, c nodeexec.Command) (nodeexec.Result, error)
}

func (r runner) Name() string { return r.name }

func (r runner) Run(ctx context.Context, c nodeexec.Command) (nodeexec.Result, error) {
	return r.run(ctx, c)
}

// sleepers are nodes that take as many seconds as given and count how many
// are busy at once.
func sleepers(busy, most *atomic.Int64, seconds ...int) (nodes []nodeexec.Runner) {
	for i, s := range seconds {
		name := fmt.Sprint("node", i)
		nodes = append(nodes, runner{name, func(ctx context.Context, _ nodeexec.Command) (nodeexec.Result, error) {
			most.Store(max(most.Load(), busy.Add(1)))
			defer busy.Add(-1)
			select {
			case <-time.After(time.Duration(s) * time.Second):
				return nodeexec.Result{ExitCode: s}, nil
			case <-ctx.Done():
				return nodeexec.Result{}, &nodeexec.Error{Node: name, Kind: nodeexec.KindCanceled, Remote: nodeexec.RemoteKilled}
			}
		}})
	}
	return nodes
}

func same(argv ...string) func(int) nodeexec.Command {
	return func(int) nodeexec.Command { return nodeexec.Command{Argv: argv} }
}

func TestFleetGivesOutcomesAsTheyComeAndInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var busy, most atomic.Int64
		f := nodeexec.Fleet{Nodes: sleepers(&busy, &most, 3, 1, 2)}
		var came []string
		for o := range f.Run(t.Context(), same("true")) {
			came = append(came, o.Node)
		}
		assert.Equal(t, []string{"node1", "node2", "node0"}, came)
		var ordered []int
		for i, o := range f.RunAll(t.Context(), same("true")) {
			assert.Equal(t, i, o.Index)
			ordered = append(ordered, o.Result.ExitCode)
		}
		assert.Equal(t, []int{3, 1, 2}, ordered)
	})
}

func TestFleetIsBounded(t *testing.T) {
	for _, tc := range []struct{ forks, nodes, most int }{{0, 100, 32}, {1, 5, 1}, {7, 20, 7}, {50, 10, 10}} {
		synctest.Test(t, func(t *testing.T) {
			var busy, most atomic.Int64
			var started []int
			f := nodeexec.Fleet{Nodes: sleepers(&busy, &most, make([]int, tc.nodes)...), Forks: tc.forks}
			outcomes := f.RunAll(t.Context(), func(i int) nodeexec.Command {
				started = append(started, i)
				return nodeexec.Command{}
			})
			assert.Len(t, outcomes, tc.nodes)
			assert.LessOrEqual(t, int(most.Load()), tc.most)
			assert.IsIncreasing(t, started, "nodes start in their order")
		})
		synctest.Test(t, func(t *testing.T) { // all slots are used
			var busy, most atomic.Int64
			seconds := make([]int, tc.nodes)
			for i := range seconds {
				seconds[i] = 1
			}
			f := nodeexec.Fleet{Nodes: sleepers(&busy, &most, seconds...), Forks: tc.forks}
			assert.Len(t, f.RunAll(t.Context(), same("true")), tc.nodes)
			assert.EqualValues(t, tc.most, most.Load())
		})
	}
}

func TestFleetOfNobody(t *testing.T) {
	assert.Empty(t, nodeexec.Fleet{}.RunAll(t.Context(), same("true")))
}

func TestFleetLeavesSiblingsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var busy, most atomic.Int64
		nodes := sleepers(&busy, &most, 2, 2, 2)
		nodes[1] = runner{"node1", func(context.Context, nodeexec.Command) (nodeexec.Result, error) {
			return nodeexec.Result{}, &nodeexec.Error{Node: "node1", Kind: nodeexec.KindUnreachable}
		}}
		outcomes := nodeexec.Fleet{Nodes: nodes}.RunAll(t.Context(), same("true"))
		require.Len(t, outcomes, 3)
		assert.NoError(t, outcomes[0].Err)
		assert.Equal(t, nodeexec.KindUnreachable, nodeexec.KindOf(outcomes[1].Err))
		assert.NoError(t, outcomes[2].Err)
	})
}

func TestFleetStoppedTellsWhoNeverStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var busy, most atomic.Int64
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		outcomes := nodeexec.Fleet{Nodes: sleepers(&busy, &most, 1, 5, 5, 5), Forks: 2}.RunAll(ctx, same("true"))
		require.Len(t, outcomes, 4)
		assert.NoError(t, outcomes[0].Err)
		assert.Equal(t, nodeexec.KindCanceled, nodeexec.KindOf(outcomes[1].Err))
		assert.Equal(t, nodeexec.KindCanceled, nodeexec.KindOf(outcomes[2].Err))
		assert.Equal(t, nodeexec.KindNotStarted, nodeexec.KindOf(outcomes[3].Err))
		assert.ErrorIs(t, outcomes[3].Err, context.DeadlineExceeded)
		assert.EqualError(t, outcomes[3].Err, "node3: not started")
		e, _ := errors.AsType[*nodeexec.Error](outcomes[3].Err)
		assert.Equal(t, nodeexec.RemoteNone, e.Remote)
	})
}

func TestFleetStoppedBeforeItBegan(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ran := false
	for o := range (nodeexec.Fleet{Nodes: []nodeexec.Runner{runner{name: "a"}, runner{name: "b"}}}).Run(ctx, func(int) nodeexec.Command {
		ran = true
		return nodeexec.Command{}
	}) {
		assert.Equal(t, nodeexec.KindNotStarted, nodeexec.KindOf(o.Err))
	}
	assert.False(t, ran)
}

func TestLeavingTheLoopEndsWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var busy, most atomic.Int64
		for range (nodeexec.Fleet{Nodes: sleepers(&busy, &most, 1, 1000, 1000, 1000), Forks: 3}).Run(t.Context(), same("true")) {
			break
		}
		assert.Zero(t, busy.Load(), "and has waited for it")
	})
}

// shim writes a stub shim.
func shim(t *testing.T, body string) string {
	file := filepath.Join(t.TempDir(), "shim.sh")
	require.NoError(t, os.WriteFile(file, []byte(body), 0o600))
	return file
}

// behind opens nodes behind a jump host, and others that are reached directly.
func behind(shim string, jumped, direct int) (nodes []nodeexec.Runner) {
	for i := range jumped + direct {
		target := inventory.Target{Node: fmt.Sprint("node", i), Transport: inventory.TransportSSH, Host: "192.0.2.1"}
		if i < jumped {
			target.SSHArgs = []string{"-J", "bastion"}
		}
		nodes = append(nodes, nodeexec.Open(target, nodeexec.Options{Shim: shim}))
	}
	return nodes
}

func TestFleetSparesTheJumpHost(t *testing.T) {
	dir := t.TempDir()
	// A node behind the jump host waits until told to go on; a direct one does not.
	stub := shim(t, `
case $NODE_EXEC_SSH_ARG in *bastion*) ;; *) exit 0 ;; esac
: >"`+dir+`/$1"
until [ -e "`+dir+`/go" ]; do sleep 0.05; done
rm "`+dir+`/$1"`)
	f := nodeexec.Fleet{Nodes: behind(stub, 6, 4), Forks: 8, PerJump: 2}
	direct := 0
	for o := range f.Run(t.Context(), same("true")) {
		require.NoError(t, o.Err)
		connecting, err := filepath.Glob(dir + "/node*")
		require.NoError(t, err)
		assert.LessOrEqual(t, len(connecting), 2)
		if o.Index >= 6 {
			if direct++; direct == 4 { // all of them came while the jump host was full
				require.NoError(t, os.WriteFile(dir+"/go", nil, 0o600))
			}
		} else {
			assert.Equal(t, 4, direct)
		}
	}
}

func TestAStartedCommandLeavesTheJumpHost(t *testing.T) {
	dir := t.TempDir()
	// All must have started before any ends.
	stub := shim(t, `
record() { echo "nestor:${NODE_EXEC_WRAP%%:*}:$1"; echo "nestor:${NODE_EXEC_WRAP%%:*}:$1" >&2; }
: >"`+dir+`/$1"
record start:1
for i in 1 2 3 4 5; do until [ -e "`+dir+`/node$i" ]; do sleep 0.05; done; done
record end:0`)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for _, o := range (nodeexec.Fleet{Nodes: behind(stub, 6, 0), PerJump: 1}).RunAll(ctx, same("true")) {
		assert.NoError(t, o.Err)
	}
}

func TestAbandonWaitsForNobody(t *testing.T) {
	// A node that never says that it ended its command.
	stub := shim(t, `
for fd in 1 2; do echo "nestor:${NODE_EXEC_WRAP%%:*}:start:1" >&$fd; done
exec sleep 600`)
	abandon := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f := nodeexec.Fleet{Nodes: behind(stub, 3, 0), Forks: 2, Abandon: abandon}
	time.AfterFunc(300*time.Millisecond, func() { cancel(); close(abandon) })
	began := time.Now()
	outcomes := f.RunAll(ctx, same("true"))
	assert.Less(t, time.Since(began), 4*time.Second, "the node would have had 5 s to answer")
	for _, o := range outcomes[:2] {
		e, ok := errors.AsType[*nodeexec.Error](o.Err)
		require.True(t, ok)
		assert.Equal(t, nodeexec.KindCanceled, e.Kind)
		assert.Equal(t, nodeexec.RemoteUnknown, e.Remote)
	}
	assert.Equal(t, nodeexec.KindNotStarted, nodeexec.KindOf(outcomes[2].Err))
}

func ExampleFleet_Run() {
	node := func(name string) nodeexec.Runner {
		// nodeexec.Open(target, nodeexec.Options{}) for a real one
		return runner{name, func(context.Context, nodeexec.Command) (nodeexec.Result, error) {
			return nodeexec.Result{Stdout: nodeexec.Output{Head: []byte("I am " + name)}}, nil
		}}
	}
	fleet := nodeexec.Fleet{Nodes: []nodeexec.Runner{node("node1"), node("node2")}, Forks: 1}
	for o := range fleet.Run(context.Background(), func(int) nodeexec.Command {
		return nodeexec.Command{Argv: []string{"hostname"}}
	}) {
		fmt.Println(o.Node, o.Result.Stdout, o.Err)
	}
	// Output:
	// node1 I am node1 <nil>
	// node2 I am node2 <nil>
}
