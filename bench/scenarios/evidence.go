package scenarios

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/bitfield/script"
)

// Summary writes a line for each verdict, and for what is deferred, and says
// how a program that ran the scenarios should exit.
func Summary(w io.Writer, results []Result) int {
	code := 0
	for _, r := range results {
		fmt.Fprintf(w, "%-8s %-14s %s\n", r.Verdict, r.Name, r.Proves)
		switch {
		case r.Verdict == Fail:
			code = 1
		case r.Verdict == NotRun && code == 0:
			code = 2
		}
	}
	for _, d := range Deferred {
		fmt.Fprintf(w, "DEFERRED %s\n", d)
	}
	return code
}

// Evidence writes what was run, where, on which commit, and what was seen.
func (b *Bench) Evidence(w io.Writer, began time.Time, asked string, results []Result) error {
	if asked == "" {
		asked = "all"
	}
	p := &printer{w: w}
	p.f("# Scenarios, %s\n\n", began.UTC().Format("2006-01-02 15:04 MST"))
	p.f("| | |\n|---|---|\n")
	p.f("| asked for | %s |\n| commit | %s |\n", asked, b.commit())
	p.f("| limactl | %s |\n| workstation | %s |\n", first("limactl", "--version"), first("uname", "-srm"))
	for _, n := range b.Nodes {
		kernel, err := b.node(n.Name, "uname", "-srm").text()
		if err != nil {
			kernel = err.Error()
		}
		p.f("| %s | %s |\n", n.Name, strings.TrimSpace(kernel))
	}
	p.f("\nWhat was emulated:\n\n")
	for _, e := range b.Emulated {
		p.f("- %s\n", e)
	}
	if len(b.Emulated) == 0 {
		p.f("- nothing was said to be\n")
	}
	p.f("\n| verdict | scenario | took | proves |\n|---|---|---|---|\n")
	for _, r := range results {
		p.f("| %s | %s | %s | %s |\n", r.Verdict, r.Name, r.Took, r.Proves)
	}
	for _, d := range Deferred {
		p.f("| DEFERRED | | | %s |\n", d)
	}
	for _, r := range results {
		p.f("\n## %s: %s\n\n```text\n%s```\n", r.Name, r.Verdict, r.Text)
	}
	return p.err
}

// commit names it, and says where the files are not those of it.
func (b *Bench) commit() string {
	git := func(args ...string) (string, error) {
		return call{argv: append([]string{"git", "-C", filepath.Clean(b.Root)}, args...)}.text()
	}
	hash, err := git("rev-parse", "HEAD")
	if err != nil {
		return "unknown"
	}
	if changed, err := git("status", "--porcelain", "--untracked-files=no"); err != nil || changed != "" {
		return strings.TrimSpace(hash) + ", with changes that are not committed"
	}
	return strings.TrimSpace(hash)
}

// first is the first line that a program prints.
func first(argv ...string) string {
	out, err := call{argv: argv}.text()
	if err != nil {
		return err.Error()
	}
	line, err := script.Echo(out).First(1).String()
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(line)
}

// printer keeps the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) f(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}
