package main

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// testScreen is a screen on two buffers that may be one terminal.
func testScreen(terminal bool) (s *screen, out, errs *bytes.Buffer) {
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	if terminal {
		errs = out
	}
	s = newScreen(&cli{out: out, err: errs})
	s.out.terminal, s.err.terminal = terminal, terminal
	s.err.width = func() int { return 20 }
	return s, out, errs
}

func hosts(names ...string) (targets []inventory.Target) {
	for i, name := range names {
		targets = append(targets, inventory.Target{Node: name, Host: fmt.Sprint("10.0.0.", i+1)})
	}
	return targets
}

func TestLinesKeepTogether(t *testing.T) {
	s, out, errs := testScreen(false)
	r := newLiveReport(s, hosts("a", "node1"), palette)
	a, aErr := r.streams(0)
	b, _ := r.streams(1)
	fmt.Fprint(a, "one ")
	fmt.Fprint(b, "two\nthr")
	fmt.Fprint(a, "line\n\x1b[31mraw\x00\n")
	fmt.Fprint(aErr, "warning")
	fmt.Fprint(b, "ee")
	assert.Equal(t, "node1 | two\na     | one line\na     | \x1b[31mraw\x00\n", out.String(), "bytes as they are, where no terminal obeys them")
	require.NoError(t, r.outcome(nodeexec.Outcome{Index: 0, Node: "a"}))
	require.NoError(t, r.outcome(nodeexec.Outcome{Index: 1, Node: "node1", Err: &nodeexec.Error{Node: "node1", Kind: nodeexec.KindLost, Detail: "gone", Remote: nodeexec.RemoteUnknown}}))
	assert.True(t, strings.HasSuffix(out.String(), "node1 | three\n"))
	assert.Equal(t, "a     | warning\nnode1 | nestor: gone (remote: unknown)\n", errs.String())
}

func TestLinesOnATerminal(t *testing.T) {
	s, out, _ := testScreen(true)
	r := newLiveReport(s, hosts("a", "b"), palette)
	b, _ := r.streams(1)
	fmt.Fprint(b, "\x1b]0;title\x07\ttab é\xff\r\n")
	assert.Equal(t, "\x1b[33mb\x1b[0m | \\x1b]0;title\\x07\ttab é\\xff\n", out.String())

	out.Reset()
	b, _ = newLiveReport(s, hosts("a", "b"), nil).streams(1)
	fmt.Fprint(b, "plain\n")
	assert.Equal(t, "b | plain\n", out.String())
}

func TestColours(t *testing.T) {
	for _, tc := range []struct {
		env  map[string]string
		want []string
	}{
		{nil, palette},
		{map[string]string{"NO_COLOR": ""}, palette}, // no-color.org: when not empty
		{map[string]string{"NO_COLOR": "1"}, nil},
		{map[string]string{"TERM": "dumb"}, nil},
	} {
		c := &cli{env: func(k string) (string, bool) { v, ok := tc.env[k]; return v, ok }}
		assert.Equal(t, tc.want, c.colours(), "%v", tc.env)
	}
}

func TestAVeryLongLineComesInPieces(t *testing.T) {
	s, out, _ := testScreen(false)
	r := newLiveReport(s, hosts("a"), nil)
	a, _ := r.streams(0)
	line := strings.Repeat("é", maxLine) // two bytes each
	for i := 0; i < len(line); i += 60001 {
		_, err := a.Write([]byte(line[i:min(i+60001, len(line))]))
		require.NoError(t, err)
		assert.LessOrEqual(t, len(a.(*liveStream).held), maxLine)
	}
	fmt.Fprint(a, "\nnext\n")
	got := strings.Split(out.String(), "\n")
	require.Len(t, got, 4)
	assert.Equal(t, "a | next", got[2])
	assert.True(t, utf8.ValidString(got[0]))
	assert.True(t, strings.HasPrefix(got[0], "a | é"))
	assert.True(t, strings.HasPrefix(got[1], "a + é"))
	assert.Equal(t, line, got[0][4:]+got[1][4:])
}

