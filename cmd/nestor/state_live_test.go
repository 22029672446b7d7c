//go:build integration

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/cptest"
	"github.com/nestor-tools/nestor/bench/faultproxy"
	"github.com/nestor-tools/nestor/contract"
)

const stateContract = `contract_version: "1.0"
endpoints:
  - {id: web, service: web, namespace: shop, fqdn: web.shop.svc.cluster.local, port: 80, protocol: http, auth: none, exposed: true, source: apps/web.yaml}
  - {id: board, service: board, namespace: shop, fqdn: board.shop.svc.cluster.local, port: 3000, protocol: http, auth: none, exposed: true, source: apps/board.yaml}
  - {id: db, service: db, namespace: shop, fqdn: db.shop.svc.cluster.local, port: 5432, protocol: tcp, auth: none, source: apps/db.yaml}
  - {id: lab, service: lab, namespace: lab, fqdn: lab.lab.svc.cluster.local, port: 80, protocol: http, auth: none, exposed: true, profil: bench, source: apps/lab.yaml}
accept:
  - {kind: HostPort, namespace: mail, name: relay, port: 2525, reason: relay of the nodes}
`

const stateWorld = `apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Namespace, metadata: {name: shop}}
- {apiVersion: v1, kind: Namespace, metadata: {name: mail}}
- apiVersion: v1
  kind: Service
  metadata: {name: web, namespace: shop}
  spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: 8080}]}
- apiVersion: v1
  kind: Service
  metadata: {name: web-nodeport, namespace: shop}
  spec: {type: NodePort, selector: {app: web}, ports: [{name: http, port: 80, targetPort: 8080}]}
- apiVersion: v1
  kind: Service
  metadata: {name: board, namespace: shop}
  spec: {type: NodePort, selector: {app: board}, ports: [{name: http, port: 3000}]}
- apiVersion: v1
  kind: Service
  metadata: {name: db, namespace: shop}
  spec: {selector: {app: db}, ports: [{name: pg, port: 5432}]}
- apiVersion: v1
  kind: Pod
  metadata: {name: relay-5d4f-x, namespace: mail, labels: {pod-template-hash: 5d4f}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: relay-5d4f, uid: u, controller: true}]}
  spec: {containers: [{name: relay, image: relay, ports: [{containerPort: 25, hostPort: 2525}]}]}
- apiVersion: v1
  kind: Pod
  metadata: {name: kube-proxy-abcde, namespace: kube-system, ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: kube-proxy, uid: u, controller: true}]}
  spec: {hostNetwork: true, containers: [{name: p, image: p, ports: [{containerPort: 10256}]}]}
`

