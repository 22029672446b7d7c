package portal

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/nestor-tools/nestor/contract/printable"
)

// WriteText writes the view for a terminal: a line for each entry, below it
// what is wrong and the command that mends it.
func WriteText(w io.Writer, v *View, lang Lang) error {
	p := &page{View: v, PageOptions: PageOptions{Lang: lang}}
	p.group()
	var b strings.Builder
	if p.SecretsReadable {
		fmt.Fprintf(&b, "! %s\n", p.say("secrets-readable"))
	}
	if p.Stale {
		fmt.Fprintf(&b, "! %s %s\n", p.say("stale"), p.SinceText())
	}
	for _, line := range p.Unreadable() {
		fmt.Fprintf(&b, "! %s\n", printable.Line(line))
	}
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, g := range p.Groups {
		fmt.Fprintf(t, "%s\n", printable.Line(g.Title))
		for _, i := range g.Items {
			fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", i.Verdict, printable.Line(i.Name()), printable.Line(i.URL), i.Why())
			if i.Verdict != Match || i.Reason == PolicyMayBlock {
				for _, e := range i.Evidence() {
					fmt.Fprintf(t, "  \t  %s\n", printable.Line(e))
				}
			}
			if i.Remedy != "" {
				fmt.Fprintf(t, "  \t  $ %s\n", printable.Line(i.Remedy))
			}
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if closing := p.Closing(); closing != "" {
		fmt.Fprintf(&b, "%s\n", closing)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
