package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/portal"
)

func still(t *testing.T, snapshot *portal.Snapshot, o Options) *Server {
	t.Helper()
	name := filepath.Join(t.TempDir(), "endpoints.yaml")
	writeContract(t, name, promise)
	var err error
	if o.Contract == nil {
		o.Contract, err = OpenContract(name)
		require.NoError(t, err)
	}
	o.Cluster = newFake(snapshot)
	s, err := New(o)
	require.NoError(t, err)
	return s
}

func TestRoutes(t *testing.T) {
	s := still(t, shop(30080), Options{})
	for _, c := range []struct {
		method, target string
		code           int
		kind, holds    string
	}{
		{"GET", "/", 200, "text/html; charset=utf-8", "<!doctype html>"},
		{"HEAD", "/", 200, "text/html; charset=utf-8", ""},
		{"GET", "/?lang=fr", 200, "text/html; charset=utf-8", "<!doctype html>"},
		{"POST", "/", 405, "", ""},
		{"DELETE", "/api/v1/view", 405, "", ""},
		{"TRACE", "/", 405, "", ""},
		{"GET", "/api/v1/view", 200, "application/json", `"schema":"nestor.view/v1"`},
		{"GET", "/api/v1/view/", 404, "", ""},
		{"GET", "/api/v2/view", 404, "", ""},
		{"GET", "/index.html", 404, "", ""},
		{"GET", "/assets/portal.js", 200, "text/javascript; charset=utf-8", ""},
		{"GET", "/assets/portal.css", 200, "text/css; charset=utf-8", ""},
		{"GET", "/assets/icon.svg", 200, "image/svg+xml", "<svg"},
		{"GET", "/assets/", 404, "", ""},
		{"GET", "/assets/..%2fportal.js", 404, "", ""},
		{"GET", "/assets/%2e%2e", 404, "", ""},
		{"GET", "/livez", 200, "text/plain; charset=utf-8", "ok"},
		{"GET", "/healthz", 200, "text/plain; charset=utf-8", "ok"},
		{"GET", "/metrics", 200, "", "nestor_portal_endpoint"},
		{"GET", "/go/web-ui", 302, "", ""},
		{"GET", "/go/lost-ui", 503, "text/plain; charset=utf-8", "MISSING"},
		{"GET", "/go/nobody", 404, "", ""},
		{"GET", "/go/", 404, "", ""},
		{"GET", "/go/%0d%0aSet-Cookie:a", 404, "", ""},
	} {
		t.Run(c.method+" "+c.target, func(t *testing.T) {
			r := ask(s, c.method, c.target)
			assert.Equal(t, c.code, r.StatusCode)
			text := body(t, r)
			assert.Contains(t, text, c.holds)
			if c.kind != "" {
				assert.Equal(t, c.kind, r.Header.Get("Content-Type"))
			}
			if c.code == 405 {
				assert.Contains(t, r.Header.Get("Allow"), "GET")
			}
			for name, value := range map[string]string{
				"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY", "Cross-Origin-Opener-Policy": "same-origin",
			} {
				assert.Equal(t, value, r.Header.Get(name))
			}
			policy := r.Header.Get("Content-Security-Policy")
			assert.Contains(t, policy, "default-src 'none'")
			assert.Contains(t, policy, "frame-ancestors 'none'")
			assert.NotContains(t, policy, "unsafe")
			assert.Empty(t, r.Header.Get("Access-Control-Allow-Origin"))
			assert.Empty(t, r.Header.Get("Set-Cookie"))
		})
	}
}

func TestGoFollowsTheCluster(t *testing.T) {
	cluster := newFake(shop(30080))
	s, url := serving(t, cluster, Options{})
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	leads := func() string {
		r, err := client.Get(url + "/go/web-ui")
		require.NoError(t, err)
		defer r.Body.Close()
		assert.Equal(t, http.StatusFound, r.StatusCode)
		assert.Equal(t, "no-store", r.Header.Get("Cache-Control"))
		return r.Header.Get("Location")
	}
	assert.Equal(t, "http://192.0.2.11:30080", leads())
	cluster.set(shop(31999))
	require.Eventually(t, func() bool { return leads() == "http://192.0.2.11:31999" }, 20*time.Second, 20*time.Millisecond)
	assert.Equal(t, http.StatusServiceUnavailable, ask(s, "GET", "/readyz").StatusCode)
	close(cluster.settled)
	require.Eventually(t, func() bool { return ask(s, "GET", "/readyz").StatusCode == http.StatusOK }, 20*time.Second, 20*time.Millisecond)
	lost := shop(31999)
	for name := range lost.Sources {
		lost.Sources[name] = portal.Source{State: portal.Stale, Since: time.Now().Add(-time.Minute), Why: "connection refused"}
	}
	cluster.set(lost)
	require.Eventually(t, func() bool { return strings.Contains(body(t, ask(s, "GET", "/api/v1/view")), `"stale":true`) }, 20*time.Second, 20*time.Millisecond)
	assert.Equal(t, http.StatusOK, ask(s, "GET", "/readyz").StatusCode, "it stays ready without the API server")
}

