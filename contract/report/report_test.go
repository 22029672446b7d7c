package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/contract/report"
)

var update = flag.Bool("update", false, "write the golden files anew")

func at(file string, line, column int) contract.Position {
	return contract.Position{File: file, Line: line, Column: column}
}

// sample holds one finding of each shape that a format could get wrong.
var sample = []contract.Finding{
	{
		Rule: "service-port", Severity: contract.Error, Endpoint: "grafana",
		Message: "port 3001 is not one of the Service's ports (80)", Remedy: "write the Service's own port",
		Position: at("platform/contract/endpoints.yaml", 11, 11),
		Related:  []contract.Position{at("platform/apps/grafana/grafana.yaml", 13, 13), at("/src/my repository/platform/apps/grafana/nodeport.yaml", 14, 13)},
	},
	{ // the line is not known
		Rule: "yaml-syntax", Severity: contract.Error,
		Message: "is 80 MB, more than 64 MB", Position: at("platform/apps/a file, with: odd#signs?100%.yaml", 0, 0),
	},
	{ // what a hostile manifest could put into a message
		Rule: "exposure-unpromised", Severity: contract.Warning,
		Message:  "NodePort \"x\x1b[31m|`*_<b>&amp;]]>\u202e\" {0} [a](http://b)\n::error::no\r%0A",
		Remedy:   "promise it, or accept it under `accept`",
		Position: at("platform/apps/x.yaml", 2, 0),
	},
	{ // in no file: from a live cluster
		Rule: "live-drift", Severity: contract.Warning, Endpoint: "argocd", Message: "no NodePort in the cluster",
	},
	{
		Rule: "helm-only", Severity: contract.Info, Endpoint: "k8s-dashboard",
		Message: "not provable here", Position: at("/elsewhere/contract/endpoints.yaml", 90, 5),
	},
}

var rules = []contract.Rule{
	{ID: "exposure-unpromised", Summary: "what is exposed is promised", Severity: contract.Warning, Doc: "# exposure-unpromised\n\nWhat a `{{ template }}` says.\n"},
	{ID: "service-port", Summary: "the port is one of the Service's", Severity: contract.Error},
}

func options() report.Options {
	return report.Options{
		Root:      "/src/my repository",
		Rules:     rules,
		Endpoints: []string{"grafana", "argocd", "k8s-dashboard", "mlflow"},
		Version:   "1.2.3",
	}
}

func render(t testing.TB, f report.Format, findings []contract.Finding, o report.Options) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, report.Write(&b, f, findings, o))
	return b.String()
}

func TestGolden(t *testing.T) {
	coloured := options()
	coloured.Color = true
	extension := map[report.Format]string{
		report.Text: "txt", report.JSON: "json", report.SARIF: "sarif", report.GitHub: "github", report.JUnit: "xml", report.Markdown: "md",
	}
	type golden struct {
		name string
		got  string
	}
	goldens := []golden{{"findings.ansi", render(t, report.Text, sample, coloured)}}
	for _, f := range report.Formats() {
		goldens = append(goldens,
			golden{"findings." + extension[f], render(t, f, sample, options())},
			golden{"none." + extension[f], render(t, f, nil, options())},
		)
	}
	for _, g := range goldens {
		t.Run(g.name, func(t *testing.T) {
			name := filepath.Join("testdata", g.name)
			if *update {
				require.NoError(t, os.WriteFile(name, []byte(g.got), 0o600))
			}
			want, err := os.ReadFile(name)
			require.NoError(t, err)
			assert.Equal(t, string(want), g.got)
		})
	}
}

// The engine evaluates in parallel: the order in which findings arrive must not
// show.
func TestOrderDoesNotMatter(t *testing.T) {
	backwards := slices.Clone(sample)
	slices.Reverse(backwards)
	for _, f := range report.Formats() {
		assert.Equal(t, render(t, f, sample, options()), render(t, f, backwards, options()), f)
	}
	assert.Equal(t, "live-drift", backwards[1].Rule, "the caller's slice is left as it was")
}

