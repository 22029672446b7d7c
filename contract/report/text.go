package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/contract/printable"
)

// ANSI codes: the severity is written as a word too, so nothing is said by
// colour alone.
const (
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	cyan   = "\x1b[36m"
	plain  = "\x1b[0m"
)

// widestPlace is how far the names of rules are moved to stand in a column.
const widestPlace = 60

func writeText(w io.Writer, findings []contract.Finding, o Options) error {
	paint := func(code, s string) string {
		if !o.Color {
			return s
		}
		return code + s + plain
	}
	colours := map[contract.Severity]string{contract.Error: red, contract.Warning: yellow, contract.Info: cyan}

	var b bytes.Buffer
	for _, id := range endpoints(findings, o.Endpoints) {
		group := slices.Collect(only(findings, id))
		if len(group) == 0 {
			continue
		}
		slices.SortStableFunc(group, worstFirst)
		width := 0
		for _, f := range group {
			width = min(max(width, utf8.RuneCountInString(o.place(f.Position))), widestPlace)
		}
		fmt.Fprintln(&b, paint(bold, groupName(id)))
		for _, f := range group {
			severity := paint(colours[f.Severity], fmt.Sprintf("%-7s", f.Severity))
			place := ""
			if width > 0 {
				place = fmt.Sprintf("%-*s  ", width, o.place(f.Position))
			}
			fmt.Fprintf(&b, "  %s  %s%s\n", severity, place, paint(dim, printable.Line(f.Rule)))
			fmt.Fprintf(&b, "           %s\n", printable.Line(f.Message))
			for _, p := range f.Related {
				fmt.Fprintf(&b, "           %s\n", paint(dim, "see: "+o.place(p)))
			}
			if f.Remedy != "" {
				fmt.Fprintf(&b, "           fix: %s\n", printable.Line(f.Remedy))
			}
		}
		fmt.Fprintln(&b)
	}
	fmt.Fprintln(&b, paint(bold, Count(findings).String()))
	_, err := w.Write(b.Bytes())
	return err
}

// endpoints gives the ids that have a group: the known ones in their order,
// then those that only findings name, then "" for what concerns no endpoint.
func endpoints(findings []contract.Finding, known []string) []string {
	var others []string
	for _, f := range findings {
		if f.Endpoint != "" && !slices.Contains(known, f.Endpoint) {
			others = append(others, f.Endpoint)
		}
	}
	slices.Sort(others)
	return append(slices.Concat(known, slices.Compact(others)), "")
}

// only yields the findings of one endpoint.
func only(findings []contract.Finding, endpoint string) func(yield func(contract.Finding) bool) {
	return func(yield func(contract.Finding) bool) {
		for _, f := range findings {
			if f.Endpoint == endpoint && !yield(f) {
				return
			}
		}
	}
}

// groupName is what a reader sees of an endpoint's id.
func groupName(endpoint string) string {
	if endpoint == "" {
		return noEndpoint
	}
	return printable.Line(endpoint)
}
