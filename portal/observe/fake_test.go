package observe

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

type object = map[string]any

// server is as much of an API server as the observer sees, with a hook for
// what goes wrong.
type server struct {
	URL string
	// before answers a request in place of the server where it returns true.
	before func(w http.ResponseWriter, r *http.Request, resource string) bool

	mu      sync.Mutex
	version int
	objects map[string]map[string]object // resource, namespace/name
	history []event
	more    chan struct{}  // closed at the next event
	asked   map[string]int // "list services", "watch nodes", "check pods", "review"
	secrets func(body string) bool
	ended   int // how often all open watches were ended
}

type event struct {
	version  int
	resource string
	kind     string
	object   object
}

func newServer(t *testing.T) *server {
	s := &server{objects: map[string]map[string]object{}, more: make(chan struct{}), asked: map[string]int{}, version: 1}
	listening := httptest.NewServer(s)
	t.Cleanup(func() {
		listening.CloseClientConnections()
		listening.Close()
	})
	s.URL = listening.URL
	return s
}

func (s *server) config() *rest.Config { return &rest.Config{Host: s.URL} }

func (s *server) hook(before func(http.ResponseWriter, *http.Request, string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = before
}

func (s *server) count(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[what]
}

var kinds = map[string]string{"services": "Service", "endpointslices": "EndpointSlice", "nodes": "Node", "pods": "Pod"}

func (s *server) put(resource string, o object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	meta := o["metadata"].(object)
	namespace, _ := meta["namespace"].(string)
	key := namespace + "/" + meta["name"].(string)
	s.version++
	meta["resourceVersion"] = strconv.Itoa(s.version)
	o["kind"], o["apiVersion"] = kinds[resource], "v1"
	if resource == "endpointslices" {
		o["apiVersion"] = "discovery.k8s.io/v1"
	}
	kind := "ADDED"
	if s.objects[resource] == nil {
		s.objects[resource] = map[string]object{}
	}
	if _, had := s.objects[resource][key]; had {
		kind = "MODIFIED"
	}
	s.objects[resource][key] = o
	s.tell(event{s.version, resource, kind, o})
}

func (s *server) remove(resource, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	o := s.objects[resource][key]
	delete(s.objects[resource], key)
	s.tell(event{s.version, resource, "DELETED", o})
}

func (s *server) tell(e event) {
	s.history = append(s.history, e)
	close(s.more)
	s.more = make(chan struct{})
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resource := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	what := "list " + resource
	switch {
	case resource == "selfsubjectaccessreviews":
		what = "review"
	case r.URL.Query().Get("watch") != "":
		what = "watch " + resource
	case r.URL.Query().Get("limit") == "1":
		what = "check " + resource
	}
	s.mu.Lock()
	s.asked[what]++
	before := s.before
	s.mu.Unlock()
	if before != nil && before(w, r, resource) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch strings.Fields(what)[0] {
	case "review":
		s.review(w, r)
	case "watch":
		from, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
		s.watch(w, r, resource, from)
	default:
		s.list(w, resource)
	}
}

func (s *server) list(w http.ResponseWriter, resource string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	items := []object{}
	for _, o := range s.objects[resource] {
		items = append(items, o)
	}
	version := "v1"
	if resource == "endpointslices" {
		version = "discovery.k8s.io/v1"
	}
	_ = json.NewEncoder(w).Encode(object{
		"kind": kinds[resource] + "List", "apiVersion": version,
		"metadata": object{"resourceVersion": strconv.Itoa(s.version)}, "items": items,
	})
}

func (s *server) watch(w http.ResponseWriter, r *http.Request, resource string, from int) {
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	s.mu.Lock()
	ended := s.ended
	s.mu.Unlock()
	for {
		s.mu.Lock()
		if s.ended != ended {
			s.mu.Unlock()
			return
		}
		var lines []string
		for _, e := range s.history {
			if e.version > from && e.resource == resource {
				b, _ := json.Marshal(object{"type": e.kind, "object": e.object})
				lines = append(lines, string(b))
			}
		}
		from = s.version
		more := s.more
		s.mu.Unlock()
		for _, line := range lines {
			fmt.Fprintln(w, line)
		}
		w.(http.Flusher).Flush()
		select {
		case <-more:
		case <-r.Context().Done():
			return
		}
	}
}

func (s *server) review(w http.ResponseWriter, r *http.Request) {
	// The observer asks in protobuf; the namespace is a text in it.
	body := make([]byte, 4096)
	n, _ := r.Body.Read(body)
	s.mu.Lock()
	defer s.mu.Unlock()
	allowed := s.secrets != nil && s.secrets(string(body[:n]))
	_ = json.NewEncoder(w).Encode(object{
		"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "metadata": object{},
		"spec": object{}, "status": object{"allowed": allowed},
	})
}

// status answers as an API server does where it refuses.
func status(w http.ResponseWriter, code int, reason string) bool {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	err := json.NewEncoder(w).Encode(object{
		"kind": "Status", "apiVersion": "v1", "metadata": object{}, "status": "Failure", "code": code, "reason": reason, "message": reason,
	})
	return err == nil
}

func webService(nodePort int) object {
	return object{
		"metadata": object{"namespace": "shop", "name": "web"},
		"spec": object{
			"type": "NodePort", "selector": object{"app": "web"},
			"ports": []object{{"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP", "nodePort": nodePort}},
		},
	}
}

func node(name, ready string) object {
	return object{
		"metadata": object{"name": name},
		"status": object{
			"conditions": []object{{"type": "Ready", "status": ready}},
			"addresses":  []object{{"type": "InternalIP", "address": "192.0.2.11"}},
			"images":     []object{{"names": []string{"large/image"}}},
		},
	}
}

func seed(t *testing.T) *server {
	t.Helper()
	s := newServer(t)
	s.put("services", webService(30080))
	s.put("endpointslices", object{
		"metadata":    object{"namespace": "shop", "name": "web-1", "labels": object{"kubernetes.io/service-name": "web"}},
		"addressType": "IPv4",
		"ports":       []object{{"name": "http", "port": 8080, "protocol": "TCP"}},
		"endpoints":   []object{{"addresses": []string{"10.1.0.5"}, "conditions": object{"ready": true}, "nodeName": "node1"}, {"addresses": []string{"10.1.0.6"}}},
	})
	s.put("nodes", node("node1", "True"))
	require.Len(t, s.history, 3)
	return s
}

// endWatches makes every open watch of the server end.
func (s *server) endWatches() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended++
	close(s.more)
	s.more = make(chan struct{})
}
