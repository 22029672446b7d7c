package scenarios

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestVerdicts(t *testing.T) {
	for name, tc := range map[string]struct {
		run  func(*Log, *Bench)
		want Verdict
		text string
	}{
		"pass":                 {func(l *Log, _ *Bench) { l.See("seen"); l.Check(true, "good") }, Pass, "seen\ngood\n"},
		"a wrong thing":        {func(l *Log, _ *Bench) { l.Check(false, "bad"); l.See("more") }, Fail, "WRONG: bad\nmore\n"},
		"an error ends it":     {func(l *Log, _ *Bench) { l.Must(errors.New("no"), "asking"); l.See("never") }, Fail, "WRONG: asking: no\n"},
		"not run":              {func(l *Log, _ *Bench) { l.NotRun("no %s", "disk") }, NotRun, "NOT RUN: no disk\n"},
		"wrong before not run": {func(l *Log, _ *Bench) { l.Failf("bad"); l.NotRun("no disk") }, Fail, "WRONG: bad\n"},
		"it broke":             {func(*Log, *Bench) { panic("index out of range") }, Fail, "WRONG: the scenario itself broke: index out of range\n"},
		"lines":                {func(l *Log, _ *Bench) { l.See("a:\nb\nc\n") }, Pass, "a:\n  b\n  c\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var printed strings.Builder
			r := Scenario{Name: "x", Run: tc.run}.run(&printed, &Bench{})
			assert.Equal(t, tc.want, r.Verdict)
			assert.Equal(t, tc.text, r.Text)
			assert.True(t, strings.HasSuffix(printed.String(), tc.text), "as it comes")
		})
	}
}

func TestRunsOnADeclaredBenchOnly(t *testing.T) {
	for _, nodes := range [][]Node{nil, {{Name: "a", Kind: "prod"}}, {{Name: "a", Kind: "lima"}, {Name: "b"}}} {
		_, err := Run(t.Output(), &Bench{Nodes: nodes})
		assert.Error(t, err)
	}
	_, err := Run(t.Output(), &Bench{Nodes: []Node{{Name: "a", Kind: "lima"}}}, "no-such-scenario")
	assert.ErrorContains(t, err, "no-such-scenario")
}

func TestEvidence(t *testing.T) {
	results := []Result{
		{Scenario: Scenario{Name: "one", Proves: "that"}, Verdict: Pass, Text: "seen\n"},
		{Scenario: Scenario{Name: "two", Proves: "this"}, Verdict: NotRun, Text: "NOT RUN: no disk\n"},
	}
	var summary strings.Builder
	assert.Equal(t, 2, Summary(&summary, results))
	assert.Contains(t, summary.String(), "NOT RUN  two            this\n")
	for _, d := range Deferred {
		assert.Contains(t, summary.String(), "DEFERRED "+d+"\n")
	}
	results = append(results, Result{Scenario: Scenario{Name: "three"}, Verdict: Fail})
	assert.Equal(t, 1, Summary(&summary, results), "a failure counts for more than what did not run")
	assert.Equal(t, 0, Summary(&summary, results[:1]))

	var file strings.Builder
	b := &Bench{Root: t.TempDir(), Emulated: []string{"the CPU"}}
	require.NoError(t, b.Evidence(&file, time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC), "", results[:2]))
	for _, want := range []string{"# Scenarios, 2026-01-02 03:04 UTC\n", "| asked for | all |", "| commit | unknown |", "- the CPU\n", "| NOT RUN | two |", "## one: PASS\n\n```text\nseen\n```\n", "| DEFERRED |"} {
		assert.Contains(t, file.String(), want)
	}
}