func TestTheStatusLineStandsClear(t *testing.T) {
	s, out, _ := testScreen(true)
	s.show("1/2 done, and much more than fits")
	fmt.Fprintln(s.stdout(), "output")
	s.show("")
	assert.Equal(t, "\r\x1b[K1/2 done, and much "+"\r\x1b[K"+"output\n"+"\r\x1b[K1/2 done, and much "+"\r\x1b[K", out.String())

	s, out, errs := testScreen(false)
	s.show("1/2 done")
	fmt.Fprintln(s.stdout(), "output")
	assert.Equal(t, "output\n", out.String())
	assert.Empty(t, errs.String())
}

func FuzzVisible(f *testing.F) {
	f.Add([]byte("plain"))
	f.Add([]byte("\x1b[2J\xc2\x9b\xff\xe2\x80\xae\x7f"))
	f.Fuzz(func(t *testing.T, line []byte) {
		shown := visible(line)
		if !utf8.Valid(shown) {
			t.Fatalf("%q is shown as %q", line, shown)
		}
		for _, r := range string(shown) {
			if r != '\t' && !unicode.IsGraphic(r) {
				t.Fatalf("%q is shown as %q", line, shown)
			}
		}
		if utf8.Valid(line) && !bytes.ContainsFunc(line, func(r rune) bool { return r != '\t' && !unicode.IsGraphic(r) }) {
			assert.Equal(t, line, shown, "what is harmless stays")
		}
	})
}

func TestCutLinesLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var held, whole, got []byte
		limit := rapid.IntRange(utf8.UTFMax, 12).Draw(t, "limit")
		for _, p := range rapid.SliceOf(rapid.OneOf(
			rapid.SliceOfN(rapid.SampledFrom([]byte("ab\n")), 0, 20),
			rapid.Map(rapid.StringN(0, 20, -1), func(s string) []byte { return []byte(s) }),
		)).Draw(t, "pieces") {
			whole = append(whole, p...)
			held = cutLines(held, p, limit, func(line []byte, end bool) {
				if bytes.IndexByte(line, '\n') >= 0 {
					t.Fatalf("a newline in a line")
				}
				got = append(got, line...)
				if end {
					got = append(got, '\n')
				}
			})
			if len(held) > limit {
				t.Fatalf("%d bytes held", len(held))
			}
		}
		if !bytes.Equal(whole, append(got, held...)) {
			t.Fatalf("not the same")
		}
	})
}

// gather gives a report of nodes that said the given things on stdout.
func gather(t *testing.T, diff bool, says map[string]string, outcomes ...nodeexec.Outcome) string {
	var names []string
	for _, o := range outcomes {
		names = append(names, o.Node)
	}
	s, out, errs := testScreen(false)
	r := newGatherReport(s, hosts(names...), diff)
	for i, o := range outcomes {
		stdout, stderr := r.streams(i)
		text, warning, _ := strings.Cut(says[o.Node], "!")
		for _, w := range []struct {
			to   interface{ Write([]byte) (int, error) }
			text string
		}{{stdout, text}, {stderr, warning}} {
			for _, b := range []byte(w.text) { // however it is cut up
				_, err := w.to.Write([]byte{b})
				require.NoError(t, err)
			}
		}
		o.Index = i
		require.NoError(t, r.outcome(o))
	}
	require.NoError(t, r.end())
	assert.Empty(t, errs.String())
	return out.String()
}

func ok(name string) nodeexec.Outcome { return nodeexec.Outcome{Node: name} }

func exited(name string, code int) nodeexec.Outcome {
	return nodeexec.Outcome{Node: name, Result: nodeexec.Result{ExitCode: code}}
}

func turnedAway(name, address string) nodeexec.Outcome {
	return nodeexec.Outcome{Node: name, Err: &nodeexec.Error{Node: name, Kind: nodeexec.KindUnreachable, Detail: address + " refused", Remote: nodeexec.RemoteNone}}
}