// The browser is led back to the host that it came by, where that is a node.
func TestTheHostOfTheBrowser(t *testing.T) {
	s := still(t, shop(30080), Options{AllowHosts: []string{"portal.example.org"}})
	for host, want := range map[string]string{
		"192.0.2.12:30000":   "http://192.0.2.12:30080",
		"node2:30000":        "http://node2:30080",
		"NODE2.:30000":       "http://node2:30080",
		"203.0.113.9:30000":  "http://192.0.2.11:30080",
		"localhost:8080":     "http://192.0.2.11:30080",
		"127.0.0.1:8080":     "http://192.0.2.11:30080",
		"[::1]:8080":         "http://192.0.2.11:30080",
		"portal.example.org": "http://192.0.2.11:30080",
	} {
		r := ask(s, "GET", "/go/web-ui", "Host", host)
		assert.Equal(t, want, r.Header.Get("Location"), host)
	}
}

func TestHostsOfOthersAreRefused(t *testing.T) {
	s := still(t, shop(30080), Options{AllowHosts: []string{"portal.example.org"}, AccessHosts: map[string]string{"": "way.example.org"}})
	for host, code := range map[string]int{
		"192.0.2.11":                   200,
		"[2001:db8::1]:30000":          200,
		"localhost":                    200,
		"node1:1":                      200,
		"Portal.Example.org.:30000":    200,
		"way.example.org":              200,
		"evil.example":                 421,
		"192.0.2.11.evil.example":      421,
		"evil.example:30000":           421,
		"portal.example.org.evil":      421,
		"localhost.evil.example":       421,
		"":                             421,
		"[::1":                         421,
		"[fe80::1%25eth0]:80":          421,
		"::1":                          200, // no browser sends it; it is an address
		"2130706433":                   421, // browsers write it as 127.0.0.1
		"0x7f.1":                       421,
		"node1:":                       421,
		"node1:99999":                  421,
		"node1:80:80":                  421,
		"user@node1":                   421,
		"node1/":                       421,
		"node1\x00":                    421,
		strings.Repeat("a.", 120) + "": 421,
	} {
		r := ask(s, "GET", "/", "Host", host)
		assert.Equal(t, code, r.StatusCode, "%q", host)
		if code == 421 {
			assert.NotContains(t, body(t, r), "evil")
		}
	}
	assert.Equal(t, 421, ask(s, "GET", "/metrics", "Host", "evil.example").StatusCode, "on every route")
	assert.Equal(t, 421, ask(s, "GET", "/", "Host", "evil.example", "X-Forwarded-Host", "localhost").StatusCode)
}

func TestLanguage(t *testing.T) {
	s := still(t, shop(30080), Options{})
	for accept, want := range map[string]string{
		"": "en", "fr": "fr", "fr-CA,en;q=0.5": "fr", "en,fr;q=0.9": "en", "de,fr;q=0.3,en;q=0.2": "fr", "de": "en", "*": "en",
		"fr;q=0": "en", "fr;q=x": "en", "fr;q=9": "en", "fr;q=NaN": "en", ";;,,;q=,": "en", "FR": "fr", "en;q=0.1, fr; q=0.2": "fr",
	} {
		r := ask(s, "GET", "/", "Accept-Language", accept)
		assert.Equal(t, want, r.Header.Get("Content-Language"), "%q", accept)
		assert.Equal(t, "Accept-Language", r.Header.Get("Vary"))
	}
	assert.Equal(t, "fr", ask(s, "GET", "/?lang=fr", "Accept-Language", "en").Header.Get("Content-Language"))
	assert.Equal(t, "en", ask(s, "GET", "/?lang=xx").Header.Get("Content-Language"))
}

