package faultproxy_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/faultproxy"
)

const (
	added    = `{"type":"ADDED","object":{"metadata":{"name":"a"}}}`
	bookmark = `{"type":"BOOKMARK","object":{"metadata":{"annotations":{"k8s.io/initial-events-end":"true"}}}}`
)

// start puts a proxy in front of a server that answers a watch with an event,
// a bookmark and an event, then waits; anything else with "server" and the
// caller's token.
func start(t *testing.T) (*faultproxy.Proxy, *http.Client) {
	t.Helper()
	upstream := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") != "true" {
			_, _ = io.WriteString(w, "server "+r.Header.Get("Authorization"))
			return
		}
		for _, event := range []string{added, bookmark, added} {
			_, _ = io.WriteString(w, event+"\n")
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
	}))
	t.Cleanup(upstream.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: upstream.Certificate().Raw})
	proxy, err := faultproxy.Start(upstream.URL, ca)
	require.NoError(t, err)
	t.Cleanup(proxy.Close)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(proxy.CA))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return proxy, &http.Client{Transport: transport, Timeout: 30 * time.Second}
}

func get(t *testing.T, client *http.Client, url string) (int, string) {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, url, nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer me")
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

func TestProxy_WithoutFaultsIsTransparent(t *testing.T) {
	proxy, client := start(t)
	code, body := get(t, client, proxy.URL+"/api/v1/services")
	assert.Equal(t, 200, code)
	assert.Equal(t, "server Bearer me", body)
}

func TestProxy_ForbiddenIsPerResource(t *testing.T) {
	proxy, client := start(t)
	proxy.Set(faultproxy.Fault{Kind: faultproxy.Forbidden, Resource: "services"})
	for path, want := range map[string]int{
		"/api/v1/services":                                        403,
		"/api/v1/namespaces/a/services":                           403,
		"/api/v1/namespaces/a/services/b/status":                  403,
		"/api/v1/nodes":                                           200,
		"/api/v1/namespaces/services":                             200,
		"/api/v1/namespaces/services/finalize":                    200,
		"/apis/discovery.k8s.io/v1/namespaces/services/endpoints": 200,
		"/apis/serving.knative.dev/v1/namespaces/a/services":      403,
		"/apis/discovery.k8s.io/v1/endpointslices":                200,
		"/readyz": 200,
		"/api/v1": 200,
	} {
		code, body := get(t, client, proxy.URL+path)
		assert.Equal(t, want, code, path)
		if want == 403 {
			assert.Contains(t, body, `"reason":"Forbidden"`, path)
		}
	}
	assert.Equal(t, 4, proxy.Hits(faultproxy.Forbidden))
	proxy.Set()
	code, _ := get(t, client, proxy.URL+"/api/v1/services")
	assert.Equal(t, 200, code, "a fault lifted is gone")
}

func TestProxy_GoneOnlyWhenAWatchResumes(t *testing.T) {
	proxy, client := start(t)
	proxy.Set(faultproxy.Fault{Kind: faultproxy.Gone, Resource: "services"})
	code, body := get(t, client, proxy.URL+"/api/v1/services?watch=true&resourceVersion=7")
	assert.Equal(t, 200, code, "the error is an event of the stream")
	assert.Contains(t, body, `"type":"ERROR"`)
	assert.Contains(t, body, `"code":410`)
	assert.Equal(t, 1, proxy.Hits(faultproxy.Gone))

	code, body = get(t, client, proxy.URL+"/api/v1/services?resourceVersion=7")
	assert.Equal(t, 200, code)
	assert.Equal(t, "server Bearer me", body, "a list is served")
	for _, query := range []string{"watch=true", "watch=true&resourceVersion=0", "watch=true&resourceVersion=7&sendInitialEvents=true"} {
		assert.Contains(t, watch(t, client, proxy.URL+"/api/v1/services?"+query)(), "ADDED", query)
	}
	assert.Equal(t, 1, proxy.Hits(faultproxy.Gone))
}

// watch opens a watch and returns a function that reads its next event, "" at
// its end.
func watch(t *testing.T, client *http.Client, url string) func() string {
	t.Helper()
	response, err := client.Get(url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	lines := bufio.NewScanner(response.Body)
	return func() string {
		if !lines.Scan() {
			return ""
		}
		return lines.Text()
	}
}

func TestProxy_NoBookmarkKeepsTheOtherEvents(t *testing.T) {
	proxy, client := start(t)
	url := proxy.URL + "/api/v1/services?watch=true&sendInitialEvents=true"
	next := watch(t, client, url)
	assert.Equal(t, []string{added, bookmark, added}, []string{next(), next(), next()})

	proxy.Set(faultproxy.Fault{Kind: faultproxy.NoBookmark, Resource: "services"})
	next = watch(t, client, url)
	assert.Equal(t, []string{added, added}, []string{next(), next()})
	assert.Equal(t, 1, proxy.Hits(faultproxy.NoBookmark))
}

func TestProxy_SilentKeepsTheWatchOpen(t *testing.T) {
	proxy, client := start(t)
	proxy.Set(faultproxy.Fault{Kind: faultproxy.Silent, Resource: "services"})
	line := make(chan string, 1)
	go func() {
		response, err := client.Get(proxy.URL + "/api/v1/services?watch=true&sendInitialEvents=true")
		if err != nil {
			line <- err.Error()
			return
		}
		defer response.Body.Close()
		b := make([]byte, 1)
		n, err := response.Body.Read(b)
		line <- fmt.Sprint(n, err)
	}()
	require.Eventually(t, func() bool { return proxy.Hits(faultproxy.Silent) >= 3 }, 20*time.Second, 10*time.Millisecond)
	select {
	case got := <-line:
		t.Errorf("the client was told something: %s", got)
	case <-time.After(100 * time.Millisecond):
	}
	proxy.Cut()
	assert.NotEmpty(t, <-line)
	assert.Equal(t, added, watch(t, client, proxy.URL+"/api/v1/nodes?watch=true")(), "other resources speak")
}

func TestProxy_CutEndsOpenWatches(t *testing.T) {
	proxy, client := start(t)
	next := watch(t, client, proxy.URL+"/api/v1/nodes?watch=true")
	require.Equal(t, added, next())
	proxy.Cut()
	for range 2 { // what was already on its way
		if next() == "" {
			break
		}
	}
	assert.Empty(t, next(), "the stream has ended")
	code, _ := get(t, client, proxy.URL+"/api/v1/nodes")
	assert.Equal(t, 200, code, "new connections are served")
}

func TestProxy_AbortedIsNoAnswer(t *testing.T) {
	proxy, client := start(t)
	proxy.Set(faultproxy.Fault{Kind: faultproxy.Aborted})
	response, err := client.Get(proxy.URL + "/readyz")
	if err == nil {
		_ = response.Body.Close()
	}
	assert.Error(t, err)
	assert.Positive(t, proxy.Hits(faultproxy.Aborted))
}

func TestProxy_DelayedComesLate(t *testing.T) {
	proxy, client := start(t)
	const delay = 300 * time.Millisecond
	proxy.Set(faultproxy.Fault{Kind: faultproxy.Delayed, Resource: "nodes", Delay: delay})
	begin := time.Now()
	code, _ := get(t, client, proxy.URL+"/api/v1/nodes")
	assert.Equal(t, 200, code)
	assert.GreaterOrEqual(t, time.Since(begin), delay)
	assert.Equal(t, 1, proxy.Hits(faultproxy.Delayed))
}

func TestProxy_ServerDownIsABrokenConnection(t *testing.T) {
	upstream := httptest.NewTLSServer(http.NotFoundHandler())
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: upstream.Certificate().Raw})
	proxy, err := faultproxy.Start(upstream.URL, ca)
	require.NoError(t, err)
	defer proxy.Close()
	upstream.Close()
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(proxy.CA))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	response, err := client.Get(proxy.URL + "/readyz")
	if err == nil {
		_ = response.Body.Close()
	}
	assert.Error(t, err)
}

func TestStart_RefusesACAWithoutCertificate(t *testing.T) {
	_, err := faultproxy.Start("https://127.0.0.1:1", []byte("not PEM"))
	assert.ErrorContains(t, err, "no certificate")
}
