//go:build integration && linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/faultproxy"
	"github.com/nestor-tools/nestor/bench/netns"
	"github.com/nestor-tools/nestor/portal/probe"
)

const probeContract = `contract_version: "1.0"
endpoints:
  - {id: web, service: web, namespace: shop, fqdn: web.shop.svc.cluster.local, port: 80, protocol: http, auth: none, exposed: true, path: /ui}
  - {id: safe, service: safe, namespace: shop, fqdn: safe.shop.svc.cluster.local, port: 443, protocol: https, auth: none, exposed: true}
  - {id: wrong, service: wrong, namespace: shop, fqdn: wrong.shop.svc.cluster.local, port: 80, protocol: http, auth: none, exposed: true}
  - {id: closed, service: closed, namespace: shop, fqdn: closed.shop.svc.cluster.local, port: 80, protocol: http, auth: none, exposed: true}
  - {id: near, service: near, namespace: shop, fqdn: near.shop.svc.cluster.local, port: 80, protocol: http, auth: none, exposed: true}
  - {id: inner, service: inner, namespace: shop, fqdn: inner.shop.svc.cluster.local, port: 80, protocol: http, auth: none, exposed: true}
  - {id: absent, service: absent, namespace: shop, fqdn: absent.shop.svc.cluster.local, port: 80, protocol: http, auth: none, exposed: true}
  - {id: lab, service: lab, namespace: shop, fqdn: lab.shop.svc.cluster.local, port: 80, protocol: http, auth: none, exposed: true, profil: bench}
  - {id: db, service: web, namespace: shop, fqdn: web.shop.svc.cluster.local, port: 80, protocol: tcp, auth: none}
`

// seedNodes puts the nodes of the network on the server.
func (l *live) seedNodes(t *testing.T, n *netns.Net, ready ...bool) {
	t.Helper()
	var b strings.Builder
	for i, node := range n.Nodes {
		fmt.Fprintf(&b, "---\n{apiVersion: v1, kind: Node, metadata: {name: node%d}, status: {addresses: [{type: InternalIP, address: %s}], conditions: [{type: Ready, status: %q}]}}\n",
			i+1, node, map[bool]string{true: "True", false: "Unknown"}[ready[i]])
	}
	l.Seed(t, b.String())
}

// service makes a NodePort Service with a ready endpoint on node1, and gives
// the nodePort that the server chose.
func (l *live) service(t *testing.T, name, spec string) int {
	t.Helper()
	l.Seed(t, fmt.Sprintf(`---
{apiVersion: v1, kind: Service, metadata: {name: %[1]s, namespace: shop}, spec: {%[2]s, selector: {app: %[1]s}}}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: %[1]s-1, namespace: shop, labels: {kubernetes.io/service-name: %[1]s}}, addressType: IPv4,
 ports: [{name: ui, port: 8080}], endpoints: [{addresses: [10.244.0.1], nodeName: node1, conditions: {ready: true}}]}
`, name, spec))
	port, err := strconv.Atoi(l.Kubectl(t, "-n", "shop", "get", "service", name, "-o", "jsonpath={.spec.ports[0].nodePort}"))
	if err != nil {
		return 0 // a ClusterIP
	}
	return port
}

