package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// gatherReport shows nodes that said the same as one. What they say waits in
// files, and of each group one node's is kept: memory does not grow with it.
type gatherReport struct {
	screen  *screen
	targets []inventory.Target
	diff    bool
	running map[int][2]*gathered
	groups  []*group
}

// group is nodes that said the same.
type group struct {
	nodes   []int
	result  result
	kept    [2]*gathered // stdout and stderr of one of them
	target  inventory.Target
	general bool // not the same to the letter: own names and addresses differ
}

func newGatherReport(s *screen, targets []inventory.Target, diff bool) *gatherReport {
	return &gatherReport{screen: s, targets: targets, diff: diff, running: map[int][2]*gathered{}}
}

func (r *gatherReport) streams(i int) (stdout, stderr io.Writer) {
	words := newOwnWords(r.targets[i])
	pair := [2]*gathered{newGathered(words), newGathered(words)}
	r.running[i] = pair
	return pair[0], pair[1]
}

func (r *gatherReport) outcome(o nodeexec.Outcome) error {
	pair, ok := r.running[o.Index]
	if !ok { // never started
		pair = [2]*gathered{newGathered(nil), newGathered(nil)}
	}
	delete(r.running, o.Index)
	for _, g := range pair {
		g.close()
	}
	res := resultOf(o, r.targets[o.Index])
	// To the letter first: a word that is one node's name may be another's output.
	at := slices.IndexFunc(r.groups, func(g *group) bool {
		return g.result == res && g.kept[0].exact == pair[0].exact && g.kept[1].exact == pair[1].exact
	})
	if at < 0 {
		at = slices.IndexFunc(r.groups, func(g *group) bool {
			return g.result == res && g.kept[0].general == pair[0].general && g.kept[1].general == pair[1].general
		})
		if at >= 0 {
			r.groups[at].general = true
		}
	}
	if at < 0 {
		r.groups = append(r.groups, &group{nodes: []int{o.Index}, result: res, kept: pair, target: r.targets[o.Index]})
		return nil
	}
	r.groups[at].nodes = append(r.groups[at].nodes, o.Index)
	for _, g := range pair {
		g.drop()
	}
	return nil
}

// end prints the groups, the largest first.
func (r *gatherReport) end() error {
	for _, g := range r.groups {
		slices.Sort(g.nodes) // the inventory's order
	}
	slices.SortFunc(r.groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(len(b.nodes), len(a.nodes)), cmp.Compare(a.nodes[0], b.nodes[0]))
	})
	for _, g := range r.groups {
		if _, err := r.screen.stdout().Write([]byte(r.header(g))); err != nil {
			return err
		}
		for n, title := range []string{"", "-- stderr\n"} {
			if err := r.print(g, n, title); err != nil {
				return err
			}
		}
	}
	for _, g := range r.groups {
		g.kept[0].drop()
		g.kept[1].drop()
	}
	return nil
}

func (r *gatherReport) names(g *group) string {
	names := make([]string, len(g.nodes))
	for n, i := range g.nodes {
		names[n] = r.targets[i].Node
	}
	return fold(names)
}

// compares says whether a group is shown by its differences. One that never
// got to an exit code has its own reason.
func (r *gatherReport) compares(g *group) bool {
	return r.diff && g != r.groups[0] && g.result.text == ""
}

func (r *gatherReport) header(g *group) string {
	h := fmt.Sprintf("== %s (%s)", r.names(g), nodeCount(len(g.nodes)))
	if g.result.class != okClass {
		h += ": " + g.result.class
	}
	if g.result.text != "" && g.result.class != string(nodeexec.KindNotStarted) {
		h += ": " + g.result.text
	}
	if r.compares(g) {
		h += ", against " + r.names(r.groups[0])
	}
	return h + "\n"
}

