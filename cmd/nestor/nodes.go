package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/nestor-tools/nestor/contract/printable"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

func newNodesCmd(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "nodes [PATTERN]",
		Short: "List what the inventory holds",
		Long: `List the nodes of the inventory, all of them or those that a pattern of
Ansible's selects ("cloud", "web:&staging", "all:!node3", "node*", "db[0]").
A node that cannot be resolved is listed with the reason, and the exit code
is 2.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: c.completeNodes(true),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := c.format("text", "json"); err != nil {
				return err
			}
			inv, err := c.openInventory()
			if err != nil {
				return err
			}
			pattern := "all"
			if len(args) == 1 {
				pattern = args[0]
			}
			selected, err := inv.Select(pattern)
			if err != nil {
				return err
			}
			list := make([]nodeV1, len(selected))
			unresolved := 0
			for i, node := range selected {
				if list[i] = c.nodeOf(inv, node); list[i].Error != nil {
					unresolved++
				}
			}
			if c.output == "json" {
				err = json.NewEncoder(c.out).Encode(nodesV1{Schema: "nestor.nodes/v1", Inventory: inv.Name(), Nodes: list})
			} else {
				err = c.printNodes(list)
			}
			if err == nil && unresolved > 0 {
				err = fmt.Errorf("%d of %d nodes cannot be resolved", unresolved, len(list))
			}
			return err
		},
	}
}

// nodesV1 is nestor.nodes/v1.
type nodesV1 struct {
	Schema    string   `json:"schema"`
	Inventory string   `json:"inventory"`
	Nodes     []nodeV1 `json:"nodes"`
}

type nodeV1 struct {
	Node       string              `json:"node"`
	TargetKind inventory.Kind      `json:"target_kind"`
	Transport  inventory.Transport `json:"transport"`
	Host       string              `json:"host"`
	Port       int                 `json:"port"`
	User       string              `json:"user"`
	Groups     []string            `json:"groups"`
	Error      *string             `json:"error"` // why it cannot be resolved
}

func (c *cli) nodeOf(inv *inventory.Inventory, node string) nodeV1 {
	n := nodeV1{Node: node, Groups: []string{}}
	groups, err := inv.GroupsOf(node)
	n.Groups = append(n.Groups, groups...)
	var t inventory.Target
	if err == nil {
		t, err = c.target(inv, node)
	}
	if err != nil {
		text := err.Error()
		n.Error = &text
		return n
	}
	n.TargetKind, n.Transport, n.Host, n.Port, n.User = t.Kind, t.Transport, t.Host, t.Port, t.User
	return n
}

func (c *cli) printNodes(list []nodeV1) error {
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "NODE\tKIND\tTRANSPORT\tADDRESS\tGROUPS")
	for _, n := range list {
		node, groups := printable.Line(n.Node), printable.Line(strings.Join(n.Groups, ","))
		if n.Error != nil {
			fmt.Fprintf(tw, "%s\t-\t-\t-\t%s\n", node, groups)
			fmt.Fprintf(c.err, "nestor: %s\n", printable.Line(*n.Error))
			continue
		}
		address := n.Host
		if n.User != "" {
			address = n.User + "@" + address
		}
		if n.Port != 0 {
			address += fmt.Sprintf(" port %d", n.Port)
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", node, orElse(string(n.TargetKind), "-"), n.Transport, printable.Line(orElse(address, "-")), groups)
	}
	return tw.Flush()
}
