package report_test

import (
	"encoding/json"
	"encoding/xml"
	"html"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/contract/report"
)

// hostile seeds every fuzz target: what each format gives a meaning.
var hostile = []string{
	"plain", "", "a|b", "a\nb\r\nc\rd", "::error::x", "100%0A", "a:b,c=d", "##[error]x",
	"\x1b[2J\x07\x00", "\u202e\u2028\u0085\ufeff", "]]>&lt;<b>", "`a` *b* _c_ ~d~ $e$", "[a](b) ![c](d)", `\| \\|`,
	"{0} {{x}}", "../a b#c?d%20", "-- | - |", "\xff\xfe", "# h", "http://x.y/z <http://x>",
}

func seed(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
}

// finding puts s wherever a stranger's text could go.
func finding(s string) contract.Finding {
	return contract.Finding{
		Rule: "rule", Severity: contract.Error, Endpoint: s, Message: s, Remedy: s,
		Position: contract.Position{File: s, Line: 3, Column: 5}, Related: []contract.Position{{File: s, Line: 7}},
	}
}

// command reads a workflow command as GitHub's runner does: up to the next "::"
// properties split at commas, then the text; "%25" is undone last.
func command(t *testing.T, line string) (name string, properties map[string]string, text string) {
	t.Helper()
	rest, ok := strings.CutPrefix(line, "::")
	require.True(t, ok, "no command: %q", line)
	head, text, ok := strings.Cut(rest, "::")
	require.True(t, ok, "no end of the command: %q", line)
	name, list, _ := strings.Cut(head, " ")
	properties = map[string]string{}
	for pair := range strings.SplitSeq(list, ",") {
		key, value, ok := strings.Cut(pair, "=")
		require.True(t, ok, "no value: %q", line)
		properties[key] = strings.NewReplacer("%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",", "%25", "%").Replace(value)
	}
	return name, properties, strings.NewReplacer("%0D", "\r", "%0A", "\n", "%25", "%").Replace(text)
}

func FuzzGitHub(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, s string) {
		out := render(t, report.GitHub, []contract.Finding{finding(s)}, report.Options{})
		lines := strings.FieldsFunc(out, func(r rune) bool { return r == '\n' || r == '\r' })
		require.Len(t, lines, 2, "one command and the summary: %q", out)
		name, properties, text := command(t, lines[0])
		assert.Equal(t, "error", name)
		if s != "" {
			shown := oneLine(s)
			assert.Equal(t, shown+": rule", properties["title"])
			assert.Equal(t, shown, properties["file"])
			assert.Equal(t, "3", properties["line"])
			assert.True(t, strings.HasPrefix(text, shown+"\nFix: "+shown+"\nSee: "+shown+":7"), text)
		}
	})
}

// Logs and the pages of a build service are read by people, and by terminals.
func TestWrite_NothingHidden(t *testing.T) {
	for _, s := range []string{"caf\x1b[31mRED\u202e", "\u2066\ufeff\u200b\u2028\u009b"} {
		for _, format := range []report.Format{report.Text, report.GitHub, report.JUnit, report.Markdown} {
			out := render(t, format, []contract.Finding{finding(s)}, report.Options{})
			for _, r := range out {
				assert.True(t, r == '\n' || unicode.IsPrint(r), "%s: %q in %q", format, r, out)
			}
		}
	}
}

func FuzzText(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, s string) {
		out := render(t, report.Text, []contract.Finding{finding(s)}, report.Options{})
		want := 8
		if s == "" {
			want = 7 // no remedy
		}
		assert.Len(t, strings.Split(out, "\n"), want, "%q", out)
		for _, r := range out {
			assert.True(t, r == '\n' || unicode.IsPrint(r), "%q in %q", r, out)
		}
	})
}

var (
	table    = goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough))
	htmlCell = regexp.MustCompile(`(?s)<td>(.*?)</td>`)
)

// A renderer of Markdown must show what went in, in five cells.
func FuzzMarkdown(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, s string) {
		s = string([]rune(s)) // a renderer replaces what is not text
		out := render(t, report.Markdown, []contract.Finding{{Rule: "rule", Severity: contract.Error, Message: s, Remedy: s}}, report.Options{})
		var page strings.Builder
		require.NoError(t, table.Convert([]byte(out), &page))
		cells := htmlCell.FindAllStringSubmatch(page.String(), -1)
		require.Len(t, cells, 5, "%q became %q", out, page.String())
		assert.NotContains(t, cells[3][1], "<", "markup in %q", out)
		shown := html.UnescapeString(cells[4][1])
		assert.Equal(t, strings.TrimSpace(oneLine(s)), strings.TrimSpace(shown), "%q", out)
	})
}

// oneLine writes the characters that do not print as the text format does; that
// format's own test is FuzzText.
func oneLine(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}

func FuzzJUnit(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, s string) {
		out := render(t, report.JUnit, []contract.Finding{finding(s)}, report.Options{})
		var doc junitDoc
		require.NoError(t, xml.Unmarshal([]byte(out), &doc), "%q", out)
		assert.Equal(t, 1, doc.Failures)
		failures := 0
		for _, suite := range doc.Suites {
			for _, c := range suite.Cases {
				if c.Failure != nil {
					failures++
				}
			}
		}
		assert.Equal(t, 1, failures)
	})
}

func FuzzJSONAndSARIF(f *testing.F) {
	findings, sarif := schema(f, findingsSchema), schema(f, sarifSchema)
	seed(f)
	f.Fuzz(func(t *testing.T, s string) {
		list := []contract.Finding{finding(s)}
		out := render(t, report.JSON, list, report.Options{})
		validate(t, findings, out)
		var doc struct{ Findings []contract.Finding }
		require.NoError(t, json.Unmarshal([]byte(out), &doc))
		assert.Equal(t, string([]rune(s)), doc.Findings[0].Message)

		out = render(t, report.SARIF, list, report.Options{Root: "/r"})
		validate(t, sarif, out)
		var log struct {
			Runs []struct {
				Results []struct {
					Locations []struct {
						PhysicalLocation struct {
							ArtifactLocation struct{ URI, URIBaseID string }
						}
					}
				}
			}
		}
		require.NoError(t, json.Unmarshal([]byte(out), &log))
		if s == "" {
			assert.Empty(t, log.Runs[0].Results[0].Locations)
			return
		}
		// resolved against its base, the URI is the file again
		artifact := log.Runs[0].Results[0].Locations[0].PhysicalLocation.ArtifactLocation
		uri, err := url.Parse(artifact.URI)
		require.NoError(t, err)
		if artifact.URIBaseID != "" {
			assert.Empty(t, uri.Scheme, "%q", artifact.URI)
			assert.Empty(t, uri.Host, "%q", artifact.URI)
		}
		assert.Empty(t, uri.Fragment+uri.RawQuery, "%q", artifact.URI)
	})
}