// Real Services with the nodePorts that the API chose, real forwarding from
// the addresses of nodes, and real servers behind it.
func TestProbe_Live(t *testing.T) {
	n := netns.New(t, 3)
	l := newLive(t)
	l.promise(t, probeContract)
	l.Seed(t, "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}")
	l.seedNodes(t, n, true, true, false)
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) })
	serve := func(name, port, more string, tls bool) {
		inside := n.Listen(t, "10.244.0.1:0")
		server := &httptest.Server{Listener: inside, Config: &http.Server{Handler: page, ErrorLog: log.New(io.Discard, "", 0)}}
		if tls {
			server.StartTLS()
		} else {
			server.Start()
		}
		t.Cleanup(server.Close)
		n.Forward(t, l.service(t, name, "type: NodePort, ports: [{name: ui, port: "+port+"}]"+more), inside)
	}
	serve("web", "80", "", false)
	serve("safe", "443", "", true)
	serve("wrong", "80", "", true)
	serve("near", "80", ", externalTrafficPolicy: Local", false)
	l.service(t, "closed", "type: NodePort, ports: [{name: ui, port: 80}]")
	l.service(t, "inner", "ports: [{name: ui, port: 80}]")

	probed := func(t *testing.T, code int, kubeconfig string, args ...string) map[string][]probe.Result {
		t.Helper()
		got, out, stderr := nestorAt(kubeconfig, append([]string{"probe", "--contract", l.contract, "--profile", "prod", "--timeout", "3s", "-o", "json"}, args...)...)
		require.Equal(t, code, got, "%s%s", out, stderr)
		schema, err := jsonschema.NewCompiler().Compile("../../docs/schema/probe.v1.json")
		require.NoError(t, err)
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(out))
		require.NoError(t, err, out)
		require.NoError(t, schema.Validate(value), out)
		var report probe.Report
		require.NoError(t, json.Unmarshal([]byte(out), &report))
		results := map[string][]probe.Result{}
		for _, r := range report.Results {
			results[r.Endpoint] = append(results[r.Endpoint], r)
		}
		return results
	}
	state := func(r probe.Result) string { return strings.TrimSuffix(string(r.State)+" "+string(r.Kind), " ") }

	results := probed(t, exitFindings, l.Kubeconfig)
	for id, want := range map[string]string{
		"web": "reachable", "safe": "reachable", "near": "reachable", "wrong": "failed wrong-scheme", "closed": "failed refused",
		"inner": "failed not-exposed", "absent": "skipped not-deployed", "lab": "skipped other-profile",
	} {
		if assert.Len(t, results[id], 1, id) {
			assert.Equal(t, want, state(results[id][0]), "%+v", results[id][0])
		}
	}
	assert.NotContains(t, results, "db", "it is no UI")
	assert.Contains(t, results["web"][0].URL, net.JoinHostPort(n.Nodes[0].String(), ""))
	assert.True(t, strings.HasSuffix(results["web"][0].URL, "/ui"))
	assert.Equal(t, []probe.TLSProblem{probe.WrongName, probe.SelfSigned}, results["safe"][0].TLS.Problems)
	assert.NotEmpty(t, results["inner"][0].Hints)

	t.Run("strict", func(t *testing.T) {
		strict := probed(t, exitFindings, l.Kubeconfig, "--strict")
		assert.Equal(t, "failed not-deployed", state(strict["absent"][0]))
		assert.Equal(t, "skipped other-profile", state(strict["lab"][0]))
	})
	t.Run("all nodes", func(t *testing.T) {
		all := probed(t, exitFindings, l.Kubeconfig, "--all-nodes")
		require.Len(t, all["web"], 2, "node3 is not Ready")
		assert.Equal(t, "node2", all["web"][1].Node)
		assert.Contains(t, all["web"][1].URL, n.Nodes[1].String())
		assert.Equal(t, probe.Reachable, all["web"][1].State)
		require.Len(t, all["near"], 2)
		assert.Equal(t, "reachable", state(all["near"][0]))
		assert.Equal(t, "skipped not-on-node", state(all["near"][1]), "%+v", all["near"][1])
	})
	t.Run("for people", func(t *testing.T) {
		code, out, _ := nestorAt(l.Kubeconfig, "probe", "--contract", l.contract, "--profile", "prod", "--timeout", "3s")
		assert.Equal(t, exitFindings, code)
		for _, part := range []string{"ENDPOINT", "reachable", "failed (wrong-scheme)", "write scheme: https in the contract", "certificate: wrong-name, self-signed", "3 reachable, 3 failed, 2 skipped, 0 unknown"} {
			assert.Contains(t, out, part)
		}
	})
	t.Run("a dump", func(t *testing.T) {
		dump := filepath.Join(t.TempDir(), "dump.yaml")
		require.NoError(t, os.WriteFile(dump, []byte(l.Kubectl(t, "get", "svc,endpointslices,nodes", "-A", "-o", "yaml")), 0o600))
		var out, errs strings.Builder
		code := run(t.Context(), []string{"probe", "--contract", l.contract, "--profile", "prod", "--from", dump}, &cli{in: strings.NewReader(""), out: &out, err: &errs, env: func(string) (string, bool) { return "", false }})
		assert.Equal(t, exitFindings, code, errs.String())
		assert.Contains(t, out.String(), "3 reachable, 3 failed")
	})
	t.Run("what was not read", func(t *testing.T) {
		proxy := l.Proxy(t)
		proxy.Set(faultproxy.Fault{Kind: faultproxy.Forbidden, Resource: "nodes"})
		denied := probed(t, exitUnevaluated, l.Via(proxy).WriteKubeconfig(t))
		assert.Equal(t, "unknown unread", state(denied["web"][0]))
	})
	t.Run("packets vanish", func(t *testing.T) {
		n.Rules(t, "add table ip cut; add chain ip cut in { type filter hook prerouting priority -300; }; add rule ip cut in drop")
		lost := probed(t, exitUnreachable, l.Kubeconfig)
		assert.Equal(t, "failed timeout", state(lost["web"][0]))
		n.Rules(t, "delete table ip cut")
	})
	t.Run("no node is Ready", func(t *testing.T) {
		for i := range n.Nodes {
			l.Kubectl(t, "patch", "node", fmt.Sprintf("node%d", i+1), "--subresource", "status", "-p", `{"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}}`)
		}
		n.Rules(t, "add table ip cut; add chain ip cut in { type filter hook prerouting priority -300; }; add rule ip cut in drop")
		results := probed(t, exitUnreachable, l.Kubeconfig)
		require.Len(t, results["web"], 3)
		assert.Contains(t, strings.Join(results["web"][0].Hints, " "), "node node1 is not Ready")
	})
}
