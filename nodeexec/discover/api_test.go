package discover_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/nestor-tools/nestor/mapping/cluster"
	"github.com/nestor-tools/nestor/mapping/fact"
	"github.com/nestor-tools/nestor/nodeexec/discover"
)

// fakeAPI answers every list with nothing, but where answers has the path.
type fakeAPI struct {
	answers map[string]http.HandlerFunc
	mu      sync.Mutex
	seen    []string
}

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.seen = append(f.seen, r.Method+" "+r.URL.Path)
	f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if answer := f.answers[r.URL.Path]; answer != nil {
		answer(w, r)
		return
	}
	switch {
	case r.URL.Path == "/version":
		fmt.Fprint(w, `{"gitVersion":"v1.35.4"}`)
	case strings.HasPrefix(r.URL.Path, "/apis/") && strings.Count(r.URL.Path, "/") < 4 && !strings.HasPrefix(r.URL.Path, "/apis/apps"):
		status(http.StatusNotFound, "NotFound")(w, r)
	case strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList"):
		fmt.Fprint(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7"},"items":[]}`)
	default: // without a kind it is of the one that was asked for
		fmt.Fprint(w, `{"metadata":{"resourceVersion":"7"},"items":[]}`)
	}
}

func status(code int, reason string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":%q,"message":"it is %s"}`, code, reason, reason)
	}
}

func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func (f *fakeAPI) read(t *testing.T, timeout time.Duration) (cluster.Snapshot, error) {
	t.Helper()
	server := httptest.NewServer(f)
	defer server.Close()
	return discover.ReadAPI(t.Context(), &rest.Config{Host: server.URL}, discover.APIOptions{Timeout: timeout})
}

func TestReadAPI_EachResourceForItself(t *testing.T) {
	f := &fakeAPI{answers: map[string]http.HandlerFunc{
		"/api/v1/nodes":              status(http.StatusForbidden, "Forbidden"),
		"/api/v1/services":           hang,
		"/apis/apps/v1/deployments":  status(http.StatusInternalServerError, "InternalError"),
		"/apis/apps/v1/statefulsets": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"/apis/batch/v1/cronjobs":    status(http.StatusNotFound, "NotFound"),
		"/api/v1/persistentvolumeclaims": func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, `{"kind":"PersistentVolumeClaimList","items":[`)
			w.(http.Flusher).Flush()
			hang(w, r)
		},
		"/apis/cilium.io": status(http.StatusForbidden, "Forbidden"),
		"/apis/metallb.io": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"kind":"APIGroup","versions":[{"groupVersion":"metallb.io/v2","version":"v2"},{"groupVersion":"metallb.io/v1","version":"v1"}],"preferredVersion":{"groupVersion":"metallb.io/v2","version":"v2"}}`)
		},
		"/apis/metallb.io/v2": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"resources":[{"name":"other"}]}`) },
		"/apis/metallb.io/v1": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"resources":[{"name":"ipaddresspools"}]}`)
		},
		"/apis/metallb.io/v1/ipaddresspools": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7"},"items":[{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"pool","namespace":"metallb-system"}}]}`)
		},
	}}
	s, err := f.read(t, 3*time.Second)
	require.NoError(t, err)
	require.Equal(t, fact.Denied[[]cluster.Node]("it is Forbidden"), s.Nodes)
	require.Equal(t, fact.Unknown[[]cluster.Service]("no answer within 3s"), s.Services)
	require.Equal(t, fact.Unknown[[]cluster.Claim]("no answer within 3s"), s.Claims, "half a page")
	require.Equal(t, fact.IsUnknown, s.Deployments.State)
	require.Equal(t, fact.IsUnknown, s.StatefulSets.State)
	require.NotContains(t, s.StatefulSets.Why, "\n")
	require.Equal(t, fact.IsAbsent, s.CronJobs.State)
	require.Equal(t, fact.Present([]cluster.Workload{}), s.DaemonSets)
	require.Equal(t, fact.IsDenied, s.Ways["ciliumloadbalancerippools"].State)
	require.Equal(t, fact.IsAbsent, s.Ways["gateways"].State)
	require.Equal(t, fact.Present([]cluster.Place{{Namespace: "metallb-system", Name: "pool"}}), s.Ways["ipaddresspools"], "in the version that has it")
	for _, call := range f.seen {
		require.True(t, strings.HasPrefix(call, "GET "), call)
		require.NotContains(t, call, "secrets")
		require.NotContains(t, call, "configmaps")
	}
}

