package observe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/nestor-tools/nestor/portal"
)

// Options say what to read, and how patiently. The zero value is for use.
type Options struct {
	// Pods also reads the Pods that hold ports of their node.
	Pods bool

	Debounce  time.Duration // from a change to its snapshot; 0: 100 ms
	FirstRead time.Duration // how long Settled waits for an answer; 0: 10 s
	Timeout   time.Duration // of one request; 0: 15 s
	Check     time.Duration // between two requests that test an open watch, and the time each has; 0: 5 s
	Silence   time.Duration // after which a watch without an event is ended and all is read again; 0: 90 s
	Retry     time.Duration // the longest wait between two tries; 0: 5 s
	Refresh   time.Duration // the greatest age of a snapshot, change or not; 0: 10 s
	Rights    time.Duration // between two questions about Secrets; 0: 5 min
}

func (o Options) withDefaults() Options {
	o.Debounce = cmp.Or(o.Debounce, 100*time.Millisecond)
	o.FirstRead = cmp.Or(o.FirstRead, 10*time.Second)
	o.Timeout = cmp.Or(o.Timeout, 15*time.Second)
	o.Check = cmp.Or(o.Check, 5*time.Second)
	o.Silence = cmp.Or(o.Silence, 90*time.Second)
	o.Retry = cmp.Or(o.Retry, 5*time.Second)
	o.Refresh = cmp.Or(o.Refresh, 10*time.Second)
	o.Rights = cmp.Or(o.Rights, 5*time.Minute)
	return o
}

// reader is a source whose type of object does not matter.
type reader interface {
	run(context.Context)
	once(context.Context)
	check(context.Context)
	settled() bool
	giveUp()
	errorCount() uint64
	name() portal.Resource
}

// Observer keeps a snapshot of a cluster current.
type Observer struct {
	options  Options
	client   *client
	services *source[portal.Service]
	slices   *source[portal.EndpointSlice]
	nodes    *source[portal.Node]
	pods     *source[portal.Pod] // nil: not asked for
	sources  []reader

	dirty   chan struct{} // holds one item while there is something to publish
	secrets atomic.Pointer[bool]
	settled chan struct{}

	mu       sync.Mutex
	snapshot *portal.Snapshot
	changed  chan struct{} // closed when snapshot is replaced
}

// New prepares an observer. Nothing is asked of the server before Run.
func New(config *rest.Config, o Options) (*Observer, error) {
	c, err := newClient(config)
	if err != nil {
		return nil, err
	}
	observer := &Observer{
		options: o.withDefaults(), client: c,
		dirty: make(chan struct{}, 1), settled: make(chan struct{}), changed: make(chan struct{}),
	}
	o = observer.options
	core, discovery := corev1.SchemeGroupVersion, discoveryv1.SchemeGroupVersion
	observer.services = newSource(c, core.WithResource("services"), &corev1.Service{},
		func() runtime.Object { return &corev1.ServiceList{} }, keepService, o, observer.touch)
	observer.slices = newSource(c, discovery.WithResource("endpointslices"), &discoveryv1.EndpointSlice{},
		func() runtime.Object { return &discoveryv1.EndpointSliceList{} }, keepSlice, o, observer.touch)
	observer.nodes = newSource(c, core.WithResource("nodes"), &corev1.Node{},
		func() runtime.Object { return &corev1.NodeList{} }, keepNode, o, observer.touch)
	observer.sources = []reader{observer.services, observer.slices, observer.nodes}
	if o.Pods {
		observer.pods = newSource(c, core.WithResource("pods"), &corev1.Pod{},
			func() runtime.Object { return &corev1.PodList{} }, keepPod, o, observer.touch)
		observer.sources = append(observer.sources, observer.pods)
	}
	observer.snapshot = observer.build()
	return observer, nil
}

// Snapshot gives the present snapshot, which nobody may change. Before the
// first answers its sources are Unsynced.
func (o *Observer) Snapshot() *portal.Snapshot {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.snapshot
}

// Changed is closed when the snapshot is replaced; ask for it before the
// snapshot.
func (o *Observer) Changed() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.changed
}

// Settled is closed when each resource was read or refused, or was waited for
// long enough, and the snapshot says so.
func (o *Observer) Settled() <-chan struct{} { return o.settled }