const metalLB = `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ipaddresspools.metallb.io}
spec:
  group: metallb.io
  scope: Namespaced
  names: {kind: IPAddressPool, plural: ipaddresspools}
  versions: [{name: v1beta1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

// live is nestor on a cluster.
type live struct {
	*cptest.Cluster
	contract string
	bin      string // a folder with kubectl
}

func newLive(t *testing.T) *live {
	t.Helper()
	l := &live{Cluster: cptest.Start(t), contract: filepath.Join(t.TempDir(), "endpoints.yaml")}
	l.promise(t, stateContract)
	bin, err := filepath.Abs("../../bin")
	require.NoError(t, err)
	l.bin = bin
	return l
}

func (l *live) promise(t *testing.T, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(l.contract, []byte(text), 0o600))
}

func nestorAt(kubeconfig string, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(context.Background(), append(args, "--kubeconfig", kubeconfig), &cli{in: strings.NewReader(""), out: &out, err: &err, env: func(string) (string, bool) { return "", false }})
	return code, out.String(), err.String()
}

func (l *live) state(args ...string) (code int, stdout, stderr string) {
	return nestorAt(l.Kubeconfig, append([]string{"state", "--contract", l.contract, "--profile", "prod", "--today", "2027-03-01"}, args...)...)
}

func (l *live) findings(t *testing.T) []contract.Finding {
	t.Helper()
	_, out, stderr := l.state("-o", "json")
	var answer struct{ Findings []contract.Finding }
	require.NoError(t, json.Unmarshal([]byte(out), &answer), "%s%s", out, stderr)
	return answer.Findings
}

// sh runs what nestor told a person to run.
func (l *live) sh(t *testing.T, command string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", command)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+l.Kubeconfig, "PATH="+l.bin+":"+os.Getenv("PATH"), "HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", command, out)
}

// commands are those that the report prints.
func commands(report string) (all []string) {
	for line := range strings.Lines(report) {
		if command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ "); ok {
			all = append(all, command)
		}
	}
	return all
}

// Each kind of drift is made for real, is named rightly, and goes by the very
// command that is printed.
func TestState_EachDrift(t *testing.T) {
	l := newLive(t)
	l.Seed(t, stateWorld)
	code, out, stderr := l.state()
	require.Equal(t, exitOK, code, "%s%s", out, stderr)
	for _, part := range []string{"Gateway API            not installed", "Cilium   not installed", "1 accepted", "kube-system/kube-proxy", "of profile bench", "next: nestor probe"} {
		assert.Contains(t, strings.ReplaceAll(out, "Cilium  not", "Cilium   not"), part)
	}
	crds, err := os.ReadFile("../../bench/controlplane/sample/crds.yaml")
	require.NoError(t, err)
	l.Seed(t, string(crds)+metalLB)
	l.Seed(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: cilium-config, namespace: kube-system}, data: {kube-proxy-replacement: "true", enable-gateway-api: "false"}}`)
	require.Eventually(t, func() bool { code, out, _ = l.state(); return code == exitOK }, time.Minute, 100*time.Millisecond,
		"a group is listed for a moment before its kinds are")
	assert.Contains(t, out, "no Gateway, GatewayClass or route")

	patch := func(name, body string) func(*testing.T) {
		return func(t *testing.T) { l.Kubectl(t, "-n", "shop", "patch", "service", name, "-p", body) }
	}
	seed := func(yaml string) func(*testing.T) { return func(t *testing.T) { l.Seed(t, yaml) } }
	cilium := func(data string) func(*testing.T) {
		return func(t *testing.T) {
			l.Kubectl(t, "-n", "kube-system", "patch", "configmap", "cilium-config", "--type", "merge", "-p", `{"data":`+data+`}`)
		}
	}
	for _, c := range []struct {
		name     string
		make     func(*testing.T)
		rule     string
		endpoint string
		says     string
		undo     func(*testing.T) // nil: the printed command does
	}{
		{name: "ClusterIP flipped to NodePort by hand", make: patch("db", `{"spec":{"type":"NodePort"}}`), rule: "unpromised-nodeport", says: "Service shop/db opens port 5432/TCP as 3"},
		{name: "a port added to a promised NodePort", make: func(t *testing.T) {
			l.Kubectl(t, "-n", "shop", "patch", "service", "web-nodeport", "--type", "json", "-p", `[{"op":"add","path":"/spec/ports/0","value":{"name":"debug","port":6060}}]`)
		}, rule: "unpromised-nodeport", endpoint: "web", says: "port 6060/TCP"},
		{name: "a promised NodePort made a LoadBalancer", make: patch("board", `{"spec":{"type":"LoadBalancer"}}`), rule: "unpromised-loadbalancer", endpoint: "board", says: "a NodePort is promised"},
		{name: "a promised NodePort made a ClusterIP", make: patch("web-nodeport", `{"spec":{"type":"ClusterIP"}}`), rule: "exposed-without-nodeport", endpoint: "web", says: "Service shop/web-nodeport is a ClusterIP"},
		{name: "a promised NodePort removed", make: func(t *testing.T) { l.Kubectl(t, "-n", "shop", "delete", "service", "web-nodeport") }, rule: "exposed-without-nodeport", endpoint: "web", says: "no NodePort exposes it"},
		{name: "LoadBalancer", make: patch("db", `{"spec":{"type":"LoadBalancer"}}`), rule: "unpromised-loadbalancer", says: "shop/db"},
		{name: "external address", make: patch("db", `{"spec":{"externalIPs":["203.0.113.9"]}}`), rule: "unpromised-externalip", says: "203.0.113.9 port 5432/TCP"},
		{name: "the port of a promise moved", make: patch("db", `{"spec":{"ports":[{"name":"pg","port":5432,"$patch":"delete"},{"name":"pg2","port":5433}]}}`), rule: "port-mismatch", endpoint: "db", says: "5433/TCP",
			undo: patch("db", `{"spec":{"ports":[{"name":"pg2","port":5433,"$patch":"delete"},{"name":"pg","port":5432}]}}`)},
		{name: "a Service of a promise removed", make: func(t *testing.T) { l.Kubectl(t, "-n", "shop", "delete", "service", "db") }, rule: "service-missing", endpoint: "db", says: "no Service shop/db",
			undo: seed(stateWorld)},
		{name: "a name that an entry accepts, in another namespace", make: seed(`{apiVersion: v1, kind: Pod, metadata: {name: relay, namespace: shop}, spec: {containers: [{name: a, image: a, ports: [{containerPort: 25, hostPort: 2525}]}]}}`),
			rule: "unpromised-hostport", says: "Pod shop/relay holds port 2525/TCP", undo: func(t *testing.T) {
				l.Kubectl(t, "-n", "shop", "delete", "pod", "relay", "--grace-period=0", "--force")
			}},
		{name: "hostNetwork without a port", make: seed(`{apiVersion: v1, kind: Pod, metadata: {name: agent-1, namespace: shop, ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: agent, uid: u, controller: true}]}, spec: {hostNetwork: true, containers: [{name: a, image: a}]}}`),
			rule: "unpromised-hostnetwork", says: "DaemonSet shop/agent is on the network", undo: func(t *testing.T) {
				l.Kubectl(t, "-n", "shop", "delete", "pod", "agent-1", "--grace-period=0", "--force")
			}},
		{name: "Gateway", make: seed(`{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: web, namespace: shop}}`), rule: "l4-residue", says: "Gateway shop/web"},
		{name: "HTTPRoute", make: seed(`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: shop}}`), rule: "l4-residue", says: "HTTPRoute shop/web"},
		{name: "GatewayClass", make: seed(`{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: cilium}}`), rule: "l4-residue", says: "GatewayClass cilium"},
		{name: "Ingress", make: seed(`{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: web, namespace: shop}, spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}}`), rule: "l4-residue", says: "Ingress shop/web"},
		{name: "Cilium's pool", make: seed(`{apiVersion: cilium.io/v2, kind: CiliumLoadBalancerIPPool, metadata: {name: default-pool}}`), rule: "l4-residue", says: "CiliumLoadBalancerIPPool default-pool"},
		{name: "Cilium's announcements", make: seed(`{apiVersion: cilium.io/v2alpha1, kind: CiliumL2AnnouncementPolicy, metadata: {name: default}}`), rule: "l4-residue", says: "CiliumL2AnnouncementPolicy default"},
		{name: "MetalLB's pool", make: seed(`{apiVersion: metallb.io/v1beta1, kind: IPAddressPool, metadata: {name: pool, namespace: mail}}`), rule: "l4-residue", says: "IPAddressPool mail/pool"},
		{name: "Gateway API on", make: cilium(`{"enable-gateway-api":"true"}`), rule: "l4-cilium", says: `enable-gateway-api is "true"`},
		{name: "L2 announcements on", make: cilium(`{"enable-l2-announcements":"true"}`), rule: "l4-cilium", says: "enable-l2-announcements"},
		{name: "kube-proxy is not replaced", make: cilium(`{"kube-proxy-replacement":"false"}`), rule: "l4-cilium", says: "kube-proxy-replacement", undo: cilium(`{"kube-proxy-replacement":"true"}`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.make(t)
			code, out, stderr := l.state()
			assert.Equal(t, exitFindings, code, "%s%s", out, stderr)
			found := l.findings(t)
			if assert.Len(t, found, 1, "%s", out) {
				assert.Equal(t, c.rule, found[0].Rule)
				assert.Equal(t, c.endpoint, found[0].Endpoint)
				assert.Equal(t, contract.Error, found[0].Severity)
				assert.Contains(t, found[0].Message, c.says)
				assert.NotEmpty(t, found[0].Remedy)
				assert.Equal(t, filepath.ToSlash(l.contract), found[0].File)
				assert.Positive(t, found[0].Line)
			}
			assert.Contains(t, out, c.says)
			if c.undo != nil {
				c.undo(t)
			} else {
				all := commands(out)
				require.Len(t, all, 1, "%s", out)
				l.sh(t, all[0])
			}
			code, out, stderr = l.state()
			require.Equal(t, exitOK, code, "the command ends it: %s%s", out, stderr)
		})
	}

	// What is accepted until a day is a cohabitation, and no command ends it;
	// the day after it is drift.
	t.Run("cohabitation", func(t *testing.T) {
		l.promise(t, stateContract+`  - {kind: LoadBalancer, namespace: shop, name: db, reason: old address, until: 2027-06-30}
  - {kind: CiliumLoadBalancerIPPool, name: default-pool, reason: the old way, until: 2027-09-30}
  - {kind: ConfigMap, namespace: kube-system, name: cilium-config, reason: the old way, until: 2027-09-30}
  - {kind: HTTPRoute, namespace: shop, name: gone, reason: the old way, until: 2027-09-30}
`)
		patch("db", `{"spec":{"type":"LoadBalancer"}}`)(t)
		l.Seed(t, `{apiVersion: cilium.io/v2, kind: CiliumLoadBalancerIPPool, metadata: {name: default-pool}}`)
		cilium(`{"enable-gateway-api":"true"}`)(t)
		code, out, stderr := l.state()
		assert.Equal(t, exitOK, code, "%s%s", out, stderr)
		assert.Empty(t, commands(out), "%s", out)
		assert.Equal(t, 3, strings.Count(out, "cohabitation until 2027-"), "%s", out)
		assert.Contains(t, out, "must end by 2027-06-30")
		assert.Contains(t, out, "HTTPRoute shop/gone")
		for _, f := range l.findings(t) {
			assert.Equal(t, contract.Info, f.Severity, "%+v", f)
			assert.NotContains(t, f.Remedy, "kubectl")
		}
		code, out, stderr = l.state("--today", "2027-07-01")
		assert.Equal(t, exitFindings, code, "%s%s", out, stderr)
		assert.Contains(t, out, "was accepted until 2027-06-30")
		require.Len(t, commands(out), 1, "%s", out)
	})

	// A whole dump of it gives the same report.
	t.Run("a dump", func(t *testing.T) {
		dir := t.TempDir()
		args := []string{"state", "--contract", l.contract, "--profile", "prod", "--today", "2027-03-01"}
		for name, command := range map[string][]string{
			"objects.yaml": {"get", "svc,pods,crd", "-A", "-o", "yaml"}, "cilium.yaml": {"-n", "kube-system", "get", "configmap", "cilium-config", "-o", "yaml"},
			"ingresses.json": {"get", "--raw", "/apis/networking.k8s.io/v1/ingresses"}, "gateways.json": {"get", "--raw", "/apis/gateway.networking.k8s.io/v1/gateways"},
			"classes.json": {"get", "--raw", "/apis/gateway.networking.k8s.io/v1/gatewayclasses"}, "routes.json": {"get", "--raw", "/apis/gateway.networking.k8s.io/v1/httproutes"},
			"pools.json": {"get", "--raw", "/apis/cilium.io/v2/ciliumloadbalancerippools"}, "l2.json": {"get", "--raw", "/apis/cilium.io/v2alpha1/ciliuml2announcementpolicies"},
			"metallb.json": {"get", "--raw", "/apis/metallb.io/v1beta1/ipaddresspools"},
		} {
			file := filepath.Join(dir, name)
			require.NoError(t, os.WriteFile(file, []byte(l.Kubectl(t, command...)), 0o600))
			args = append(args, "--from", file)
		}
		var dumped, stderr bytes.Buffer
		code := run(t.Context(), args, &cli{in: strings.NewReader(""), out: &dumped, err: &stderr, env: func(string) (string, bool) { return "", false }})
		wanted, live, _ := l.state()
		assert.Equal(t, wanted, code, stderr.String())
		assert.Equal(t, live, dumped.String())
	})

	for _, format := range []string{"sarif", "github", "junit", "markdown", "json"} {
		code, out, stderr := l.state("--today", "2027-07-01", "-o", format)
		assert.Equal(t, exitFindings, code, stderr)
		assert.Contains(t, out, "accept-expired", format)
	}
}

