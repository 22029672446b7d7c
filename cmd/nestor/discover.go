package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"github.com/nestor-tools/nestor/contract/printable"
	"github.com/nestor-tools/nestor/mapping"
	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/nodeexec/discover"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// discoverFlags are the flags of "nestor discover".
type discoverFlags struct {
	out     string
	raw     string
	from    string
	against string
	sudo    bool
	loops   bool
	forks   int
	timeout time.Duration

	cp         string
	server     string
	apiPort    int
	kubeconfig string
	noAPI      bool
	noNodes    bool
}

// check refuses what contradicts itself.
func (f discoverFlags) check(pattern string) error {
	switch {
	case f.timeout <= 0:
		return fmt.Errorf("--timeout %s: want a positive one, such as 10s", f.timeout)
	case f.forks < 1:
		return fmt.Errorf("--forks %d: want 1 or more", f.forks)
	case f.from != "" && (pattern != "" || f.raw != "" || f.fetches() || f.kubeconfig != "" || f.noNodes):
		return errors.New("--from asks no node and no API: it goes with no pattern, --raw, --cp, --server, --api-port, --kubeconfig or --no-nodes")
	case f.noAPI && (f.fetches() || f.kubeconfig != "" || f.noNodes):
		return errors.New("--no-api reads no API: it goes with neither --cp, --server, --api-port, --kubeconfig nor --no-nodes")
	case f.fetches() && f.kubeconfig != "":
		return errors.New("--cp, --server and --api-port are about a kubeconfig that is fetched, --kubeconfig names one: choose one")
	case f.noNodes && pattern != "":
		return errors.New("--no-nodes asks no node: it goes with no pattern")
	}
	return nil
}

// fetches says whether the caller wants the kubeconfig to be fetched.
func (f discoverFlags) fetches() bool { return f.cp != "" || f.server != "" || f.apiPort != 0 }

