package main

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// TestTerminal: no name or value of an inventory steers the terminal.
func TestTerminal(t *testing.T) {
	i := workstation{files: map[string]string{"hosts.yaml": `
all:
  children:
    "g\e=x\a":
      hosts:
        "n\ecx": {ansible_host: 192.0.2.1}
        "m\u202ex": {ansible_host: 192.0.2.2}
        h: {ansible_user: "a\u202eb\u2028\e[1mc", stack_id: "s\u009b\nx"}
`}}
	for _, args := range [][]string{{"nodes"}, {"explain", "h"}, {"explain", "n\x1bcx"}, {"explain", "m\u202ex"}, {"explain", "\x1b\u202e"}, {"resolve", "h"}, {"resolve", "m\u202ex"}, {"resolve", "m\u202e"}, {"nodes", "\u202e\x1b"}} {
		_, out, stderr := i.run(t, append([]string{"-i", "hosts.yaml"}, args...)...)
		require.NotEmpty(t, out+stderr)
		for _, r := range out + stderr {
			require.True(t, unicode.IsPrint(r) || r == '\n', "%q: %q", args, out+stderr)
		}
	}
	_, out, stderr := i.run(t, "-i", "hosts.yaml", "nodes")
	require.Contains(t, out, `n\x1bcx`)
	require.Contains(t, out, `m\u202ex`)
	require.Equal(t, 4, strings.Count(stderr, "\n"), "an error a node, and the sum: %s", stderr)
}

func TestRenamed(t *testing.T) {
	for _, c := range []struct{ host, effective, want string }{
		{"gate", "hostname 127.0.0.1\n", "hosts.yaml:3: ssh's configuration sends gate to 127.0.0.1, which is this machine"},
		{"192.0.2.1", "hostname ::\n", "hosts.yaml:3: ssh's configuration sends 192.0.2.1 to ::, which is this machine"},
		{"gate", "hostname localhost6\n", "hosts.yaml:3: ssh's configuration sends gate to localhost6, which is this machine"},
		{"127.0.0.1", "hostname 127.0.0.1\n", ""},
		{"gate", "hostname 192.0.2.1\n", ""},
		{"gate", "", ""},
	} {
		target := inventory.Target{Transport: inventory.TransportSSH, Host: c.host, Origins: map[string]inventory.Origin{"ansible_host": {File: "hosts.yaml", Line: 3}}}
		got := ""
		for _, w := range renamed(target, c.effective) {
			require.Equal(t, "renamed-host", w.Code)
			got += w.String()
		}
		require.Equal(t, c.want, got)
	}
}
