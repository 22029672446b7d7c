package probe_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/netns"
	"github.com/nestor-tools/nestor/portal/probe"
)

// quick is long enough for a machine under load, and short for what never
// answers.
const quick = 4 * time.Second

// serveHTTP runs a web server until the test ends.
func serveHTTP(t *testing.T, l net.Listener, handler http.HandlerFunc) {
	t.Helper()
	server := &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0)}
	go server.Serve(l) //nolint:errcheck // ends with the test
	t.Cleanup(func() { _ = server.Close() })
}

// serveRaw hands each connection to a function.
func serveRaw(t *testing.T, l net.Listener, f func(*net.TCPConn)) {
	t.Helper()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go f(c.(*net.TCPConn))
		}
	}()
}

// certificate makes one; a nil parent signs itself.
func certificate(t *testing.T, template x509.Certificate, parent *tls.Certificate) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template.SerialNumber = big.NewInt(1)
	template.Subject = pkix.Name{CommonName: "ui"}
	if template.NotBefore.IsZero() {
		template.NotBefore = time.Now().Add(-time.Hour)
	}
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(time.Hour)
	}
	issuer, signer := &template, any(key)
	if parent != nil {
		issuer, err = x509.ParseCertificate(parent.Certificate[0])
		require.NoError(t, err)
		signer = parent.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, issuer, &key.PublicKey, signer)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func page(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<title>ui</title>") }

// Each way in which a UI can be reached, or not, made for real: servers in a
// network namespace, behind the kernel's own forwarding of node ports.
func TestRun_EachWay(t *testing.T) {
	n := netns.New(t, 2)
	node := n.Nodes[0]
	ip := net.IP(node.AsSlice())
	own := certificate(t, x509.Certificate{IPAddresses: []net.IP{ip}}, nil)
	ca := certificate(t, x509.Certificate{IsCA: true, BasicConstraintsValid: true, DNSNames: []string{"ca"}}, nil)
	var seen atomic.Pointer[http.Request]

	secure := func(c tls.Certificate, change ...func(*tls.Config)) func(*testing.T, net.Listener) {
		return func(t *testing.T, l net.Listener) {
			config := &tls.Config{Certificates: []tls.Certificate{c}}
			for _, f := range change {
				f(config)
			}
			serveHTTP(t, tls.NewListener(l, config), page)
		}
	}
	web := func(f http.HandlerFunc) func(*testing.T, net.Listener) {
		return func(t *testing.T, l net.Listener) { serveHTTP(t, l, f) }
	}
	raw := func(f func(*net.TCPConn)) func(*testing.T, net.Listener) {
		return func(t *testing.T, l net.Listener) { serveRaw(t, l, f) }
	}
	redirect := func(to string) func(*testing.T, net.Listener) {
		return web(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Location", to); w.WriteHeader(302) })
	}
	hold := func(c *net.TCPConn) { t.Cleanup(func() { _ = c.Close() }) }

	cases := []struct {
		name   string
		scheme string
		serve  func(*testing.T, net.Listener) // behind the node port
		filter string                         // what the kernel does at the node port
		host   netip.Addr                     // another address than the node's
		state  probe.State
		kind   probe.Kind
		says   string // in message or hints
		check  func(*testing.T, probe.Result)
	}{
		{name: "a page", serve: web(func(w http.ResponseWriter, r *http.Request) { seen.Store(r); page(w, r) }), state: probe.Reachable, check: func(t *testing.T, r probe.Result) {
			assert.Equal(t, 200, r.Status)
			assert.Positive(t, r.ConnectMS)
			assert.GreaterOrEqual(t, r.TotalMS, r.ConnectMS)
			assert.Nil(t, r.TLS)
			request := seen.Load()
			assert.Equal(t, "GET", request.Method)
			assert.Equal(t, "/ui?x=1", request.RequestURI)
			assert.Empty(t, request.Header.Get("Authorization"))
			assert.Empty(t, request.Header.Get("Cookie"))
		}},
		{name: "a login", serve: web(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }), state: probe.Reachable, says: "who asks"},
		{name: "a redirect on the same host", serve: redirect("/login"), state: probe.Reachable, check: func(t *testing.T, r probe.Result) {
			assert.Contains(t, r.Redirect, "/login")
			assert.Empty(t, r.Hints)
		}},
		{name: "a redirect to another host", serve: redirect("https://user:secret@ui.example.org/login"), state: probe.Reachable, says: "another host", check: func(t *testing.T, r probe.Result) {
			assert.Equal(t, "https://ui.example.org/login", r.Redirect)
		}},
		{name: "a redirect to no page", serve: redirect("javascript:alert(1)"), state: probe.Reachable, says: "no web page"},
		{name: "a redirect to a file", serve: redirect("file:///etc/passwd"), state: probe.Reachable, says: "no web page"},
		{name: "early hints first", serve: web(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(103); page(w, r) }), state: probe.Reachable},
		{name: "an endless page", serve: web(func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		}), state: probe.Reachable},
		{name: "not found", serve: web(http.NotFound), state: probe.Failed, kind: probe.BadStatus, says: "path:"},
		{name: "nothing behind the ingress", serve: web(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }), state: probe.Failed, kind: probe.BadStatus, says: "503"},

		{name: "self-signed", scheme: "https", serve: secure(own), state: probe.Reachable, check: func(t *testing.T, r probe.Result) {
			require.NotNil(t, r.TLS)
			assert.Equal(t, []probe.TLSProblem{probe.SelfSigned}, r.TLS.Problems)
			assert.Equal(t, "TLS 1.3", r.TLS.Version)
			assert.Equal(t, []string{node.String()}, r.TLS.Names)
		}},
		{name: "expired, of another name", scheme: "https", serve: secure(certificate(t, x509.Certificate{DNSNames: []string{"other"}, NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(-time.Hour)}, nil)),
			state: probe.Reachable, check: func(t *testing.T, r probe.Result) {
				assert.ElementsMatch(t, []probe.TLSProblem{probe.Expired, probe.WrongName, probe.SelfSigned}, r.TLS.Problems)
			}},
		{name: "of an unknown authority, not yet valid", scheme: "https", serve: secure(certificate(t, x509.Certificate{IPAddresses: []net.IP{ip}, NotBefore: time.Now().Add(time.Hour), NotAfter: time.Now().Add(2 * time.Hour)}, &ca)),
			state: probe.Reachable, check: func(t *testing.T, r probe.Result) {
				assert.ElementsMatch(t, []probe.TLSProblem{probe.NotYetValid, probe.UnknownAuthority}, r.TLS.Problems)
			}},
		{name: "old TLS", scheme: "https", serve: secure(own, func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS11, tls.VersionTLS11 }), state: probe.Reachable, check: func(t *testing.T, r probe.Result) {
			assert.Equal(t, "TLS 1.1", r.TLS.Version)
		}},
		{name: "a client's certificate wanted", scheme: "https", serve: secure(own, func(c *tls.Config) { c.ClientAuth = tls.RequireAnyClientCert }), state: probe.Failed, kind: probe.TLSFailed, says: "refuses TLS"},
		{name: "a client's certificate wanted, before TLS 1.3", scheme: "https", serve: secure(own, func(c *tls.Config) { c.ClientAuth, c.MaxVersion = tls.RequireAnyClientCert, tls.VersionTLS12 }), state: probe.Failed, kind: probe.TLSFailed, says: "refuses TLS"},
		{name: "a certificate that is none", scheme: "https", serve: secure(tls.Certificate{Certificate: [][]byte{[]byte("none")}, PrivateKey: own.PrivateKey}), state: probe.Failed, kind: probe.TLSFailed, says: "certificate"},
		{name: "TLS that wants a certificate on an http promise", serve: secure(own, func(c *tls.Config) { c.ClientAuth, c.MaxVersion = tls.RequireAnyClientCert, tls.VersionTLS12 }), state: probe.Failed, kind: probe.WrongScheme, says: "scheme: https"},
		{name: "400 to all", scheme: "http", serve: web(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(400) }), state: probe.Failed, kind: probe.BadStatus},

		{name: "TLS on an http promise", serve: secure(own), state: probe.Failed, kind: probe.WrongScheme, says: "scheme: https", check: func(t *testing.T, r probe.Result) {
			assert.NotNil(t, r.TLS)
		}},
		{name: "TLS that hangs up on http", serve: raw(func(c *net.TCPConn) {
			b := make([]byte, 5)
			if _, err := io.ReadFull(c, b); err == nil && b[0] == 0x16 { // a TLS handshake
				_ = tls.Server(&replay{c, b}, &tls.Config{Certificates: []tls.Certificate{own}}).Handshake()
			}
			_ = c.Close()
		}), state: probe.Failed, kind: probe.WrongScheme, says: "speaks https"},
		{name: "http on a TLS promise", scheme: "https", serve: web(page), state: probe.Failed, kind: probe.WrongScheme, says: "scheme: http "},

		{name: "nothing listens", state: probe.Failed, kind: probe.Refused, says: "NetworkPolicy"},
		{name: "the kernel drops", filter: "drop", state: probe.Failed, kind: probe.TimedOut, says: "vanish"},
		{name: "a firewall resets", filter: "reject with tcp reset", state: probe.Failed, kind: probe.Refused},
		{name: "a router says no", filter: "reject with icmp host-unreachable", state: probe.Failed, kind: probe.NoRoute},
		{name: "an address that nobody has", host: n.Nobody, state: probe.Failed, kind: probe.NoRoute},
		{name: "silence", serve: raw(hold), state: probe.Failed, kind: probe.Silent, says: "NetworkPolicy"},
		{name: "silence, with TLS", scheme: "https", serve: raw(hold), state: probe.Failed, kind: probe.Silent},
		{name: "one byte each second", serve: raw(func(c *net.TCPConn) {
			for {
				if _, err := c.Write([]byte("H")); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		}), state: probe.Failed, kind: probe.Silent},
		{name: "reset", serve: raw(func(c *net.TCPConn) {
			b := make([]byte, 1)
			_, _ = c.Read(b)
			_ = c.SetLinger(0)
			_ = c.Close()
		}), state: probe.Failed, kind: probe.Reset},
		{name: "closed", serve: raw(func(c *net.TCPConn) { _, _ = io.CopyN(io.Discard, c, 60); _ = c.CloseWrite(); hold(c) }), state: probe.Failed, kind: probe.Closed},
		{name: "no HTTP", serve: raw(func(c *net.TCPConn) { fmt.Fprint(c, "220 \x1b[31mmail\r\n"); hold(c) }), state: probe.Failed, kind: probe.NotHTTP, check: func(t *testing.T, r probe.Result) {
			assert.NotContains(t, r.Message, "\x1b")
		}},
		{name: "HTTP/0.9", serve: raw(func(c *net.TCPConn) { fmt.Fprint(c, "<html>old</html>\n"); _ = c.CloseWrite(); hold(c) }), state: probe.Failed, kind: probe.NotHTTP},
		{name: "early hints without end", serve: raw(func(c *net.TCPConn) {
			for {
				if _, err := fmt.Fprint(c, "HTTP/1.1 103 Early Hints\r\n\r\n"); err != nil {
					return
				}
			}
		}), state: probe.Failed, kind: probe.NotHTTP, says: "longer than 64 KiB"},
		{name: "an endless head", serve: raw(func(c *net.TCPConn) {
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\n")
			for {
				if _, err := fmt.Fprintf(c, "X-A: %s\r\n", strings.Repeat("a", 1000)); err != nil {
					return
				}
			}
		}), state: probe.Failed, kind: probe.NotHTTP, says: "longer than 64 KiB"},
	}
	var targets []probe.Target
	for i, c := range cases {
		port := 30100 + i
		if c.serve != nil {
			l := n.Listen(t, "10.244.0.1:0")
			c.serve(t, l)
			n.Forward(t, port, l)
		}
		if c.filter != "" {
			n.Filter(t, port, c.filter)
		}
		host, scheme := node, "http"
		if c.host.IsValid() {
			host = c.host
		}
		if c.scheme != "" {
			scheme = c.scheme
		}
		targets = append(targets, probe.Target{Endpoint: c.name, Node: "node1", URL: fmt.Sprintf("%s://%s:%d/ui?x=1", scheme, host, port)})
	}
	progress := 0
	results := probe.Run(t.Context(), targets, probe.Options{Timeout: quick, Progress: func(done, total int) {
		progress++
		assert.Equal(t, progress, done)
		assert.Equal(t, len(cases), total)
	}})
	require.Len(t, results, len(cases))
	assert.Equal(t, len(cases), progress)
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := results[i]
			assert.Equal(t, c.state, r.State, "%+v", r)
			assert.Equal(t, c.kind, r.Kind, "%+v", r)
			assert.Equal(t, c.name, r.Endpoint)
			assert.Contains(t, r.Message+" "+strings.Join(r.Hints, " ")+" ", c.says)
			assert.NotContains(t, r.Message, "\n")
			if c.check != nil {
				c.check(t, r)
			}
		})
	}
}

