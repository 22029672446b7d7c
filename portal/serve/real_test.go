//go:build integration

package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/nestor-tools/nestor/bench/cptest"
	"github.com/nestor-tools/nestor/bench/faultproxy"
	"github.com/nestor-tools/nestor/portal"
	"github.com/nestor-tools/nestor/portal/observe"
	"github.com/nestor-tools/nestor/portal/serve"
)

const (
	deploy = "../deploy"
	// inTime is five times what the page promises.
	inTime = 10 * time.Second
)

// world is what kube-controller-manager and kubelets would have made of the
// deployment: a node, and the portal's own pod ready on it.
const world = `
apiVersion: v1
kind: Node
metadata: {name: node1}
status:
  addresses: [{type: InternalIP, address: 192.0.2.11}]
  conditions: [{type: Ready, status: "True", reason: KubeletReady}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: portal-1, namespace: portal, labels: {kubernetes.io/service-name: portal}}
addressType: IPv4
ports: [{name: http, port: 8080, protocol: TCP}]
endpoints: [{addresses: [10.1.0.7], conditions: {ready: true}, nodeName: node1}]
`

// deployed applies portal/deploy with the real kubectl and gives the access of
// the ServiceAccount that it makes.
func deployed(t *testing.T, cluster *cptest.Cluster) cptest.Access {
	t.Helper()
	cluster.Kubectl(t, "apply", "-k", deploy)
	assert.NotContains(t, cluster.Kubectl(t, "apply", "-k", deploy), "configured", "it can be applied again")
	cluster.Seed(t, world)
	return cluster.As(cluster.ServiceAccountToken(t, "portal", "portal"))
}

// page is a portal that runs in the test.
type page struct {
	*testing.T
	url string
}

// run serves with the observer and the contract of the deployment.
func run(t *testing.T, access cptest.Access, o observe.Options) *page {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", access.WriteKubeconfig(t))
	require.NoError(t, err)
	observer, err := observe.New(config, o)
	require.NoError(t, err)
	contract, err := serve.OpenContract(filepath.Join(deploy, "contract"))
	require.NoError(t, err)
	server, err := serve.New(serve.Options{Cluster: observer, Contract: contract})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	observed, served := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(observed)
		observer.Run(ctx)
	}()
	go func() { served <- server.Run(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-served)
		<-observed
	})
	p := &page{t, "http://" + listener.Addr().String()}
	p.eventually("ready", func() bool { code, _ := p.get("/readyz"); return code == http.StatusOK })
	return p
}

// nothingLeft tells of goroutines of a portal that has stopped. Those of the
// API server's process and of its proxy are the test's own.
func nothingLeft(t *testing.T) {
	t.Helper()
	stacks := make([]byte, 16<<20)
	require.Eventually(t, func() bool {
		text := string(stacks[:runtime.Stack(stacks, true)])
		for _, part := range []string{"nestor/portal/observe.", "nestor/portal/serve.", "k8s.io/client-go/"} {
			if strings.Contains(text, part) {
				t.Logf("still there: %s", part)
				return false
			}
		}
		return true
	}, 30*time.Second, time.Second)
}

func (p *page) get(path string) (int, string) {
	p.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := client.Get(p.url + path)
	require.NoError(p, err)
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	require.NoError(p, err)
	if r.StatusCode == http.StatusFound {
		return r.StatusCode, r.Header.Get("Location")
	}
	return r.StatusCode, string(b)
}

func (p *page) view() (v portal.View) {
	p.Helper()
	code, text := p.get("/api/v1/view")
	require.Equal(p, http.StatusOK, code)
	require.NoError(p, json.Unmarshal([]byte(text), &v))
	return v
}

// entry is what is shown of the portal's own endpoint.
func (p *page) entry() portal.Entry {
	p.Helper()
	for _, layer := range p.view().Layers {
		for _, e := range layer.Entries {
			if e.ID == "portal" {
				return e
			}
		}
	}
	require.Fail(p, "the endpoint portal is not shown")
	return portal.Entry{}
}

func (p *page) eventually(what string, is func() bool) {
	p.Helper()
	require.Eventually(p, is, time.Minute, 50*time.Millisecond, what)
}

func link(cluster *cptest.Cluster, t *testing.T) string {
	port := strings.TrimSpace(cluster.Kubectl(t, "-n", "portal", "get", "svc", "portal", "-o", "jsonpath={.spec.ports[0].nodePort}"))
	return "http://192.0.2.11:" + port
}