// print prints one stream of a group, or how it differs from the first's.
func (r *gatherReport) print(g *group, n int, title string) error {
	out := &reportStream{to: r.screen.stdout(), title: title}
	if r.compares(g) {
		text, err := r.difference(g, n)
		if err != nil {
			return err
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
		return out.flush()
	}
	if g.kept[n].size == 0 {
		return nil
	}
	var w io.Writer = out
	if g.general {
		w = &generalising{words: newOwnWords(g.target), w: out}
	}
	if _, err := io.Copy(w, g.kept[n].reader()); err != nil {
		return err
	}
	if general, ok := w.(*generalising); ok {
		if err := general.flush(); err != nil {
			return err
		}
	}
	return out.flush()
}

// maxDiff is the most that is compared line by line, in bytes a stream.
const maxDiff = 8 << 20

// difference is a unified diff, own names and addresses put generally.
func (r *gatherReport) difference(g *group, n int) ([]byte, error) {
	base := r.groups[0]
	if base.kept[n].general == g.kept[n].general {
		return nil, nil
	}
	var texts [2][]byte
	for i, side := range []*group{base, g} {
		if side.kept[n].size > maxDiff {
			return fmt.Appendf(nil, "differs; %d bytes against %d are too many to compare by line\n", g.kept[n].size, base.kept[n].size), nil
		}
		var b bytes.Buffer
		w := &generalising{words: newOwnWords(side.target), w: &b}
		if _, err := io.Copy(w, side.kept[n].reader()); err != nil {
			return nil, err
		}
		if err := w.flush(); err != nil {
			return nil, err
		}
		texts[i] = b.Bytes()
	}
	text := diff.Diff(r.names(base), texts[0], r.names(g), texts[1])
	_, text, _ = bytes.Cut(text, []byte("\n")) // "diff old new"
	return text, nil
}

// reportStream prints what a group said: the title where there is anything,
// whole lines, and for a terminal nothing that it would obey.
type reportStream struct {
	to    *shared
	title string
	held  []byte
	begun bool
}

func (s *reportStream) Write(p []byte) (int, error) {
	var batch bytes.Buffer
	if !s.begun && len(p) > 0 {
		s.begun = true
		batch.WriteString(s.title)
	}
	s.held = cutLines(s.held, p, maxLine, func(line []byte, whole bool) { s.put(&batch, line, whole) })
	if batch.Len() > 0 {
		if _, err := s.to.Write(batch.Bytes()); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

func (s *reportStream) put(batch *bytes.Buffer, line []byte, whole bool) {
	if s.to.terminal {
		line = visible(bytes.TrimSuffix(line, []byte("\r")))
	}
	batch.Write(line)
	if whole {
		batch.WriteByte('\n')
	}
}

func (s *reportStream) flush() error {
	if len(s.held) == 0 {
		return nil
	}
	var batch bytes.Buffer
	s.put(&batch, s.held, true)
	s.held = nil
	_, err := s.to.Write(batch.Bytes())
	return err
}

// gathered is one stream of one node: in a file, and as two sums, of the
// bytes and of the text with its own name and address put generally.
type gathered struct {
	file           *os.File // nil while nothing came; it has no name any more
	size           int64
	exact, general sum // once closed

	exactHash, generalHash hash.Hash
	text                   *generalising
}

type sum [sha256.Size]byte

func newGathered(words ownWords) *gathered {
	g := &gathered{exactHash: sha256.New(), generalHash: sha256.New()}
	g.text = &generalising{words: words, w: g.generalHash}
	return g
}

func (g *gathered) Write(p []byte) (int, error) {
	if g.file == nil {
		file, err := os.CreateTemp("", "nestor-gather-")
		if err != nil {
			return 0, err
		}
		g.file = file
		if err := os.Remove(file.Name()); err != nil {
			return 0, err
		}
	}
	n, err := g.file.Write(p)
	g.size += int64(n)
	g.exactHash.Write(p[:n]) // a hash never fails
	if err != nil {
		return n, err
	}
	return g.text.Write(p)
}

// close ends the text.
func (g *gathered) close() {
	_ = g.text.flush() // into a hash
	g.exactHash.Sum(g.exact[:0])
	g.generalHash.Sum(g.general[:0])
	g.text = nil
}

func (g *gathered) reader() io.Reader {
	if g.file == nil {
		return strings.NewReader("")
	}
	return io.NewSectionReader(g.file, 0, g.size)
}

// drop forgets the text, not its sums.
func (g *gathered) drop() {
	if g.file != nil {
		_ = g.file.Close() // unnamed: nothing to lose
		g.file, g.size = nil, 0
	}
}

// ownWords are a node's own name and address, and what stands for them where
// nodes are compared.
type ownWords []struct{ word, general []byte }

func newOwnWords(t inventory.Target) (words ownWords) {
	add := func(word, general string) {
		if word != "" {
			words = append(words, struct{ word, general []byte }{[]byte(word), []byte(general)})
		}
	}
	add(t.Node, "<node>")
	if short, rest, ok := strings.Cut(t.Node, "."); ok && strings.Trim(t.Node, "0123456789.") != "" && rest != "" {
		add(short, "<node>")
	}
	if t.Host != t.Node {
		add(t.Host, "<address>")
	}
	return words
}

// replace returns the line with the words put generally, where they stand
// alone. It may return the line itself.
func (words ownWords) replace(line []byte) []byte {
	for _, w := range words {
		if !bytes.Contains(line, w.word) {
			continue
		}
		var b []byte
		for from := 0; ; {
			at := bytes.Index(line[from:], w.word)
			if at < 0 {
				line = append(b, line[from:]...)
				break
			}
			at += from
			end := at + len(w.word)
			b = append(b, line[from:at]...)
			if (at > 0 && wordByte(line[at-1])) || (end < len(line) && wordByte(line[end])) {
				b = append(b, w.word...)
			} else {
				b = append(b, w.general...)
			}
			from = end
		}
	}
	return line
}

func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}

// generalising hands on a stream with a node's own words put generally.
type generalising struct {
	words ownWords
	w     io.Writer
	held  []byte
}

func (g *generalising) Write(p []byte) (int, error) {
	var err error
	g.held = cutLines(g.held, p, maxLine, func(line []byte, whole bool) {
		if err == nil {
			err = g.put(line, whole)
		}
	})
	return len(p), err
}

func (g *generalising) put(line []byte, whole bool) error {
	if _, err := g.w.Write(g.words.replace(line)); err != nil {
		return err
	}
	if whole {
		_, err := g.w.Write([]byte("\n"))
		return err
	}
	return nil
}

func (g *generalising) flush() error {
	held := g.held
	g.held = nil
	if len(held) == 0 {
		return nil
	}
	return g.put(held, false)
}
