package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/contract/printable"
)

// writeMarkdown writes the summary, and a table when there is something to put
// in it: worst first, as for a comment on a change.
func writeMarkdown(w io.Writer, findings []contract.Finding, o Options) error {
	slices.SortStableFunc(findings, worstFirst)
	var b bytes.Buffer
	fmt.Fprintf(&b, "**%s**\n", Count(findings))
	if len(findings) > 0 {
		b.WriteString("\n| severity | endpoint | place | finding | remedy |\n| --- | --- | --- | --- | --- |\n")
	}
	for _, f := range findings {
		place := cell(o.place(f.Position))
		for _, p := range f.Related {
			place += "<br>" + cell(o.place(p))
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s (%s) | %s |\n",
			f.Severity, cell(f.Endpoint), place, cell(f.Message), cell(f.Rule), cell(f.Remedy))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// cell escapes a text for a table's cell: what Markdown or GitHub would read as
// markup is shown, and a line stays a line.
func cell(s string) string {
	var b strings.Builder
	for _, r := range printable.Line(s) {
		if strings.ContainsRune("\\`*_[]<>|~&$", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
