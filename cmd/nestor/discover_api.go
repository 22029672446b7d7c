package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nestor-tools/nestor/mapping"
	"github.com/nestor-tools/nestor/mapping/cluster"
	"github.com/nestor-tools/nestor/mapping/fact"
	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/nodeexec/discover"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
	"github.com/nestor-tools/nestor/nodeexec/kubeconfig"
)

// askAPI reads the API of the cluster that the nodes are. Which one that is
// must be proved: by a kubeconfig that one of them holds, or by what the API
// says of its nodes. Its error is a refusal or a wrong use; that the API could
// not be read is an answer.
func (c *cli) askAPI(ctx context.Context, a asked, t mapping.Topology, f discoverFlags) (discover.APIAnswer, error) {
	if ctx.Err() != nil {
		return unreadAPI(ctx, ctx.Err()), nil
	}
	if files, origin := c.ownKubeconfig(a, f); len(files) > 0 {
		return c.askWithOwn(ctx, a, t, f, files, origin)
	}
	holders, none, err := c.holders(a, t, f)
	if err != nil || len(holders) == 0 {
		return none, err
	}
	config, err := c.fetchForAPI(ctx, a, holders, f)
	switch {
	case errors.Is(err, kubeconfig.ErrOtherCluster):
		return none, fail(exitRefused, err)
	case errors.Is(err, kubeconfig.ErrNone) && f.cp == "":
		return discover.APIAnswer{State: fact.IsAbsent, Why: err.Error()}, nil
	case err != nil:
		return unreadAPI(ctx, err), nil
	}
	snapshot, err := discover.ReadAPI(ctx, config.REST(), discover.APIOptions{Timeout: apiTimeout(f)})
	if err != nil {
		return unreadAPI(ctx, err), nil
	}
	return a.answer(snapshot, f), nil
}

func (a asked) answer(s cluster.Snapshot, f discoverFlags) discover.APIAnswer {
	return discover.APIAnswer{Snapshot: &s, Alone: f.noNodes, Chosen: a.chosen, Others: a.others}
}

// apiTimeout is what each resource of the API may take.
func apiTimeout(f discoverFlags) time.Duration { return f.timeout + 20*time.Second }

// unreadAPI is the answer of an API that could not be read.
func unreadAPI(ctx context.Context, err error) discover.APIAnswer {
	if ctx.Err() != nil {
		return discover.APIAnswer{State: fact.IsUnknown, Why: "kubernetes API: interrupted", Kind: nodeexec.KindCanceled}
	}
	answer := discover.APIAnswer{State: fact.IsUnknown, Why: "kubernetes API: " + strings.TrimPrefix(err.Error(), "kubernetes API: "), Kind: nodeexec.KindOf(err)}
	switch {
	case answer.Kind == nodeexec.KindSudo:
		answer.State = fact.IsDenied
		answer.Why += "; the API half needs root there: allow that, give --kubeconfig FILE, or leave it out with --no-api"
	case errors.Is(err, kubeconfig.ErrCredentials), errors.Is(err, discover.ErrCredentials):
		answer.State = fact.IsDenied
	case errors.Is(err, kubeconfig.ErrNoAnswer), errors.Is(err, discover.ErrNoAnswer):
		answer.Kind = nodeexec.KindUnreachable
	}
	if answer.Kind == "" {
		answer.Kind = nodeexec.KindProtocol
	}
	return answer
}

// ownKubeconfig is the kubeconfig of the caller's own, and what names it. That
// of the environment is not taken without an inventory: whoever has one set
// may still want to look at the machine in front of them. A file that is not
// there yet is none, as for kubectl.
func (c *cli) ownKubeconfig(a asked, f discoverFlags) (files []string, origin string) {
	if f.kubeconfig != "" {
		return []string{f.kubeconfig}, "--kubeconfig"
	}
	if list, ok := c.env("KUBECONFIG"); ok && !f.fetches() && a.inv != nil {
		for _, file := range filepath.SplitList(list) {
			if file != "" && exists(file) {
				files = append(files, file)
			}
		}
	}
	return files, "KUBECONFIG"
}

