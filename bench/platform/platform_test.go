package platform_test

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/nestor-tools/nestor/bench/platform"
	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/contract/manifest"
	"github.com/nestor-tools/nestor/contract/report"
)

// today is the day of every check here.
var today = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// defect is a change to the platform and all that a check may say of it.
type defect struct {
	name  string
	edits []edit
	want  []want // errors and warnings
	infos []want
}

func (d defect) GoString() string { return d.name } // in rapid's messages

// edit replaces the first old of a file by new. Without old the file is new;
// without both it is removed.
type edit struct{ file, old, new string }

// want is a finding: its rule and its place. The line is what finds it in the
// edited file, or a number that stays the same however the file is written.
type want struct {
	rule string
	file string
	line any
}

// at finds a place in a file.
type at func(text string) (offset int, ok bool)

// line is the line of a text: the first one, or the first one after another.
func line(text string, from ...at) at {
	return func(file string) (int, bool) {
		start := 0
		for _, f := range from {
			i, ok := f(file)
			if !ok {
				return 0, false
			}
			start = i
		}
		i := strings.Index(file[start:], text)
		return start + i + len(text) - len(strings.TrimLeft(text, " ")), i >= 0
	}
}

func after(text string) at { return line(text) }

// indent indents all lines but the first, as what follows "  - " wants it.
func indent(s string) string {
	return strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n    ") + "\n"
}

// writing is a way to write the same files, which must not change what is
// found: only the lines move.
type writing struct {
	name  string
	shift int
	write func(string) string
}

var writings = []writing{
	{"as it is", 0, func(s string) string { return s }},
	{"CRLF and BOM", 0, func(s string) string { return "\ufeff" + strings.ReplaceAll(s, "\n", "\r\n") }},
	{"below a licence", 3, func(s string) string { return "# A licence in a document\n# of its own.\n---\n" + s }},
}

// build gives the edited platform, written that way, and the findings that are
// wanted of it.
func build(t *testing.T, d defect, w writing) (tree fstest.MapFS, wanted, infos []string) {
	t.Helper()
	tree = fstest.MapFS{}
	require.NoError(t, fs.WalkDir(platform.Files, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := platform.Files.ReadFile(name)
		tree[name] = &fstest.MapFile{Data: b}
		return err
	}))
	for _, e := range d.edits {
		if e.old == "" && e.new != "" {
			require.NotContains(t, tree, e.file, "not new")
			tree[e.file] = &fstest.MapFile{Data: []byte(e.new)}
			continue
		}
		require.Contains(t, tree, e.file, "the platform changed under the table")
		text := string(tree[e.file].Data)
		if e.old == "" {
			delete(tree, e.file)
			continue
		}
		require.Contains(t, text, e.old, "the platform changed under the table")
		tree[e.file] = &fstest.MapFile{Data: []byte(strings.Replace(text, e.old, e.new, 1))}
	}
	place := func(list []want) []string {
		var all []string
		for _, x := range list {
			number, isNumber := x.line.(int)
			if !isNumber {
				text := string(tree[x.file].Data)
				offset, ok := x.line.(at)(text)
				require.True(t, ok, "no such line in %s", x.file)
				number = 1 + strings.Count(text[:offset], "\n") + w.shift
			}
			all = append(all, fmt.Sprintf("%s %s:%d", x.rule, x.file, number))
		}
		slices.Sort(all)
		return all
	}
	wanted, infos = place(d.want), place(d.infos)
	for _, file := range tree {
		file.Data = []byte(w.write(string(file.Data)))
	}
	return tree, wanted, infos
}

// shown gives "rule file:line" of each error and warning, as a format shows it.
func shown(t *testing.T, findings []contract.Finding, f report.Format) []string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, report.Write(&b, f, findings, report.Options{Rules: contract.Rules(), FailOn: contract.Warning}))
	all := readers[f](t, b.String())
	slices.Sort(all)
	return all
}

var (
	textLine     = regexp.MustCompile(`(?m)^  (?:error|warning) +(\S+?:\d+)(?::\d+)? +(\S+)$`)
	githubLine   = regexp.MustCompile(`(?m)^::(?:error|warning) title=[^,:]+%3A ([^,:]+),file=([^,:]+),line=(\d+)`)
	markdownLine = regexp.MustCompile(`(?m)^\| (?:error|warning) \| [^|]* \| (\S+?:\d+)(?::\d+)?(?:<br>\S+)? \| .* \((\S+)\) \| [^|]* \|$`)
	junitLine    = regexp.MustCompile(`(?m)^(?:error|warning) (\S+?:\d+)(?::\d+)?: `)
)

