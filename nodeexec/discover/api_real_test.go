//go:build integration

package discover_test

import (
	"testing"
	"time"

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
