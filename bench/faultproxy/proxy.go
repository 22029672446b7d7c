// Package faultproxy stands between a Kubernetes client and a real API server,
// TLS on both sides, and makes that server fail the ways real ones do:
//
//	proxy, err := faultproxy.Start("https://127.0.0.1:6443", caPEM)
//	defer proxy.Close()
//	proxy.Set(
//		faultproxy.Fault{Kind: faultproxy.Forbidden, Resource: "services"},
//		faultproxy.Fault{Kind: faultproxy.Delayed, Delay: time.Second},
//	)
//	proxy.Cut()
//
// The client talks to proxy.URL and trusts proxy.CA; its credentials pass
// through. Without faults every answer is the server's own. It serves tests on
// 127.0.0.1, and does not carry exec, attach and port-forward faithfully.
package faultproxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"time"
)

// Kind is a way to fail.
type Kind int

const (
	// Forbidden answers 403, as RBAC does.
	Forbidden Kind = iota
	// Gone tells a watch that resumes from a resourceVersion that this version
	// is gone (410, as an event of the stream, then its end), as a server does
	// after a compaction. A watch that begins afresh is served.
	Gone
	// Delayed holds the request back for Fault.Delay.
	Delayed
	// NoBookmark takes the bookmarks out of watches: a client that waits for
	// the end of the initial events waits for ever.
	NoBookmark
	// Silent takes every event out of watches, and keeps them open.
	Silent
	// Aborted closes the connection (HTTP/1) or the stream (HTTP/2) in place
	// of an answer.
	Aborted

	kinds
)

// Fault is one thing that goes wrong.
type Fault struct {
	Kind Kind
	// Resource is the plural name that the URL holds ("services"); "" is every
	// request.
	Resource string
	// Delay is for Delayed only.
	Delay time.Duration
}

// Proxy is a running proxy. Its methods may be called at any time.
type Proxy struct {
	URL string // https://127.0.0.1:port
	CA  []byte // PEM

	server  *httptest.Server
	reverse *httputil.ReverseProxy
	faults  atomic.Pointer[[]Fault]
	hits    [kinds]atomic.Int64
}

// Start runs a proxy in front of the server at upstream, whose certificate is
// checked against ca (PEM).
func Start(upstream string, ca []byte) (*Proxy, error) {
	target, err := url.Parse(upstream)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, errors.New("no certificate in the CA of the server")
	}
	p := &Proxy{}
	p.Set()
	p.reverse = &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:      &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true},
		FlushInterval:  -1, // watch events go out as they come
		ErrorLog:       log.New(io.Discard, "", 0),
		ModifyResponse: p.dropEvents,
		// A server that is down is a broken connection, not a 502.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	p.server = httptest.NewUnstartedServer(http.HandlerFunc(p.serve))
	p.server.Config.ErrorLog = log.New(io.Discard, "", 0) // cut connections are the point
	p.server.EnableHTTP2 = true
	p.server.StartTLS()
	p.URL = p.server.URL
	p.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw})
	return p, nil
}

// Set replaces the faults; without arguments nothing fails. Requests under way,
// open watches among them, keep the faults they began with: see Cut.
func (p *Proxy) Set(faults ...Fault) { p.faults.Store(&faults) }

// Cut closes every connection of the clients, open watches included.
func (p *Proxy) Cut() { p.server.CloseClientConnections() }

// Hits returns how often a kind of fault was inflicted since the start: what a
// test checks before it believes that its client survived one.
func (p *Proxy) Hits(kind Kind) int { return int(p.hits[kind].Load()) }

// Close ends the proxy and its connections.
func (p *Proxy) Close() {
	p.server.CloseClientConnections()
	p.server.Close()
	p.reverse.Transport.(*http.Transport).CloseIdleConnections()
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	resource := resourceOf(r.URL.Path)
	for _, f := range *p.faults.Load() {
		if f.Resource != "" && f.Resource != resource {
			continue
		}
		switch f.Kind {
		case Delayed:
			p.hits[Delayed].Add(1)
			select {
			case <-time.After(f.Delay):
			case <-r.Context().Done():
				return
			}
		case Aborted:
			p.hits[Aborted].Add(1)
			panic(http.ErrAbortHandler)
		case Forbidden:
			p.hits[Forbidden].Add(1)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			writeJSON(w, status(http.StatusForbidden, "Forbidden", fmt.Sprintf("%s is forbidden: refused by faultproxy", resource)))
			return
		case Gone:
			if !resumes(r) {
				continue
			}
			p.hits[Gone].Add(1)
			w.Header().Set("Content-Type", "application/json")
			writeJSON(w, map[string]any{"type": "ERROR", "object": status(http.StatusGone, "Expired", "too old resource version: forgotten by faultproxy")})
			return
		case NoBookmark, Silent:
			if isWatch(r) {
				r = r.WithContext(context.WithValue(r.Context(), dropping{}, f.Kind))
				r.Header.Set("Accept", "application/json") // what dropEvents reads
				r.Header.Del("Accept-Encoding")
			}
		}
	}
	p.reverse.ServeHTTP(w, r)
}

// status is a v1 Status, the body of every error of the Kubernetes API.
func status(code int, reason, message string) map[string]any {
	return map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message}
}

func writeJSON(w io.Writer, v any) {
	_ = json.NewEncoder(w).Encode(v) // a client that has gone is no concern of ours
}
