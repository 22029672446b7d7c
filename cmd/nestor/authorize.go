package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/nodeexec/guard"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// authorize asks the guard for a permit for each of the nodes, which are named
// literally. Nothing is sent to any node. apply asks for permits to change
// them.
func (c *cli) authorize(ctx context.Context, inv *inventory.Inventory, names []string, apply bool) ([]guard.Permit, error) {
	if shim, ok := c.env("NODE_EXEC_SHIM"); ok && shim != "" {
		return nil, fail(exitRefused, fmt.Errorf("refused: NODE_EXEC_SHIM=%s: what leads to a node that is wiped is nestor's own shim; unset it", shim))
	}
	kind, err := c.kind()
	if err != nil {
		return nil, err
	}
	stack, err := c.stack()
	if err != nil {
		return nil, err
	}
	var permits []guard.Permit
	var others []guard.Other // all nodes, asked once
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, fmt.Errorf("node %q is named twice", name)
		}
		if !slices.Contains(inv.Hosts(), name) {
			return nil, c.notLiteral(inv, name)
		}
		t, err := c.target(inv, name)
		if err != nil {
			return nil, err
		}
		intent := guard.Intent{Node: name, Kind: kind, StackID: stack, Apply: apply}
		// What the declarations alone refuse is refused before anything is
		// looked up.
		if _, err := guard.Authorize(t, guard.Effective{}, intent, c.env); declared(err) {
			return nil, fail(exitRefused, err)
		}
		effective, err := c.effective(ctx, t)
		if err != nil {
			return nil, err
		}
		if others == nil && t.Transport == inventory.TransportSSH {
			if others, err = c.others(ctx, inv, name); err != nil {
				return nil, err
			}
		}
		effective.Others = others
		permit, err := guard.Authorize(t, effective, intent, c.env)
		if err != nil {
			return nil, fail(exitRefused, err)
		}
		permits = append(permits, permit)
	}
	return permits, nil
}

// notLiteral tells a pattern or a group, which is refused, from a node that is
// not known.
func (c *cli) notLiteral(inv *inventory.Inventory, name string) error {
	if slices.Contains(inv.Groups(), name) || name == "" || strings.ContainsAny(name, `*?[]:,!&~`) {
		return fail(exitRefused, &guard.Refusal{Node: name, Rule: guard.RuleName, Value: name, Why: "was asked for; write the nodes' own names, no group and no pattern"})
	}
	_, err := inv.Target(name, "")
	return err
}

// declared says whether err refuses what is declared and stated, whatever the
// target leads to.
func declared(err error) bool {
	refusal, ok := errors.AsType[*guard.Refusal](err)
	return ok && !slices.Contains([]guard.Rule{guard.RuleAddress, guard.RuleShared, guard.RuleTunnel}, refusal.Rule)
}

// effective finds out what a target really leads to, as guard.Effective asks.
func (c *cli) effective(ctx context.Context, t inventory.Target) (guard.Effective, error) {
	if t.Transport != inventory.TransportSSH {
		return guard.Effective{}, nil
	}
	e := guard.Effective{Jumps: map[string][]netip.Addr{}}
	var err error
	if e.SSH, err = c.sshView(ctx, t); err != nil {
		return e, err
	}
	if e.Addresses, err = addressesOf(ctx, e.SSH.Hostname); err != nil {
		return e, err
	}
	for _, jump := range guard.Jumps(t, e.SSH) {
		view, err := c.sshView(ctx, jump)
		if err != nil {
			return e, err
		}
		e.Jumps[jump.Host] = nil // known to lead nowhere that is known
		if view.ProxyJump == "" && view.ProxyCommand == "" {
			if e.Jumps[jump.Host], err = addressesOf(ctx, view.Hostname); err != nil {
				return e, err
			}
		}
	}
	e.Local, err = localAddresses()
	return e, err
}

func (c *cli) sshView(ctx context.Context, t inventory.Target) (guard.SSH, error) {
	text, err := nodeexec.Open(t, nodeexec.Options{}).Effective(ctx)
	if err != nil {
		return guard.SSH{}, err
	}
	return guard.ParseSSH(text)
}

// addressesOf resolves a host. A name that nobody knows has no address; that
// the resolver cannot be asked is an error.
func addressesOf(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if e, ok := errors.AsType[*net.DNSError](err); ok && e.IsNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look up %s: %w", host, err)
	}
	return found, nil
}

func localAddresses() ([]netip.Addr, error) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("list this machine's addresses: %w", err)
	}
	var found []netip.Addr
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok {
			if addr, ok := netip.AddrFromSlice(n.IP); ok {
				found = append(found, addr.Unmap())
			}
		}
	}
	return found, nil
}

// others are the nodes of the inventory that ssh reaches, for the sake of one
// of them. One of which the address is not known could share that of this one:
// it is an error, but for one behind a jump, whose name is the jump's business.
func (c *cli) others(ctx context.Context, inv *inventory.Inventory, node string) ([]guard.Other, error) {
	hosts := inv.Hosts()
	found := make([]guard.Other, len(hosts))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i, name := range hosts {
		group.Go(func() error {
			t, err := inv.Target(name, "")
			if err != nil {
				return fmt.Errorf("whether node %q has the same address as %q cannot be told: %w", name, node, err)
			}
			if t.Transport != inventory.TransportSSH {
				return nil
			}
			view, err := c.sshView(ctx, t)
			if err != nil {
				return fmt.Errorf("whether node %q has the same address as %q cannot be told: %w", name, node, err)
			}
			addresses, err := addressesOf(ctx, view.Hostname)
			if err == nil && len(addresses) == 0 && view.ProxyJump == "" && view.ProxyCommand == "" {
				err = fmt.Errorf("whether node %q has the same address as %q cannot be told: %s has none here; mend or remove it in the inventory", name, node, view.Hostname)
			}
			found[i] = guard.Other{Node: name, Addresses: addresses, Port: view.Port}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(o guard.Other) bool { return o.Node == "" }), nil
}