// recreate makes the Service anew, and gives the link to its other nodePort.
func recreate(t *testing.T, cluster *cptest.Cluster) string {
	t.Helper()
	const services = "/api/v1/namespaces/portal/services"
	before := link(cluster, t)
	for range 5 {
		code, answer := cluster.Do(t, "DELETE", services+"/portal", "")
		require.Equal(t, http.StatusOK, code, "%s", answer)
		code, answer = cluster.Do(t, "POST", services, `{"apiVersion":"v1","kind":"Service","metadata":{"name":"portal"},
			"spec":{"type":"NodePort","selector":{"app.kubernetes.io/name":"portal"},"ports":[{"name":"http","port":80,"targetPort":"http"}]}}`)
		require.Equal(t, http.StatusCreated, code, "%s", answer)
		var made struct {
			Spec struct{ Ports []struct{ NodePort int } }
		}
		require.NoError(t, json.Unmarshal(answer, &made))
		if now := fmt.Sprintf("http://192.0.2.11:%d", made.Spec.Ports[0].NodePort); now != before {
			return now
		}
	}
	require.Fail(t, "the server gave the same port again and again")
	return ""
}

func TestPortalOnARealAPI(t *testing.T) {
	cluster := cptest.Start(t)
	access := deployed(t, cluster)
	code, _ := access.Do(t, "GET", "/api/v1/secrets", "")
	assert.Equal(t, http.StatusForbidden, code)
	code, _ = access.Do(t, "GET", "/api/v1/namespaces/portal/secrets/any", "")
	assert.Equal(t, http.StatusForbidden, code)
	code, _ = access.Do(t, "GET", "/api/v1/pods", "")
	assert.Equal(t, http.StatusForbidden, code)

	t.Cleanup(func() { nothingLeft(t) })
	proxy := cluster.Proxy(t)
	p := run(t, access.Via(proxy), observe.Options{Rights: 2 * time.Second})

	t.Run("as its ServiceAccount", func(t *testing.T) {
		assert.Equal(t, link(cluster, t), p.entry().URL)
		assert.Equal(t, portal.Match, p.entry().Verdict)
		assert.False(t, p.view().SecretsReadable)
		_, metrics := p.get("/metrics")
		assert.Contains(t, metrics, "nestor_portal_secrets_readable 0")
	})

	t.Run("Secrets become readable", func(t *testing.T) {
		// In one namespace only, as such things happen.
		cluster.Kubectl(t, "-n", "portal", "create", "role", "oops", "--verb=get", "--resource=secrets")
		cluster.Kubectl(t, "-n", "portal", "create", "rolebinding", "oops", "--role=oops", "--serviceaccount=portal:portal")
		require.Eventually(t, func() bool { return p.view().SecretsReadable }, time.Minute, 200*time.Millisecond)
		cluster.Kubectl(t, "-n", "portal", "delete", "rolebinding", "oops")
		require.Eventually(t, func() bool { return !p.view().SecretsReadable }, time.Minute, 200*time.Millisecond)
	})

	t.Run("a Service made anew", func(t *testing.T) {
		want := recreate(t, cluster)
		began := time.Now()
		require.Eventually(t, func() bool { code, to := p.get("/go/portal"); return code == http.StatusFound && to == want }, inTime, 20*time.Millisecond)
		t.Logf("right after %v", time.Since(began).Round(time.Millisecond))
	})

	for _, resource := range []portal.Resource{portal.Services, portal.EndpointSlices, portal.Nodes} {
		t.Run("403 on "+string(resource), func(t *testing.T) {
			proxy.Set(faultproxy.Fault{Kind: faultproxy.Forbidden, Resource: string(resource)})
			proxy.Cut()
			p.eventually("denied", func() bool {
				for _, s := range p.view().Sources {
					if s.Resource == resource && s.State == portal.Denied {
						assert.Contains(t, s.Why, "get, list, watch")
						return true
					}
				}
				return false
			})
			assert.Equal(t, portal.Unknown, p.entry().Verdict, "never MISSING: %+v", p.entry())
			code, _ := p.get("/readyz")
			assert.Equal(t, http.StatusOK, code)
			proxy.Set()
			p.eventually("again", func() bool { return p.entry().Verdict == portal.Match })
		})
	}

	t.Run("410 after a cut", func(t *testing.T) {
		gone := proxy.Hits(faultproxy.Gone)
		proxy.Set(faultproxy.Fault{Kind: faultproxy.Gone})
		proxy.Cut()
		p.eventually("inflicted", func() bool { return proxy.Hits(faultproxy.Gone) > gone })
		want := recreate(t, cluster)
		p.eventually("right", func() bool { return p.entry().URL == want })
		proxy.Set()
	})

	t.Run("bookmarks that never come", func(t *testing.T) {
		proxy.Set(faultproxy.Fault{Kind: faultproxy.NoBookmark})
		other := run(t, access.Via(proxy), observe.Options{}) // which is ready, and so has read all
		assert.Equal(t, portal.Match, other.entry().Verdict)
		proxy.Set()
	})

	t.Run("a watch that stays silent", func(t *testing.T) {
		proxy.Set(faultproxy.Fault{Kind: faultproxy.Silent})
		other := run(t, access.Via(proxy), observe.Options{Silence: 3 * time.Second})
		want := recreate(t, cluster)
		other.eventually("right all the same", func() bool { return other.entry().URL == want })
		assert.Positive(t, proxy.Hits(faultproxy.Silent))
		proxy.Set()
	})

	t.Run("the API server is gone and comes back", func(t *testing.T) {
		before := p.entry().URL
		began := time.Now()
		cluster.Kill(t)
		p.eventually("stale", func() bool { return p.view().Stale })
		assert.WithinDuration(t, began, *p.view().StaleSince, 30*time.Second)
		code, html := p.get("/")
		assert.Equal(t, http.StatusOK, code)
		assert.Contains(t, html, ">portal<")
		code, _ = p.get("/readyz")
		assert.Equal(t, http.StatusOK, code)
		assert.NotEqual(t, portal.Missing, p.entry().Verdict)
		cluster.Restart(t)
		p.eventually("fresh", func() bool { return !p.view().Stale && p.entry().Verdict == portal.Match })
		assert.Equal(t, before, p.entry().URL)
		want := recreate(t, cluster)
		p.eventually("following again", func() bool { return p.entry().URL == want })
	})

	t.Run("on screen", func(t *testing.T) { onScreen(t, p, cluster) })
}

