package observe

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/nestor-tools/nestor/portal"
)

func TestReadOnce(t *testing.T) {
	s := seed(t)
	s.put("pods", object{
		"metadata": object{
			"namespace": "mail", "name": "relay-5d4-x1", "labels": object{"pod-template-hash": "5d4"},
			"ownerReferences": []object{{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "relay-5d4", "uid": "1", "controller": true}},
		},
		"spec": object{"nodeName": "node1", "containers": []object{
			{"name": "relay", "ports": []object{{"name": "smtp", "containerPort": 1025, "hostPort": 1025, "hostIP": "127.0.0.1", "protocol": "TCP"}}},
		}},
		"status": object{"phase": "Running", "conditions": []object{{"type": "Ready", "status": "True"}}},
	})
	s.put("pods", object{
		"metadata": object{"namespace": "mail", "name": "inside"},
		"spec":     object{"containers": []object{{"name": "a", "ports": []object{{"containerPort": 80}}}}},
	})
	s.put("pods", object{
		"metadata": object{"namespace": "mail", "name": "over"},
		"spec":     object{"containers": []object{{"name": "a", "ports": []object{{"containerPort": 80, "hostPort": 80}}}}},
		"status":   object{"phase": "Succeeded"},
	})
	options := quick
	options.Pods = true
	snapshot, err := Read(t.Context(), s.config(), options)
	require.NoError(t, err)
	assert.True(t, allSynced(snapshot), "%+v", snapshot.Sources)
	assert.Len(t, snapshot.Services, 1)
	assert.Len(t, snapshot.Slices, 1)
	assert.Len(t, snapshot.Nodes, 1)
	require.NotNil(t, snapshot.SecretsReadable)
	assert.False(t, *snapshot.SecretsReadable)
	assert.Equal(t, []portal.Pod{{
		Namespace: "mail", Name: "relay-5d4-x1", OwnerKind: "Deployment", OwnerName: "relay", Labels: map[string]string{"pod-template-hash": "5d4"}, Node: "node1", Ready: true,
		Ports: []portal.PodPort{{Container: "relay", Name: "smtp", Port: 1025, Protocol: "TCP", HostPort: 1025, HostIP: "127.0.0.1"}},
	}}, snapshot.Pods, "only Pods that run and hold a port of their node")
	assert.Equal(t, 0, s.count("watch services"))
}

// One refusal is part of the answer, as the rest is.
func TestReadInPart(t *testing.T) {
	s := seed(t)
	s.hook(func(w http.ResponseWriter, _ *http.Request, r string) bool {
		return r == "nodes" && status(w, http.StatusForbidden, "Forbidden") || r == "endpointslices" && status(w, http.StatusInternalServerError, "InternalError")
	})
	snapshot, err := Read(t.Context(), s.config(), quick)
	require.NoError(t, err)
	assert.Equal(t, portal.Synced, snapshot.Sources[portal.Services].State)
	assert.Equal(t, portal.Denied, snapshot.Sources[portal.Nodes].State)
	assert.Equal(t, portal.Unsynced, snapshot.Sources[portal.EndpointSlices].State)
	assert.Contains(t, snapshot.Sources[portal.EndpointSlices].Why, "InternalError")
}

func TestReadOfNobody(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	_, err := Read(t.Context(), &rest.Config{Host: gone.URL}, quick)
	assert.ErrorContains(t, err, "connection refused")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Read(ctx, seed(t).config(), quick)
	assert.ErrorIs(t, err, context.Canceled)

	_, err = Read(t.Context(), &rest.Config{Host: "https://\x7f"}, quick)
	assert.ErrorContains(t, err, "prepare the client")
}

