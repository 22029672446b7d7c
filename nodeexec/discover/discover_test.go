package discover_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/mapping"
	"github.com/nestor-tools/nestor/mapping/fact"
	"github.com/nestor-tools/nestor/mapping/probe"
	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/nodeexec/discover"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// fake is a node that answers by itself.
type fake struct {
	name string
	run  func(ctx context.Context, c nodeexec.Command) (nodeexec.Result, error)
}

func (f fake) Name() string { return f.name }

func (f fake) Run(ctx context.Context, c nodeexec.Command) (nodeexec.Result, error) {
	return f.run(ctx, c)
}

// here runs commands on this machine, as a node would, with env before them.
func here(name string, env ...string) fake {
	return fake{name, func(ctx context.Context, c nodeexec.Command) (nodeexec.Result, error) {
		argv := append(append([]string{"env"}, env...), c.Argv...)
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		var stderr bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, &stderr
		err := cmd.Run()
		res := nodeexec.Result{Stderr: nodeexec.Output{Head: stderr.Bytes()}}
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			res.ExitCode, err = exit.ExitCode(), nil
		}
		return res, err
	}}
}

// prints is a node whose probe prints text; NONCE in it becomes the call's.
func prints(name, text string) fake {
	return fake{name, func(_ context.Context, c nodeexec.Command) (nodeexec.Result, error) {
		_, err := c.Stdout.Write(bytes.ReplaceAll([]byte(text), []byte("NONCE"), []byte(c.Argv[4])))
		return nodeexec.Result{}, err
	}}
}

func unreachable(name string) fake {
	return fake{name, func(context.Context, nodeexec.Command) (nodeexec.Result, error) {
		return nodeexec.Result{}, &nodeexec.Error{Node: name, Transport: inventory.TransportSSH, Kind: nodeexec.KindUnreachable, Remote: nodeexec.RemoteNone, Detail: "connection refused"}
	}}
}

func nodes(runners ...fake) []discover.Node {
	var list []discover.Node
	for _, r := range runners {
		list = append(list, discover.Node{Runner: r, Roles: []string{"workers", "cloud"}})
	}
	return list
}

func ExampleRun() {
	node := prints("node1", "NONCE nestor-probe 1\nNONCE begin kernel\nLinux 6.1.0-18-amd64 x86_64\n\nNONCE end 0\nNONCE done 1\n")
	topology, failures := discover.Run(context.Background(), []discover.Node{{Runner: node, Roles: []string{"control"}}}, discover.Options{})
	n := topology.Nodes[0]
	fmt.Println(n.Name, n.Roles, n.Facts.Kernel.Value.Release, failures)
	fmt.Println(n.Facts.Hostname.State, n.Facts.Hostname.Why)
	// Output:
	// node1 [control] 6.1.0-18-amd64 []
	// unknown the probe did not look for it
}

func TestRun_UnreachableCostsTheOthersNothing(t *testing.T) {
	var mu sync.Mutex
	done := map[string]bool{}
	topology, failures := discover.Run(t.Context(), nodes(here("node2"), unreachable("node3"), here("node1")), discover.Options{
		Parallel: 2,
		Done:     func(node string, err error) { mu.Lock(); defer mu.Unlock(); done[node] = err == nil },
	})
	require.Len(t, failures, 1)
	require.Equal(t, "node3", failures[0].Node)
	require.Equal(t, nodeexec.KindUnreachable, nodeexec.KindOf(failures[0]))
	require.Equal(t, map[string]bool{"node1": true, "node2": true, "node3": false}, done)
	require.Len(t, topology.Nodes, 3)
	for i, name := range []string{"node1", "node2", "node3"} {
		n := topology.Nodes[i]
		require.Equal(t, name, n.Name)
		require.Equal(t, []string{"cloud", "workers"}, n.Roles)
		require.Equal(t, name != "node3", n.Facts != nil)
	}
	require.Equal(t, &mapping.Failure{Kind: "unreachable", Message: "node3: connection refused"}, topology.Nodes[2].Error)
}

