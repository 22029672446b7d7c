package observe

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/nestor-tools/nestor/portal"
)

// operation is a way in which a source asks. What fails in one way is well
// again when it succeeds in the same: a role may have list and lack watch.
type operation int

const (
	listing operation = iota
	watching
	checking
	operations // how many
)

// source reads one resource and keeps T of each of its objects. It is the
// store of a reflector, which keeps it current.
type source[T any] struct {
	resource schema.GroupVersionResource
	client   rest.Interface
	codec    runtime.ParameterCodec
	example  runtime.Object        // the type of one
	newList  func() runtime.Object // an empty list
	keep     func(runtime.Object) (T, bool)
	options  Options
	changed  func() // called, without locks held, after each change of content or state

	mu       sync.Mutex
	objects  map[string]T // by namespace/name; nil: not read yet
	sorted   []T          // of objects; nil: to be made again
	began    time.Time    // of the first try
	life     time.Time    // the last sign of it
	overdue  bool         // the first answer was given up waiting for
	failures [operations]*failure
	errors   uint64
}

func newSource[O runtime.Object, T any](c *client, gvr schema.GroupVersionResource, example O, newList func() runtime.Object, keep func(O) (T, bool), o Options, changed func()) *source[T] {
	return &source[T]{
		resource: gvr, client: c.groups[gvr.GroupVersion()], codec: c.codec, example: example, newList: newList, options: o, changed: changed,
		keep: func(object runtime.Object) (kept T, ok bool) {
			if typed, is := object.(O); is {
				kept, ok = keep(typed)
			}
			return kept, ok
		},
	}
}

// run keeps the source current until ctx is over.
func (s *source[T]) run(ctx context.Context) {
	s.begin()
	// What client-go would log is in the state of the source.
	ctx = klog.NewContext(ctx, logr.Discard())
	silent := logr.Discard()
	reflector := cache.NewReflectorWithOptions(listWatch[T]{s}, s.example, s, cache.ReflectorOptions{
		Name: s.resource.Resource, Logger: &silent,
		Backoff: &wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 10, Cap: s.options.Retry},
	})
	for ctx.Err() == nil {
		s.reflect(ctx, reflector)
		sleep(ctx, s.options.Retry)
	}
}

// once reads the source, and no more.
func (s *source[T]) once(ctx context.Context) {
	s.begin()
	list, err := s.list(ctx, metav1.ListOptions{}, s.options.Timeout)
	s.outcome(ctx, listing, err)
	if err != nil {
		return
	}
	var objects []any
	err = meta.EachListItem(list, func(object runtime.Object) error {
		objects = append(objects, object)
		return nil
	})
	if err == nil {
		err = s.Replace(objects, "")
	}
	if err != nil {
		s.outcome(ctx, listing, err)
	}
}

func (s *source[T]) begin() {
	s.mu.Lock()
	s.began = time.Now()
	s.mu.Unlock()
}

// reflect survives a reflector that an answer makes panic: the portal is to
// outlive odd servers.
func (s *source[T]) reflect(ctx context.Context, reflector *cache.Reflector) {
	defer func() {
		if p := recover(); p != nil {
			s.outcome(ctx, listing, fmt.Errorf("cannot understand the answer: %v", p))
		}
	}()
	reflector.RunWithContext(ctx)
}

// check asks now and then for one object. It notices what an open watch does
// not tell: a server that is gone without a word, and rights that were taken
// away.
func (s *source[T]) check(ctx context.Context) {
	for sleep(ctx, s.options.Check) {
		s.mu.Lock()
		due := s.objects != nil && s.failures[listing] == nil && s.failures[watching] == nil
		s.mu.Unlock()
		if due {
			_, err := s.list(ctx, metav1.ListOptions{Limit: 1}, s.options.Check)
			s.outcome(ctx, checking, err)
		}
	}
}

func (s *source[T]) list(ctx context.Context, o metav1.ListOptions, timeout time.Duration) (runtime.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	list := s.newList()
	if err := s.client.Get().Resource(s.resource.Resource).VersionedParams(&o, s.codec).Do(ctx).Into(list); err != nil {
		return list, err
	}
	// An answer of another kind is dropped without an error, and would pass
	// for an empty list. Each true list has a version.
	if about, err := meta.ListAccessor(list); err != nil || about.GetResourceVersion() == "" {
		return list, fmt.Errorf("the answer is no list of %s; is this an API server?", s.resource.Resource)
	}
	return list, nil
}

// outcome notes how an operation ended.
func (s *source[T]) outcome(ctx context.Context, op operation, err error) {
	if ctx.Err() != nil {
		return // stopped, which is no failure
	}
	s.mu.Lock()
	before := s.failures[op]
	switch {
	case err == nil:
		s.failures[op] = nil
		s.life = time.Now()
		if op == watching { // the server is there and willing
			s.failures[checking] = nil
		}
	default:
		s.errors++
		f := describe(err, s.resource)
		f.since = time.Now()
		if before != nil {
			f.since = before.since
		}
		s.failures[op] = &f
	}
	after := s.failures[op]
	s.mu.Unlock()
	if (before == nil) != (after == nil) || (after != nil && (before.why != after.why)) {
		s.changed()
	}
}

// alive notes a sign of life.
func (s *source[T]) alive() {
	s.mu.Lock()
	s.life = time.Now()
	s.mu.Unlock()
}