func TestPollingCostsNothingWhileNothingChanges(t *testing.T) {
	cluster := newFake(shop(30080))
	s, _ := serving(t, cluster, Options{})
	for _, target := range []string{"/", "/?lang=fr", "/api/v1/view", "/assets/portal.js"} {
		first := ask(s, "GET", target)
		tag := first.Header.Get("ETag")
		require.NotEmpty(t, tag, target)
		for _, sent := range []string{tag, `"other", ` + tag, "*", strings.TrimPrefix(tag, "W/")} {
			again := ask(s, "GET", target, "If-None-Match", sent)
			assert.Equal(t, http.StatusNotModified, again.StatusCode, "%s %s", target, sent)
			assert.Empty(t, body(t, again))
			assert.Equal(t, tag, again.Header.Get("ETag"))
		}
		assert.Equal(t, http.StatusOK, ask(s, "GET", target, "If-None-Match", `"other"`).StatusCode)
	}
	english, french := ask(s, "GET", "/").Header.Get("ETag"), ask(s, "GET", "/?lang=fr").Header.Get("ETag")
	assert.NotEqual(t, english, french)

	// Time alone is no change, and is told all the same.
	later := shop(30080)
	later.ObservedAt = later.ObservedAt.Add(time.Hour)
	cluster.set(later)
	require.Eventually(t, func() bool {
		r := ask(s, "GET", "/", "If-None-Match", english)
		assert.Equal(t, http.StatusNotModified, r.StatusCode)
		return r.Header.Get(portal.ObservedAtHeader) == later.ObservedAt.UTC().Format(time.RFC3339)
	}, 20*time.Second, 20*time.Millisecond)
	var view portal.View
	require.NoError(t, json.Unmarshal([]byte(body(t, ask(s, "GET", "/api/v1/view"))), &view))
	assert.WithinDuration(t, later.ObservedAt, view.ObservedAt, time.Second, "a whole answer has the present time")

	cluster.set(shop(30081))
	require.Eventually(t, func() bool { return ask(s, "GET", "/", "If-None-Match", english).StatusCode == http.StatusOK }, 20*time.Second, 20*time.Millisecond)
}

func TestContractIsReadAnew(t *testing.T) {
	dir := t.TempDir()
	// as a ConfigMap is mounted
	mount := func(version, text string) {
		require.NoError(t, os.Mkdir(filepath.Join(dir, version), 0o700))
		writeContract(t, filepath.Join(dir, version, "endpoints.yaml"), text)
		require.NoError(t, os.Symlink(version, filepath.Join(dir, "..data_tmp")))
		require.NoError(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	}
	mount("..1", promise)
	require.NoError(t, os.Symlink("..data/endpoints.yaml", filepath.Join(dir, "endpoints.yaml")))
	contract, err := OpenContract(filepath.Join(dir, "endpoints.yaml"))
	require.NoError(t, err)
	s, _ := serving(t, newFake(shop(30080)), Options{Contract: contract})
	view := func() (v portal.View) {
		require.NoError(t, json.Unmarshal([]byte(body(t, ask(s, "GET", "/api/v1/view"))), &v))
		return v
	}
	eventually := func(is func() bool) {
		t.Helper()
		require.Eventually(t, is, 30*time.Second, 50*time.Millisecond)
	}
	metrics := func() string { return body(t, ask(s, "GET", "/metrics")) }
	assert.Contains(t, metrics(), "nestor_portal_contract_faulty 0")
	assert.Equal(t, 404, ask(s, "GET", "/go/new-ui").StatusCode)

	mount("..2", promise+"  - {id: new-ui, service: web, namespace: shop, port: 80, protocol: http, exposed: true, source: web.yaml, auth: none}\n")
	eventually(func() bool { return ask(s, "GET", "/go/new-ui").StatusCode == 302 })
	mount("..3", promise+"  - {id: [}\n")
	eventually(func() bool { return view().ContractProblem != "" })
	assert.Equal(t, 302, ask(s, "GET", "/go/new-ui").StatusCode, "the one of before holds")
	assert.Contains(t, metrics(), "nestor_portal_contract_faulty 1")
	assert.Contains(t, metrics(), `nestor_portal_contract_reloads_total{outcome="refused"} 1`)
	assert.Contains(t, body(t, ask(s, "GET", "/")), "The contract&#39;s file has a fault", "the page says so")
	require.NoError(t, os.Remove(filepath.Join(dir, "..data")))
	eventually(func() bool { return strings.Contains(view().ContractProblem, "no such file") })
	mount("..4", promise)
	eventually(func() bool { return ask(s, "GET", "/go/new-ui").StatusCode == 404 })
	assert.Empty(t, view().ContractProblem)
	assert.Contains(t, metrics(), `nestor_portal_contract_reloads_total{outcome="taken"} 2`)
}

func TestContractThatCannotBeOpened(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"empty": "", "broken": "a: [", "none": ""} {
		file := filepath.Join(dir, name+".yaml")
		if name != "none" {
			writeContract(t, file, text)
		}
		_, err := OpenContract(file)
		require.Error(t, err, name)
		assert.Contains(t, err.Error(), name+".yaml")
		assert.NotContains(t, err.Error(), "\n")
	}
	_, err := OpenContract(dir)
	assert.ErrorContains(t, err, "endpoints.yaml")
}

