package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/portal"
)

const (
	platformContract = "../../bench/platform/contract/endpoints.yaml"
	troubledDump     = "../../portal/testdata/troubled.yaml"
)

// nestorPortal runs one command line of the verb.
func nestorPortal(t *testing.T, env map[string]string, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(context.Background(), append([]string{"portal"}, args...), &cli{in: strings.NewReader(stdin), out: &out, err: &err,
		env: func(name string) (string, bool) { value, ok := env[name]; return value, ok }})
	return code, out.String(), err.String()
}

func TestPortalRender(t *testing.T) {
	base := []string{"render", "--contract", platformContract, "--from", troubledDump}
	cases := []struct {
		name     string
		env      map[string]string
		args     []string
		want, no string
	}{
		{name: "a page by default", want: "<!doctype html>", no: `src="assets`},
		{name: "in French", args: []string{"--lang", "fr"}, want: "Conforme"},
		{name: "text", args: []string{"-o", "text"}, want: "MATCH  grafana     http://192.0.2.10:31217"},
		{name: "text in French", args: []string{"-o", "text", "--lang", "fr"}, want: "Exposé sans promesse"},
		{name: "json", args: []string{"-o", "json"}, want: `"schema":"nestor.view/v1"`},
		{name: "a stated host", args: []string{"-o", "text", "--access-host", "ui.example.org"}, want: "http://ui.example.org:31217"},
		{name: "a stated host for one", args: []string{"-o", "text", "--access-host", "grafana=[2001:db8::1]"}, want: "http://[2001:db8::1]:31217", no: "http://[2001:db8::1]:30825"},
		{name: "a stated host from the environment", env: map[string]string{"PORTAL_ACCESS_HOST": "ui.example.org"}, args: []string{"-o", "text"}, want: "http://ui.example.org:31217"},
		{name: "the flag beats the environment", env: map[string]string{"PORTAL_ACCESS_HOST": "env.example.org"}, args: []string{"-o", "text", "--access-host", "flag.example.org"}, want: "http://flag.example.org:31217", no: "env.example.org"},
		{name: "a profile", args: []string{"-o", "text", "--profile", "local-path"}, want: "NOT-EXPECTED"},
		{name: "a profile from the environment", env: map[string]string{"PORTAL_PROFILE": "local-path"}, args: []string{"-o", "text"}, want: "NOT-EXPECTED"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := nestorPortal(t, c.env, "", append(base, c.args...)...)
			assert.Equal(t, exitOK, code, "it shows and does not check")
			assert.Empty(t, stderr)
			assert.Contains(t, stdout, c.want)
			if c.no != "" {
				assert.NotContains(t, stdout, c.no)
			}
		})
	}
}

func TestPortalRender_PolicyOfTheManifests(t *testing.T) {
	root := filepath.Join(t.TempDir(), "platform")
	require.NoError(t, os.CopyFS(root, os.DirFS("../../bench/platform")))
	require.NoError(t, os.WriteFile(filepath.Join(root, "deny.yaml"), []byte("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: deny, namespace: monitoring}\nspec: {podSelector: {}, policyTypes: [Ingress]}\n"), 0o600))
	args := []string{"render", "-o", "text", "--from", troubledDump, "--contract", filepath.Join(root, "contract")}
	_, without, _ := nestorPortal(t, nil, "", args...)
	assert.NotContains(t, without, "A NetworkPolicy may block it")
	code, with, stderr := nestorPortal(t, nil, "", append(args, "--root", root)...)
	require.Equal(t, exitOK, code, stderr)
	assert.Contains(t, with, "A NetworkPolicy may block it")
	assert.Contains(t, with, "deny.yaml:")
}

func TestPortalRender_Refuses(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.yaml")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	base := []string{"render", "--contract", platformContract, "--from", troubledDump}
	cases := []struct {
		name string
		args []string
		want string
	}{
		{"an unknown output", append(base, "-o", "yaml"), `--output "yaml": use html, json or text`},
		{"an unknown language", append(base, "--lang", "de"), `--lang "de": use en or fr`},
		{"a host with a scheme", append(base, "--access-host", "http://x"), `--access-host "http://x": "http://x" is no address or DNS name`},
		{"a host that is this machine", append(base, "--access-host", "127.0.0.1"), "no address or DNS name that others can reach"},
		{"a host for nobody", append(base, "--access-host", "grafna=x.example.org"), "the contract has no endpoint of that id"},
		{"a day that is none", append(base, "--today", "soon"), "--today"},
		{"no contract", []string{"render", "--from", troubledDump, "--contract", "nowhere.yaml"}, "name it with --contract"},
		{"a dump of nothing", []string{"render", "--contract", platformContract, "--from", empty}, "no Service, EndpointSlice, Node or Pod"},
		{"no such dump", []string{"render", "--contract", platformContract, "--from", "nowhere.yaml"}, "nowhere.yaml"},
		{"an argument", append(base, "x"), "unknown command"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := nestorPortal(t, nil, "", c.args...)
			assert.Equal(t, exitUnevaluated, code)
			assert.Empty(t, stdout)
			assert.Contains(t, stderr, c.want)
			assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
		})
	}
}

// What a dump becomes, and what a snapshot of it becomes, is one page.
func TestPortalSnapshot(t *testing.T) {
	dir := t.TempDir()
	dump, err := os.ReadFile(troubledDump)
	require.NoError(t, err)
	copied, file := filepath.Join(dir, "dump.yaml"), filepath.Join(dir, "snapshot.json")
	require.NoError(t, os.WriteFile(copied, dump, 0o600))
	old := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	require.NoError(t, os.Chtimes(copied, old, old))
	code, stdout, stderr := nestorPortal(t, nil, "", "snapshot", "--from", copied, "--out", file)
	require.Equal(t, exitOK, code, stderr)
	assert.Empty(t, stdout)
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	var s portal.Snapshot
	require.NoError(t, json.Unmarshal(b, &s))
	assert.Equal(t, old, s.ObservedAt, "a dump is as old as its file")

	render := func(from, stdin string) string {
		code, stdout, stderr := nestorPortal(t, nil, stdin, "render", "--contract", platformContract, "-o", "json", "--from", from)
		require.Equal(t, exitOK, code, stderr)
		return stdout
	}
	assert.Equal(t, render(copied, ""), render(file, ""))
	assert.Equal(t, render(file, ""), render("-", string(b)))
}

func TestPortalRender_Out(t *testing.T) {
	file := filepath.Join(t.TempDir(), "portal.html")
	code, stdout, stderr := nestorPortal(t, nil, "", "render", "--contract", platformContract, "--from", troubledDump, "--out", file)
	require.Equal(t, exitOK, code, stderr)
	assert.Empty(t, stdout)
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Contains(t, string(b), "</html>")
}
