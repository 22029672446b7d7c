package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/nestor-tools/nestor/contract/printable"
	"github.com/nestor-tools/nestor/mapping"
	"github.com/nestor-tools/nestor/mapping/baseline"
	"github.com/nestor-tools/nestor/mapping/disks"
	"github.com/nestor-tools/nestor/mapping/fact"
)

// writeTable prints a topology for people, a line a node, and a few on the
// API. What is not known is said so, never left blank; why a node was not read
// stands on stderr.
func writeTable(w io.Writer, t mapping.Topology) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "NODE\tOS\tKERNEL\tRUNTIME\tCNI\tDISKS\tHARDENING")
	row := func(cells []string) { // names and versions are what nodes and the API say
		for i := range cells {
			cells[i] = printable.Line(cells[i])
		}
		fmt.Fprintln(tw, strings.Join(cells, "\t"))
	}
	for _, n := range t.Nodes {
		if n.Facts == nil {
			row(apart(n))
			continue
		}
		f := n.Facts
		row([]string{
			n.Name,
			cell(f.OS, func() string { return strings.TrimSpace(f.OS.Value.ID + " " + f.OS.Value.VersionID) }),
			cell(f.Kernel, func() string { return f.Kernel.Value.Release }),
			cell(f.ContainerRuntime, func() string {
				r := f.ContainerRuntime.Value
				return strings.TrimSpace(r.Name + " " + cell(r.Version, func() string { return r.Version.Value }))
			}),
			cell(f.CNI, func() string {
				if c := f.CNI.Value; c.Error == "" {
					return c.Network
				}
				return "not ready"
			}),
			cell(f.Disks, func() string { return countDisks(f.Disks.Value) }),
			verdicts(n),
		})
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	return writeAPITable(w, t)
}

// apart is the line of a node that was not read: what the API says of it.
func apart(n mapping.Node) []string {
	line := []string{n.Name, "-", "-", "-", "-", "-", "-"}
	if n.Error != nil {
		line[1] = n.Error.Kind
	}
	if n.Kubernetes != nil && n.Kubernetes.State == fact.IsPresent {
		k := n.Kubernetes.Value
		if n.Error == nil {
			line[1] = cmp.Or(k.OSImage, "-")
		}
		line[2], line[3] = cmp.Or(k.Kernel, "-"), cmp.Or(k.Runtime, "-")
	}
	return line
}

// cell is a fact's text, or its state where there is no value.
func cell[T any](o fact.Observed[T], text func() string) string {
	if o.State == fact.IsPresent {
		return text()
	}
	if o.State == fact.IsAbsent {
		return "none"
	}
	return string(o.State)
}

// verdicts is the short signal, and how many checks did not pass.
func verdicts(n mapping.Node) string {
	count := map[baseline.State]int{}
	for _, c := range n.Baseline {
		count[c.State]++
	}
	text := n.Hardening
	for _, state := range []baseline.State{baseline.Fail, baseline.Unknown} {
		if count[state] > 0 {
			text += fmt.Sprintf(", %d %s", count[state], state)
		}
	}
	return text
}

// countDisks counts the disks by role: "1 system, 2 free".
func countDisks(all []disks.Disk) string {
	count := map[disks.Role]int{}
	for _, d := range all {
		count[d.Role]++
	}
	var parts []string
	for _, role := range []disks.Role{disks.System, disks.Ceph, disks.DataInUse, disks.Free, disks.Unknown} {
		if count[role] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[role], role))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}
