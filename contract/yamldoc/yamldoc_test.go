package yamldoc_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/nestor-tools/nestor/contract/yamldoc"
)

func TestSplit(t *testing.T) {
	type doc struct {
		line int
		kind string
	}
	cases := []struct {
		name, in string
		want     []doc
	}{
		{"one", "kind: a\n", []doc{{1, "a"}}},
		{"nothing", "", nil},
		{"blanks and comments only", "# licence\n\n---\n# more\n---\n  \n...\n", nil},
		{"a licence first", "# licence\n---\nkind: a\n", []doc{{3, "a"}}},
		{"comment on the marker", "kind: a\n--- # b\nkind: b\n", []doc{{1, "a"}, {3, "b"}}},
		{"content on the marker", "--- {kind: a}\n--- {kind: b}\n", []doc{{1, "a"}, {2, "b"}}},
		{"trailing blanks on the marker", "kind: a\n---   \t\nkind: b\n", []doc{{1, "a"}, {3, "b"}}},
		{"CRLF", "kind: a\r\n---\r\nkind: b\r\n", []doc{{1, "a"}, {3, "b"}}},
		{"CR alone", "kind: a\r---\rkind: b\r", []doc{{1, "a"}, {3, "b"}}},
		{"byte order mark", "\xef\xbb\xbfkind: a\n---\nkind: b\n", []doc{{1, "a"}, {3, "b"}}},
		{"byte order mark and marker", "\xef\xbb\xbf---\nkind: a\n", []doc{{2, "a"}}},
		{"end markers", "kind: a\n...\n# x\n---\nkind: b\n...\n", []doc{{1, "a"}, {5, "b"}}},
		{"end without another start", "kind: a\n...\nkind: b\n", []doc{{1, "a"}, {3, "b"}}},
		{"directives", "%YAML 1.1\n%TAG !e! tag:example.org,2000:\n---\nkind: !e!x a\n", []doc{{4, "a"}}},
		{"a directive after an empty document", "# x\n---\n%YAML 1.2\n---\nkind: a\n", []doc{{5, "a"}}},
		{"the version of today", "%YAML 1.2\n--- # first\nkind: a\n...\n# end\n", []doc{{3, "a"}}},
		{"four dashes are no marker", "text: |\n  ----\nkind: a\n", []doc{{3, "a"}}},
		{"dashes inside a block", "text: |\n  x\n  --- y\nkind: a\n", []doc{{4, "a"}}},
		{"no line end at the end", "kind: a\n---\nkind: b", []doc{{1, "a"}, {3, "b"}}},
		{"markers in a row", "---\n---\nkind: a\n---\n---\n", []doc{{3, "a"}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var got []doc
			for _, chunk := range yamldoc.Split([]byte(c.in)) {
				root, problems := chunk.Parse()
				require.Empty(t, problems)
				kind := root.Get("kind")
				got = append(got, doc{kind.Line(), kind.Text()})
			}
			assert.Equal(t, c.want, got)
		})
	}
}

// One bad document neither hides the others nor moves their lines.
func TestSplit_BadDocumentBetweenGoodOnes(t *testing.T) {
	chunks := yamldoc.Split([]byte("kind: a\n---\nkind: [b\n---\n\nkind: c\n"))
	require.Len(t, chunks, 3)
	_, problems := chunks[1].Parse()
	require.Len(t, problems, 1)
	assert.Equal(t, yamldoc.Syntax, problems[0].Kind)
	assert.Equal(t, 3, problems[0].Line)
	root, problems := chunks[2].Parse()
	require.Empty(t, problems)
	assert.Equal(t, 6, root.Get("kind").Line())
}

