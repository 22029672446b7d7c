package sshargs

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func ExampleOptions() {
	for o := range Options([]string{"-4p", "22", "-oProxyJump=gate", "-o", "User joe", "-i", "key", "stray"}) {
		fmt.Printf("%q %q %q\n", o.Name, o.Value, o.Problem)
	}
	// Output:
	// "-4" "" ""
	// "port" "22" ""
	// "proxyjump" "gate" ""
	// "user" "joe" ""
	// "identityfile" "key" ""
	// "" "" "is no option of ssh, which would read it as the host"
}

func TestProblems(t *testing.T) {
	for word, want := range map[string]string{
		"host": "is no option of ssh, which would read it as the host",
		"-":    "is no option of ssh, which would read it as the host",
		"--":   "is no option of ssh, which would read it as the host",
		"":     "is no option of ssh, which would read it as the host",
		"-z":   "is no option of ssh",
		"-4z":  "is no option of ssh",
		"-p":   "lacks its value",
		"-4p":  "lacks its value",
		"--x":  "is no option of ssh",
	} {
		got := ""
		for o := range Options([]string{word}) {
			got = o.Problem
		}
		require.Equal(t, want, got, "%q", word)
	}
	for o := range Options([]string{"-p", "-o", "-4", "-J", "a", "-oPort = 22"}) {
		require.Empty(t, o.Problem)
	}
}

func TestHost(t *testing.T) {
	for destination, want := range map[string]string{
		"gate": "gate", "me@gate": "gate", "gate:22": "gate", "me@gate:22": "gate", "ssh://me@gate:22": "gate", "a@b@gate": "gate",
		"2001:db8::1": "2001:db8::1", "[2001:db8::1]:22": "2001:db8::1", "me@[::1]": "::1", " gate ": "gate", "": "",
	} {
		require.Equal(t, want, Host(destination), destination)
	}
}

func FuzzOptions(f *testing.F) {
	f.Add("-o", "Port=22", "-4")
	f.Add("-4p", "-", "--")
	f.Add("-o", "", "-o=")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		args := []string{a, b, c}
		for o := range Options(args) {
			require.True(t, o.Problem != "" || o.Name != "", args)
			require.True(t, slices.Contains(args, o.Word))
		}
	})
}
