package serve

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/portal"
)

// raw sends bytes as they are, and gives the status code of the answer; 0 where
// the server closed without one.
func raw(t *testing.T, url, text string) int {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	_, _ = io.WriteString(conn, text) // the server may close before it has all
	r, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	defer r.Body.Close()
	return r.StatusCode
}

func TestRequestsThatNoBrowserSends(t *testing.T) {
	_, url := serving(t, newFake(shop(30080)), Options{})
	for name, c := range map[string]struct {
		text  string
		codes []int
	}{
		"no Host, HTTP/1.0":        {"GET / HTTP/1.0\r\n\r\n", []int{421}},
		"no Host, HTTP/1.1":        {"GET / HTTP/1.1\r\n\r\n", []int{400}},
		"two Hosts":                {"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", []int{400}},
		"the Host of the target":   {"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n", []int{421}},
		"a Host that is a list":    {"GET / HTTP/1.1\r\nHost: localhost, evil.example\r\n\r\n", []int{400, 421}},
		"a Host that is folded":    {"GET / HTTP/1.1\r\nHost: localhost\r\n evil.example\r\n\r\n", []int{400, 421}},
		"another protocol":         {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", []int{400, 421, 505}},
		"TLS":                      {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", []int{0, 400}},
		"a tunnel":                 {"CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n", []int{400, 404, 405, 421}},
		"a path that climbs":       {"GET /assets/../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", []int{301, 307, 308, 404}},
		"a path that leads away":   {"GET //evil.example/%2f.. HTTP/1.1\r\nHost: localhost\r\n\r\n", []int{301, 307, 308, 404}},
		"a header beyond all":      {"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("a", 1<<20) + "\r\n\r\n", []int{0, 431}},
		"headers beyond all":       {"GET / HTTP/1.1\r\nHost: localhost\r\n" + strings.Repeat("X: a\r\n", 1<<16) + "\r\n", []int{0, 431}},
		"a target beyond all":      {"GET /" + strings.Repeat("a", 1<<20) + " HTTP/1.1\r\nHost: localhost\r\n\r\n", []int{0, 431}},
		"a body on a GET":          {"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc", []int{200}},
		"two lengths":              {"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", []int{200, 400}},
		"a large tag":              {"GET / HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: " + strings.Repeat(`"a",`, 3000) + "\r\n\r\n", []int{200}},
		"a language for each byte": {"GET / HTTP/1.1\r\nHost: localhost\r\nAccept-Language: " + strings.Repeat("a-", 6000) + "\r\n\r\n", []int{200}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Contains(t, c.codes, raw(t, url, c.text))
		})
	}
	assert.Equal(t, 200, raw(t, url, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"), "it serves on")
}

// Whatever is asked for, only what was observed leads out of the portal; and
// what one client is shown is not what another's headers say.
func TestNothingLeadsAway(t *testing.T) {
	s := still(t, shop(30080), Options{})
	plain := body(t, ask(s, "GET", "/"))
	for _, target := range []string{
		"/go//evil.example", "/go/%2f%2fevil.example", "/go/http://evil.example", "/go/http:%2f%2fevil.example", "/go/..//evil.example", "/go/%5cevil.example",
		"//evil.example", "//evil.example/..", "/%2fevil.example/..", `/\evil.example/..`, "/go/../../evil.example", "/go/web-ui/../..//evil.example", "/go/web-ui%00", "/go/web-ui/",
	} {
		for _, header := range []string{"Referer", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Prefix", "Forwarded", "X-Original-URL", "X-Rewrite-URL", "Origin"} {
			r := ask(s, "GET", target, header, "http://evil.example/")
			if to := r.Header.Get("Location"); to != "" {
				assert.Regexp(t, "^/([^/\\\\]|$)", to, target)
			}
			assert.Contains(t, []int{200, 301, 307, 308, 404}, r.StatusCode, target)
			assert.Equal(t, plain, body(t, ask(s, "GET", "/", header, "http://evil.example/")))
		}
	}
}

// A client that sends a byte now and then is cut off.
func TestSlowClients(t *testing.T) {
	_, url := serving(t, newFake(shop(30080)), Options{})
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	began := time.Now()
	require.NoError(t, conn.SetDeadline(began.Add(time.Minute)))
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: localhost\r\n")
	require.NoError(t, err)
	for err == nil && time.Since(began) < 40*time.Second {
		_, err = io.WriteString(conn, "X: a\r\n")
		time.Sleep(300 * time.Millisecond)
	}
	assert.Less(t, time.Since(began), 40*time.Second, "the limit is 5 s")
}

// Thousands of idle connections lock nobody out, and are not kept.
func TestMoreConnectionsThanThereIsRoomFor(t *testing.T) {
	s, url := serving(t, newFake(shop(30080)), Options{})
	const many = mostConnections * 2
	var held []net.Conn
	defer func() {
		for _, conn := range held {
			conn.Close()
		}
	}()
	for i := range many {
		conn, err := net.DialTimeout("tcp", strings.TrimPrefix(url, "http://"), 30*time.Second)
		if errors.Is(err, syscall.EMFILE) && os.Getenv("CI") == "" {
			t.Skipf("NOT RUN: a process may open only %d connections here; raise ulimit -n", i)
		}
		require.NoError(t, err, "connection %d", i)
		held = append(held, conn)
	}
	// On a slow machine some were cut for sending nothing before they had to
	// make room, so that how many did is not known.
	require.Eventually(t, func() bool {
		open, _ := s.connections.counts()
		return open <= mostConnections
	}, 30*time.Second, 50*time.Millisecond)
	assert.Equal(t, 200, raw(t, url, "GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
}

// Everything changes at once, while many look.
func TestChangesUnderLoad(t *testing.T) {
	cluster := newFake(shop(30080))
	name := filepath.Join(t.TempDir(), "endpoints.yaml")
	writeContract(t, name, promise)
	contract, err := OpenContract(name)
	require.NoError(t, err)
	s, url := serving(t, cluster, Options{Contract: contract})
	stop := time.Now().Add(3 * time.Second)
	var all sync.WaitGroup
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	for i := range 8 {
		all.Go(func() {
			for time.Now().Before(stop) {
				for _, path := range []string{"/", "/?lang=fr", "/api/v1/view", "/go/web-ui", "/metrics"} {
					r, err := http.NewRequest(http.MethodGet, url+path, nil)
					if !assert.NoError(t, err) {
						return
					}
					r.Host = fmt.Sprintf("192.0.2.%d", 11+i%3)
					answer, err := client.Do(r)
					if !assert.NoError(t, err) {
						return
					}
					_, err = io.Copy(io.Discard, answer.Body)
					assert.NoError(t, err)
					answer.Body.Close()
					assert.Less(t, answer.StatusCode, 400, path)
				}
			}
		})
	}
	for i := 0; time.Now().Before(stop); i++ {
		cluster.set(shop(30000 + i%2000))
		text := promise + fmt.Sprintf("  - {id: other-%d, service: web, namespace: shop, port: 80, protocol: http, exposed: true, source: a.yaml, auth: none}\n", i)
		if i%3 == 0 {
			text = text[:len(text)/2] // half a file
		}
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		s.reload()
		time.Sleep(5 * time.Millisecond)
	}
	all.Wait()
}

// Whatever a contract or a cluster holds, it stays text.
func TestHostileTexts(t *testing.T) {
	const evil = `"><script>alert(1)</script>`
	snapshot := shop(30080)
	snapshot.Services[0].Ports[0].Name = evil
	snapshot.Services = append(snapshot.Services, portal.Service{Namespace: evil, Name: "'; rm -rf / #", Type: "NodePort", Ports: []portal.ServicePort{{Port: 1, NodePort: 30001, Protocol: evil}}})
	snapshot.Nodes[0].Addresses = append(snapshot.Nodes[0].Addresses, portal.Address{Type: "ExternalIP", Address: "javascript:alert(1)"})
	snapshot.Sources[portal.Nodes] = portal.Source{State: portal.Denied, Since: time.Now(), Why: evil}
	name := filepath.Join(t.TempDir(), "endpoints.yaml")
	writeContract(t, name, strings.ReplaceAll(promise, "auth: none", `auth: none, scheme: "javascript", path: "//evil.example/`+"<script>"+`", note: '`+evil+`'`))
	contract, err := OpenContract(name)
	require.NoError(t, err)
	s := still(t, snapshot, Options{Contract: contract})
	for _, target := range []string{"/", "/?lang=fr"} {
		page := []byte(body(t, ask(s, "GET", target)))
		assert.NotContains(t, string(page), "<script>alert")
		assert.NotContains(t, string(page), `href="javascript`)
		assert.Equal(t, 1, bytes.Count(page, []byte("<script")), "only the page's own")
	}
	for id := range s.edition.Load().whole().entries {
		r := ask(s, "GET", "/go/"+strings.NewReplacer("%", "%25", " ", "%20", "#", "%23", "<", "%3C", ">", "%3E", `"`, "%22", "?", "%3F").Replace(id))
		if to := r.Header.Get("Location"); r.StatusCode == http.StatusFound {
			assert.Regexp(t, `^https?://192\.0\.2\.1[12]:30080`, to)
		}
	}
}