// settled tells whether there is an answer, be it a refusal.
func (s *source[T]) settled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects != nil || s.overdue || s.failures[listing] != nil
}

// giveUp ends the wait for the first answer; that answer is welcome still.
func (s *source[T]) giveUp() {
	s.mu.Lock()
	s.overdue = true
	s.mu.Unlock()
}

// read gives what is kept, sorted by namespace and name, and its state.
func (s *source[T]) read() ([]T, portal.Source) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sorted == nil && len(s.objects) > 0 {
		s.sorted = make([]T, 0, len(s.objects))
		for _, key := range slices.Sorted(maps.Keys(s.objects)) {
			s.sorted = append(s.sorted, s.objects[key])
		}
	}
	var worst *failure
	for _, f := range s.failures {
		if f != nil && (worst == nil || f.denied && !worst.denied) {
			worst = f
		}
	}
	state := portal.Source{State: portal.Synced, Since: s.life}
	switch {
	case worst != nil && worst.denied:
		state = portal.Source{State: portal.Denied, Since: worst.since, Why: worst.why}
	case s.objects == nil:
		state = portal.Source{State: portal.Unsynced, Since: s.began, Why: "not read yet"}
		if worst != nil {
			state.Why = worst.why
		} else if s.overdue {
			state.Why = "no answer yet from the API server"
		}
	case worst != nil:
		state = portal.Source{State: portal.Stale, Since: s.life, Why: worst.why}
	}
	return s.sorted, state
}

// errorCount is how many requests and watches failed.
func (s *source[T]) errorCount() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.errors
}

func (s *source[T]) name() portal.Resource { return portal.Resource(s.resource.Resource) }

// Add, Update, Delete, Replace, Resync and Bookmark make the source the store
// of a reflector.

func (s *source[T]) Add(object any) error { return s.Update(object) }

func (s *source[T]) Update(object any) error {
	key, kept, holds, err := s.keyed(object)
	if err != nil {
		return err
	}
	s.mu.Lock()
	if s.objects == nil { // what is kept begins with a whole list
		s.mu.Unlock()
		return nil
	}
	before, had := s.objects[key]
	same := had == holds && reflect.DeepEqual(before, kept) // most updates of Nodes are heartbeats
	switch {
	case same:
	case holds:
		s.objects[key], s.sorted = kept, nil
	default:
		delete(s.objects, key)
		s.sorted = nil
	}
	s.mu.Unlock()
	if !same {
		s.changed()
	}
	return nil
}

func (s *source[T]) Delete(object any) error {
	key, _, _, err := s.keyed(object)
	if err != nil {
		return err
	}
	s.mu.Lock()
	_, had := s.objects[key]
	delete(s.objects, key)
	s.sorted = nil
	s.mu.Unlock()
	if had {
		s.changed()
	}
	return nil
}

func (s *source[T]) Replace(list []any, _ string) error {
	objects := make(map[string]T, len(list))
	for _, object := range list {
		key, kept, holds, err := s.keyed(object)
		if err != nil {
			return err
		}
		if holds {
			objects[key] = kept
		}
	}
	s.mu.Lock()
	same := s.objects != nil && reflect.DeepEqual(s.objects, objects)
	if !same {
		s.objects, s.sorted = objects, nil
	}
	s.mu.Unlock()
	if !same {
		s.changed()
	}
	return nil
}

func (s *source[T]) Resync() error { return nil }

func (s *source[T]) keyed(object any) (key string, kept T, holds bool, err error) {
	typed, ok := object.(runtime.Object)
	if !ok {
		return "", kept, false, fmt.Errorf("%T is no object", object)
	}
	about, err := meta.Accessor(typed)
	if err != nil {
		return "", kept, false, err
	}
	kept, holds = s.keep(typed)
	if !holds {
		var nothing T
		kept = nothing
	}
	return about.GetNamespace() + "/" + about.GetName(), kept, holds, nil
}

// listWatch is how the reflector asks: as the source does, noting each outcome.
// An informer's handler of watch errors would not do: it is not told of the
// connections that the reflector tries again by itself.
type listWatch[T any] struct{ *source[T] }

// IsWatchListSemanticsUnSupported keeps the reflector on list, then watch. A
// list that is streamed ends with a bookmark, and where a proxy loses that the
// reflector waits for ever, without an error.
func (listWatch[T]) IsWatchListSemanticsUnSupported() bool { return true }

func (l listWatch[T]) List(o metav1.ListOptions) (runtime.Object, error) {
	return l.ListWithContext(context.Background(), o)
}

func (l listWatch[T]) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return l.WatchWithContext(context.Background(), o)
}

func (l listWatch[T]) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	list, err := l.list(ctx, o, l.options.Timeout)
	if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) { // the reflector asks again at once
		l.outcome(ctx, listing, err)
	}
	return list, err
}

func (l listWatch[T]) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	within, cancel := context.WithCancel(ctx)
	o.Watch = true
	// Some proxies hand on no header before the first event.
	late := time.AfterFunc(l.options.Silence, cancel)
	opened, err := l.client.Get().Resource(l.resource.Resource).VersionedParams(&o, l.codec).Watch(within)
	silent := !late.Stop() && ctx.Err() == nil
	if err != nil {
		cancel()
		if !silent && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			l.outcome(ctx, watching, err)
		}
		return nil, err
	}
	l.outcome(ctx, watching, nil)
	return guard(opened, cancel, l.options.Silence, l.alive), nil
}

// sleep waits, and tells whether ctx still stands.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
