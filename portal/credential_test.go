package portal_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"mvdan.cc/sh/v3/syntax"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/portal"
)

func TestJudge_Credentials(t *testing.T) {
	type e = contract.Endpoint
	cases := []struct {
		name           string
		e              e
		login, command string
	}{
		{"none", e{Auth: "none"}, "", ""},
		{"none, whatever else is said", e{Auth: "none", Credential: contract.Credential{Secret: "s", Key: "k"}}, "", ""},
		{"a token", e{Auth: "token"}, "", "kubectl -n app create token admin-user"},
		{"a token of another account", e{Auth: "token", Login: "viewer"}, "viewer", "kubectl -n app create token viewer"},
		{"a key of a Secret", e{Auth: "secret-admin", Login: "root", Credential: contract.Credential{Secret: "grafana-admin", Key: "admin-password"}}, "root",
			`kubectl -n app get secret grafana-admin -o 'go-template={{index .data "admin-password" | base64decode}}{{"\n"}}'`},
		{"a key with a dot, by convention admin", e{Auth: "secret-admin", Credential: contract.Credential{Secret: "s", Key: "a.b"}}, "admin",
			`kubectl -n app get secret s -o 'go-template={{index .data "a.b" | base64decode}}{{"\n"}}'`},
		{"the login in the Secret too", e{Auth: "secret-admin", Credential: contract.Credential{Secret: "s", Key: "password", LoginKey: "username"}}, "",
			`kubectl -n app get secret s -o 'go-template={{index .data "username" | base64decode}}{{"\n"}}{{index .data "password" | base64decode}}{{"\n"}}'`},
		{"every key of a Secret", e{Auth: "secret-admin", Credential: contract.Credential{Secret: "s"}}, "",
			`kubectl -n app get secret s -o 'go-template={{range $key, $value := .data}}{{$key}}: {{$value | base64decode}}{{"\n"}}{{end}}'`},
		{"a role of a database", e{Auth: "secret-role", Role: "dagster_rw"}, "dagster_rw",
			`kubectl -n app get secret pg-role-dagster-rw -o 'go-template={{index .data "username" | base64decode}}{{"\n"}}{{index .data "password" | base64decode}}{{"\n"}}'`},
		{"a role that is prose", e{Auth: "secret-role", Role: "primary read-write"}, "", ""},
		{"no role", e{Auth: "secret-role"}, "", ""},
		{"a bucket claim, whose name is nobody's guess", e{Auth: "secret-obc"}, "", "kubectl -n app get objectbucketclaims"},
		{"admin by convention, and no Secret named", e{Auth: "secret-admin"}, "admin", ""},
		{"an unknown kind", e{Auth: "secret-other", Login: "me"}, "me", ""},
		{"a placeholder", e{Auth: "secret-admin", Credential: contract.Credential{Secret: "<secret>", Key: "password"}}, "", ""},
		{"a key that breaks out", e{Auth: "secret-admin", Credential: contract.Credential{Secret: "s", Key: `x"}}{{.}}`}}, "", ""},
		{"a login key that breaks out", e{Auth: "secret-admin", Credential: contract.Credential{Secret: "s", Key: "k", LoginKey: "'; rm -rf ~"}}, "", ""},
		{"a flag for a Secret", e{Auth: "secret-admin", Credential: contract.Credential{Secret: "--kubeconfig=x", Key: "k"}}, "", ""},
		{"a flag for an account", e{Auth: "token", Login: "--as=root"}, "--as=root", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newScene()
			c.e.ID, c.e.Service, c.e.Namespace, c.e.Port = "web", "web", "app", 80
			s.c.Endpoints = []contract.Endpoint{c.e}
			got := s.entry(t)
			assert.Equal(t, c.login, got.Login)
			assert.Equal(t, c.command, got.Command)
			assert.NotContains(t, got.Command, "<")
			runnable(t, got.Command)
		})
	}
}

// runnable asserts that a shell reads the command as one plain call: no
// redirection, expansion, second command or placeholder.
func runnable(t require.TestingT, command string) {
	if h, ok := t.(interface{ Helper() }); ok {
		h.Helper()
	}
	if command == "" {
		return
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(command), "")
	require.NoError(t, err, command)
	require.Len(t, file.Stmts, 1, command)
	require.Empty(t, file.Stmts[0].Redirs, command)
	call, ok := file.Stmts[0].Cmd.(*syntax.CallExpr)
	require.True(t, ok, command)
	for _, word := range call.Args {
		for _, part := range word.Parts {
			switch part.(type) {
			case *syntax.Lit, *syntax.SglQuoted:
			default:
				if quoted, ok := part.(*syntax.DblQuoted); ok {
					for _, inner := range quoted.Parts {
						require.IsType(t, &syntax.Lit{}, inner, command)
					}
					continue
				}
				require.Failf(t, "a shell would expand it", "%T in %s", part, command)
			}
		}
	}
	require.Contains(t, []string{"kubectl", "nestor"}, call.Args[0].Lit())
}

// No value of a Secret can be shown: a snapshot has no place for one.
func TestSnapshot_HoldsNoSecret(t *testing.T) {
	s, err := portal.ReadDump(observed, portal.File{Name: "dump", Text: []byte(`
kind: List
items:
- {kind: Secret, metadata: {name: s, namespace: app}, data: {password: aHVudGVyMg==}}
- {kind: Service, metadata: {name: web, namespace: app, annotations: {last: hunter2}}, spec: {ports: [{port: 80}]}}
- {kind: Pod, metadata: {name: p, namespace: app}, spec: {hostNetwork: true, containers: [{name: c, env: [{name: P, value: hunter2}], args: [hunter2]}]}}
`)})
	require.NoError(t, err)
	b, err := json.Marshal(s)
	require.NoError(t, err)
	assert.NotContains(t, string(b), "hunter2")
	assert.NotContains(t, string(b), "aHVudGVyMg")
	assert.Len(t, s.Services, 1)
	assert.Len(t, s.Pods, 1)
}