// askWithOwn reads the API with a kubeconfig that did not come from these
// nodes, and refuses one of another cluster.
func (c *cli) askWithOwn(ctx context.Context, a asked, t mapping.Topology, f discoverFlags, files []string, origin string) (discover.APIAnswer, error) {
	where := origin + " " + strings.Join(files, string(filepath.ListSeparator))
	access, err := discover.LoadKubeconfig(files)
	if err != nil {
		err = fmt.Errorf("%s: %w", where, err)
		if errors.Is(err, discover.ErrInsecure) {
			err = fail(exitRefused, err)
		}
		return discover.APIAnswer{}, err
	}
	snapshot, err := discover.ReadAPI(ctx, access.Config, discover.APIOptions{Timeout: apiTimeout(f)})
	if err != nil {
		return unreadAPI(ctx, fmt.Errorf("%s: %w", where, err)), nil
	}
	answer := a.answer(snapshot, f)
	if f.noNodes { // nothing of the inventory's is put beside it
		return answer, nil
	}
	if err := c.prove(ctx, a, t, access.CA, snapshot); err != nil {
		return discover.APIAnswer{}, fail(exitRefused, fmt.Errorf("%s: %w; fetch the kubeconfig of these nodes with --cp NODE, or leave the API out with --no-api", where, err))
	}
	return answer, nil
}

// prove tells whether the API is that of the nodes: they are its nodes, or
// the kubeconfig's authority is the one of their control plane.
func (c *cli) prove(ctx context.Context, a asked, t mapping.Topology, ca []byte, s cluster.Snapshot) error {
	doubt := kubeconfig.Belongs(machinesOfAPI(s), machines(t))
	if doubt == nil || len(ca) == 0 {
		return doubt
	}
	holders, _, err := c.holders(a, t, discoverFlags{})
	if err != nil {
		return err
	}
	for _, h := range holders {
		theirs, err := kubeconfig.ReadCA(ctx, h.runner, kubeconfig.Options{})
		if err != nil {
			continue
		}
		if same, err := kubeconfig.SameCA(ca, theirs); err == nil && same {
			return nil
		}
		return fmt.Errorf("%w, and its certificate authority is not that of %s", doubt, h.target.Node)
	}
	return doubt
}

// machines are the nodes that were asked.
func machines(t mapping.Topology) []kubeconfig.Machine {
	var list []kubeconfig.Machine
	for _, n := range t.Nodes {
		m := kubeconfig.Machine{Name: n.Name}
		if n.Address != "" {
			m.Addresses = []string{n.Address}
		}
		if n.Facts != nil {
			m.MachineID = n.Facts.MachineID.Value
		}
		list = append(list, m)
	}
	return list
}

// machinesOfAPI are the nodes that the API lists.
func machinesOfAPI(s cluster.Snapshot) []kubeconfig.Machine {
	var list []kubeconfig.Machine
	for _, n := range s.Nodes.Value {
		list = append(list, kubeconfig.Machine{Name: n.Name, Addresses: n.AddressesOf(""), MachineID: strings.ToLower(n.MachineID)})
	}
	return list
}

