package main

import (
	"bytes"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseScriptPicksTheShell(t *testing.T) {
	for _, tc := range []struct {
		text  string
		shell []string
	}{
		{"", []string{"sh", "-s", "--"}},
		{"echo hi", []string{"sh", "-s", "--"}},
		{"#!/bin/bash\necho", []string{"/bin/bash", "-s", "--"}},
		{"#! /bin/bash -eu\necho", []string{"/bin/bash", "-eu", "-s", "--"}},
		{"#!/usr/bin/env bash\r\necho\r\n", []string{"bash", "-s", "--"}},
		{"\xef\xbb\xbf#!/bin/dash", []string{"/bin/dash", "-s", "--"}},
	} {
		s, err := parseScript([]byte(tc.text))
		require.NoError(t, err)
		assert.Equal(t, tc.shell, s.shell, "%q", tc.text)
		assert.NotContains(t, string(s.text), "\r")
	}
	for text, why := range map[string]string{
		"#!/usr/bin/env python3\nprint()": `asks for "/usr/bin/env python3"`,
		"#!\necho":                        `asks for ""`,
		"#!/usr/bin/env":                  "only scripts for sh",
		"\x7fELF\x00\x00":                 "NUL",
	} {
		_, err := parseScript([]byte(text))
		assert.ErrorContains(t, err, why)
	}
}

// shell runs the text as a node would.
func shell(t *testing.T, name string, text []byte, args ...string) (stdout string, code int) {
	cmd := exec.Command(name, append([]string{"-s", "--"}, args...)...)
	cmd.Stdin = bytes.NewReader(text)
	out, err := cmd.Output()
	if _, ok := err.(*exec.ExitError); !ok {
		require.NoError(t, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func TestAScriptRunsWholeOrNotAtAll(t *testing.T) {
	s, err := parseScript([]byte("f() { echo \"$1\"; }\nf one\ncat\nif true; then\n f two\nfi\ncat <<END\nthree\nEND\nfalse \\"))
	require.NoError(t, err)
	for _, sh := range []string{"sh", "bash"} {
		out, code := shell(t, sh, s.text)
		assert.Equal(t, "one\ntwo\nthree\n", out, sh)
		assert.Equal(t, 1, code, sh)
		for cut := 1; cut < len(s.text)-len("} </dev/null\n"); cut++ {
			out, _ := shell(t, sh, s.text[:cut])
			require.Empty(t, out, "%s, cut after %q", sh, s.text[:cut])
		}
	}
}

func TestAnEmptyScriptDoesNothing(t *testing.T) {
	for _, text := range []string{"", "\n", "# nothing", "#!/bin/sh\r\n"} {
		s, err := parseScript([]byte(text))
		require.NoError(t, err)
		out, code := shell(t, "sh", s.text)
		assert.Empty(t, out)
		assert.Zero(t, code)
	}
}