func newDiscoverCmd(c *cli) *cobra.Command {
	var f discoverFlags
	cmd := &cobra.Command{
		Use:   "discover [PATTERN]",
		Short: "Read what the nodes and the API really are and print it as topology.yaml",
		Long: `Read what the nodes really are: system, disks and what they are used for,
mounts, Ceph, container runtime, CNI, kubelet, hardening; and what the cluster's
API says: components and their versions, layers, storage, exposition, what is
unknown and what is not well. Nothing is changed.

No kubeconfig is needed: it is fetched from a control plane, as root, and kept
in memory. --cp says from which. A kubeconfig of one's own (--kubeconfig, or
KUBECONFIG where there is an inventory) is used only when it is proved to be of
the cluster that these nodes are, and otherwise refused (exit code 4).

The topology goes to stdout as YAML (or JSON with --output json); --output
table prints a summary for people instead. With --out FILE the topology goes
there, and the table to stdout. Without an inventory this machine is read.

With --against FILE the differences to an earlier topology go to stdout
instead. The exit code is then 1 for drift, and 2 where a fact could be read
only then or only now, so that nobody can tell.

--raw keeps what the nodes printed and the API said; --from maps such a folder
again, without either. It holds no secret that nestor knows of, but much else about a node.

Without --sudo, what only root may read is reported as denied, and no disk is
known to be free.`,
		Example: `  nestor discover --sudo --out topology.yaml
  nestor discover 'cloud:!node3' --output table
  nestor discover --against topology.yaml
  nestor discover --cp cp1 --out topology.yaml
  nestor discover --no-nodes --kubeconfig ~/.kube/config --output table
  nestor discover node1 --raw bug/
  nestor discover --from bug/`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: c.completeNodes(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			pattern := ""
			if len(args) == 1 {
				pattern = args[0]
			}
			return c.discover(cmd.Context(), pattern, f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.out, "out", "", "write the topology to this file, as a whole or not at all")
	fl.StringVar(&f.raw, "raw", "", "keep each node's raw answer in this folder (for bug reports)")
	fl.StringVar(&f.from, "from", "", "map the raw answers of this folder, and ask no node")
	fl.StringVar(&f.against, "against", "", "print what differs from this earlier topology")
	fl.BoolVar(&f.sudo, "sudo", false, `read as root, through "sudo -n"`)
	fl.BoolVar(&f.loops, "loops", false, "take loop devices for disks, as on a bench whose disks are files")
	fl.IntVar(&f.forks, "forks", 32, "how many nodes are asked at once")
	fl.DurationVar(&f.timeout, "timeout", 10*time.Second, "what each section of the probe may take on a node; the call as a whole gets 30s more, a resource of the API 20s")
	fl.StringVar(&f.cp, "cp", "", "fetch the kubeconfig from this control plane (default: one that is known to be)")
	fl.StringVar(&f.server, "server", "", "where the API of a fetched kubeconfig answers: a URL, or a host with or without a port")
	fl.IntVar(&f.apiPort, "api-port", 0, "the port of that API from here (default: the inventory's api_port, else the kubeconfig's own, 6443 with Lima)")
	fl.StringVar(&f.kubeconfig, "kubeconfig", "", "read the API with this kubeconfig ($KUBECONFIG)")
	fl.BoolVar(&f.noAPI, "no-api", false, "ask the nodes alone")
	fl.BoolVar(&f.noNodes, "no-nodes", false, "ask the API alone")
	// Its only error is a flag that there is not.
	_ = cmd.RegisterFlagCompletionFunc("cp", c.completeNodes(false))
	return cmd
}

func (c *cli) discover(ctx context.Context, pattern string, f discoverFlags) error {
	if err := c.format("text", "yaml", "json", "table"); err != nil {
		return err
	}
	if err := f.check(pattern); err != nil {
		return err
	}
	var earlier mapping.Topology
	if f.against != "" {
		if c.output == "table" {
			return errors.New("--against has no table; it prints text, yaml or json")
		}
		text, err := os.ReadFile(f.against)
		if err != nil {
			return err
		}
		if earlier, err = mapping.ParseTopology(text); err != nil {
			return fmt.Errorf("%s: %w", f.against, err)
		}
	}
	topology, failures, err := c.askOrReplay(ctx, pattern, f)
	if err != nil {
		return err
	}
	for _, failure := range failures {
		fmt.Fprintf(c.err, "nestor: %s\n", printable.Line(failure.Error()))
	}
	for _, remark := range apiRemarks(topology) {
		fmt.Fprintf(c.err, "nestor: %s\n", printable.Line(remark))
	}
	if f.against != "" {
		return c.compare(stillAsked(earlier, topology, pattern, f), topology, failures, f.out)
	}
	if err := c.writeTopology(topology, f.out); err != nil {
		return err
	}
	return discoverExit(failures)
}

// askOrReplay gets the topology from the nodes, or from a folder of their raw
// answers.
func (c *cli) askOrReplay(ctx context.Context, pattern string, f discoverFlags) (mapping.Topology, []discover.Failure, error) {
	if f.from != "" {
		return replay(f)
	}
	a, err := c.toAsk(pattern, f)
	if err != nil {
		return mapping.Topology{}, nil, err
	}
	ctx, abandon, ended := interruptible(ctx, func() {
		fmt.Fprintln(c.err, "nestor: stopping: what is there is printed; once more to wait for no node")
	})
	defer ended()
	progress := newProgress(c.err, len(a.nodes))
	o := discover.Options{
		Sudo: f.sudo, Loops: f.loops, Parallel: f.forks, SectionTimeout: f.timeout,
		Done: progress.done, Abandon: abandon,
	}
	if f.raw != "" {
		if err := os.MkdirAll(f.raw, 0o700); err != nil {
			return mapping.Topology{}, nil, err
		}
		o.Raw = func(node string, b []byte) error {
			return renameio.WriteFile(filepath.Join(f.raw, discover.RawName(node)), b, 0o600)
		}
	}
	topology, failures := discover.Run(ctx, a.nodes, o)
	progress.end()
	if f.raw != "" {
		if err := renameio.WriteFile(filepath.Join(f.raw, discover.IndexName), discover.Index(topology, f.loops), 0o600); err != nil {
			return mapping.Topology{}, nil, err
		}
	}
	if f.noAPI {
		return topology, failures, nil
	}
	answer, err := c.askAPI(ctx, a, topology, f)
	if err != nil {
		return mapping.Topology{}, nil, err
	}
	if f.raw != "" {
		text, err := answer.Raw()
		if err == nil {
			err = renameio.WriteFile(filepath.Join(f.raw, discover.APIName), text, 0o600)
		}
		if err != nil {
			return mapping.Topology{}, nil, err
		}
	}
	return answer.AddTo(topology), append(failures, answer.Failures()...), nil
}

// replay maps a folder of raw answers.
func replay(f discoverFlags) (mapping.Topology, []discover.Failure, error) {
	info, err := os.Stat(f.from)
	switch {
	case err != nil:
		return mapping.Topology{}, nil, fmt.Errorf("--from %s: %w", f.from, errors.Unwrap(err)) // the path is said once
	case !info.IsDir():
		return mapping.Topology{}, nil, fmt.Errorf("--from %s: it is no folder; want one that --raw wrote", f.from)
	}
	topology, failures, err := discover.Replay(os.DirFS(f.from))
	if err != nil {
		return mapping.Topology{}, nil, fmt.Errorf("--from %s: %w", f.from, err)
	}
	if f.noAPI {
		topology = topology.NodesOnly()
		failures = slices.DeleteFunc(failures, func(failed discover.Failure) bool { return failed.Node == discover.APIFailure })
	}
	return topology, failures, nil
}

// stillAsked is the earlier topology without what was not asked this time.
func stillAsked(earlier, now mapping.Topology, pattern string, f discoverFlags) mapping.Topology {
	if f.noAPI {
		earlier = earlier.NodesOnly()
	}
	if f.noNodes {
		earlier = earlier.APIOnly()
	}
	if pattern != "" { // the other nodes were not asked
		earlier.Nodes = slices.DeleteFunc(slices.Clone(earlier.Nodes), func(n mapping.Node) bool {
			return !slices.ContainsFunc(now.Nodes, func(m mapping.Node) bool { return m.Name == n.Name })
		})
	}
	return earlier
}

// compare prints what differs, and writes the topology where a file is named.
func (c *cli) compare(earlier, now mapping.Topology, failures []discover.Failure, file string) error {
	changes := mapping.Diff(earlier, now)
	if c.output == "text" {
		for _, change := range changes {
			fmt.Fprintf(c.out, "%s\t%s\t%s\t%s -> %s\n", change.Kind, printable.Line(cmp.Or(change.Node, "(cluster)")), printable.Line(change.Field), printable.Line(change.Before), printable.Line(change.After))
		}
	} else if err := json.NewEncoder(c.out).Encode(mapping.Report{Schema: mapping.DriftSchema, Changes: changes}); err != nil { // JSON is YAML too
		return err
	}
	if file != "" {
		if err := c.writeFile(now, file); err != nil {
			return err
		}
	}
	unclear := slices.ContainsFunc(changes, func(ch mapping.Change) bool { return ch.Kind == mapping.Unclear && ch.Field != "" })
	switch missing := discoverExit(failures); {
	case unclear:
		return fail(exitUnevaluated, nil)
	case missing != nil:
		return missing
	case len(changes) > 0:
		return fail(exitFindings, nil)
	}
	return nil
}

// discoverExit gives the exit code for the nodes that are missing: 3 where
// all of them could not be reached, 2 where one could and was not read whole.
func discoverExit(failures []discover.Failure) error {
	code := exitOK
	for _, failure := range failures {
		if !unreachable(failure) {
			return fail(exitUnevaluated, nil)
		}
		code = exitUnreachable
	}
	if code == exitOK {
		return nil
	}
	return fail(code, nil)
}

// asked is what is to be asked.
type asked struct {
	inv    *inventory.Inventory // nil: this machine alone
	nodes  []discover.Node
	others []discover.Other // the inventory's other hosts
	chosen bool             // a pattern says which
}

// toAsk are the nodes that the pattern selects in the inventory; without an
// inventory and a pattern, this machine. With --no-nodes, none.
func (c *cli) toAsk(pattern string, f discoverFlags) (asked, error) {
	inv, err := c.openInventory()
	switch {
	case errors.Is(err, inventory.ErrNoInventory) && f.noNodes && f.kubeconfig != "":
		return asked{}, nil
	case errors.Is(err, inventory.ErrNoInventory) && pattern == "" && !f.fetches() && !f.noNodes:
		fmt.Fprintln(c.err, "nestor: no inventory here: reading this machine")
		here := inventory.Target{Node: "localhost", Transport: inventory.TransportLocal}
		return asked{nodes: []discover.Node{{Runner: c.open(here)}}}, nil
	case err != nil:
		return asked{}, err
	case f.noNodes:
		return asked{inv: inv}, nil
	}
	names, err := inv.Select(pattern)
	if err != nil {
		return asked{}, err
	}
	a := asked{inv: inv, chosen: pattern != ""}
	for _, name := range names {
		groups, err := inv.GroupsOf(name)
		if err != nil {
			return asked{}, err
		}
		node := discover.Node{Roles: groups}
		switch target, err := c.target(inv, name); {
		case err == nil:
			node.Runner, node.Address = c.open(target), address(target)
		case refused(err):
			return asked{}, err
		default:
			node.Runner = unresolved{name, err}
		}
		a.nodes = append(a.nodes, node)
	}
	for _, name := range inv.Hosts() {
		if slices.Contains(names, name) {
			continue
		}
		other := discover.Other{Name: name}
		if target, err := inv.Target(name, ""); err == nil {
			other.Address = address(target)
		}
		a.others = append(a.others, other)
	}
	return a, nil
}

// address is where the target is reached; an instance of Lima has no address
// of its own.
func address(t inventory.Target) string {
	if t.Transport != inventory.TransportSSH {
		return ""
	}
	return t.Host
}

// refused says whether err contradicts what the caller stated about all
// nodes, so that none may be asked.
func refused(err error) bool {
	coded, ok := errors.AsType[*exitError](err)
	return ok && coded.code == exitRefused
}

// unresolved is a node that the inventory names and does not say how to
// reach. It costs the others nothing.
type unresolved struct {
	name string
	err  error
}

func (u unresolved) Name() string { return u.name }

func (u unresolved) Run(context.Context, nodeexec.Command) (nodeexec.Result, error) {
	return nodeexec.Result{}, &nodeexec.Error{Node: u.name, Kind: nodeexec.KindInvalid, Remote: nodeexec.RemoteNone, Detail: u.err.Error(), Err: u.err}
}

// writeTopology prints the topology, or writes it to a file and prints the
// table.
func (c *cli) writeTopology(t mapping.Topology, file string) error {
	if file != "" {
		if err := c.writeFile(t, file); err != nil {
			return err
		}
	}
	if file != "" || c.output == "table" {
		return writeTable(c.out, t)
	}
	text, err := c.topologyText(t)
	if err != nil {
		return err
	}
	_, err = c.out.Write(text)
	return err
}

func (c *cli) writeFile(t mapping.Topology, file string) error {
	text, err := c.topologyText(t)
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(file, text, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

func (c *cli) topologyText(t mapping.Topology) ([]byte, error) {
	if c.output != "json" {
		return t.YAML()
	}
	text, err := json.MarshalIndent(t, "", "  ")
	return append(text, '\n'), err
}

// progress is one line on a terminal, and nothing elsewhere.
type progress struct {
	w     io.Writer // nil: not a terminal
	total int
	count int
}

func newProgress(w io.Writer, total int) *progress {
	p := &progress{total: total}
	if f, ok := w.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			p.w = w
		}
	}
	return p
}

func (p *progress) done(node string, _ error) {
	p.count++
	if p.w != nil {
		fmt.Fprintf(p.w, "\r\x1b[K%d/%d nodes, last %s", p.count, p.total, node)
	}
}

func (p *progress) end() {
	if p.w != nil {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
