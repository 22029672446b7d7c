package main

import (
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
}

func newDiscoverCmd(c *cli) *cobra.Command {
	var f discoverFlags
	cmd := &cobra.Command{
		Use:   "discover [PATTERN]",
		Short: "Read what the nodes really are and print it as topology.yaml",
		Long: `Read what the nodes really are: system, disks and what they are used for,
mounts, Ceph, container runtime, CNI, kubelet, hardening. Nothing is changed on
a node.

The topology goes to stdout as YAML (or JSON with --output json); --output
table prints a summary for people instead. With --out FILE the topology goes
there, and the table to stdout. Without an inventory this machine is read.

With --against FILE the differences to an earlier topology go to stdout
instead. The exit code is then 1 for drift, and 2 where a fact could be read
only then or only now, so that nobody can tell.

--raw keeps what the nodes printed; --from maps such a folder again, without
a node. It holds no secret that nestor knows of, but much else about a node.

Without --sudo, what only root may read is reported as denied, and no disk is
known to be free.`,
		Example: `  nestor discover --sudo --out topology.yaml
  nestor discover 'cloud:!node3' --output table
  nestor discover --against topology.yaml
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
	fl.DurationVar(&f.timeout, "timeout", 10*time.Second, "what each section of the probe may take on a node; the call as a whole gets 30s more")
	return cmd
}

func (c *cli) discover(ctx context.Context, pattern string, f discoverFlags) error {
	if err := c.format("text", "yaml", "json", "table"); err != nil {
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
		fmt.Fprintf(c.err, "nestor: %v\n", failure)
	}
	if f.against != "" {
		if pattern != "" { // the other nodes were not asked
			earlier.Nodes = slices.DeleteFunc(earlier.Nodes, func(n mapping.Node) bool {
				return !slices.ContainsFunc(topology.Nodes, func(m mapping.Node) bool { return m.Name == n.Name })
			})
		}
		return c.compare(earlier, topology, failures, f.out)
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
		if pattern != "" || f.raw != "" {
			return mapping.Topology{}, nil, errors.New("--from asks no node: it goes with neither a pattern nor --raw")
		}
		topology, failures, err := discover.Replay(os.DirFS(f.from))
		if err != nil {
			err = fmt.Errorf("%s: %w", f.from, err)
		}
		return topology, failures, err
	}
	nodes, err := c.nodesToDiscover(pattern)
	if err != nil {
		return mapping.Topology{}, nil, err
	}
	progress := newProgress(c.err, len(nodes))
	o := discover.Options{
		Sudo: f.sudo, Loops: f.loops, Parallel: f.forks, SectionTimeout: f.timeout,
		Done: progress.done,
	}
	if f.raw != "" {
		if err := os.MkdirAll(f.raw, 0o700); err != nil {
			return mapping.Topology{}, nil, err
		}
		o.Raw = func(node string, b []byte) error {
			return renameio.WriteFile(filepath.Join(f.raw, discover.RawName(node)), b, 0o600)
		}
	}
	topology, failures := discover.Run(ctx, nodes, o)
	progress.end()
	if f.raw != "" {
		err = renameio.WriteFile(filepath.Join(f.raw, discover.IndexName), discover.Index(topology, f.loops), 0o600)
	}
	return topology, failures, err
}

// compare prints what differs, and writes the topology where a file is named.
func (c *cli) compare(earlier, now mapping.Topology, failures []discover.Failure, file string) error {
	changes := mapping.Diff(earlier, now)
	if c.output == "text" {
		for _, change := range changes {
			fmt.Fprintf(c.out, "%s\t%s\t%s\t%s -> %s\n", change.Kind, change.Node, change.Field, change.Before, change.After)
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

// nodesToDiscover are the nodes that the pattern selects in the inventory;
// without an inventory and a pattern, this machine.
func (c *cli) nodesToDiscover(pattern string) ([]discover.Node, error) {
	inv, err := c.openInventory()
	if errors.Is(err, inventory.ErrNoInventory) && pattern == "" {
		fmt.Fprintln(c.err, "nestor: no inventory here: reading this machine")
		here := inventory.Target{Node: "localhost", Transport: inventory.TransportLocal}
		return []discover.Node{{Runner: c.open(here)}}, nil
	}
	if err != nil {
		return nil, err
	}
	names, err := inv.Select(pattern)
	if err != nil {
		return nil, err
	}
	var nodes []discover.Node
	for _, name := range names {
		groups, err := inv.GroupsOf(name)
		if err != nil {
			return nil, err
		}
		node := discover.Node{Roles: groups}
		switch target, err := c.target(inv, name); {
		case err == nil:
			node.Runner = c.open(target)
		case refused(err):
			return nil, err
		default:
			node.Runner = unresolved{name, err}
		}
		nodes = append(nodes, node)
	}
	return nodes, nil
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
