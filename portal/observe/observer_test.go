package observe

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/nestor-tools/nestor/portal"
)

// quick is patient enough for a slow machine and no more.
var quick = Options{
	Debounce: 5 * time.Millisecond, FirstRead: 300 * time.Millisecond, Timeout: 200 * time.Millisecond, Check: 200 * time.Millisecond,
	Silence: time.Minute, Retry: 50 * time.Millisecond, Refresh: time.Minute, Rights: 50 * time.Millisecond,
}

// start runs an observer for the length of the test, and proves that nothing
// of it is left.
func start(t *testing.T, s *server, o Options) *Observer {
	t.Helper()
	before := goleak.IgnoreCurrent()
	observer, err := New(s.config(), o)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		observer.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			t.Error("Run does not end")
		}
		goleak.VerifyNone(t, before, goleak.IgnoreAnyFunction("net/http.(*Server).Serve"), goleak.IgnoreAnyFunction("net/http.(*conn).serve"),
			goleak.IgnoreAnyFunction("net/http.(*connReader).backgroundRead"))
	})
	return observer
}

// await waits until a snapshot is as the test wants it.
func await(t *testing.T, o *Observer, what string, is func(*portal.Snapshot) bool) *portal.Snapshot {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		changed := o.Changed()
		snapshot := o.Snapshot()
		if is(snapshot) {
			return snapshot
		}
		select {
		case <-changed:
		case <-deadline:
			require.Fail(t, what, "last: %+v", snapshot)
		}
	}
}

func state(r portal.Resource, is portal.SourceState) func(*portal.Snapshot) bool {
	return func(s *portal.Snapshot) bool { return s.Sources[r].State == is }
}

func allSynced(s *portal.Snapshot) bool {
	for _, source := range s.Sources {
		if source.State != portal.Synced {
			return false
		}
	}
	return true
}

func hasPort(port int) func(*portal.Snapshot) bool {
	return func(s *portal.Snapshot) bool { return len(s.Services) == 1 && s.Services[0].Ports[0].NodePort == port }
}

func TestSnapshotHoldsWhatDecidesALink(t *testing.T) {
	s := seed(t)
	o := start(t, s, quick)
	assert.Equal(t, portal.Unsynced, o.Snapshot().Sources[portal.Services].State, "nothing was read yet")
	<-o.Settled()
	snapshot := o.Snapshot()
	require.True(t, allSynced(snapshot), "%+v", snapshot.Sources)
	ready := true
	assert.Equal(t, []portal.Service{{
		Namespace: "shop", Name: "web", Type: "NodePort", Selector: map[string]string{"app": "web"},
		Ports: []portal.ServicePort{{Name: "http", Port: 80, Protocol: "TCP", TargetPort: "http", NodePort: 30080}},
	}}, snapshot.Services)
	assert.Equal(t, []portal.EndpointSlice{{
		Namespace: "shop", Name: "web-1", Service: "web",
		Ports:     []portal.SlicePort{{Name: "http", Port: 8080, Protocol: "TCP"}},
		Endpoints: []portal.Endpoint{{Addresses: []string{"10.1.0.5"}, Ready: &ready, Node: "node1"}, {Addresses: []string{"10.1.0.6"}}},
	}}, snapshot.Slices)
	assert.Equal(t, []portal.Node{{Name: "node1", Ready: true, Addresses: []portal.Address{{Type: "InternalIP", Address: "192.0.2.11"}}}}, snapshot.Nodes)
	assert.NotContains(t, snapshot.Sources, portal.Pods, "which nobody asked for")
	assert.False(t, snapshot.ObservedAt.IsZero())
	assert.Equal(t, 0, s.count("list pods"))
}

func TestChangesArrive(t *testing.T) {
	s := seed(t)
	o := start(t, s, quick)
	before := await(t, o, "first", allSynced)
	s.remove("services", "shop/web")
	await(t, o, "removed", func(s *portal.Snapshot) bool { return len(s.Services) == 0 })
	s.put("services", webService(31234))
	await(t, o, "made anew, with another port", hasPort(31234))
	s.put("nodes", node("node1", "Unknown"))
	await(t, o, "a node that is lost", func(s *portal.Snapshot) bool { return !s.Nodes[0].Ready })
	assert.Equal(t, 30080, before.Services[0].Ports[0].NodePort, "a snapshot does not change")
	assert.True(t, before.Nodes[0].Ready)
	assert.Equal(t, 1, s.count("list services"), "changes come through the watch")
}

