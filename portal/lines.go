package portal

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"
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
		fmt.Fprintf(&b, "! %s\n", plain(line))
	}
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, g := range p.Groups {
		fmt.Fprintf(t, "%s\n", plain(g.Title))
		for _, i := range g.Items {
			fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", i.Verdict, plain(i.Name()), plain(i.URL), i.Why())
			if i.Verdict != Match || i.Reason == PolicyMayBlock {
				for _, e := range i.Evidence() {
					fmt.Fprintf(t, "  \t  %s\n", plain(e))
				}
			}
			if i.Remedy != "" {
				fmt.Fprintf(t, "  \t  $ %s\n", plain(i.Remedy))
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

// plain makes one line of s that no terminal obeys.
func plain(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}
