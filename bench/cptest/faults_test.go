//go:build integration

package cptest_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/nestor-tools/nestor/bench/cptest"
	"github.com/nestor-tools/nestor/bench/faultproxy"
)

const (
	// patience is what an informer is given to do what it must: its own
	// back-off goes up to 30 s.
	patience = 2 * time.Minute
	// silence is what an informer is given to do what it must not.
	silence = 5 * time.Second
)

// watcher is a client-go informer of Services behind a fault proxy.
type watcher struct {
	informer cache.SharedIndexInformer
	direct   kubernetes.Interface // around the proxy
	ns       string
	errors   atomic.Int64 // calls of the watch error handler
	last     atomic.Pointer[error]
}

func watchThrough(t *testing.T, cluster *cptest.Cluster, proxy *faultproxy.Proxy) *watcher {
	t.Helper()
	w := &watcher{direct: client(t, cluster.Kubeconfig)}
	w.ns = namespace(t, w.direct)
	through := client(t, cluster.Via(proxy).WriteKubeconfig(t))
	factory := informers.NewSharedInformerFactory(through, 0)
	w.informer = factory.Core().V1().Services().Informer()
	require.NoError(t, w.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		w.errors.Add(1)
		w.last.Store(&err)
	}))
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() {
		cancel()
		proxy.Set() // a delayed or silent answer must not delay the end
		proxy.Cut()
		factory.Shutdown()
	})
	factory.Start(ctx.Done())
	return w
}

func (w *watcher) synced(t *testing.T, why string) {
	t.Helper()
	require.Eventually(t, w.informer.HasSynced, patience, 50*time.Millisecond, why)
}

// sees creates a Service on the server itself and waits for the informer to
// have it.
func (w *watcher) sees(t *testing.T, name string) {
	t.Helper()
	_, err := w.direct.CoreV1().Services(w.ns).Create(t.Context(), nodePortService(name, 0), metav1.CreateOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		object, found, err := w.informer.GetStore().GetByKey(w.ns + "/" + name)
		return err == nil && found && object.(*corev1.Service).Spec.Ports[0].NodePort != 0
	}, patience, 50*time.Millisecond, name)
}

func TestInformer_WithoutFaults(t *testing.T) {
	cluster := api.Get(t)
	w := watchThrough(t, cluster, cluster.Proxy(t))
	w.synced(t, "through an honest proxy")
	w.sees(t, "web")
	assert.Zero(t, w.errors.Load())
}

func TestInformer_Forbidden(t *testing.T) {
	cluster := api.Get(t)
	proxy := cluster.Proxy(t)
	proxy.Set(faultproxy.Fault{Kind: faultproxy.Forbidden, Resource: "services"})
	w := watchThrough(t, cluster, proxy)
	require.Eventually(t, func() bool { return w.errors.Load() > 0 }, patience, 50*time.Millisecond)
	assert.True(t, apierrors.IsForbidden(*w.last.Load()), "%v", *w.last.Load())
	assert.False(t, w.informer.HasSynced())
	assert.Positive(t, proxy.Hits(faultproxy.Forbidden))
	_, err := client(t, cluster.Via(proxy).WriteKubeconfig(t)).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	assert.NoError(t, err, "the fault is for one resource")

	proxy.Set()
	w.synced(t, "once the right is given")
	w.sees(t, "web")
}

func TestInformer_Cut(t *testing.T) {
	cluster := api.Get(t)
	proxy := cluster.Proxy(t)
	w := watchThrough(t, cluster, proxy)
	w.synced(t, "at first")
	for _, name := range []string{"one", "two", "three"} {
		proxy.Cut()
		w.sees(t, name)
	}
}

func TestInformer_Gone(t *testing.T) {
	cluster := api.Get(t)
	proxy := cluster.Proxy(t)
	w := watchThrough(t, cluster, proxy)
	w.synced(t, "at first")
	// client-go resumes a watch that gave it something; one cut before its
	// first event it begins afresh.
	w.sees(t, "before")
	proxy.Set(faultproxy.Fault{Kind: faultproxy.Gone, Resource: "services"})
	proxy.Cut()
	w.sees(t, "after")
	assert.Positive(t, proxy.Hits(faultproxy.Gone), "its version was refused, and it began again")
}

func TestInformer_Aborted(t *testing.T) {
	cluster := api.Get(t)
	proxy := cluster.Proxy(t)
	proxy.Set(faultproxy.Fault{Kind: faultproxy.Aborted})
	w := watchThrough(t, cluster, proxy)
	require.Eventually(t, func() bool { return proxy.Hits(faultproxy.Aborted) > 0 }, patience, 50*time.Millisecond)
	assert.False(t, w.informer.HasSynced())
	proxy.Set()
	w.synced(t, "once there are answers")
}

func TestInformer_Delayed(t *testing.T) {
	cluster := api.Get(t)
	proxy := cluster.Proxy(t)
	proxy.Set(faultproxy.Fault{Kind: faultproxy.Delayed, Resource: "services", Delay: silence})
	begin := time.Now()
	w := watchThrough(t, cluster, proxy)
	w.synced(t, "in the end")
	assert.GreaterOrEqual(t, time.Since(begin), silence)
	assert.Positive(t, proxy.Hits(faultproxy.Delayed))
}

// TestInformer_NoBookmark shows the one fault that client-go never reports: no
// error, no sync. Only a deadline of one's own on the first sync notices.
func TestInformer_NoBookmark(t *testing.T) {
	cluster := api.Get(t)
	proxy := cluster.Proxy(t)
	proxy.Set(faultproxy.Fault{Kind: faultproxy.NoBookmark, Resource: "services"})
	w := watchThrough(t, cluster, proxy)
	require.Eventually(t, func() bool { return proxy.Hits(faultproxy.NoBookmark) > 0 }, patience, 50*time.Millisecond)
	assert.Never(t, w.informer.HasSynced, silence, 100*time.Millisecond)
	assert.Zero(t, w.errors.Load())

	proxy.Set()
	proxy.Cut()
	w.synced(t, "with bookmarks")
	w.sees(t, "web")
}

func TestInformer_ServerKilledAndRestarted(t *testing.T) {
	cluster := cptest.Start(t)
	proxy := cluster.Proxy(t)
	w := watchThrough(t, cluster, proxy)
	w.synced(t, "at first")
	cluster.Kill(t)
	cluster.Restart(t)
	w.sees(t, "after")
}
