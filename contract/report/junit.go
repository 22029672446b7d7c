package report

import (
	"encoding/xml"
	"io"
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/contract/printable"
)

// JUnit XML has no standard; these are the elements that Jenkins, GitLab and
// Azure read alike.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitFailure `xml:"failure"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitFailure struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// writeJUnit writes a suite for each endpoint, and one for what concerns none;
// in each, a case for each rule. A case passes when the rule found nothing
// there, or nothing as bad as FailOn: then its findings are its output.
func writeJUnit(w io.Writer, findings []contract.Finding, o Options) error {
	failOn := o.FailOn
	if failOn == "" {
		failOn = contract.Error
	}
	var rules []string
	for _, r := range o.Rules {
		rules = append(rules, r.ID)
	}
	for _, f := range findings {
		rules = append(rules, f.Rule)
	}
	slices.Sort(rules)
	rules = slices.Compact(rules)

	doc := junitSuites{Name: "nestor contract"}
	for _, id := range endpoints(findings, o.Endpoints) {
		suite := junitSuite{Name: groupName(id), Time: "0"}
		group := slices.Collect(only(findings, id))
		for _, rule := range rules {
			c := junitCase{Class: "nestor.contract." + groupName(id), Name: rule, Time: "0"}
			var lines []string
			for _, f := range group {
				if f.Rule != rule {
					continue
				}
				lines = append(lines, strings.TrimSpace(string(f.Severity)+" "+o.place(f.Position))+": "+withRemedy(f))
				if rank(f.Severity) > rank(failOn) {
					continue
				}
				if c.Failure == nil {
					c.Failure = &junitFailure{Type: string(f.Severity), Message: printable.Line(f.Message)}
				}
			}
			if c.Failure != nil {
				c.Failure.Text = strings.Join(lines, "\n")
				suite.Failures++
			} else {
				c.Out = strings.Join(lines, "\n")
			}
			suite.Cases = append(suite.Cases, c)
		}
		suite.Tests = len(suite.Cases)
		doc.Tests += suite.Tests
		doc.Failures += suite.Failures
		if suite.Tests > 0 {
			doc.Suites = append(doc.Suites, suite)
		}
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(doc); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
