// Package discover reads what the nodes of a cluster really are.
//
//	topology, failures := discover.Run(ctx, []discover.Node{
//		{Runner: nodeexec.Open(target, nodeexec.Options{}), Roles: []string{"control"}},
//	}, discover.Options{})
//	yaml, err := topology.YAML()
//
// Each node is asked once: shims/probe.sh runs there, changes nothing, and
// prints all that package mapping knows how to read. A node that cannot be
// asked has its reason in the topology, and costs the others nothing.
package discover

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nestor-tools/nestor/mapping"
	"github.com/nestor-tools/nestor/mapping/probe"
	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/shims"
)

// Node is a node to ask.
type Node struct {
	Runner nodeexec.Runner
	Roles  []string // the inventory's groups
}

// Options say how the nodes are asked. The zero value is right.
type Options struct {
	// Sudo runs the probe as root through "sudo -n". Without it, what only
	// root may read is denied, and no disk is known to be free.
	Sudo bool

	// Loops makes disks of loop devices, for benches whose disks are files.
	Loops bool

	// SectionTimeout is what each section of the probe may take on the node;
	// 0 means 10 seconds. Whole seconds.
	SectionTimeout time.Duration

	// Timeout ends the whole call to one node; 0 means SectionTimeout and 30
	// seconds more.
	Timeout time.Duration

	// Parallel is how many nodes are asked at once; 0 means 32.
	Parallel int

	// Raw receives the bytes that a node's probe printed, also those of one
	// that was cut. It is called by several goroutines at once.
	Raw func(node string, b []byte) error

	// Done is told of each node as its answer arrives, nil for a good one. It
	// is called by several goroutines at once.
	Done func(node string, err error)
}

// Failure is a node that could not be asked.
type Failure struct {
	Node string
	Err  error // an *nodeexec.Error where the call failed
}

func (f Failure) Error() string { return f.Err.Error() }

func (f Failure) Unwrap() error { return f.Err }

// Run asks all nodes and returns what they are, sorted by name, and those
// that could not be asked, in the order given. A node whose probe was cut is
// in both: with the facts that arrived, and with its error.
func Run(ctx context.Context, nodes []Node, o Options) (mapping.Topology, []Failure) {
	if o.SectionTimeout <= 0 {
		o.SectionTimeout = 10 * time.Second
	}
	if o.Timeout <= 0 {
		o.Timeout = o.SectionTimeout + 30*time.Second
	}
	if o.Parallel <= 0 {
		o.Parallel = 32
	}
	if o.Done == nil {
		o.Done = func(string, error) {}
	}
	found := make([]mapping.Node, len(nodes))
	errs := make([]error, len(nodes))
	var group errgroup.Group
	group.SetLimit(o.Parallel)
	for i, n := range nodes {
		group.Go(func() error {
			found[i], errs[i] = ask(ctx, n.Runner, o)
			found[i].Name, found[i].Roles = n.Runner.Name(), n.Roles
			if errs[i] != nil {
				found[i].Error = &mapping.Failure{Kind: kind(errs[i]), Message: errs[i].Error()}
			}
			o.Done(n.Runner.Name(), errs[i])
			return nil // nothing cancels the others
		})
	}
	_ = group.Wait()
	var failures []Failure
	for i, err := range errs {
		if err != nil {
			failures = append(failures, Failure{Node: nodes[i].Runner.Name(), Err: err})
		}
	}
	return mapping.NewTopology(found), failures
}

// ask runs the probe on one node. Its text travels as an argument, not on
// stdin, which leaves the call its lifeline: a probe that loses its caller is
// ended on the node.
func ask(ctx context.Context, node nodeexec.Runner, o Options) (mapping.Node, error) {
	nonce := rand.Text()
	seconds := int((o.SectionTimeout + time.Second - 1) / time.Second)
	argv := []string{"sh", "-c", shims.Probe, "nestor-probe", nonce, strconv.Itoa(seconds)}
	if o.Loops {
		argv = append(argv, "loops")
	}
	var out limited
	res, err := node.Run(ctx, nodeexec.Command{Argv: argv, Stdout: &out, Sudo: o.Sudo, Timeout: o.Timeout})
	if o.Raw != nil && out.Len() > 0 {
		if rawErr := o.Raw(node.Name(), out.Bytes()); rawErr != nil {
			err = joined(err, fmt.Errorf("%s: keep the raw answer: %w", node.Name(), rawErr))
		}
	}
	if err == nil && res.ExitCode != 0 {
		complaint, _, _ := bytes.Cut(bytes.TrimSpace(res.Stderr.Bytes()), []byte("\n"))
		err = fmt.Errorf("%s: the probe ended with exit code %d: %.200s", node.Name(), res.ExitCode, complaint)
	}
	answer, parseErr := probe.Parse(out.Bytes())
	switch {
	case parseErr != nil && err != nil:
		return mapping.Node{}, err
	case parseErr != nil:
		return mapping.Node{}, fmt.Errorf("%s: %w", node.Name(), parseErr)
	case answer.Nonce != nonce:
		return mapping.Node{}, fmt.Errorf("%s: %w of this call", node.Name(), probe.ErrNotProbe)
	case err == nil && !answer.Complete:
		err = errCut(node.Name())
	}
	return mapping.FromProbe(answer, mapping.Options{Loops: o.Loops}), err
}

func errCut(node string) error { return fmt.Errorf("%s: the probe's output was cut", node) }

// joined puts two errors on one line.
func joined(a, b error) error {
	if a == nil {
		return b
	}
	return fmt.Errorf("%w; %w", a, b)
}

func kind(err error) string {
	if k := nodeexec.KindOf(err); k != "" {
		return string(k)
	}
	return string(nodeexec.KindProtocol)
}

// limited holds what a node prints, up to a bound that no honest node comes
// near: 65,000 mounts are 10 MB.
type limited struct{ bytes.Buffer }

const maxOutput = 64 << 20

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > maxOutput {
		return 0, fmt.Errorf("the probe printed more than %d bytes", maxOutput)
	}
	return l.Buffer.Write(p)
}