// onScreen watches the page in a browser while the nodePort changes under it.
func onScreen(t *testing.T, p *page, cluster *cptest.Cluster) {
	path, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("no chromium: make install")
		}
		t.Skip("NOT RUN: no chromium here: make install")
	}
	allocator, cancel := chromedp.NewExecAllocator(t.Context(), append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()))...)
	defer cancel()
	ctx, cancel := chromedp.NewContext(allocator)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	href := func() string {
		to, err := chromedp.Run(ctx, chromedp.Evaluate[string](`[...document.links].map(a => a.href).find(h => h.includes("192.0.2.11")) || ""`))
		require.NoError(t, err)
		return strings.TrimSuffix(to, "/")
	}
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(p.url)))
	_, err = chromedp.Run(ctx, chromedp.Evaluate[bool](`window.sameDocument = true`))
	require.NoError(t, err)
	assert.Equal(t, link(cluster, t), href())
	want := recreate(t, cluster)
	began := time.Now()
	require.Eventually(t, func() bool { return href() == want }, inTime, 50*time.Millisecond)
	t.Logf("on screen after %v", time.Since(began).Round(time.Millisecond))
	same, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`window.sameDocument === true`))
	require.NoError(t, err)
	assert.True(t, same, "the page was not loaded again")
}

// With the component the portal may read Pods, and reads them.
func TestPodsComponent(t *testing.T) {
	cluster := cptest.Start(t)
	absolute, err := filepath.Abs(deploy)
	require.NoError(t, err)
	dir := t.TempDir()
	relative, err := filepath.Rel(dir, absolute)
	require.NoError(t, err)
	overlay := fmt.Sprintf("resources: [%q]\ncomponents: [%q]\nimages: [{name: nestor, newName: registry.example.org/nestor, newTag: v1}]\n", relative, relative+"/pods")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(overlay), 0o600))
	cluster.Kubectl(t, "apply", "-k", dir)
	code, _ := cluster.As(cluster.ServiceAccountToken(t, "portal", "portal")).Do(t, "GET", "/api/v1/pods", "")
	assert.Equal(t, http.StatusOK, code)
	container := cluster.Kubectl(t, "-n", "portal", "get", "deploy", "portal", "-o", "jsonpath={.spec.template.spec.containers[0]}")
	assert.Contains(t, container, `"--pods"`)
	assert.Contains(t, container, "registry.example.org/nestor:v1")
}