// A part that is not read is exit 2 and a finding, whatever else is well.
func TestState_Faults(t *testing.T) {
	l := newLive(t)
	l.Seed(t, stateWorld)
	crds, err := os.ReadFile("../../bench/controlplane/sample/crds.yaml")
	require.NoError(t, err)
	l.Seed(t, string(crds))
	proxy := l.Proxy(t)
	kubeconfig := l.Via(proxy).WriteKubeconfig(t)
	state := func(args ...string) (int, string, string) {
		return nestorAt(kubeconfig, append([]string{"state", "--contract", l.contract, "--profile", "prod"}, args...)...)
	}
	require.Eventually(t, func() bool { code, _, _ := state(); return code == exitOK }, time.Minute, 100*time.Millisecond,
		"a group is listed for a moment before its kinds are")

	for _, resource := range []string{"services", "pods", "gateways", "httproutes", "ingresses", "ciliumloadbalancerippools", "configmaps"} {
		for name, kind := range map[string]faultproxy.Kind{"denied": faultproxy.Forbidden, "cut": faultproxy.Aborted, "slow": faultproxy.Delayed} {
			t.Run(resource+" "+name, func(t *testing.T) {
				proxy.Set(faultproxy.Fault{Kind: kind, Resource: resource, Delay: 20 * time.Second})
				before := proxy.Hits(kind)
				code, out, stderr := state("--timeout", "3s")
				assert.Greater(t, proxy.Hits(kind), before)
				assert.Equal(t, exitUnevaluated, code, "%s%s", out, stderr)
				assert.Contains(t, out, "unknown  ")
				assert.NotContains(t, out, "drift", "what is not read is not gone")
				if kind == faultproxy.Forbidden {
					assert.Contains(t, out, "HTTP 403")
					_, out, _ = state("-o", "json")
					assert.Contains(t, out, `"state-unread"`)
				}
			})
		}
	}
	t.Run("all of it cut", func(t *testing.T) {
		proxy.Set(faultproxy.Fault{Kind: faultproxy.Aborted})
		code, out, stderr := state("--timeout", "3s")
		assert.Equal(t, exitUnevaluated, code)
		assert.Empty(t, out)
		assert.Contains(t, stderr, "read the cluster")
	})
	t.Run("all of it denied", func(t *testing.T) {
		proxy.Set(faultproxy.Fault{Kind: faultproxy.Forbidden})
		code, out, _ := state()
		assert.Equal(t, exitUnevaluated, code)
		assert.Contains(t, out, "refuses to say what it serves")
	})
	// The server lists a version of a group, and what should answer for it is
	// down: nobody knows what is in there.
	t.Run("an aggregated API is down", func(t *testing.T) {
		proxy.Set()
		down := ""
		for _, version := range []string{"v1beta1.metallb.io", "v9.cilium.io"} {
			name, group, _ := strings.Cut(version, ".")
			down += fmt.Sprintf("---\n{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: %s}, spec: {group: %s, version: %s, groupPriorityMinimum: 100, versionPriority: 100, insecureSkipTLSVerify: true, service: {name: gone, namespace: shop, port: 443}}}\n", version, group, name)
		}
		l.Seed(t, down)
		var code int
		var out string
		assert.Eventually(t, func() bool {
			code, out, _ = state()
			return strings.Contains(out, "cilium.io/v9: ") && strings.Contains(out, "metallb.io/v1beta1: ")
		}, time.Minute, 200*time.Millisecond, "it is listed after a moment: %s", out)
		assert.Equal(t, exitUnevaluated, code, out)
		assert.Contains(t, out, "the kinds of metallb.io not read")
		assert.NotContains(t, out, "MetalLB                not installed")
		l.Kubectl(t, "delete", "apiservice", "v1beta1.metallb.io", "v9.cilium.io")
		require.Eventually(t, func() bool { code, out, _ = state(); return code == exitOK }, time.Minute, 200*time.Millisecond, "%s", out)
	})
	t.Run("drift and a refusal", func(t *testing.T) {
		l.Kubectl(t, "-n", "shop", "patch", "service", "db", "-p", `{"spec":{"type":"NodePort"}}`)
		proxy.Set(faultproxy.Fault{Kind: faultproxy.Forbidden, Resource: "pods"})
		code, out, _ := state()
		assert.Equal(t, exitUnevaluated, code)
		assert.Contains(t, out, "drift")
	})
}

