package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/nestor-tools/nestor/portal"
)

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page)
	mux.HandleFunc("GET /go/{id...}", s.leave)
	mux.HandleFunc("GET /api/v1/view", s.view)
	mux.Handle("GET /assets/{name}", assets())
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.registry(), promhttp.HandlerOpts{}))
	alive := func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "ok\n") }
	mux.HandleFunc("GET /livez", alive)
	mux.HandleFunc("GET /healthz", alive)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		// Once ready it stays so: a portal that goes away with the API server
		// is of no use, and the page says how old it is.
		if !s.ready.Load() {
			text(w, http.StatusServiceUnavailable, "the cluster was not read yet\n")
			return
		}
		text(w, http.StatusOK, "ok\n")
	})
	return s.protect(mux)
}

// protect puts in front of all routes what holds for all of them.
func (s *Server) protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		counted := &counting{ResponseWriter: w, code: http.StatusOK}
		if believable(hostOf(r), s.knows) {
			next.ServeHTTP(counted, r)
		} else {
			// Not said which name: it is the sender's text.
			text(counted, http.StatusMisdirectedRequest, "this portal does not answer to that host name; use an address, a node's name, or start it with --allow-host NAME\n")
		}
		s.requests.WithLabelValues(routeOf(r), strconv.Itoa(counted.code)).Inc()
	})
}

// counting remembers the status code.
type counting struct {
	http.ResponseWriter
	code int
}

func (c *counting) WriteHeader(code int) {
	c.code = code
	c.ResponseWriter.WriteHeader(code)
}

func text(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(message)) // the client may be gone
}

// shown is what the client of this request is shown, in a language or, for
// "", without a page.
func (s *Server) shown(w http.ResponseWriter, r *http.Request, lang portal.Lang) *shown {
	e := s.edition.Load()
	who := reader{e.host(hostOf(r)), lang}
	s.readers.saw(who, time.Now())
	view, err := e.to(who.host)
	if err != nil {
		s.fault(w, err)
	}
	return view
}

func (s *Server) fault(w http.ResponseWriter, err error) {
	s.log.Error("a request could not be answered", "error", err)
	text(w, http.StatusInternalServerError, "the portal could not make this page; its log says why\n")
}

// answer sends what has the tag, or 304 where the client has it. The tag does
// not change with the time of observation, which has a header of its own.
func answer(w http.ResponseWriter, r *http.Request, view *shown, tag string, kind string, body func() ([]byte, error)) error {
	h := w.Header()
	h.Set("ETag", tag)
	h.Set("Cache-Control", "no-cache")
	h.Set(portal.ObservedAtHeader, view.observedAt().UTC().Format(time.RFC3339))
	if unchanged(r, tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	b, err := body()
	if err != nil {
		h.Del("ETag")
		return err
	}
	h.Set("Content-Type", kind)
	h.Set("Content-Length", strconv.Itoa(len(b)))
	_, _ = w.Write(b) // the client may be gone
	return nil
}

func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	lang := language(r)
	view := s.shown(w, r, lang)
	if view == nil {
		return
	}
	w.Header().Set("Vary", "Accept-Language")
	w.Header().Set("Content-Language", string(lang))
	err := answer(w, r, view, fmt.Sprintf(`W/"%s-%s"`, view.tag, lang), "text/html; charset=utf-8", func() ([]byte, error) {
		return view.page(lang)
	})
	if err != nil {
		s.fault(w, err)
	}
}

func (s *Server) view(w http.ResponseWriter, r *http.Request) {
	if view := s.shown(w, r, ""); view != nil {
		_ = answer(w, r, view, `W/"`+view.tag+`"`, "application/json", func() ([]byte, error) { return view.json, nil })
	}
}

// leave sends the browser to where an endpoint is at present. The target is
// only ever what was observed.
func (s *Server) leave(w http.ResponseWriter, r *http.Request) {
	view := s.shown(w, r, "")
	if view == nil {
		return
	}
	entry := view.entries[r.PathValue("id")]
	switch {
	case entry == nil:
		text(w, http.StatusNotFound, "no endpoint of that id; / lists them\n")
	case entry.URL == "":
		w.Header().Set("Retry-After", "5")
		text(w, http.StatusServiceUnavailable, fmt.Sprintf("%s has no address at present: %s %s\n/ says what was observed\n", entry.ID, entry.Verdict, entry.Reason))
	default:
		w.Header().Set("Cache-Control", "no-store")
		http.Redirect(w, r, entry.URL, http.StatusFound)
	}
}

// assets serves the few files that the page needs, from memory.
func assets() http.Handler {
	type asset struct {
		body      []byte
		kind, tag string
	}
	files := map[string]asset{}
	entries, _ := fs.ReadDir(portal.Assets(), ".") // it is embedded: without it no file is found
	for _, entry := range entries {
		body, err := fs.ReadFile(portal.Assets(), entry.Name())
		if err != nil {
			continue
		}
		sum := sha256.Sum256(body)
		files[entry.Name()] = asset{body, kindOf(entry.Name()), `"` + hex.EncodeToString(sum[:12]) + `"`}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		file, ok := files[r.PathValue("name")]
		if !ok {
			text(w, http.StatusNotFound, "no such file\n")
			return
		}
		w.Header().Set("ETag", file.tag)
		w.Header().Set("Cache-Control", "no-cache")
		if unchanged(r, file.tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("Content-Type", file.kind)
		w.Header().Set("Content-Length", strconv.Itoa(len(file.body)))
		_, _ = w.Write(file.body)
	})
}

// kindOf does not ask the system, whose tables differ and may be missing.
func kindOf(name string) string {
	switch path.Ext(name) {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return "application/octet-stream"
}