// readers read each format back.
var readers = map[report.Format]func(*testing.T, string) []string{
	report.Text: func(_ *testing.T, out string) (all []string) {
		for _, m := range textLine.FindAllStringSubmatch(out, -1) {
			all = append(all, m[2]+" "+m[1])
		}
		return all
	},
	report.GitHub: func(_ *testing.T, out string) (all []string) {
		for _, m := range githubLine.FindAllStringSubmatch(out, -1) {
			all = append(all, m[1]+" "+m[2]+":"+m[3])
		}
		return all
	},
	report.Markdown: func(_ *testing.T, out string) (all []string) {
		for _, m := range markdownLine.FindAllStringSubmatch(out, -1) {
			all = append(all, m[2]+" "+m[1])
		}
		return all
	},
	report.JSON: func(t *testing.T, out string) (all []string) {
		var doc struct{ Findings []contract.Finding }
		require.NoError(t, json.Unmarshal([]byte(out), &doc))
		for _, f := range doc.Findings {
			if f.Severity != contract.Info {
				all = append(all, fmt.Sprintf("%s %s:%d", f.Rule, f.File, f.Line))
			}
		}
		return all
	},
	report.SARIF: func(t *testing.T, out string) (all []string) {
		var log struct {
			Runs []struct {
				Results []struct {
					RuleID, Level string
					RuleIndex     *int
					Locations     []struct {
						PhysicalLocation struct {
							ArtifactLocation struct{ URI string }
							Region           struct{ StartLine int }
						}
					}
				}
			}
		}
		require.NoError(t, json.Unmarshal([]byte(out), &log))
		for _, r := range log.Runs[0].Results {
			assert.NotNil(t, r.RuleIndex, "rule %s has no page", r.RuleID)
			if r.Level == "note" {
				continue
			}
			require.Len(t, r.Locations, 1)
			p := r.Locations[0].PhysicalLocation
			all = append(all, fmt.Sprintf("%s %s:%d", r.RuleID, p.ArtifactLocation.URI, p.Region.StartLine))
		}
		return all
	},
	report.JUnit: func(t *testing.T, out string) (all []string) {
		var doc struct {
			Suites []struct {
				Cases []struct {
					Name    string `xml:"name,attr"`
					Failure string `xml:"failure"`
				} `xml:"testcase"`
			} `xml:"testsuite"`
		}
		require.NoError(t, xml.Unmarshal([]byte(out), &doc))
		for _, s := range doc.Suites {
			for _, c := range s.Cases {
				for _, m := range junitLine.FindAllStringSubmatch(c.Failure, -1) {
					all = append(all, c.Name+" "+m[1])
				}
			}
		}
		return all
	},
}

// infosOf gives "rule file:line" of each information.
func infosOf(findings []contract.Finding) (all []string) {
	for _, f := range findings {
		if f.Severity == contract.Info {
			all = append(all, fmt.Sprintf("%s %s:%d", f.Rule, f.File, f.Line))
		}
	}
	slices.Sort(all)
	return all
}

// check does what `nestor contract check` does.
func check(t *testing.T, tree fs.FS) []contract.Finding {
	t.Helper()
	set, findings, err := contract.Load(tree, "contract", "")
	require.NoError(t, err)
	if set.Contract == nil {
		return findings
	}
	manifests, err := manifest.Read(t.Context(), tree, manifest.Options{Skip: []string{"contract"}})
	require.NoError(t, err)
	return append(findings, contract.Check(set, manifests, contract.Options{Root: tree, Today: today})...)
}

func TestDefects(t *testing.T) {
	all := slices.Concat([]defect{{name: "no defect"}}, defects, harmless)
	for _, kind := range slices.Sorted(maps.Keys(leftovers)) {
		all = append(all, defect{
			name:  kind + " left over",
			edits: []edit{{added, "", leftovers[kind]}},
			want:  []want{{"l7-leftover", added, line("name: ")}},
		})
	}
	for _, d := range all {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			for i, w := range writings {
				tree, wanted, infos := build(t, d, w)
				findings := check(t, tree)
				placesAreReal(t, tree, findings)
				formats := report.Formats()
				if i > 0 {
					formats = []report.Format{report.JSON} // a writing only moves lines
				}
				for _, f := range formats {
					require.Equal(t, wanted, shown(t, findings, f), "%s, files written %s", f, w.name)
				}
				assert.Equal(t, infos, infosOf(findings), "informations, files written %s", w.name)
			}
		})
	}
}

// twoSided are the rules that compare two files: both are to be shown.
var twoSided = []string{
	"accept-expired", "appproject-destination", "credential-unknown", "exposure-ambiguous", "exposure-port", "exposure-selector",
	"namespace-mismatch", "namespace-unset", "nodeport-pinned", "policy-may-block", "port-mismatch", "s3-endpoint", "scheme-mismatch",
	"secret-key", "secret-role", "selector-unmatched", "source-mismatch", "storageclass-default", "storageclass-provisioner",
}

