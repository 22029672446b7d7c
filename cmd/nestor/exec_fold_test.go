package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestFold(t *testing.T) {
	for _, tc := range []struct{ names, want string }{
		{"", ""},
		{"node1", "node1"},
		{"web", "web"},
		{"web db", "web,db"},
		{"node1 node2", "node[1-2]"},
		{"node1 node2 node3", "node[1-3]"},
		{"node3 node1 node2", "node[1-3]"},
		{"node01 node02 node03 node12 node15", "node[01-03,12,15]"},
		{"node08 node09 node10 node11", "node[08-11]"},
		{"node8 node9 node10 node11", "node[8-11]"},
		{"node098 node099 node100", "node[098-100]"},
		{"node1 node01 node2", "node[1,01,2]"},
		{"node1 node1", "node1"},
		{"node0 node1 node2", "node[0-2]"},
		{"10.0.0.1 10.0.0.2 10.0.0.3", "10.0.0.[1-3]"},
		{"n1.dc2.example n2.dc2.example n3.dc2.example", "n[1-3].dc2.example"},
		{"r1n1 r1n2 r1n3 r2n1 r2n2 r2n3", "r1n[1-3],r2n[1-3]"},
		{"node1 web node2", "node[1-2],web"},
		{"node123456789012345678901 node123456789012345678902", "node123456789012345678901,node123456789012345678902"},
		{"1 2 3", "[1-3]"},
	} {
		assert.Equal(t, tc.want, fold(strings.Fields(tc.names)), tc.names)
	}
}

// unfold is fold's inverse, for names without brackets and commas.
func unfold(t require.TestingT, s string) (names []string) {
	for s != "" {
		end := strings.IndexAny(s, "[,")
		if end < 0 || s[end] == ',' {
			name, rest, _ := strings.Cut(s, ",")
			names, s = append(names, name), rest
			continue
		}
		before := s[:end]
		list, rest, ok := strings.Cut(s[end+1:], "]")
		require.True(t, ok, s)
		after, rest, _ := strings.Cut(rest, ",")
		for part := range strings.SplitSeq(list, ",") {
			from, to, isRange := strings.Cut(part, "-")
			if !isRange {
				to = from
			}
			low, err := strconv.Atoi(from)
			require.NoError(t, err)
			high, err := strconv.Atoi(to)
			require.NoError(t, err)
			for n := low; n <= high; n++ {
				width := 1
				if from[0] == '0' {
					width = len(from)
				}
				names = append(names, fmt.Sprintf("%s%0*d%s", before, width, n, after))
			}
		}
		s = rest
	}
	return names
}

func TestFoldLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfDistinct(rapid.OneOf(
			rapid.StringMatching(`(node|rack1-|a)[0-9]{1,3}(\.dc[12])?`),
			rapid.StringMatching(`[a-z]{1,3}`),
			rapid.StringMatching(`10\.0\.[01]\.[0-9]{1,2}`),
		), rapid.ID[string]).Draw(t, "names")
		got := unfold(t, fold(names))
		assert.Len(t, got, len(names))
		slices.Sort(got)
		slices.Sort(names)
		assert.Equal(t, len(names), len(got))
		for i := range names {
			require.Equal(t, names[i], got[i])
		}
	})
}