func TestParse_Problems(t *testing.T) {
	aliases := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 9; i++ {
		aliases += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	cases := []struct {
		name, in string
		kind     yamldoc.ProblemKind
		line     int
	}{
		{"indentation", "a: 1\nb: 2\n c: 3\n", yamldoc.Syntax, 3},
		{"tab", "a:\n\tb: 1\n", yamldoc.Syntax, 2},
		{"flow that never ends", "a: 1\nb: [1,\nc: 2\n", yamldoc.Syntax, 2},
		{"unknown anchor", "a: *x\n", yamldoc.Syntax, 1},
		{"text after the document", "{a: b} c\n", yamldoc.Syntax, 1},
		{"bad UTF-8", "a: \xff\n", yamldoc.Syntax, 1},
		{"template line", "a: 1\n{{- if x }}\nb: 2\n", yamldoc.Template, 2},
		{"template that parses", "a: 1\nb: {{ x }}\n", yamldoc.Template, 2},
		{"template value in an item", "- a: {{ x }}{{ y }}\n", yamldoc.Template, 1},
		{"braces in a comment and in quotes", "# {{ x }}\na: \"{{ y }}\"\n b: 1\n", yamldoc.Syntax, 2}, // the mapping that is broken
		{"duplicate", "a: 1\nb: 2\na: 3\n", yamldoc.Duplicate, 3},
		{"duplicate in a large mapping", "a: 1\nb: 2\nc: 2\nd: 2\ne: 2\nf: 2\ng: 2\nh: 2\ni: 2\na: 3\n", yamldoc.Duplicate, 10},
		{"duplicate that is quoted", "a: 1\n\"a\": 2\n", yamldoc.Duplicate, 2},
		{"too deep", strings.Repeat("[", 400) + strings.Repeat("]", 400), yamldoc.Limit, 1},
		{"far too deep", strings.Repeat("[", 20000) + strings.Repeat("]", 20000), yamldoc.Syntax, 1},
		{"aliases of aliases", aliases, yamldoc.Limit, 6},
		{"anchor in itself", "a: &a\n  b: *a\n", yamldoc.Limit, 1},
		{"too long", "a: " + strings.Repeat("x", yamldoc.MaxDocumentBytes), yamldoc.Limit, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			chunks := yamldoc.Split([]byte(c.in))
			require.Len(t, chunks, 1)
			root, problems := chunks[0].Parse()
			require.NotEmpty(t, problems)
			assert.Equal(t, yamldoc.Missing, root.Kind(), "what cannot be trusted is not read")
			assert.Equal(t, c.kind, problems[0].Kind, problems[0].Message)
			assert.Equal(t, c.line, problems[0].Line, problems[0].Message)
			assert.NotContains(t, problems[0].Message, "\n")
		})
	}
}

func parse(t *testing.T, in string) yamldoc.Node {
	t.Helper()
	chunks := yamldoc.Split([]byte(in))
	require.Len(t, chunks, 1)
	root, problems := chunks[0].Parse()
	require.Empty(t, problems)
	return root
}

func TestNode_Scalars(t *testing.T) {
	root := parse(t, "a: 80\nb: \"80\"\nc: yes\nd: 'yes'\ne: true\nf:\ng: ~\nh: 0x50\ni: 1.5\nj: !!str 80\nk: [1]\nl: Off\n")
	for key, want := range map[string]int{"a": 80, "h": 80} {
		got, ok := root.Get(key).Int()
		assert.True(t, ok, key)
		assert.Equal(t, want, got, key)
	}
	for _, key := range []string{"b", "c", "f", "i", "j", "k", "missing"} {
		_, ok := root.Get(key).Int()
		assert.False(t, ok, key)
	}
	for key, want := range map[string]bool{"c": true, "e": true, "l": false} {
		got, ok := root.Get(key).Bool()
		assert.True(t, ok, key)
		assert.Equal(t, want, got, key)
	}
	for _, key := range []string{"a", "d", "f", "k", "missing"} {
		_, ok := root.Get(key).Bool()
		assert.False(t, ok, key)
	}
	assert.Equal(t, yamldoc.Null, root.Get("f").Kind())
	assert.Equal(t, yamldoc.Null, root.Get("g").Kind())
	assert.Equal(t, yamldoc.Missing, root.Get("missing", "further").Kind())
	assert.True(t, root.Get("b").IsString())
	assert.False(t, root.Get("a").IsString())
	assert.Equal(t, 2, root.Get("b").Line())
	assert.Equal(t, 4, root.Get("b").Column())
	assert.Zero(t, root.Get("missing").Line())
}