// What is no API server is an answer too, and none of it is believed.
func TestOddServers(t *testing.T) {
	list := func(items string) string {
		return `{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":` + items + `}`
	}
	for name, c := range map[string]struct {
		body   string
		synced bool
	}{
		"a login page":          {"<html>please log in", false},
		"nothing":               {"", false},
		"null":                  {"null", false},
		"half":                  {`{"kind":"ServiceList","apiVersion":"v1","items":[{"metadata":{"na`, false},
		"another kind":          {`{"kind":"Secret","apiVersion":"v1","metadata":{}}`, false},
		"a kind nobody has":     {`{"kind":"X","apiVersion":"x/v9"}`, false},
		"items of another form": {list(`{"a":1}`), false},
		"null items":            {list(`[null]`), true},
		"an empty item":         {list(`[{}]`), true},
		"twice the same":        {list(`[{"metadata":{"name":"a"}},{"metadata":{"name":"a"}}]`), true},
		"a port beyond all":     {list(`[{"spec":{"ports":[{"port":-1,"targetPort":null,"nodePort":2147483647}]}}]`), true},
		"protobuf that is none": {"k8s\x00\xff\xff\xff\xff", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := seed(t)
			s.hook(func(w http.ResponseWriter, r *http.Request, resource string) bool {
				if resource != "services" {
					return false
				}
				w.Header().Set("Content-Type", "application/json")
				if c.body != "" && c.body[0] == 'k' {
					w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
				}
				_, err := w.Write([]byte(c.body))
				return err == nil
			})
			o := start(t, s, quick)
			<-o.Settled()
			source := o.Snapshot().Sources[portal.Services]
			if c.synced {
				assert.NotEqual(t, portal.Unsynced, source.State)
				assert.Len(t, o.Snapshot().Services, 1)
			} else {
				assert.Equal(t, portal.Unsynced, source.State)
				assert.NotContains(t, source.Why, "\n")
				assert.Less(t, len(source.Why), 400)
			}
			assert.Equal(t, portal.Synced, o.Snapshot().Sources[portal.Nodes].State)
			s.hook(nil)
			await(t, o, "in order again", allSynced)
		})
	}
}

// A server that speaks of one kind where another was asked changes nothing.
func TestOddEvents(t *testing.T) {
	s := seed(t)
	o := start(t, s, quick)
	await(t, o, "first", allSynced)
	for _, odd := range []event{
		{kind: "ADDED", object: object{"kind": "Node", "apiVersion": "v1", "metadata": object{"name": "odd"}}},
		{kind: "ADDED", object: object{"kind": "Secret", "apiVersion": "v1", "metadata": object{"name": "odd"}}},
		{kind: "DELETED", object: object{"kind": "Service", "apiVersion": "v1", "metadata": object{"namespace": "shop", "name": "never-was"}}},
		{kind: "WHAT", object: object{"kind": "Service", "apiVersion": "v1", "metadata": object{"name": "odd"}}},
		{kind: "MODIFIED", object: object{}},
		{kind: "ERROR", object: object{"kind": "Status", "apiVersion": "v1", "metadata": object{}, "status": "Failure", "code": 500, "reason": "InternalError"}},
	} {
		s.mu.Lock()
		s.version++
		odd.version, odd.resource = s.version, "services"
		s.tell(odd)
		s.mu.Unlock()
	}
	s.put("services", webService(32323))
	await(t, o, "the next true event", func(s *portal.Snapshot) bool { return allSynced(s) && hasPort(32323)(s) })
}

// The observer ends while it waits for whatever there is to wait for.
func TestStopsAtAnyTime(t *testing.T) {
	for _, after := range []time.Duration{0, time.Millisecond, 10 * time.Millisecond, 50 * time.Millisecond} {
		t.Run(after.String(), func(t *testing.T) {
			s := seed(t)
			s.hook(func(_ http.ResponseWriter, r *http.Request, resource string) bool {
				if resource == "nodes" {
					<-r.Context().Done()
				}
				return resource == "nodes"
			})
			start(t, s, Options{}) // with the waits of production
			time.Sleep(after)
		})
	}
}
