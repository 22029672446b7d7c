package faultproxy

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
)

// resourceOf returns the plural name of the resource that a path of the
// Kubernetes API addresses, "" for the paths outside /api and /apis:
//
//	/api/v1/services                                    services
//	/api/v1/namespaces/a/services/b/status              services
//	/apis/apps/v1/namespaces/a/deployments              deployments
//	/api/v1/namespaces/a                                namespaces
func resourceOf(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		parts = parts[3:]
	default:
		return ""
	}
	// namespaces/NAME/status and /finalize are the namespace's own.
	if parts[0] == "namespaces" && len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
		return parts[2]
	}
	return parts[0]
}

func isWatch(r *http.Request) bool {
	v := r.URL.Query().Get("watch")
	return v == "true" || v == "1"
}

// resumes tells a watch that continues from a known version from one that
// begins afresh.
func resumes(r *http.Request) bool {
	q := r.URL.Query()
	version := q.Get("resourceVersion")
	return isWatch(r) && version != "" && version != "0" && q.Get("sendInitialEvents") != "true"
}

// dropping marks the context of a watch that loses its bookmarks, or all of its
// events, with the Kind that says so.
type dropping struct{}

func (p *Proxy) dropEvents(r *http.Response) error {
	if kind, ok := r.Request.Context().Value(dropping{}).(Kind); ok && r.StatusCode == http.StatusOK {
		r.Body = &eventFilter{body: r.Body, events: json.NewDecoder(r.Body), all: kind == Silent, dropped: &p.hits[kind]}
	}
	return nil
}

// eventFilter reads a JSON watch stream without its bookmarks, or without any
// of its events.
type eventFilter struct {
	body    io.Closer
	events  *json.Decoder
	pending bytes.Buffer
	all     bool
	dropped *atomic.Int64
}

func (f *eventFilter) Read(b []byte) (int, error) {
	for f.pending.Len() == 0 {
		var raw json.RawMessage
		if err := f.events.Decode(&raw); err != nil {
			return 0, err
		}
		var event struct{ Type string }
		if err := json.Unmarshal(raw, &event); err != nil {
			return 0, err
		}
		if f.all || event.Type == "BOOKMARK" {
			f.dropped.Add(1)
			continue
		}
		f.pending.Write(raw)
		f.pending.WriteByte('\n')
	}
	return f.pending.Read(b)
}

func (f *eventFilter) Close() error { return f.body.Close() }