func TestGather(t *testing.T) {
	for _, tc := range []struct {
		name     string
		says     map[string]string
		outcomes []nodeexec.Outcome
		want     string
	}{
		{"the largest first", map[string]string{"n1": "odd\n", "n2": "even\n", "n3": "even\n"},
			[]nodeexec.Outcome{ok("n1"), ok("n2"), ok("n3")},
			"== n[2-3] (2 nodes)\neven\n== n1 (1 node)\nodd\n"},
		{"own name and address", map[string]string{"n1": "I am n1 at 10.0.0.1:22\n", "n2": "I am n2 at 10.0.0.2:22\n"},
			[]nodeexec.Outcome{ok("n1"), ok("n2")},
			"== n[1-2] (2 nodes)\nI am <node> at <address>:22\n"},
		{"another's name is no own one", map[string]string{"n1": "master n1\n", "n2": "master n1\n", "n3": "master n2\n"},
			[]nodeexec.Outcome{ok("n1"), ok("n2"), ok("n3")},
			"== n[1-2] (2 nodes)\nmaster n1\n== n3 (1 node)\nmaster n2\n"},
		{"a name within a word", map[string]string{"n1": "n10 n1x 10.0.0.11\n", "n2": "n20 n2x 10.0.0.21\n"},
			[]nodeexec.Outcome{ok("n1"), ok("n2")},
			"== n1 (1 node)\nn10 n1x 10.0.0.11\n== n2 (1 node)\nn20 n2x 10.0.0.21\n"},
		{"a qualified name", map[string]string{"n1.lan": "n1\n", "n2.lan": "n2\n"},
			[]nodeexec.Outcome{ok("n1.lan"), ok("n2.lan")},
			"== n[1-2].lan (2 nodes)\n<node>\n"},
		{"exit codes keep apart", map[string]string{"n1": "x\n", "n2": "x\n"},
			[]nodeexec.Outcome{ok("n1"), exited("n2", 3)},
			"== n1 (1 node)\nx\n== n2 (1 node): exit 3\nx\n"},
		{"stderr keeps apart", map[string]string{"n1": "x\n", "n2": "x\n!oops"},
			[]nodeexec.Outcome{ok("n1"), ok("n2")},
			"== n1 (1 node)\nx\n== n2 (1 node)\nx\n-- stderr\noops\n"},
		{"a missing newline", map[string]string{"n1": "x", "n2": "x\n"},
			[]nodeexec.Outcome{ok("n1"), ok("n2")},
			"== n1 (1 node)\nx\n== n2 (1 node)\nx\n"},
		{"failures", nil,
			[]nodeexec.Outcome{turnedAway("n1", "10.0.0.1"), turnedAway("n2", "10.0.0.2"), ok("n3")},
			"== n[1-2] (2 nodes): unreachable: <address> refused\n== n3 (1 node)\n"},
	} {
		assert.Equal(t, tc.want, gather(t, false, tc.says, tc.outcomes...), tc.name)
	}
}

func TestGatherShowsDifferences(t *testing.T) {
	says := map[string]string{"n1": "a\nI am n1\nc\n", "n2": "a\nI am n2\nc\n", "n3": "a\nI am n3\nd\n!warning\n", "n4": "a\nI am n4\nc\n"}
	assert.Equal(t, `== n[1-2] (2 nodes)
a
I am <node>
c
== n3 (1 node), against n[1-2]
--- n[1-2]
+++ n3
@@ -1,3 +1,3 @@
 a
 I am <node>
-c
+d
-- stderr
--- n[1-2]
+++ n3
@@ -0,0 +1,1 @@
+warning
== n4 (1 node): exit 1, against n[1-2]
== n5 (1 node): unreachable: gone
`, gather(t, true, says, ok("n1"), ok("n2"), ok("n3"), exited("n4", 1),
		nodeexec.Outcome{Node: "n5", Err: &nodeexec.Error{Node: "n5", Kind: nodeexec.KindUnreachable, Detail: "gone", Remote: nodeexec.RemoteNone}}))
}