// placesAreReal checks that one can go to every place of a finding, and that
// the related ones lead somewhere else.
func placesAreReal(t *testing.T, tree fstest.MapFS, findings []contract.Finding) {
	t.Helper()
	for _, f := range findings {
		elsewhere := false
		for _, p := range append([]contract.Position{f.Position}, f.Related...) {
			require.Contains(t, tree, p.File, f.Rule)
			lines := strings.Split(string(tree[p.File].Data), "\n")
			require.True(t, 1 <= p.Line && p.Line <= len(lines), "%s: no line %d in %s", f.Rule, p.Line, p.File)
			require.True(t, 0 <= p.Column && p.Column <= 1+len(lines[p.Line-1]), "%s: no column %d in line %d of %s", f.Rule, p.Column, p.Line, p.File)
			elsewhere = elsewhere || p.File != f.File
		}
		for _, p := range f.Related {
			assert.False(t, p.File == f.File && p.Line == f.Line, "%s: a related place is the finding's own, line %d of %s", f.Rule, p.Line, p.File)
		}
		if slices.Contains(twoSided, f.Rule) {
			assert.True(t, elsewhere, "%s: only one side is shown: %s", f.Rule, f.Message)
		}
	}
}

// What a promised Service opens beyond its promise is shown with the endpoint.
func TestUnpromisedIsToldOfTheEndpoint(t *testing.T) {
	for name, endpoint := range map[string]string{
		"promised Service turned into a LoadBalancer": "portal",
		"second port opened by a promised Service":    "mailpit",
		"NodePort Service added":                      "",
	} {
		i := slices.IndexFunc(defects, func(d defect) bool { return d.name == name })
		require.GreaterOrEqual(t, i, 0, name)
		tree, _, _ := build(t, defects[i], writings[0])
		findings := check(t, tree)
		require.Len(t, findings, 1, name)
		assert.Equal(t, endpoint, findings[0].Endpoint, name)
		assert.Equal(t, endpoint != "", len(findings[0].Related) > 0, name)
	}
}

// A renamed Service is found by what it selects, and pointed at.
func TestRenamedServiceIsPointedAt(t *testing.T) {
	i := slices.IndexFunc(defects, func(d defect) bool { return d.name == "backend Service renamed" })
	require.GreaterOrEqual(t, i, 0)
	tree, _, _ := build(t, defects[i], writings[0])
	findings := check(t, tree)
	require.Len(t, findings, 1)
	require.NotEmpty(t, findings[0].Related)
	assert.Equal(t, contract.Position{File: grafana, Line: 4, Column: 9}, findings[0].Related[0])
	assert.Contains(t, findings[0].Remedy, "Service grafan selects its pods")
}

// Defects of two applications are found both: neither hides the other, and
// together they make no third one.
func TestDefectsDoNotHideOneAnother(t *testing.T) {
	folders := func(d defect) (all []string) {
		for _, e := range d.edits {
			all = append(all, path.Dir(e.file))
		}
		return all
	}
	var inOneApplication []defect
	for _, d := range defects {
		own := slices.Compact(folders(d))
		if len(own) == 1 && strings.HasPrefix(own[0], "apps/") {
			inOneApplication = append(inOneApplication, d)
		}
	}
	require.NotEmpty(t, inOneApplication)
	rapid.Check(t, func(rt *rapid.T) {
		a := rapid.SampledFrom(inOneApplication).Draw(rt, "first")
		b := rapid.SampledFrom(inOneApplication).Filter(func(b defect) bool { return folders(a)[0] != folders(b)[0] }).Draw(rt, "second")
		both := defect{edits: slices.Concat(a.edits, b.edits), want: slices.Concat(a.want, b.want)}
		tree, wanted, _ := build(t, both, writings[0])
		if got := shown(t, check(t, tree), report.JSON); !slices.Equal(wanted, got) {
			rt.Fatalf("%s, and %s: wanted %q, got %q", a.name, b.name, wanted, got)
		}
	})
}

// Every rule is shown firing once at least; TestDefects shows the others silent
// beside it.
func TestEveryRuleHasItsDefect(t *testing.T) {
	fired := map[string]bool{
		"l7-leftover":  true,                                                              // below
		"cohabitation": true, "l4-cilium": true, "l4-residue": true, "state-unread": true, // of live clusters: portal/state
	}
	for _, d := range defects {
		for _, x := range slices.Concat(d.want, d.infos) {
			fired[x.rule] = true
		}
	}
	for _, r := range contract.Rules() {
		assert.True(t, fired[r.ID], "no defect is found by rule %s", r.ID)
		delete(fired, r.ID)
	}
	assert.Empty(t, fired, "rules that no longer exist")
}