func TestRun_OddAnswers(t *testing.T) {
	head := "NONCE nestor-probe 1\nNONCE begin kernel\nLinux 6.1 x86_64\n\nNONCE end 0\n"
	fails := func(name, text string, code int) fake {
		f := prints(name, text)
		return fake{name, func(ctx context.Context, c nodeexec.Command) (nodeexec.Result, error) {
			res, err := f.Run(ctx, c)
			res.ExitCode = code
			res.Stderr.Head = []byte("no space\nleft\n")
			return res, err
		}}
	}
	for name, c := range map[string]struct {
		node  fake
		err   string
		facts bool
	}{
		"nothing":          {prints("n", ""), "not the output of nestor's probe", false},
		"prose":            {prints("n", "Welcome to n!\n"), "not the output of nestor's probe", false},
		"another's answer": {prints("n", "OTHER nestor-probe 1\nOTHER done 0\n"), "not the output of nestor's probe of this call", false},
		"another format":   {prints("n", "NONCE nestor-probe 2\n"), `format is "2"`, false},
		"cut":              {prints("n", head), "output was cut", true},
		"fails at once":    {fails("n", "", 1), "ended with exit code 1: no space", false},
		"fails later":      {fails("n", head, 143), "ended with exit code 143", true},
	} {
		t.Run(name, func(t *testing.T) {
			topology, failures := discover.Run(t.Context(), nodes(c.node), discover.Options{})
			require.Len(t, failures, 1)
			require.ErrorContains(t, failures[0], c.err)
			require.NotContains(t, failures[0].Error(), "\n")
			n := topology.Nodes[0]
			require.Equal(t, "protocol", n.Error.Kind)
			require.Equal(t, c.facts, n.Facts != nil)
			if c.facts {
				require.Equal(t, "6.1", n.Facts.Kernel.Value.Release, "what arrived is kept")
				require.Equal(t, fact.IsUnknown, n.Facts.Memory.State)
			}
		})
	}
}

func TestRun_TooMuchOutput(t *testing.T) {
	flood := fake{"n", func(_ context.Context, c nodeexec.Command) (nodeexec.Result, error) {
		for {
			if _, err := c.Stdout.Write(make([]byte, 1<<20)); err != nil {
				return nodeexec.Result{}, err
			}
		}
	}}
	_, failures := discover.Run(t.Context(), nodes(flood), discover.Options{})
	require.ErrorContains(t, failures[0], "more than 67108864 bytes")
}

func TestRun_Bounded(t *testing.T) {
	var mu sync.Mutex
	running, most := 0, 0
	var slow []fake
	for i := range 20 {
		slow = append(slow, fake{fmt.Sprint("n", i), func(context.Context, nodeexec.Command) (nodeexec.Result, error) {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			time.Sleep(5 * time.Millisecond)
			mu.Lock()
			running--
			mu.Unlock()
			return nodeexec.Result{}, errors.New("no answer")
		}})
	}
	_, failures := discover.Run(t.Context(), nodes(slow...), discover.Options{Parallel: 3})
	require.Len(t, failures, 20)
	require.LessOrEqual(t, most, 3)
	require.Greater(t, most, 1)
}

func TestRun_CommandAsMeant(t *testing.T) {
	var got nodeexec.Command
	spy := fake{"n", func(_ context.Context, c nodeexec.Command) (nodeexec.Result, error) {
		got = c
		return nodeexec.Result{}, errors.New("enough")
	}}
	discover.Run(t.Context(), nodes(spy), discover.Options{Sudo: true, Loops: true, SectionTimeout: 1500 * time.Millisecond})
	require.True(t, got.Sudo)
	require.Nil(t, got.Stdin, "without stdin the call keeps its lifeline")
	require.Equal(t, []string{"2", "loops"}, got.Argv[5:], "whole seconds, rounded up")
	require.Equal(t, 31500*time.Millisecond, got.Timeout)
	require.Less(t, len(got.Argv[2]), 100<<10, "the probe fits into one word")
}

// The raw answer is enough to map the node again.
func TestRun_Raw(t *testing.T) {
	var mu sync.Mutex
	raw := map[string][]byte{}
	topology, failures := discover.Run(t.Context(), nodes(here("node1"), unreachable("node2")), discover.Options{
		Raw: func(node string, b []byte) error { mu.Lock(); defer mu.Unlock(); raw[node] = b; return nil },
	})
	require.Len(t, failures, 1)
	require.Len(t, raw, 1)
	out, err := probe.Parse(raw["node1"])
	require.NoError(t, err)
	require.Equal(t, topology.Nodes[0].Facts, mapping.FromProbe(out, mapping.Options{}).Facts)

	_, failures = discover.Run(t.Context(), nodes(here("node1")), discover.Options{Raw: func(string, []byte) error { return errors.New("disk full") }})
	require.ErrorContains(t, failures[0], "disk full")
}

func TestRun_Cancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	waits := func(name string) fake {
		return fake{name, func(ctx context.Context, _ nodeexec.Command) (nodeexec.Result, error) {
			cancel()
			<-ctx.Done()
			return nodeexec.Result{}, &nodeexec.Error{Node: name, Kind: nodeexec.KindCanceled, Remote: nodeexec.RemoteKilled, Detail: "cancelled"}
		}}
	}
	topology, failures := discover.Run(ctx, nodes(prints("a", answer), waits("b"), waits("c"), waits("d")), discover.Options{Parallel: 1})
	require.Len(t, topology.Nodes, 4, "what was cancelled is named too")
	require.NotNil(t, topology.Nodes[0].Facts, "what arrived before is kept")
	require.Len(t, failures, 3)
	require.Equal(t, nodeexec.KindCanceled, nodeexec.KindOf(failures[0]))
	require.Equal(t, nodeexec.KindNotStarted, nodeexec.KindOf(failures[2]))
}