func TestGatherOnATerminalShowsNothingToObey(t *testing.T) {
	s, out, _ := testScreen(true)
	r := newGatherReport(s, hosts("a"), false)
	stdout, _ := r.streams(0)
	fmt.Fprint(stdout, "\x1b[2Jx")
	require.NoError(t, r.outcome(ok("a")))
	require.NoError(t, r.end())
	assert.Equal(t, "== a (1 node)\n\\x1b[2Jx\n", out.String())
}

func TestGatherOfANodeThatNeverStarted(t *testing.T) {
	s, out, _ := testScreen(false)
	r := newGatherReport(s, hosts("a"), false)
	require.NoError(t, r.outcome(nodeexec.Outcome{Node: "a", Err: &nodeexec.Error{Node: "a", Kind: nodeexec.KindNotStarted, Detail: "not started"}}))
	require.NoError(t, r.end())
	assert.Equal(t, "== a (1 node): not-started\n", out.String())
}

func TestGatherKeepsNothingInMemory(t *testing.T) {
	const nodes, size = 100, 256 << 10
	var names []string
	for i := range nodes {
		names = append(names, fmt.Sprint("node", i))
	}
	s, _, _ := testScreen(false)
	var printed int
	s.out.Writer = writerFunc(func(p []byte) (int, error) { printed += len(p); return len(p), nil })
	r := newGatherReport(s, hosts(names...), false)
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	for i, name := range names {
		stdout, _ := r.streams(i)
		_, err := stdout.Write(bytes.Repeat([]byte(fmt.Sprintf("%01023d\n", i)), size>>10))
		require.NoError(t, err)
		require.NoError(t, r.outcome(nodeexec.Outcome{Index: i, Node: name}))
	}
	assert.Less(t, heap()-before, int64(5<<20), "of %d MiB", nodes*size>>20)
	require.NoError(t, r.end())
	assert.Greater(t, printed, nodes*size)
	assert.Less(t, heap()-before, int64(5<<20))
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestSummary(t *testing.T) {
	s, _, errs := testScreen(false)
	tally := newTally(s, hosts("n1", "n2", "n3", "n4", "n5"))
	for i, o := range []nodeexec.Outcome{turnedAway("n1", "10.0.0.1"), exited("n2", 137), turnedAway("n3", "10.0.0.3"), ok("n4")} {
		o.Index = i
		o.Result.Signal = map[int]string{137: "KILL"}[o.Result.ExitCode]
		tally.start(i)
		tally.done(o)
	}
	tally.start(4)
	assert.Equal(t, "4/5 done, 3 failed, 1 running: n5 0s", tally.line(5))
	tally.done(nodeexec.Outcome{Index: 4, Node: "n5"})
	tally.summary()
	assert.Regexp(t, `^nestor: 5 nodes in [0-9.]+s: 2 ok, 1 exit 137 \(KILL\), 2 unreachable
  exit 137 \(KILL\): n2
  unreachable: n\[1,3\]: <address> refused
$`, errs.String())
}

func TestExecLineIsTextWhereItCanBe(t *testing.T) {
	line := newExecLine(nodeexec.Outcome{Node: "n1", Result: nodeexec.Result{
		Stdout: nodeexec.Output{Head: []byte("é\n")}, Stderr: nodeexec.Output{Head: []byte("\xff"), Tail: []byte("z"), Dropped: 7},
	}})
	require.NotNil(t, line.Stdout)
	assert.Equal(t, "é\n", *line.Stdout)
	assert.Nil(t, line.StdoutBase64)
	assert.Nil(t, line.Stderr)
	assert.Equal(t, "\xff\n[... 7 bytes dropped ...]\nz", string(line.StderrBase64))
	assert.EqualValues(t, 7, line.Dropped.Stderr)
}
