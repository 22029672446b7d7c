// Package discover reads what a cluster really is: its nodes, and its API.
//
//	topology, failures := discover.Run(ctx, []discover.Node{
//		{Runner: nodeexec.Open(target, nodeexec.Options{}), Roles: []string{"control"}},
//	}, discover.Options{})
//	snapshot, err := discover.ReadAPI(ctx, restConfig, discover.APIOptions{})
//	topology = discover.APIAnswer{Snapshot: &snapshot}.AddTo(topology)
//	yaml, err := topology.YAML()
//
// Each node is asked once: shims/probe.sh runs there, changes nothing, and
// prints all that package mapping knows how to read. A node that cannot be
// asked has its reason in the topology, and costs the others nothing. The API
// is only listed, resource by resource, and never a Secret; whether it is the
// one of these nodes is for the caller to prove before the two are put together
// (see nodeexec/kubeconfig).
package discover

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"time"

	"github.com/nestor-tools/nestor/mapping"
	"github.com/nestor-tools/nestor/mapping/probe"
	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/shims"
)

// Node is a node to ask.
type Node struct {
	Runner  nodeexec.Runner
	Roles   []string // the inventory's groups
	Address string   // the inventory's, to find the node in the API; may be empty
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

	// Parallel is how many nodes are asked at once; 0 means 32. Fewer are
	// connecting through one jump host.
	Parallel int

	// Raw receives the bytes that a node's probe printed, also those of one
	// that was cut.
	Raw func(node string, b []byte) error

	// Done is told of each node as its answer arrives, nil for a good one.
	Done func(node string, err error)

	// Abandon, when closed, makes a cancelled Run return at once. See
	// nodeexec.Fleet.
	Abandon <-chan struct{}
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
	if o.Done == nil {
		o.Done = func(string, error) {}
	}
	fleet := nodeexec.Fleet{Forks: o.Parallel, Abandon: o.Abandon}
	for _, n := range nodes {
		fleet.Nodes = append(fleet.Nodes, n.Runner)
	}
	found := make([]mapping.Node, len(nodes))
	errs := make([]error, len(nodes))
	calls := make([]call, len(nodes))
	for outcome := range fleet.Run(ctx, func(i int) nodeexec.Command {
		calls[i] = call{nonce: rand.Text(), out: new(limited)}
		return calls[i].command(o)
	}) {
		i := outcome.Index
		found[i], errs[i] = calls[i].read(outcome, o)
		calls[i].out = nil // tens of MB, on a node with many mounts
		found[i].Name, found[i].Roles, found[i].Address = outcome.Node, nodes[i].Roles, nodes[i].Address
		if errs[i] != nil {
			found[i].Error = &mapping.Failure{Kind: kind(errs[i]), Message: errs[i].Error()}
		}
		o.Done(outcome.Node, errs[i])
	}
	var failures []Failure
	for i, err := range errs {
		if err != nil {
			failures = append(failures, Failure{Node: nodes[i].Runner.Name(), Err: err})
		}
	}
	return mapping.NewTopology(found), failures
}

// call is one run of the probe on one node.
type call struct {
	nonce string
	out   *limited // nil: it never started
}

// command starts the probe. Its text travels as an argument, not on stdin,
// which leaves the call its lifeline: a probe that loses its caller is ended
// on the node.
func (c call) command(o Options) nodeexec.Command {
	seconds := int((o.SectionTimeout + time.Second - 1) / time.Second)
	argv := []string{"sh", "-c", shims.Probe, "nestor-probe", c.nonce, strconv.Itoa(seconds)}
	if o.Loops {
		argv = append(argv, "loops")
	}
	return nodeexec.Command{Argv: argv, Stdout: c.out, Sudo: o.Sudo, Timeout: o.Timeout}
}

// read makes a node of what the probe printed.
func (c call) read(outcome nodeexec.Outcome, o Options) (mapping.Node, error) {
	name, res, err := outcome.Node, outcome.Result, outcome.Err
	if c.out == nil {
		return mapping.Node{}, err
	}
	if o.Raw != nil && c.out.Len() > 0 {
		if rawErr := o.Raw(name, c.out.Bytes()); rawErr != nil {
			err = joined(err, fmt.Errorf("%s: keep the raw answer: %w", name, rawErr))
		}
	}
	if err == nil && res.ExitCode != 0 {
		complaint, _, _ := bytes.Cut(bytes.TrimSpace(res.Stderr.Bytes()), []byte("\n"))
		err = fmt.Errorf("%s: the probe ended with exit code %d: %.200s", name, res.ExitCode, complaint)
	}
	answer, parseErr := probe.Parse(c.out.Bytes())
	switch {
	case parseErr != nil && err != nil:
		return mapping.Node{}, err
	case parseErr != nil:
		return mapping.Node{}, fmt.Errorf("%s: %w", name, parseErr)
	case answer.Nonce != c.nonce:
		return mapping.Node{}, fmt.Errorf("%s: %w of this call", name, probe.ErrNotProbe)
	case err == nil && !answer.Complete:
		err = errCut(name)
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
