package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	smallContract = `contract_version: "1.0"
endpoints:
  - {id: web, service: web, namespace: shop, fqdn: web.shop.svc.cluster.local, port: 80, protocol: http, auth: none, exposed: true}
`
	smallDump = `apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {type: NodePort, selector: {a: b}, ports: [{port: 80, nodePort: 30080, protocol: TCP}]}}
- {apiVersion: v1, kind: Pod, metadata: {name: kube-proxy-1, namespace: kube-system, ownerReferences: [{kind: DaemonSet, name: kube-proxy, controller: true}]}, spec: {hostNetwork: true, containers: [{name: a}]}}
- {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: x}, spec: {group: x, names: {kind: X, plural: xs}, versions: []}}
---
apiVersion: networking.k8s.io/v1
kind: IngressList
items: []
`
	flipped = `---
{apiVersion: v1, kind: Service, metadata: {name: db, namespace: shop}, spec: {type: NodePort, selector: {a: c}, ports: [{port: 5432, nodePort: 30432}]}}
`
)

// inFolder runs one command line where files are, with a dump on stdin.
func inFolder(t *testing.T, files map[string]string, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	var out, err bytes.Buffer
	code = run(context.Background(), args, &cli{in: strings.NewReader(stdin), out: &out, err: &err, env: func(string) (string, bool) { return "", false }})
	return code, out.String(), err.String()
}

func TestState_ExitCodes(t *testing.T) {
	for _, c := range []struct {
		name     string
		contract string
		dump     string
		args     []string
		code     int
		out, err string
	}{
		{name: "conform", dump: smallDump, code: exitOK, out: "next: nestor probe"},
		{name: "drift", dump: smallDump + flipped, code: exitFindings, out: "Service shop/db opens port 5432/TCP as 30432"},
		{name: "drift, for a script", dump: smallDump + flipped, args: []string{"-o", "json"}, code: exitFindings, out: `"rule": "unpromised-nodeport"`},
		{name: "drift, for code scanning", dump: smallDump + flipped, args: []string{"-o", "sarif"}, code: exitFindings, out: `"ruleId": "unpromised-nodeport"`},
		{name: "drift, for a build", dump: smallDump + flipped, args: []string{"-o", "github"}, code: exitFindings, out: "::error title=platform%3A unpromised-nodeport,file=contract/endpoints.yaml"},
		{name: "a part of it", dump: strings.ReplaceAll(smallDump, "CustomResourceDefinition", "Other"), code: exitUnevaluated, out: "$ kubectl get crd -o yaml"},
		{name: "no dump", dump: "<html>", code: exitUnevaluated, err: "standard input"},
		{name: "a contract that is half wrong", contract: smallContract + "  - {id: b}\n", dump: smallDump, code: exitFindings, err: "contract-field"},
		{name: "a contract that is none", contract: "endpoints: [\n", dump: smallDump, code: exitUnevaluated, err: "contract/endpoints.yaml"},
		{name: "a bad day", dump: smallDump, args: []string{"--today", "soon"}, code: exitUnevaluated, err: `--today "soon"`},
		{name: "a bad format", dump: smallDump, args: []string{"-o", "xml"}, code: exitUnevaluated, err: "unknown output format"},
		{name: "two worlds", dump: smallDump, args: []string{"--context", "x"}, code: exitUnevaluated, err: "context"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.contract == "" {
				c.contract = smallContract
			}
			code, out, errs := inFolder(t, map[string]string{"contract/endpoints.yaml": c.contract}, c.dump, append([]string{"state", "--from", "-"}, c.args...)...)
			assert.Equal(t, c.code, code, "%s%s", out, errs)
			assert.Contains(t, out, c.out)
			assert.Contains(t, errs, c.err)
		})
	}
	code, _, errs := inFolder(t, nil, smallDump, "state", "--from", "-")
	assert.Equal(t, exitUnevaluated, code)
	assert.Contains(t, errs, "--contract")
}

// Text goes where a person looks, and a format into its file.
func TestState_Outputs(t *testing.T) {
	code, out, errs := inFolder(t, map[string]string{"contract/endpoints.yaml": smallContract}, smallDump+flipped, "state", "--from", "-", "-o", "text", "-o", "sarif=state.sarif", "-o", "text=state.txt")
	require.Equal(t, exitFindings, code, errs)
	text, err := os.ReadFile("state.txt")
	require.NoError(t, err)
	assert.Equal(t, out, string(text))
	sarif, err := os.ReadFile("state.sarif")
	require.NoError(t, err)
	assert.Contains(t, string(sarif), "unpromised-nodeport")
}

func TestProbe_Usage(t *testing.T) {
	for _, c := range []struct {
		name     string
		args     []string
		code     int
		out, err string
	}{
		{name: "what was not read", code: exitUnevaluated, out: "unknown (unread)"},
		{name: "for a script", args: []string{"-o", "json"}, code: exitUnevaluated, out: `"schema": "nestor.probe/v1"`},
		{name: "a bad format", args: []string{"-o", "sarif"}, code: exitUnevaluated, err: "use text or json"},
		{name: "nothing at a time", args: []string{"--parallel", "0"}, code: exitUnevaluated, err: "--parallel"},
		{name: "no time", args: []string{"--timeout", "0s"}, code: exitUnevaluated, err: "--timeout"},
		{name: "a host that is none", args: []string{"--access-host", "http://a/"}, code: exitUnevaluated, err: "--access-host"},
		{name: "every node, and none", args: []string{"--access-host", "a", "--all-nodes"}, code: exitUnevaluated, err: "all-nodes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, errs := inFolder(t, map[string]string{"contract/endpoints.yaml": smallContract}, smallDump, append([]string{"probe", "--from", "-"}, c.args...)...)
			assert.Equal(t, c.code, code, "%s%s", out, errs)
			assert.Contains(t, out, c.out)
			assert.Contains(t, errs, c.err)
		})
	}
}