// Errors gives how many requests and watches failed so far.
func (o *Observer) Errors() map[portal.Resource]uint64 {
	counts := map[portal.Resource]uint64{}
	for _, s := range o.sources {
		counts[s.name()] = s.errorCount()
	}
	return counts
}

// Run keeps the snapshot current until ctx is over, and then ends all that it
// started. It is called once.
func (o *Observer) Run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer func() {
		cancel()
		all.Wait()
		utilnet.CloseIdleConnectionsFor(o.client.http.Transport)
	}()
	for _, s := range o.sources {
		all.Go(func() { s.run(ctx) })
		all.Go(func() { s.check(ctx) })
	}
	all.Go(func() { o.askRights(ctx) })

	deadline := time.NewTimer(o.options.FirstRead)
	defer deadline.Stop()
	refresh := time.NewTicker(o.options.Refresh)
	defer refresh.Stop()
	for settled := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-deadline.C:
			for _, s := range o.sources {
				s.giveUp()
			}
		case <-refresh.C:
		case <-o.dirty:
			if !sleep(ctx, o.options.Debounce) {
				return
			}
			select {
			case <-o.dirty: // what came while waiting is in the same snapshot
			default:
			}
		}
		now := !settled && !slices.ContainsFunc(o.sources, func(s reader) bool { return !s.settled() })
		o.publish()
		if now {
			settled = true
			close(o.settled)
		}
	}
}

// touch asks for a new snapshot.
func (o *Observer) touch() {
	select {
	case o.dirty <- struct{}{}:
	default:
	}
}

func (o *Observer) publish() {
	snapshot := o.build()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.snapshot = snapshot
	close(o.changed)
	o.changed = make(chan struct{})
}

func (o *Observer) build() *portal.Snapshot {
	s := &portal.Snapshot{
		Schema: portal.SnapshotSchema, ObservedAt: time.Now(), Sources: map[portal.Resource]portal.Source{},
		SecretsReadable: o.secrets.Load(),
	}
	s.Services, s.Sources[portal.Services] = o.services.read()
	s.Slices, s.Sources[portal.EndpointSlices] = o.slices.read()
	s.Nodes, s.Sources[portal.Nodes] = o.nodes.read()
	if o.pods != nil {
		s.Pods, s.Sources[portal.Pods] = o.pods.read()
	}
	// What is shown is as old as the oldest of what it is made from.
	for _, source := range s.Sources {
		if source.State == portal.Synced && source.Since.Before(s.ObservedAt) {
			s.ObservedAt = source.Since
		}
	}
	return s
}

// askRights asks at once, again as soon as the namespaces are known, and then
// now and then whether Secrets could be read. An answer holds until the next.
func (o *Observer) askRights(ctx context.Context) {
	ask := func() {
		answer := o.client.secretsReadable(ctx, o.namespaces(), o.options.Timeout)
		if before := o.secrets.Load(); answer != nil && (before == nil || *before != *answer) {
			o.secrets.Store(answer)
			o.touch()
		}
	}
	ask()
	select {
	case <-ctx.Done():
		return
	case <-o.settled:
	}
	for ask(); sleep(ctx, o.options.Rights); ask() {
	}
}

// namespaces are those that hold Services.
func (o *Observer) namespaces() []string {
	var names []string
	for _, s := range o.Snapshot().Services { // sorted
		if len(names) == 0 || names[len(names)-1] != s.Namespace {
			names = append(names, s.Namespace)
		}
	}
	return names
}

// Read reads a cluster once, each resource at the same time, without a watch.
// What it may not read, or not read whole, is a state in the snapshot; it is
// an error only that the server cannot be asked, or answers nothing at all.
func Read(ctx context.Context, config *rest.Config, options Options) (*portal.Snapshot, error) {
	o, err := New(config, options)
	if err != nil {
		return nil, err
	}
	defer utilnet.CloseIdleConnectionsFor(o.client.http.Transport)
	var all sync.WaitGroup
	for _, s := range o.sources {
		all.Go(func() { s.once(ctx) })
	}
	all.Wait()
	o.snapshot = o.build()
	o.secrets.Store(o.client.secretsReadable(ctx, o.namespaces(), o.options.Timeout))
	o.snapshot = o.build()
	for _, source := range o.snapshot.Sources {
		if source.State != portal.Unsynced {
			return o.snapshot, nil
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("read the cluster: %w", err)
	}
	return nil, fmt.Errorf("read the cluster: %s", o.snapshot.Sources[portal.Services].Why)
}