// services answers pages of them; from the page that expires on, once, it
// has forgotten.
func servicePages(total, expires int) http.HandlerFunc {
	forgotten := false
	return func(w http.ResponseWriter, r *http.Request) {
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
		if expires > 0 && from >= expires && !forgotten {
			forgotten = true
			status(http.StatusGone, "Expired")(w, r)
			return
		}
		if limit == 0 {
			limit = total
		}
		list := map[string]any{"kind": "ServiceList", "apiVersion": "v1", "metadata": map[string]any{"resourceVersion": "7"}}
		var items []any
		for i := from; i < min(from+limit, total); i++ {
			items = append(items, map[string]any{"metadata": map[string]any{"name": fmt.Sprint("s", i)}, "spec": map[string]any{"type": "ClusterIP"}})
		}
		if from+limit < total {
			list["metadata"] = map[string]any{"resourceVersion": "7", "continue": strconv.Itoa(from + limit)}
		}
		list["items"] = items
		_ = json.NewEncoder(w).Encode(list)
	}
}

func TestReadAPI_Pages(t *testing.T) {
	for name, expires := range map[string]int{"in one go": 0, "forgotten on the way": 1000} {
		t.Run(name, func(t *testing.T) {
			f := &fakeAPI{answers: map[string]http.HandlerFunc{"/api/v1/services": servicePages(2200, expires)}}
			s, err := f.read(t, time.Minute)
			require.NoError(t, err)
			require.Len(t, s.Services.Value, 2200)
			names := map[string]bool{}
			for _, svc := range s.Services.Value {
				names[svc.Name] = true
			}
			require.Len(t, names, 2200, "none twice")
		})
	}
}

// A large cluster is read page by page: 5,000 Services of 5 KB are 25 MB on
// the wire, and one or two in memory.
func TestReadAPI_LargeStaysSmall(t *testing.T) {
	const total = 5000
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	note := strings.Repeat("x", 5_000)
	var before, last int64
	f := &fakeAPI{answers: map[string]http.HandlerFunc{"/api/v1/services": func(w http.ResponseWriter, r *http.Request) {
		from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		if next := from + limit; next < total {
			fmt.Fprintf(w, `{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"%d"},"items":[`, next)
		} else {
			last = heap()
			fmt.Fprint(w, `{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[`)
		}
		for i := from; i < from+limit; i++ {
			if i > from {
				fmt.Fprint(w, ",")
			}
			fmt.Fprintf(w, `{"metadata":{"name":"s%d","namespace":"large","annotations":{"note":%q}},"spec":{"type":"NodePort","ports":[{"port":80,"protocol":"TCP","nodePort":%d}]}}`, i, note, 30000+i%2768)
		}
		fmt.Fprint(w, "]}")
	}}}
	before = heap()
	begin := time.Now()
	s, err := f.read(t, 5*time.Minute)
	require.NoError(t, err)
	require.Len(t, s.Services.Value, total)
	took := time.Since(begin)
	kept := heap() - before
	t.Logf("read in %s; before the last page %d KiB more were in use, at the end %d KiB", took.Round(time.Millisecond), (last-before)>>10, kept>>10)
	require.Less(t, last-before, int64(15<<20), "of the pages that were read only what is needed is kept")
	require.Less(t, kept, int64(8<<20))
	half := cluster.Map(s)
	require.Len(t, half.Exposition.Value, total)
}