// replay gives back what was read already.
type replay struct {
	net.Conn
	first []byte
}

func (r *replay) Read(b []byte) (int, error) {
	if len(r.first) == 0 {
		return r.Conn.Read(b)
	}
	n := copy(b, r.first)
	r.first = r.first[n:]
	return n, nil
}

// A page that never ends, and says nothing for now, is not waited for.
func TestRun_Stream(t *testing.T) {
	n := netns.New(t, 1)
	serveHTTP(t, n.Listen(t, ":30000"), func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	begin := time.Now()
	r := probe.Run(t.Context(), []probe.Target{{URL: fmt.Sprintf("http://%s:30000/", n.Nodes[0])}}, probe.Options{Timeout: time.Minute})
	assert.Equal(t, probe.Reachable, r[0].State, "%+v", r[0])
	assert.Less(t, time.Since(begin), 30*time.Second)
}

// Nodes may have IPv6 addresses.
func TestRun_IPv6(t *testing.T) {
	l, err := net.Listen("tcp6", "[::1]:0")
	require.NoError(t, err)
	serveHTTP(t, l, page)
	r := probe.Run(t.Context(), []probe.Target{{URL: "http://" + l.Addr().String() + "/ui"}}, probe.Options{Timeout: time.Minute})
	assert.Equal(t, probe.Reachable, r[0].State, "%+v", r[0])
}

// At most so many are tried at once.
func TestRun_Parallel(t *testing.T) {
	n := netns.New(t, 1)
	l := n.Listen(t, ":30000")
	var now, most atomic.Int32
	serveHTTP(t, l, func(http.ResponseWriter, *http.Request) {
		if at := now.Add(1); at > most.Load() {
			most.Store(at)
		}
		time.Sleep(50 * time.Millisecond)
		now.Add(-1)
	})
	var targets []probe.Target
	for range 12 {
		targets = append(targets, probe.Target{Endpoint: "ui", URL: fmt.Sprintf("http://%s:30000/", n.Nodes[0])})
	}
	for _, r := range probe.Run(t.Context(), targets, probe.Options{Parallel: 3}) {
		assert.Equal(t, probe.Reachable, r.State, "%+v", r)
	}
	assert.LessOrEqual(t, most.Load(), int32(3))
	assert.GreaterOrEqual(t, most.Load(), int32(2), "it is in parallel")
}

// An interruption ends what is under way, and is not taken for an answer.
func TestRun_Interrupted(t *testing.T) {
	n := netns.New(t, 1)
	serveRaw(t, n.Listen(t, ":30000"), func(c *net.TCPConn) { t.Cleanup(func() { _ = c.Close() }) })
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, cancel)
	begin := time.Now()
	targets := []probe.Target{{URL: fmt.Sprintf("http://%s:30000/", n.Nodes[0])}, {URL: fmt.Sprintf("http://%s:30000/", n.Nodes[0])}}
	for _, r := range probe.Run(ctx, targets, probe.Options{Parallel: 1, Timeout: time.Minute}) {
		assert.Equal(t, probe.Failed, r.State)
		assert.Equal(t, probe.Stopped, r.Kind)
	}
	assert.Less(t, time.Since(begin), 30*time.Second)
}
