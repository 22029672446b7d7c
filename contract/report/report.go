// Package report writes findings for people, for scripts and for the services
// that show them beside the code.
//
//	err := report.Write(os.Stdout, report.SARIF, findings, report.Options{Version: "1.2.0"})
//
// One call writes one format to one writer; a caller with several calls it
// several times. Nothing but the format goes to the writer, and no finding at
// all is a valid document in every format. What a finding says may come from a
// file that a stranger wrote: each format escapes it so that it stays text.
//
// It refuses an unknown format, and neither judges nor drops a finding.
package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/contract/printable"
)

// Format is a way to write findings.
type Format string

// The formats.
const (
	Text     Format = "text"     // for people, grouped by endpoint
	JSON     Format = "json"     // nestor.findings/v1, docs/schema/findings.v1.json
	SARIF    Format = "sarif"    // OASIS SARIF 2.1.0
	GitHub   Format = "github"   // workflow commands of GitHub Actions
	JUnit    Format = "junit"    // JUnit XML, a case for each endpoint and rule
	Markdown Format = "markdown" // a GitHub-flavoured table
)

// Formats gives every format, in the order in which help texts name them.
func Formats() []Format { return []Format{Text, JSON, SARIF, GitHub, JUnit, Markdown} }

// ParseFormat is the format of that name, or an error that names them all.
func ParseFormat(name string) (Format, error) {
	if f := Format(name); slices.Contains(Formats(), f) {
		return f, nil
	}
	var known []string
	for _, f := range Formats() {
		known = append(known, string(f))
	}
	return "", fmt.Errorf("unknown output format %q: use one of %s", name, strings.Join(known, ", "))
}

// Options say how to write; the zero value is good.
type Options struct {
	Color     bool              // Text: ANSI colours
	Root      string            // absolute file names below this folder are written relative to it: the sources' own, so that they mean the same on another machine
	Rules     []contract.Rule   // SARIF: the rules' pages; JUnit: the rules that passed too
	Endpoints []string          // JUnit: the endpoints that passed too; Text: the order of the groups
	FailOn    contract.Severity // JUnit: the mildest severity that fails a case; "" is Error
	Version   string            // SARIF: nestor's version
}

// Write writes the findings to w in one format. The order of the findings that
// it is given has no effect.
func Write(w io.Writer, format Format, findings []contract.Finding, o Options) error {
	findings = slices.Clone(findings)
	slices.SortFunc(findings, byPlace)
	switch format {
	case Text:
		return writeText(w, findings, o)
	case JSON:
		return writeJSON(w, findings, o)
	case SARIF:
		return writeSARIF(w, findings, o)
	case GitHub:
		return writeGitHub(w, findings, o)
	case JUnit:
		return writeJUnit(w, findings, o)
	case Markdown:
		return writeMarkdown(w, findings, o)
	}
	_, err := ParseFormat(string(format))
	return err
}

// Summary counts findings by severity.
type Summary struct {
	Error   int `json:"error"`
	Warning int `json:"warning"`
	Info    int `json:"info"`
}

// Count counts the findings of each severity.
func Count(findings []contract.Finding) Summary {
	var s Summary
	for _, f := range findings {
		switch f.Severity {
		case contract.Error:
			s.Error++
		case contract.Warning:
			s.Warning++
		case contract.Info:
			s.Info++
		}
	}
	return s
}

// String is "2 errors, 1 warning, 0 infos", or "no findings".
func (s Summary) String() string {
	if s == (Summary{}) {
		return "no findings"
	}
	return fmt.Sprintf("%s, %s, %s", plural(s.Error, "error"), plural(s.Warning, "warning"), plural(s.Info, "info"))
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// noEndpoint is what groups of findings that concern no endpoint are called.
const noEndpoint = "platform"

// byPlace orders findings as one meets them when reading the files.
func byPlace(a, b contract.Finding) int {
	return cmp.Or(
		cmp.Compare(a.File, b.File),
		cmp.Compare(a.Line, b.Line),
		cmp.Compare(a.Column, b.Column),
		cmp.Compare(a.Rule, b.Rule),
		cmp.Compare(a.Endpoint, b.Endpoint),
		cmp.Compare(a.Message, b.Message),
	)
}

// worstFirst orders findings by severity; a stable sort keeps their places in
// order.
func worstFirst(a, b contract.Finding) int {
	return cmp.Compare(rank(a.Severity), rank(b.Severity))
}

func rank(s contract.Severity) int {
	return slices.Index([]contract.Severity{contract.Error, contract.Warning, contract.Info}, s)
}

// file is the name of a file for the reader.
func (o Options) file(name string) string {
	if o.Root != "" {
		name = strings.TrimPrefix(name, strings.TrimSuffix(o.Root, "/")+"/")
	}
	return name
}

// place is FILE:LINE:COLUMN for the reader's eyes, as far as they are known.
func (o Options) place(p contract.Position) string {
	var b strings.Builder
	b.WriteString(printable.Line(o.file(p.File)))
	if p.File != "" && p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
		if p.Column > 0 {
			fmt.Fprintf(&b, ":%d", p.Column)
		}
	}
	return b.String()
}