func TestReadAPI_NoAPI(t *testing.T) {
	for name, c := range map[string]struct {
		version http.HandlerFunc
		is      error
		says    string
	}{
		"silence":        {hang, discover.ErrNoAnswer, "no answer within 1s"},
		"nobody's user":  {status(http.StatusUnauthorized, "Unauthorized"), discover.ErrCredentials, ""},
		"something else": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>hello") }, discover.ErrNoAnswer, "not what a Kubernetes API answers"},
		"an empty word":  {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") }, discover.ErrNoAnswer, "no version"},
		"an error":       {status(http.StatusServiceUnavailable, "ServiceUnavailable"), discover.ErrNoAnswer, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fakeAPI{answers: map[string]http.HandlerFunc{"/version": c.version}}
			_, err := f.read(t, 3*time.Second)
			require.ErrorIs(t, err, c.is)
			require.Contains(t, err.Error(), c.says)
			require.NotContains(t, err.Error(), "\n")
			require.Equal(t, []string{"GET /version"}, f.seen[:1])
		})
	}
	elsewhere := &fakeAPI{}
	other := httptest.NewServer(elsewhere)
	defer other.Close()
	away := &fakeAPI{answers: map[string]http.HandlerFunc{"/version": func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/version", http.StatusFound)
	}}}
	_, err := away.read(t, time.Minute)
	require.ErrorIs(t, err, discover.ErrNoAnswer)
	require.Empty(t, elsewhere.seen, "no credential is carried to where an API points")

	f := &fakeAPI{answers: map[string]http.HandlerFunc{"/version": status(http.StatusForbidden, "Forbidden")}}
	s, err := f.read(t, time.Minute)
	require.NoError(t, err, "a server that keeps its version to itself is one all the same")
	require.Equal(t, fact.IsDenied, s.Version.State)
	require.Equal(t, fact.IsPresent, s.Services.State)

	server := httptest.NewServer(f)
	server.Close()
	_, err = discover.ReadAPI(t.Context(), &rest.Config{Host: server.URL}, discover.APIOptions{})
	require.ErrorIs(t, err, discover.ErrNoAnswer)
	require.Regexp(t, `^kubernetes API: it does not answer: connect to 127\.0\.0\.1:\d+: connect: connection refused$`, err.Error())
}

const validKubeconfig = `apiVersion: v1
kind: Config
current-context: a
clusters: [{name: a, cluster: {server: "https://192.0.2.1:6443", %s}}]
users: [{name: a, user: {token: hunter2%s}}]
contexts: [{name: a, context: {cluster: a, user: a}}]
`

func TestLoadKubeconfig(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	good := file("good", fmt.Sprintf(validKubeconfig, "certificate-authority-data: QUJD", ""))
	access, err := discover.LoadKubeconfig([]string{good})
	require.NoError(t, err)
	require.Equal(t, "ABC", string(access.CA))
	require.Equal(t, "https://192.0.2.1:6443", access.Config.Host)
	access, err = discover.LoadKubeconfig([]string{filepath.Join(dir, "none"), good})
	require.NoError(t, err, "of a list one may be missing, as for kubectl")
	require.Equal(t, "hunter2", access.Config.BearerToken)

	for name, c := range map[string]struct{ path, says string }{
		"missing":            {filepath.Join(dir, "none"), "no such file"},
		"a folder":           {dir, "cannot be read as a kubeconfig"},
		"empty":              {file("empty", ""), "names no context"},
		"no YAML":            {file("broken", "hunter2: [hunter2"), "cannot be read as a kubeconfig"},
		"another form":       {file("form", "clusters: hunter2\n"), "cannot be read as a kubeconfig"},
		"no such context":    {file("context", strings.Replace(fmt.Sprintf(validKubeconfig, "certificate-authority-data: QUJD", ""), "current-context: a", "current-context: b", 1)), "cannot be used"},
		"nothing checked":    {file("insecure", fmt.Sprintf(validKubeconfig, "insecure-skip-tls-verify: true", "")), "checks no certificate"},
		"CA file is missing": {file("ca", fmt.Sprintf(validKubeconfig, "certificate-authority: /none/ca.crt", "")), "cannot be used"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := discover.LoadKubeconfig([]string{c.path})
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "hunter2")
			require.NotContains(t, err.Error(), "\n")
		})
	}
}