// Whatever answers 200 is not an API server for that.
func TestState_NoAPIServer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "endpoints.yaml")
	require.NoError(t, os.WriteFile(file, []byte(stateContract), 0o600))
	for name, body := range map[string]string{
		"a login page": "<html>please log in", "nothing": "", "null": "null", "an empty object": "{}", "a list of nothing": `{"kind":"List","apiVersion":"v1","items":[]}`,
		"a list without a version": `{"kind":"ServiceList","apiVersion":"v1","items":[]}`,
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }))
			defer server.Close()
			code, out, stderr := nestorAt(cptest.Access{URL: server.URL}.WriteKubeconfig(t), "state", "--contract", file)
			assert.Equal(t, exitUnevaluated, code, "%s%s", out, stderr)
			assert.NotContains(t, out, "not installed")
			assert.LessOrEqual(t, strings.Count(stderr, "\n"), 1, stderr)
		})
	}
}

// With 5,000 Services and as many pods as matter it answers in the time that
// docs/performance.md gives, five times over.
func TestState_Large(t *testing.T) {
	l := newLive(t)
	l.Seed(t, stateWorld)
	var b strings.Builder
	for i := range 5000 {
		kind := "clusterIP: None" // the server takes its time to give out an address
		if i < 1000 {
			kind = "type: NodePort"
		}
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: Service\nmetadata: {name: s%d, namespace: mail}\nspec: {%s, selector: {app: s%d}, ports: [{name: http, port: 80}]}\n", i, kind, i)
	}
	begin := time.Now()
	l.Seed(t, b.String())
	t.Logf("seeded in %s", time.Since(begin).Round(time.Second))
	begin = time.Now()
	code, out, stderr := l.state()
	took := time.Since(begin)
	t.Logf("5,000 Services in %s", took.Round(time.Millisecond))
	assert.Equal(t, exitFindings, code, stderr)
	assert.Equal(t, 1000, strings.Count(out, "opens port 80/TCP as"))
	assert.Less(t, took, 10*time.Second)
}
