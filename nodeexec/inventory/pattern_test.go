package inventory

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSelect(t *testing.T) {
	inv := open(t, map[string]string{"hosts.yaml": `
web: {hosts: {w1: , w2: , w3: }}
db: {hosts: {d1: , w3: }}
site: {children: {web: , db: }}
local: {hosts: {here: {ansible_connection: local}}}
other: {hosts: {nœud.example.test: , "2001:db8::1": , lost: }}
`})
	for pattern, want := range map[string][]string{
		"":                  {"w1", "w2", "w3", "d1", "nœud.example.test", "2001:db8::1", "lost"},
		"all":               {"here", "nœud.example.test", "2001:db8::1", "lost", "w1", "w2", "w3", "d1"},
		"w2":                {"w2"},
		"web":               {"w1", "w2", "w3"},
		"site":              {"w1", "w2", "w3", "d1"},
		"db:web":            {"d1", "w3", "w1", "w2"},
		"db,web":            {"d1", "w3", "w1", "w2"},
		" db , w1 ":         {"d1", "w3", "w1"},
		"web:&db":           {"w3"},
		"web:!db":           {"w1", "w2"},
		"!db:web":           {"w1", "w2"},
		"&db,web,!w1":       {"w3"},
		"!site:!other":      {"here"},
		"w*":                {"w1", "w2", "w3"},
		"?1":                {"w1", "d1"},
		"w[!1]":             {"w2", "w3"},
		"w[13x]":            {"w1", "w3"},
		"nœ*":               {"nœud.example.test"},
		"n?ud*":             {"nœud.example.test"},
		"2001:db8::1":       {"2001:db8::1"},
		"~(w|d)1":           {"w1", "d1"},
		"~w[12]:d1":         {"w1", "w2", "d1"},
		"web[0]":            {"w1"},
		"web[-1]":           {"w3"},
		"web[1:2]":          {"w2", "w3"},
		"web[1:]":           {"w2", "w3"},
		"web[0:99]":         {"w1", "w2", "w3"},
		"all:!w*:!*.test":   {"here", "2001:db8::1", "lost", "d1"},
		"all:!nothing*:!w*": {"here", "nœud.example.test", "2001:db8::1", "lost", "d1"},
	} {
		got, err := inv.Select(pattern)
		require.NoError(t, err, pattern)
		if pattern == "" || strings.HasPrefix(pattern, "all") {
			require.ElementsMatch(t, want, got, pattern)
			continue
		}
		require.Equal(t, want, got, pattern)
	}
	for pattern, want := range map[string]string{
		",":         `pattern "," is empty`,
		" ":         `pattern " " is empty`,
		"!":         `pattern "!" is empty`,
		"web:!web":  `pattern "web:!web" selects no host of hosts.yaml`,
		"x*":        `pattern "x*" selects no host of hosts.yaml`,
		"webb":      `pattern "webb" names "webb", which is neither a host nor a group of hosts.yaml`,
		"all:!w4":   `pattern "all:!w4" names "w4", which is neither a host nor a group of hosts.yaml; nearest: w1, w2, w3`,
		"web[3]":    `pattern "web[3]" holds "web[3]", past the 3 hosts there are`,
		"web[2:1]":  `pattern "web[2:1]" selects no host of hosts.yaml`,
		"w[13]":     `pattern "w[13]" names "w", which is neither a host nor a group of hosts.yaml; nearest: w1, w2, w3`,
		"w[1-3]":    `pattern "w[1-3]" holds "w[1-3]"; positions are [from:to], and this is no set of characters to Ansible`,
		"@file":     `pattern "@file" holds "@file", which is not understood here`,
		"~(?=w)w1":  `pattern "~(?=w)w1" holds "~(?=w)w1", which cannot be read (Python's own regular expressions are not known here)`,
		"w1:22":     `pattern "w1:22" names "w1:22", which is neither a host nor a group of hosts.yaml`,
		"localhost": `pattern "localhost" names "localhost", which is neither a host nor a group of hosts.yaml`,
	} {
		got, err := inv.Select(pattern)
		require.EqualError(t, err, want, "%v", got)
	}
}

// TestDefaultSelection takes the group cloud where there is one.
func TestDefaultSelection(t *testing.T) {
	inv := open(t, map[string]string{"hosts.yaml": "all: {hosts: {localhost: {ansible_connection: local}, x: }}\ncloud: {hosts: {c1: , c2: {ansible_connection: local}}}"})
	got, err := inv.Select("")
	require.NoError(t, err)
	require.Equal(t, []string{"c1"}, got)

	inv = open(t, map[string]string{"hosts.yaml": "all: {hosts: {x: }}\ncloud: {}"})
	_, err = inv.Select("")
	require.EqualError(t, err, `pattern "cloud" selects no host of hosts.yaml`, "an empty cloud is not all")
}
