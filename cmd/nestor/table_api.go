package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/nestor-tools/nestor/contract/printable"
	"github.com/nestor-tools/nestor/mapping"
	"github.com/nestor-tools/nestor/mapping/cluster"
	"github.com/nestor-tools/nestor/mapping/fact"
)

// writeAPITable prints the API half for people, a line a part. Without a
// cluster there is none.
func writeAPITable(w io.Writer, t mapping.Topology) error {
	if t.API == nil || t.API.State == fact.IsAbsent {
		return nil
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, text string) { fmt.Fprintf(tw, "%s\t%s\n", name, printable.Line(text)) }
	line("\nAPI", cell(*t.API, func() string {
		api := t.API.Value
		text := "kubernetes " + cell(api.Version, func() string { return api.Version.Value })
		for _, u := range api.Unread {
			text += fmt.Sprintf(", %s %s", u.Resource, u.State)
		}
		return text
	}))
	if half := t.Cluster; half != nil {
		if half.Layers.State != fact.IsPresent {
			line("LAYERS", string(half.Layers.State))
		}
		for _, layer := range half.Layers.Value {
			line(strings.ToUpper(layer.Name), cell(half.Catalog, func() string { return componentsOf(half.Catalog.Value, layer) }))
		}
		line("STORAGE", storageText(half.Storage))
		line("EXPOSITION", cell(half.Exposition, func() string {
			return count(half.Exposition.Value, func(e cluster.Exposure) string { return e.Kind })
		}))
		line("UNKNOWN", cell(half.Unknown, func() string {
			return count(half.Unknown.Value, func(o cluster.Object) string { return o.Kind })
		}))
		line("NOT WELL", strings.Join([]string{
			"nodes: " + unwell(half.Health.Nodes), "volumes: " + unwell(half.Health.Volumes), "workloads: " + unwell(half.Health.Workloads),
		}, "; "))
	}
	return tw.Flush()
}

// componentsOf is a layer on a line: "cilium v1.17.0, coredns v1.12.0".
func componentsOf(catalog []cluster.Component, layer cluster.Layer) string {
	var parts []string
	for _, c := range catalog {
		if c.Layer == layer.Name {
			parts = append(parts, strings.TrimSpace(c.Name+" "+c.Version.Value))
		}
	}
	if len(parts) == 0 {
		return "nothing known in " + strings.Join(layer.Namespaces, ", ")
	}
	return strings.Join(parts, ", ")
}

func storageText(s cluster.Storage) string {
	text := cell(s.Backend, func() string { return s.Backend.Value })
	if s.Default.State == fact.IsPresent {
		text += ", default class " + s.Default.Value
	}
	return text
}

// count counts things by kind, in the order of the first of each: "3 NodePort,
// 1 Gateway".
func count[T any](all []T, kind func(T) string) string {
	var order []string
	counts := map[string]int{}
	for _, v := range all {
		if counts[kind(v)]++; counts[kind(v)] == 1 {
			order = append(order, kind(v))
		}
	}
	if len(order) == 0 {
		return "none"
	}
	parts := make([]string, len(order))
	for i, k := range order {
		parts[i] = fmt.Sprintf("%d %s", counts[k], k)
	}
	return strings.Join(parts, ", ")
}

// unwell is what is not well, the first few by name.
func unwell(o fact.Observed[[]cluster.Object]) string {
	return cell(o, func() string {
		const shown = 5
		var parts []string
		for _, object := range o.Value {
			name := object.Name
			if object.Namespace != "" {
				name = object.Namespace + "/" + name
			}
			parts = append(parts, name+" "+object.State)
		}
		switch {
		case len(parts) == 0:
			return "none"
		case len(parts) > shown:
			parts = append(parts[:shown], fmt.Sprintf("and %d more", len(parts)-shown))
		}
		return strings.Join(parts, ", ")
	})
}