func TestMetrics(t *testing.T) {
	snapshot := shop(30080)
	readable := true
	snapshot.SecretsReadable = &readable
	snapshot.Services = append(snapshot.Services, portal.Service{
		Namespace: "shop", Name: "back-door", Type: "NodePort", Ports: []portal.ServicePort{{Port: 22, NodePort: 30022, Protocol: "TCP"}},
	})
	dir := t.TempDir()
	twice := filepath.Join(dir, "endpoints.yaml")
	writeContract(t, twice, promise+"  - {id: web-ui, service: web, namespace: shop, port: 80, protocol: http, exposed: true, source: web.yaml, auth: none}\n")
	contract, err := OpenContract(twice) // an id twice is a fault; what can be shown is shown
	require.NoError(t, err)
	s := still(t, snapshot, Options{Contract: contract})
	ask(s, "GET", "/")
	ask(s, "GET", "/nothing")
	text := body(t, ask(s, "GET", "/metrics"))
	for _, line := range []string{
		`nestor_portal_endpoint{id="web-ui",layer="`, `verdict="MATCH"} 1`, `verdict="MISSING"} 1`, "nestor_portal_extras 1", "nestor_portal_snapshot_age_seconds ",
		`nestor_portal_watch_errors_total{resource="services"} 3`, `nestor_portal_source_state{resource="nodes",state="synced"} 1`, "nestor_portal_secrets_readable 1",
		`nestor_portal_http_requests_total{code="200",route="GET /{$}"} 1`, `nestor_portal_http_requests_total{code="404",route="other"} 1`, "nestor_portal_contract_faulty 1",
	} {
		assert.Contains(t, text, line)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	require.NoError(t, err)
	assert.Contains(t, families, "go_goroutines")
}

// A client chooses from closed lists: whatever it sends, it makes the server
// keep no more than a few pages.
func TestClientsCannotFillTheMemory(t *testing.T) {
	snapshot := shop(30080)
	for i := range 200 {
		snapshot.Nodes = append(snapshot.Nodes, portal.Node{Name: fmt.Sprintf("n%d", i), Ready: true, Addresses: []portal.Address{{Type: "InternalIP", Address: fmt.Sprintf("192.0.2.%d", i+20)}}})
	}
	s := still(t, snapshot, Options{})
	for i := range 200 {
		assert.Equal(t, 200, ask(s, "GET", fmt.Sprintf("/?lang=%d&x=%d", i, i), "Host", fmt.Sprintf("192.0.2.%d", i+20), "Accept-Language", fmt.Sprintf("x%d", i)).StatusCode)
		assert.Equal(t, 200, ask(s, "GET", "/", "Host", fmt.Sprintf("203.0.113.%d", i)).StatusCode)
	}
	e := s.edition.Load()
	assert.LessOrEqual(t, len(e.views), mostHosts)
	for _, v := range e.views {
		assert.LessOrEqual(t, len(v.pages), len(portal.Languages()))
	}
	assert.NotNil(t, e.whole())
}

func TestNewRefuses(t *testing.T) {
	_, err := New(Options{})
	assert.ErrorContains(t, err, "needs a cluster")
	name := filepath.Join(t.TempDir(), "endpoints.yaml")
	writeContract(t, name, promise)
	contract, err := OpenContract(name)
	require.NoError(t, err)
	_, err = New(Options{Cluster: newFake(shop(1)), Contract: contract, AllowHosts: []string{"a b"}})
	assert.ErrorContains(t, err, "neither a name nor an address")
}
