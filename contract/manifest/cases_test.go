package manifest_test

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/cases"
	"github.com/nestor-tools/nestor/contract/kube"
	"github.com/nestor-tools/nestor/contract/manifest"
)

var (
	namedExposure = regexp.MustCompile("(NodePort|LoadBalancer) `(?:([a-z0-9-]+)/)?([a-z0-9-]+)`")
	hostPorts     = regexp.MustCompile(`hostPort (\d+)(?: and (\d+))?`)
	nodePort      = regexp.MustCompile(`(\d+)→(3\d{4})`) // of the node; a smaller number is the container's
	onLines       = regexp.MustCompile(`lines? (\d+)(?: and (\d+))?`)
	patched       = regexp.MustCompile("target Service `([a-z0-9-]+)/([a-z0-9-]+)` becomes (NodePort) (\\d+)")
)

// The real manifests give the answers that their index says are right.
func TestRead_Cases(t *testing.T) {
	dir := cases.Dir(t, "manifests")
	root := os.DirFS(dir)
	index, err := os.ReadFile(dir + "/INDEX.md")
	require.NoError(t, err)
	tree, err := manifest.Read(context.Background(), root, manifest.Options{})
	require.NoError(t, err)
	exposures := kube.Exposures(tree.Services, tree.Workloads)

	rows := 0
	answers, _, _ := strings.Cut(string(index), "\n## ") // the first table
	for row := range strings.Lines(answers) {
		cells := strings.Split(strings.TrimSpace(row), " | ")
		if len(cells) != 4 || !regexp.MustCompile(`^\| \d`).MatchString(cells[0]) {
			continue
		}
		rows++
		base, _, _ := strings.Cut(strings.TrimPrefix(cells[0], "| "), " ")
		answer := strings.TrimSuffix(cells[3], " |")
		t.Run(base, func(t *testing.T) {
			of := func(file string) bool { return strings.HasPrefix(file, base) }
			found := slices.DeleteFunc(slices.Clone(exposures), func(e kube.Exposure) bool { return !of(e.Source.File) })
			var problems []manifest.Problem
			for _, p := range tree.Problems {
				if of(p.At.File) {
					problems = append(problems, p)
				}
			}
			expected := 0
			if strings.Contains(answer, "error") {
				expected++
				assert.NotEmpty(t, problems, answer)
			} else {
				assert.Empty(t, problems, answer)
			}
			if m := patched.FindStringSubmatch(answer); m != nil {
				expected++
				var what []string
				for _, e := range tree.Elsewhere {
					if of(e.At.File) && e.By == manifest.ByPatch {
						assert.Equal(t, m[1], e.Target.Namespace)
						assert.Equal(t, m[2], e.Target.Name)
						what = append(what, e.What)
					}
				}
				assert.ElementsMatch(t, []string{"type NodePort", "nodePort " + m[4]}, what)
			}
			if strings.Contains(answer, "Helm values") {
				expected++
				assert.True(t, slices.ContainsFunc(tree.Elsewhere, func(e manifest.Elsewhere) bool { return of(e.At.File) && e.By == manifest.ByValues }))
			}
			names := map[string]bool{}
			for _, m := range namedExposure.FindAllStringSubmatch(answer, -1) {
				expected++
				names[m[1]+" "+m[2]+"/"+m[3]] = true
			}
			for _, e := range found {
				if e.Kind == kube.NodePort || e.Kind == kube.LoadBalancerExposure {
					assert.True(t, names[string(e.Kind)+" "+e.Namespace+"/"+e.Name], "%+v is not in the answer: %s", e, answer)
				}
			}
			for name := range names {
				assert.True(t, slices.ContainsFunc(found, func(e kube.Exposure) bool { return string(e.Kind)+" "+e.Namespace+"/"+e.Name == name }), "%s is missing", name)
			}
			for _, m := range nodePort.FindAllStringSubmatch(answer, -1) {
				expected++
				assert.True(t, slices.ContainsFunc(found, func(e kube.Exposure) bool {
					return strconv.Itoa(e.Port) == m[1] && strconv.Itoa(e.NodePort) == m[2]
				}), "%s is missing", m[0])
			}
			var lines []int
			for _, p := range problems {
				// the parser's own line, where that of the template is better
				if m := regexp.MustCompile(`near line (\d+)`).FindStringSubmatch(p.Message); m != nil {
					near, err := strconv.Atoi(m[1])
					require.NoError(t, err)
					lines = append(lines, near)
				}
				for _, at := range append(p.Related, p.At) {
					lines = append(lines, at.Line)
				}
			}
			for _, m := range onLines.FindAllStringSubmatch(answer, -1) {
				for _, text := range m[1:] {
					if line, err := strconv.Atoi(text); err == nil {
						expected++
						assert.Contains(t, lines, line, answer)
					}
				}
			}
			if len(problems) == 0 { // an answer about a template speaks of its text
				for _, e := range found {
					if e.Kind == kube.HostPort {
						assert.Regexp(t, `hostPort (\d+ and )?`+strconv.Itoa(e.NodePort)+`\b`, answer)
						assert.Regexp(t, e.Object+" `("+e.Namespace+"/)?"+e.Name+"`", answer)
					}
				}
				for _, m := range hostPorts.FindAllStringSubmatch(answer, -1) {
					for _, text := range m[1:] {
						if port, err := strconv.Atoi(text); err == nil {
							expected++
							assert.True(t, slices.ContainsFunc(found, func(e kube.Exposure) bool { return e.Kind == kube.HostPort && e.NodePort == port }), "hostPort %d is missing", port)
						}
					}
				}
				assert.Equal(t, strings.Contains(answer, "hostNetwork"), slices.ContainsFunc(found, func(e kube.Exposure) bool { return e.Kind == kube.HostNetwork }), answer)
			}
			assert.NotZero(t, expected, "the test reads nothing in the answer %q", answer)
		})
	}
	assert.Greater(t, rows, 5, "the index was not understood")
}

// A position is worth something only where the text is.
func TestRead_CasesPositions(t *testing.T) {
	dir := cases.Dir(t, "manifests")
	tree, err := manifest.Read(context.Background(), os.DirFS(dir), manifest.Options{})
	require.NoError(t, err)
	word := map[kube.ExposureKind]string{kube.NodePort: "type: NodePort", kube.LoadBalancerExposure: "type: LoadBalancer", kube.HostPort: "hostPort:", kube.HostNetwork: "hostNetwork: true"}
	exposures := kube.Exposures(tree.Services, tree.Workloads)
	require.NotEmpty(t, exposures)
	for _, e := range exposures {
		b, err := os.ReadFile(dir + "/" + e.Source.File)
		require.NoError(t, err)
		assert.Contains(t, strings.Split(string(b), "\n")[e.Source.Line-1], word[e.Kind], "%+v", e)
	}
}