func TestHeartbeatsAreNoChange(t *testing.T) {
	s := seed(t)
	o := start(t, s, quick)
	await(t, o, "first, with the answer about Secrets", func(s *portal.Snapshot) bool { return allSynced(s) && s.SecretsReadable != nil })
	changed := o.Changed()
	s.put("nodes", node("node1", "True"))
	select {
	case <-changed:
		t.Error("a heartbeat made a snapshot")
	case <-time.After(200 * time.Millisecond):
	}
	s.put("nodes", node("node1", "False"))
	await(t, o, "the watch is alive", func(s *portal.Snapshot) bool { return !s.Nodes[0].Ready })
}

func TestRefusedResource(t *testing.T) {
	for _, resource := range []portal.Resource{portal.Services, portal.EndpointSlices, portal.Nodes, portal.Pods} {
		t.Run(string(resource), func(t *testing.T) {
			s := seed(t)
			s.hook(func(w http.ResponseWriter, _ *http.Request, r string) bool {
				return r == string(resource) && status(w, http.StatusForbidden, "Forbidden")
			})
			options := quick
			options.Pods = true
			o := start(t, s, options)
			<-o.Settled()
			snapshot := o.Snapshot()
			for name, source := range snapshot.Sources {
				if name == resource {
					assert.Equal(t, portal.Denied, source.State)
					assert.Contains(t, source.Why, fmt.Sprintf("resources: [%s], verbs: [get, list, watch]", resource))
					assert.False(t, source.Since.IsZero())
				} else {
					assert.Equal(t, portal.Synced, source.State, "%s: %s", name, source.Why)
				}
			}
			assert.NotZero(t, o.Errors()[resource])
			s.hook(nil)
			await(t, o, "granted", allSynced)
		})
	}
}

// A role may have list and lack watch: what is listed is not current then, and
// must not look so between two lists.
func TestRefusedWatch(t *testing.T) {
	s := seed(t)
	s.hook(func(w http.ResponseWriter, r *http.Request, resource string) bool {
		return resource == "services" && r.URL.Query().Get("watch") != "" && status(w, http.StatusForbidden, "Forbidden")
	})
	o := start(t, s, quick)
	await(t, o, "refused", state(portal.Services, portal.Denied))
	lists := s.count("list services")
	require.Eventually(t, func() bool { return s.count("list services") > lists+1 }, 20*time.Second, 10*time.Millisecond)
	assert.Equal(t, portal.Denied, o.Snapshot().Sources[portal.Services].State)
	s.hook(nil)
	await(t, o, "granted", allSynced)
}

// Rights that are taken away end no watch of a real server.
func TestRightsTakenAwayUnderAnOpenWatch(t *testing.T) {
	s := seed(t)
	o := start(t, s, quick)
	await(t, o, "first", allSynced)
	s.hook(func(w http.ResponseWriter, _ *http.Request, r string) bool {
		return r == "nodes" && status(w, http.StatusForbidden, "Forbidden")
	})
	await(t, o, "refused", state(portal.Nodes, portal.Denied))
	assert.Equal(t, 1, s.count("watch nodes"), "the watch is the same")
	s.hook(nil)
	await(t, o, "granted", allSynced)
}

func TestUnauthorized(t *testing.T) {
	s := seed(t)
	s.hook(func(w http.ResponseWriter, _ *http.Request, _ string) bool {
		return status(w, http.StatusUnauthorized, "Unauthorized")
	})
	o := start(t, s, quick)
	<-o.Settled()
	for _, source := range o.Snapshot().Sources {
		assert.Equal(t, portal.Denied, source.State)
		assert.Contains(t, source.Why, "401")
	}
	assert.Nil(t, o.Snapshot().SecretsReadable, "no answer came")
}

func TestServerThatDoesNotAnswer(t *testing.T) {
	s := seed(t)
	s.hook(func(_ http.ResponseWriter, r *http.Request, resource string) bool {
		if resource != "nodes" {
			return false
		}
		<-r.Context().Done()
		return true
	})
	options := quick
	options.Timeout = 2 * time.Second // beyond the wait for the first answers
	o := start(t, s, options)
	<-o.Settled()
	source := o.Snapshot().Sources[portal.Nodes]
	assert.Equal(t, portal.Unsynced, source.State)
	assert.Equal(t, "no answer yet from the API server", source.Why)
	assert.Equal(t, portal.Synced, o.Snapshot().Sources[portal.Services].State, "what was read is there")
	await(t, o, "timed out", func(s *portal.Snapshot) bool {
		return s.Sources[portal.Nodes].Why == "no answer in time from the API server"
	})
	s.hook(nil)
	await(t, o, "answered", allSynced)
}