func TestNode_MergeKeysAndAliases(t *testing.T) {
	root := parse(t, "base: &b {type: NodePort, port: 1}\nother: &o {name: x}\none: {<<: *b, port: 2}\nmany: {<<: [*o, *b]}\nsame: *b\n")
	assert.Equal(t, "NodePort", root.Get("one", "type").Text())
	assert.Equal(t, "2", root.Get("one", "port").Text(), "its own key wins")
	assert.Equal(t, "x", root.Get("many", "name").Text())
	assert.Equal(t, "NodePort", root.Get("many", "type").Text())
	assert.Equal(t, "NodePort", root.Get("same", "type").Text())
	assert.Equal(t, 5, root.Get("same").Line(), "the place of use")
}

func TestNode_BlockStart(t *testing.T) {
	root := parse(t, "a: 1\nb: |-\n  x: 1\nc: 'x'\n")
	assert.Equal(t, 3, root.Get("b").BlockStart())
	assert.Zero(t, root.Get("c").BlockStart())
}

// Whatever the documents are, each is found on the line where it was put.
func TestSplit_LinesProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var in strings.Builder
		var want []int
		line := 1
		for i := range rapid.IntRange(1, 8).Draw(t, "documents") {
			marker := rapid.SampledFrom([]string{"---\n", "--- # x\n", "# x\n---\n", "...\n---\n", "---\r\n"}).Draw(t, "marker")
			in.WriteString(marker)
			line += strings.Count(marker, "\n")
			for range rapid.IntRange(0, 3).Draw(t, "comments") {
				in.WriteString("# comment\n")
				line++
			}
			body := rapid.SampledFrom([]string{"n: %d\n", "n: %d\ntext: |\n  ---x\n  y\n", "n: %d\nbad: [\n"}).Draw(t, "body")
			want = append(want, line)
			fmt.Fprintf(&in, body, i)
			line += strings.Count(body, "\n")
		}
		chunks := yamldoc.Split([]byte(in.String()))
		if len(chunks) != len(want) {
			t.Fatalf("%d documents of %d in %q", len(chunks), len(want), in.String())
		}
		for i, chunk := range chunks {
			root, problems := chunk.Parse()
			if len(problems) == 0 && root.Get("n").Line() != want[i] {
				t.Fatalf("document %d on line %d, not %d, in %q", i, root.Get("n").Line(), want[i], in.String())
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"kind: a\n---\nkind: b\n", "a: &a [*a]\n", "{{ x }}: y", "- {<<: [*a]}\n", "%TAG ! x\n--- !y\n", "? {a: b}\n: c\n", "a: |\n ---\n", "\xef\xbb\xbf---\n...", "\"\\u0000\": \r", "<<: {<<: {}}\n", "a: !!binary x\n", "!!map [a]: b", "a: &x b\n? *x\n: *x\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		lines := 1 + strings.Count(string(in), "\n") + strings.Count(string(in), "\r")
		for _, chunk := range yamldoc.Split(in) {
			root, problems := chunk.Parse()
			for _, p := range problems {
				if p.Line < 1 || p.Message == "" {
					t.Fatalf("problem without a place or a reason: %+v", p)
				}
			}
			if chunk.Line < 1 || chunk.Line > lines {
				t.Fatalf("document on line %d of %d", chunk.Line, lines)
			}
			walk(root, 0)
		}
	})
}

func walk(n yamldoc.Node, depth int) {
	if depth > 300 {
		panic("deeper than the bound")
	}
	n.Int()
	n.Bool()
	n.Get("kind", "<<", "a")
	for _, v := range n.Pairs() {
		walk(v, depth+1)
	}
	for v := range n.Items() {
		walk(v, depth+1)
	}
}

func TestNode_PairsFollowMerges(t *testing.T) {
	root := parse(t, "base: &b {<<: {deep: 0, port: 1}, type: NodePort, port: 1}\nother: &o {name: x, type: y}\none: {<<: *b, port: 2}\nmany: {<<: [*o, *b], z: 3}\nquoted: {\"<<\": {a: b}}\n")
	text := func(n yamldoc.Node) (s string) {
		for k, v := range n.Pairs() {
			s += k.Text() + "=" + v.Text() + " "
		}
		return s
	}
	assert.Equal(t, "port=2 type=NodePort deep=0 ", text(root.Get("one")))
	assert.Equal(t, "z=3 name=x type=y port=1 deep=0 ", text(root.Get("many")))
	assert.Equal(t, "<<= ", text(root.Get("quoted")))
	for k := range root.Get("many").Pairs() {
		assert.Equal(t, "z", k.Text(), "it stops where it is told to")
		break
	}
}
