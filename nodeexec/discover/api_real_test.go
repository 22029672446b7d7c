//go:build integration

package discover_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/nestor-tools/nestor/bench/cptest"
	"github.com/nestor-tools/nestor/bench/faultproxy"
	"github.com/nestor-tools/nestor/mapping/cluster"
	"github.com/nestor-tools/nestor/mapping/fact"
	"github.com/nestor-tools/nestor/nodeexec/discover"
)

func readReal(t *testing.T, access cptest.Access, o discover.APIOptions) (cluster.Snapshot, error) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", access.WriteKubeconfig(t))
	require.NoError(t, err)
	return discover.ReadAPI(t.Context(), config, o)
}

// Each resource of a real API, refused in turn, is denied itself and nothing
// else is.
func TestReadAPI_RealForbidden(t *testing.T) {
	api := cptest.Start(t)
	whole, err := readReal(t, api.Access, discover.APIOptions{})
	require.NoError(t, err)
	require.Empty(t, cluster.About(whole).Unread)
	proxy := api.Proxy(t)
	for _, resource := range []string{"nodes", "namespaces", "deployments", "daemonsets", "statefulsets", "cronjobs", "customresourcedefinitions", "services", "storageclasses", "persistentvolumeclaims", "ingresses"} {
		proxy.Set(faultproxy.Fault{Kind: faultproxy.Forbidden, Resource: resource})
		before := proxy.Hits(faultproxy.Forbidden)
		s, err := readReal(t, api.Via(proxy), discover.APIOptions{})
		require.NoError(t, err)
		require.Greater(t, proxy.Hits(faultproxy.Forbidden), before, resource)
		unread := cluster.About(s).Unread
		require.Len(t, unread, 1, resource)
		require.Equal(t, resource, unread[0].Resource)
		require.Equal(t, fact.IsDenied, unread[0].State)
	}
	proxy.Set(faultproxy.Fault{Kind: faultproxy.Delayed, Resource: "services", Delay: time.Hour})
	s, err := readReal(t, api.Via(proxy), discover.APIOptions{Timeout: 3 * time.Second})
	require.NoError(t, err)
	require.Equal(t, fact.Unknown[[]cluster.Service]("no answer within 3s"), s.Services)
	require.Equal(t, fact.IsPresent, s.Nodes.State)
	proxy.Set(faultproxy.Fault{Kind: faultproxy.Aborted})
	_, err = readReal(t, api.Via(proxy), discover.APIOptions{Timeout: 3 * time.Second})
	require.ErrorIs(t, err, discover.ErrNoAnswer)
}

// A large cluster is read in pages: time and memory stay bounded. The limits
// are more than five times what it takes.
func TestReadAPI_RealLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT RUN: -short leaves the large cluster out")
	}
	const services, nodes = 5000, 500
	api := cptest.Start(t)
	var yaml strings.Builder
	yaml.WriteString("apiVersion: v1\nkind: Namespace\nmetadata: {name: large}\n")
	for i := range nodes {
		fmt.Fprintf(&yaml, "---\napiVersion: v1\nkind: Node\nmetadata: {name: n%d}\nstatus:\n  addresses: [{type: InternalIP, address: 10.9.%d.%d}]\n  conditions: [{type: Ready, status: \"True\"}]\n", i, i/250, i%250+1)
	}
	for i := range services {
		fmt.Fprintf(&yaml, "---\napiVersion: v1\nkind: Service\nmetadata: {name: s%d, namespace: large, annotations: {note: %q}}\nspec: {type: ClusterIP, selector: {app: s%d}, ports: [{name: http, port: 80}]}\n", i, strings.Repeat("x", 500), i)
	}
	api.Seed(t, yaml.String())

	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	begin := time.Now()
	s, err := readReal(t, api.Access, discover.APIOptions{})
	took := time.Since(begin)
	require.NoError(t, err)
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Len(t, s.Services.Value, services+1, "and that of the API itself")
	require.Len(t, s.Nodes.Value, nodes)
	kept := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) >> 20
	t.Logf("read in %s; %d MiB are kept, %d MiB were allocated", took.Round(time.Millisecond), kept, (after.TotalAlloc-before.TotalAlloc)>>20)
	assert.Less(t, took, time.Minute)
	assert.Less(t, kept, int64(64))
	begin = time.Now()
	half := cluster.Map(s)
	t.Logf("mapped in %s", time.Since(begin).Round(time.Millisecond))
	assert.Equal(t, fact.IsPresent, half.Exposition.State)
	runtime.KeepAlive(s)
}