func TestServerThatGoesAndComesBack(t *testing.T) {
	s := seed(t)
	o := start(t, s, quick)
	before := await(t, o, "first", allSynced)
	s.hook(func(w http.ResponseWriter, _ *http.Request, _ string) bool {
		panic(http.ErrAbortHandler) // the connection is closed
	})
	s.endWatches() // so that open watches meet the fault
	snapshot := await(t, o, "stale", func(s *portal.Snapshot) bool {
		return s.Sources[portal.Services].State == portal.Stale && s.Sources[portal.Nodes].State == portal.Stale && s.Sources[portal.EndpointSlices].State == portal.Stale
	})
	assert.Equal(t, before.Services, snapshot.Services, "what was read stays")
	assert.NotEmpty(t, snapshot.Sources[portal.Services].Why)
	assert.WithinDuration(t, before.ObservedAt, snapshot.Sources[portal.Services].Since, 10*time.Second)
	s.put("services", webService(32000))
	s.hook(nil)
	await(t, o, "back, with what changed meanwhile", func(s *portal.Snapshot) bool { return allSynced(s) && hasPort(32000)(s) })
}

// Between the server and the portal something drops the events and keeps the
// connection.
func TestSilentWatch(t *testing.T) {
	s := seed(t)
	s.hook(func(w http.ResponseWriter, r *http.Request, _ string) bool {
		if r.URL.Query().Get("watch") == "" {
			return false
		}
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return true
	})
	options := quick
	options.Silence = 300 * time.Millisecond
	o := start(t, s, options)
	await(t, o, "first", allSynced)
	s.put("services", webService(31111))
	await(t, o, "listed anew after the silence", hasPort(31111))
}

// The same, where not even the headers of a watch arrive.
func TestWatchThatNeverOpens(t *testing.T) {
	s := seed(t)
	s.hook(func(_ http.ResponseWriter, r *http.Request, _ string) bool {
		if r.URL.Query().Get("watch") == "" {
			return false
		}
		<-r.Context().Done()
		return true
	})
	options := quick
	options.Silence = 300 * time.Millisecond
	o := start(t, s, options)
	await(t, o, "first", allSynced)
	s.put("services", webService(31111))
	await(t, o, "listed anew after the silence", hasPort(31111))
}

func TestGone(t *testing.T) {
	s := seed(t)
	o := start(t, s, quick)
	await(t, o, "first", allSynced)
	lists := s.count("list services")
	s.mu.Lock()
	s.history = append(s.history, event{s.version + 1, "services", "ERROR", object{
		"kind": "Status", "apiVersion": "v1", "metadata": object{}, "status": "Failure", "code": 410, "reason": "Expired", "message": "too old resource version",
	}})
	s.version++
	s.mu.Unlock()
	s.put("services", webService(32100))
	await(t, o, "listed anew", hasPort(32100))
	require.Eventually(t, func() bool { return s.count("list services") > lists }, 20*time.Second, 10*time.Millisecond)
	assert.True(t, allSynced(o.Snapshot()), "an old version is no failure: %+v", o.Snapshot().Sources)
}

func TestSecretsReadable(t *testing.T) {
	s := seed(t)
	s.put("services", object{"metadata": object{"namespace": "vault", "name": "v"}, "spec": object{"type": "ClusterIP", "ports": []object{{"port": 1}}}})
	o := start(t, s, quick)
	snapshot := await(t, o, "an answer", func(s *portal.Snapshot) bool { return s.SecretsReadable != nil })
	assert.False(t, *snapshot.SecretsReadable)
	s.mu.Lock()
	s.secrets = func(body string) bool { return strings.Contains(body, "vault") } // in one namespace only
	s.mu.Unlock()
	await(t, o, "granted", func(s *portal.Snapshot) bool { return *s.SecretsReadable })
	s.mu.Lock()
	s.secrets = nil
	s.mu.Unlock()
	await(t, o, "taken back", func(s *portal.Snapshot) bool { return !*s.SecretsReadable })
}
