package mapping_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/golden"
	"github.com/nestor-tools/nestor/mapping"
	"github.com/nestor-tools/nestor/mapping/fact"
	"github.com/nestor-tools/nestor/mapping/probe"
)

// The topology of each recorded node, whole, as a user would see it.
func TestFromProbe_Recorded(t *testing.T) {
	for _, name := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			node := mapping.FromProbe(record(t, name), mapping.Options{})
			node.Name, node.Roles = "node1", []string{"workers"}
			text, err := mapping.NewTopology([]mapping.Node{node}).YAML()
			require.NoError(t, err)
			golden.File(t, filepath.Join("testdata", name+".yaml"), text)
		})
	}
}

// A probe that says nothing gives a node of which nothing is known: no fact
// is present, none is absent, and each has its reason.
func TestFromProbe_Nothing(t *testing.T) {
	for _, text := range []string{"N nestor-probe 1\n", "N nestor-probe 1\nN done 0\n"} {
		out, err := probe.Parse([]byte(text))
		require.NoError(t, err)
		eachFact(t, mapping.FromProbe(out, mapping.Options{}).Facts, func(name string, state fact.State, why string) {
			require.Equal(t, fact.IsUnknown, state, "%s: %s", name, why)
			require.NotEmpty(t, why, name)
		})
	}
}

// A section that is taken away makes no fact present or absent that was not,
// and leaves the facts of the others as they were.
func TestFromProbe_EachSectionAlone(t *testing.T) {
	for _, name := range recorded(t) {
		whole := record(t, name)
		before := map[string]fact.State{}
		eachFact(t, mapping.FromProbe(whole, mapping.Options{}).Facts, func(name string, state fact.State, _ string) { before[name] = state })
		for i := range whole.Frames {
			less := whole
			less.Frames = append(append([]probe.Frame{}, whole.Frames[:i]...), whole.Frames[i+1:]...)
			eachFact(t, mapping.FromProbe(less, mapping.Options{}).Facts, func(fact_ string, state fact.State, why string) {
				if state != before[fact_] {
					require.Contains(t, []fact.State{fact.IsUnknown, fact.IsDenied}, state, "%s without %s: %s", fact_, whole.Frames[i].Name, why)
				}
			})
		}
	}
}

func FuzzFromProbe(f *testing.F) {
	files, err := filepath.Glob("testdata/*.probe")
	require.NoError(f, err)
	for _, file := range files {
		b, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		out, err := probe.Parse(b)
		if err != nil {
			return
		}
		text, err := mapping.NewTopology([]mapping.Node{mapping.FromProbe(out, mapping.Options{Loops: true})}).YAML()
		require.NoError(t, err)
		same, err := mapping.NewTopology([]mapping.Node{mapping.FromProbe(out, mapping.Options{Loops: true})}).YAML()
		require.NoError(t, err)
		require.Equal(t, string(text), string(same))
	})
}
