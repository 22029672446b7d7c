package serve

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/portal"
)

// fake is a cluster that a test moves.
type fake struct {
	mu       sync.Mutex
	snapshot *portal.Snapshot
	changed  chan struct{}
	settled  chan struct{}
}

func newFake(s *portal.Snapshot) *fake {
	return &fake{snapshot: s, changed: make(chan struct{}), settled: make(chan struct{})}
}

func (f *fake) Snapshot() *portal.Snapshot {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.snapshot
}

func (f *fake) Changed() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changed
}

func (f *fake) Settled() <-chan struct{} { return f.settled }

func (f *fake) Errors() map[portal.Resource]uint64 {
	return map[portal.Resource]uint64{portal.Services: 3}
}

func (f *fake) set(s *portal.Snapshot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.snapshot = s
	close(f.changed)
	f.changed = make(chan struct{})
}

const promise = `contract_version: "1.0"
endpoints:
  - {id: web-ui, service: web, namespace: shop, port: 80, protocol: http, exposed: true, source: web.yaml, auth: none}
  - {id: lost-ui, service: lost, namespace: shop, port: 80, protocol: http, exposed: true, source: lost.yaml, auth: none}
`

// shop is a cluster with one Service, on a nodePort, and two nodes.
func shop(nodePort int) *portal.Snapshot {
	now := time.Now()
	synced := portal.Source{State: portal.Synced, Since: now}
	ready := true
	address := func(name, ip string) portal.Node {
		return portal.Node{Name: name, Ready: true, Addresses: []portal.Address{{Type: "InternalIP", Address: ip}}}
	}
	return &portal.Snapshot{
		Schema: portal.SnapshotSchema, ObservedAt: now,
		Sources: map[portal.Resource]portal.Source{portal.Services: synced, portal.EndpointSlices: synced, portal.Nodes: synced},
		Services: []portal.Service{{
			Namespace: "shop", Name: "web", Type: "NodePort", Selector: map[string]string{"app": "web"},
			Ports: []portal.ServicePort{{Name: "http", Port: 80, Protocol: "TCP", TargetPort: "8080", NodePort: nodePort}},
		}},
		Slices: []portal.EndpointSlice{{
			Namespace: "shop", Name: "web-1", Service: "web", Ports: []portal.SlicePort{{Name: "http", Port: 8080, Protocol: "TCP"}},
			Endpoints: []portal.Endpoint{{Addresses: []string{"10.1.0.5"}, Ready: &ready, Node: "node1"}},
		}},
		Nodes: []portal.Node{address("node1", "192.0.2.11"), address("node2", "192.0.2.12")},
	}
}

func writeContract(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
}

// serving runs a server for the length of the test.
func serving(t *testing.T, cluster Cluster, o Options) (*Server, string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "endpoints.yaml")
	writeContract(t, name, promise)
	var err error
	if o.Contract == nil {
		o.Contract, err = OpenContract(name)
		require.NoError(t, err)
	}
	o.Cluster = cluster
	s, err := New(o)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			require.NoError(t, err)
		case <-time.After(30 * time.Second):
			t.Error("Run does not end")
		}
	})
	return s, "http://" + listener.Addr().String()
}

// ask sends one request to the handler; headers are name and value in turn.
func ask(s *Server, method, target string, headers ...string) *http.Response {
	r := httptest.NewRequest(method, target, nil)
	r.Host = "192.0.2.11:30000"
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return string(b)
}