// holders are the nodes that may hold the kubeconfig: --cp; else those that
// are a control plane by their own word; else those of the inventory's group
// for them that gave no word. Where there is none the answer says so.
func (c *cli) holders(a asked, t mapping.Topology, f discoverFlags) ([]candidate, discover.APIAnswer, error) {
	if a.inv == nil {
		if len(t.Nodes) == 1 && t.Nodes[0].Facts != nil && t.Nodes[0].Facts.ControlPlane.Value {
			return []candidate{{inventory.Target{Node: t.Nodes[0].Name, Transport: inventory.TransportLocal}, a.nodes[0].Runner}}, discover.APIAnswer{}, nil
		}
		return nil, discover.APIAnswer{State: fact.IsAbsent, Why: "this machine is no control plane"}, nil
	}
	names, err := kubeconfig.Candidates(a.inv, f.cp)
	if err != nil {
		return nil, discover.APIAnswer{}, err
	}
	if f.cp == "" && !f.noNodes {
		names = controlPlanes(names, a, t)
	}
	var list []candidate
	for _, name := range names {
		switch target, err := c.target(a.inv, name); {
		case err == nil:
			list = append(list, candidate{target, c.open(target)})
		case refused(err) || f.cp != "":
			return nil, discover.APIAnswer{}, err
		} // the nodes' own failures say the rest
	}
	none := discover.APIAnswer{State: fact.IsAbsent, Why: "no node is a control plane"}
	for _, n := range t.Nodes {
		if n.Facts == nil || n.Facts.ControlPlane.State != fact.IsPresent {
			none = discover.APIAnswer{State: fact.IsUnknown, Why: "nobody can tell which node is a control plane; name it with --cp"}
		}
	}
	if len(a.others) > 0 {
		none = discover.APIAnswer{State: fact.IsUnknown, Why: "none of the nodes that were asked is a control plane; name it with --cp"}
	}
	return list, none, nil
}

// controlPlanes are the nodes that say they are one; else those of candidates
// that said nothing, where the inventory has a group for them.
func controlPlanes(candidates []string, a asked, t mapping.Topology) []string {
	var say, silent []string
	answered := map[string]bool{}
	for _, n := range t.Nodes {
		if n.Facts == nil || n.Facts.ControlPlane.State != fact.IsPresent {
			continue
		}
		answered[n.Name] = true
		if n.Facts.ControlPlane.Value {
			say = append(say, n.Name)
		}
	}
	if len(say) > 0 {
		return say
	}
	everybody, _ := a.inv.Select("") // then there is no such group
	if slices.Equal(candidates, everybody) {
		return nil
	}
	for _, name := range candidates {
		if !answered[name] {
			silent = append(silent, name)
		}
	}
	return silent
}

// fetchForAPI fetches the kubeconfig that one of the nodes holds, and finds
// where the API answers. It stays in memory.
func (c *cli) fetchForAPI(ctx context.Context, a asked, holders []candidate, f discoverFlags) (*kubeconfig.Config, error) {
	var nodes []nodeexec.Runner
	for _, h := range holders {
		nodes = append(nodes, h.runner)
	}
	holder, err := kubeconfig.Locate(ctx, nodes, kubeconfig.Options{})
	if err != nil {
		return nil, err
	}
	fetched, err := holder.Fetch(ctx, kubeconfig.Options{})
	if err != nil {
		return nil, err
	}
	target := holders[slices.Index(nodes, holder.Node)].target
	place := kubeconfig.Place{Transport: target.Transport, Host: target.Host}
	if a.inv != nil {
		if place, err = c.place(ctx, a.inv, target, accessFlags{server: f.server, apiPort: f.apiPort}); err != nil {
			return nil, err
		}
	}
	servers, err := fetched.Servers(place)
	if err != nil {
		return nil, err
	}
	config, err := kubeconfig.Reach(ctx, fetched.Config, servers)
	if err != nil {
		return nil, fmt.Errorf("with the kubeconfig of %s: %w", fetched.Node, err)
	}
	return config, nil
}

// apiRemarks are what the API half does not have, and the nodes that only one
// side has.
func apiRemarks(t mapping.Topology) (remarks []string) {
	if t.API == nil || t.API.State != fact.IsPresent {
		return nil
	}
	for _, u := range t.API.Value.Unread {
		if u.State == fact.IsDenied { // the others are failures, and said already
			remarks = append(remarks, fmt.Sprintf("kubernetes API: %s: %s: %s", u.Resource, u.State, u.Why))
		}
	}
	for _, n := range t.Nodes {
		switch {
		case n.Error != nil && n.Error.Kind == mapping.NotInInventory:
			remarks = append(remarks, n.Error.Message)
		case n.Kubernetes != nil && (n.Kubernetes.State == fact.IsAbsent || n.Kubernetes.State == fact.IsUnknown):
			remarks = append(remarks, n.Name+": "+n.Kubernetes.Why)
		}
	}
	return remarks
}