func TestParseFormat(t *testing.T) {
	for _, f := range report.Formats() {
		got, err := report.ParseFormat(string(f))
		require.NoError(t, err)
		assert.Equal(t, f, got)
	}
	_, err := report.ParseFormat("pdf")
	require.EqualError(t, err, `unknown output format "pdf": use one of text, json, sarif, github, junit, markdown`)
	require.Error(t, report.Write(&bytes.Buffer{}, "pdf", nil, report.Options{}))
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestWriteErrorIsReturned(t *testing.T) {
	for _, f := range report.Formats() {
		require.ErrorIs(t, report.Write(fullDisk{}, f, sample, options()), os.ErrClosed, f)
	}
}

func TestCount(t *testing.T) {
	assert.Equal(t, report.Summary{Error: 2, Warning: 2, Info: 1}, report.Count(sample))
	assert.Equal(t, "2 errors, 2 warnings, 1 info", report.Count(sample).String())
	assert.Equal(t, "no findings", report.Summary{}.String())
}

func TestTextGroupsFollowTheContract(t *testing.T) {
	text := render(t, report.Text, sample, options())
	last := -1
	for _, group := range []string{"\ngrafana\n", "\nargocd\n", "\nk8s-dashboard\n", "\nplatform\n"} {
		i := strings.Index("\n"+text, group)
		assert.Greater(t, i, last, "group %q", group)
		last = i
	}
	assert.NotContains(t, text, "mlflow", "an endpoint without findings has no group")
	assert.NotContains(t, text, "\x1b", "no colour unless asked")
}

// schema compiles a schema that stands in a file, with its formats asserted.
func schema(t testing.TB, file string) *jsonschema.Schema {
	t.Helper()
	raw, err := os.Open(file)
	require.NoError(t, err)
	defer raw.Close()
	doc, err := jsonschema.UnmarshalJSON(raw)
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	require.NoError(t, c.AddResource("schema.json", doc))
	s, err := c.Compile("schema.json")
	require.NoError(t, err)
	return s
}

func validate(t testing.TB, s *jsonschema.Schema, doc string) {
	t.Helper()
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(doc))
	require.NoError(t, err)
	require.NoError(t, s.Validate(parsed))
}

const (
	sarifSchema    = "testdata/sarif-schema-2.1.0.json"
	findingsSchema = "../../docs/schema/findings.v1.json"
)

func TestSchemas(t *testing.T) {
	for format, file := range map[report.Format]string{report.SARIF: sarifSchema, report.JSON: findingsSchema} {
		s := schema(t, file)
		validate(t, s, render(t, format, sample, options()))
		validate(t, s, render(t, format, nil, options()))
		validate(t, s, render(t, format, sample, report.Options{}))
		validate(t, s, render(t, format, nil, report.Options{}))

		// and it does refuse what is wrong
		broken := strings.Replace(render(t, format, sample, options()), `"warning"`, `"serious"`, 1)
		parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(broken))
		require.NoError(t, err)
		require.Error(t, s.Validate(parsed), format)
	}
}

func TestSARIF(t *testing.T) {
	type location struct {
		ID               int
		PhysicalLocation struct {
			ArtifactLocation struct{ URI, URIBaseID string }
			Region           *struct{ StartLine, StartColumn int }
		}
	}
	type log struct {
		Runs []struct {
			Results []struct {
				RuleID           string
				RuleIndex        *int
				Level            string
				Locations        []location
				RelatedLocations []location
				Message          struct{ Text string }
			}
		}
	}
	var l log
	require.NoError(t, json.Unmarshal([]byte(render(t, report.SARIF, sample, options())), &l))
	require.Len(t, l.Runs, 1)
	results := l.Runs[0].Results
	require.Len(t, results, len(sample))
	byRule := map[string]int{}
	for i, r := range results {
		byRule[r.RuleID] = i
	}

	port := results[byRule["service-port"]]
	assert.Equal(t, "platform/contract/endpoints.yaml", port.Locations[0].PhysicalLocation.ArtifactLocation.URI)
	assert.Equal(t, 11, port.Locations[0].PhysicalLocation.Region.StartLine)
	require.Len(t, port.RelatedLocations, 2)
	assert.Equal(t, 14, port.RelatedLocations[1].PhysicalLocation.Region.StartLine)
	assert.Equal(t, "platform/apps/grafana/nodeport.yaml", port.RelatedLocations[1].PhysicalLocation.ArtifactLocation.URI, "below the root")
	assert.Equal(t, 1, *port.RuleIndex)

	syntax := results[byRule["yaml-syntax"]]
	assert.Equal(t, "platform/apps/a%20file,%20with:%20odd%23signs%3F100%25.yaml", syntax.Locations[0].PhysicalLocation.ArtifactLocation.URI)
	assert.Nil(t, syntax.Locations[0].PhysicalLocation.Region, "no line is no region, not line 1")
	assert.Nil(t, syntax.RuleIndex, "a rule without a page has no index")

	assert.Empty(t, results[byRule["live-drift"]].Locations)
	assert.Contains(t, results[byRule["exposure-unpromised"]].Message.Text, "{{0}} [a] (http://b)")

	helm := results[byRule["helm-only"]]
	assert.Equal(t, "note", helm.Level)
	assert.Equal(t, "file:///elsewhere/contract/endpoints.yaml", helm.Locations[0].PhysicalLocation.ArtifactLocation.URI)
	assert.Empty(t, helm.Locations[0].PhysicalLocation.ArtifactLocation.URIBaseID)
}

func TestGitHubSaysWhatItWillNotShow(t *testing.T) {
	var many []contract.Finding
	for i := range 12 {
		many = append(many, contract.Finding{Rule: "r", Severity: contract.Error, Message: "m", Position: at("f.yaml", i+1, 1)})
	}
	for i := range 10 {
		many = append(many, contract.Finding{Rule: "w", Severity: contract.Warning, Message: "m", Position: at("a.yaml", i+1, 1)})
	}
	lines := strings.Split(strings.TrimSuffix(render(t, report.GitHub, many, report.Options{}), "\n"), "\n")
	require.Len(t, lines, 12+1+10+1)
	assert.Equal(t, "::error title=nestor::12 errors in all, of which 3 are not annotated: read the log of this step", lines[9])
	for i, line := range lines[:13] {
		assert.True(t, strings.HasPrefix(line, "::error "), "worst first: line %d is %s", i, line)
	}
	for _, line := range lines[13:23] {
		assert.True(t, strings.HasPrefix(line, "::warning title=platform%3A w,file=a.yaml"), "ten warnings need no word: %s", line)
	}
	assert.Equal(t, "12 errors, 10 warnings, 0 infos", lines[23])
}

type junitDoc struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Suites   []struct {
		Name  string `xml:"name,attr"`
		Cases []struct {
			Name    string `xml:"name,attr"`
			Failure *struct {
				Type string `xml:"type,attr"`
				Text string `xml:",chardata"`
			} `xml:"failure"`
			Out string `xml:"system-out"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

func TestJUnit(t *testing.T) {
	outcomes := func(o report.Options) map[string]string {
		var doc junitDoc
		require.NoError(t, xml.Unmarshal([]byte(render(t, report.JUnit, sample, o)), &doc))
		got := map[string]string{}
		failures := 0
		for _, s := range doc.Suites {
			for _, c := range s.Cases {
				got[s.Name+"/"+c.Name] = "pass"
				if c.Failure != nil {
					got[s.Name+"/"+c.Name] = "fail"
					failures++
				}
			}
		}
		assert.Len(t, got, doc.Tests)
		assert.Equal(t, failures, doc.Failures)
		return got
	}

	got := outcomes(options())
	assert.Len(t, got, 5*5, "four endpoints and the platform, five rules")
	assert.Equal(t, "fail", got["grafana/service-port"])
	assert.Equal(t, "pass", got["mlflow/service-port"])
	assert.Equal(t, "pass", got["argocd/live-drift"], "a warning does not fail a build")
	assert.Equal(t, "fail", got["platform/yaml-syntax"])

	strict := options()
	strict.FailOn = contract.Warning
	got = outcomes(strict)
	assert.Equal(t, "fail", got["argocd/live-drift"])
	assert.Equal(t, "pass", got["k8s-dashboard/helm-only"])
}

func ExampleWrite() {
	findings := []contract.Finding{{
		Rule: "service-port", Severity: contract.Error, Endpoint: "grafana",
		Message:  "port 3001 is not one of the Service's ports (80)",
		Remedy:   "write the Service's own port",
		Position: contract.Position{File: "contract/endpoints.yaml", Line: 11, Column: 11},
		Related:  []contract.Position{{File: "apps/grafana/grafana.yaml", Line: 13, Column: 13}},
	}}
	if err := report.Write(os.Stdout, report.Text, findings, report.Options{}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// grafana
	//   error    contract/endpoints.yaml:11:11  service-port
	//            port 3001 is not one of the Service's ports (80)
	//            see: apps/grafana/grafana.yaml:13:13
	//            fix: write the Service's own port
	//
	// 1 error, 0 warnings, 0 infos
}
