package discover

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/nestor-tools/nestor/mapping/cluster"
	"github.com/nestor-tools/nestor/mapping/fact"
)

// APIOptions say how the API is read. The zero value is right.
type APIOptions struct {
	// Timeout is what each resource may take, all its pages together; 0
	// means 30 seconds. A third of it is for the first word of the server.
	Timeout time.Duration
}

const (
	pageSize = 500
	// apiParallel is how many resources are read at once: enough to hide the
	// way there, too few to be noticed by the server's fairness.
	apiParallel = 4
)

// Why an API could not be asked.
var (
	ErrNoAnswer    = errors.New("it does not answer")
	ErrCredentials = errors.New("it takes the credentials for nobody's")

	errUnusable = errors.New("its credentials cannot be used")
)

// ReadAPI reads what a topology needs of the API, page by page, and of most
// objects their names alone. It only lists, and never Secrets or ConfigMaps. A
// resource that may not be read, is not there or does not answer says so in
// the snapshot and costs the others nothing. The error is of a server that
// could not be asked at all: it did not answer, or took the credentials for
// nobody's; it matches ErrNoAnswer or ErrCredentials then.
func ReadAPI(ctx context.Context, config *rest.Config, o APIOptions) (cluster.Snapshot, error) {
	if o.Timeout <= 0 {
		o.Timeout = 30 * time.Second
	}
	ctx = logr.NewContext(ctx, logr.Discard()) // client-go would log broken answers to stderr
	client, err := newAPIClient(config)
	if err != nil {
		return cluster.Snapshot{}, fmt.Errorf("kubernetes API: %w", errUnusable) // the cause may quote the credentials
	}
	defer client.http.CloseIdleConnections()
	r := &reader{client, o.Timeout}
	var s cluster.Snapshot
	if s.Version, err = r.version(ctx); err != nil {
		return s, unanswered(err, o.Timeout/3)
	}
	ways := make([]fact.Observed[[]cluster.Place], len(cluster.Ways()))
	var group sync.WaitGroup
	slots := make(chan struct{}, apiParallel)
	for _, read := range r.readers(&s, ways) {
		group.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			read(ctx)
		})
	}
	group.Wait()
	s.Ways = map[string]fact.Observed[[]cluster.Place]{}
	for i, w := range cluster.Ways() {
		s.Ways[w.Resource] = ways[i]
	}
	return s, ctx.Err()
}

// reader reads one API.
type reader struct {
	*apiClient
	timeout time.Duration
}

// version is the first word of the server. That this user may not read it is
// an answer; that nobody knows the user is none.
func (r *reader) version(ctx context.Context) (fact.Observed[string], error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout/3)
	defer cancel()
	body, err := r.raw(ctx, "/version")
	switch {
	case apierrors.IsForbidden(err):
		return fact.Denied[string](reason(err, 0)), nil
	case err != nil:
		return fact.Observed[string]{}, err
	}
	return parseVersion(body)
}

func unanswered(err error, timeout time.Duration) error {
	if apierrors.IsUnauthorized(err) {
		return fmt.Errorf("kubernetes API: %w", ErrCredentials)
	}
	return fmt.Errorf("kubernetes API: %w: %s", ErrNoAnswer, reason(err, timeout))
}

// read lists one resource, page by page. A list that outlived the server's
// memory (410) is begun anew, in one piece.
func read[V any](ctx context.Context, r *reader, page func(context.Context, metav1.ListOptions) (items []V, next string, err error)) fact.Observed[[]V] {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	all := []V{}
	options := metav1.ListOptions{Limit: pageSize}
	for {
		items, next, err := page(ctx, options)
		switch {
		case apierrors.IsResourceExpired(err) && options.Continue != "":
			all, options = []V{}, metav1.ListOptions{}
			continue
		case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
			return fact.Denied[[]V](reason(err, 0))
		case apierrors.IsNotFound(err):
			return fact.Absent[[]V]("the server has no such resource")
		case err != nil:
			return fact.Unknown[[]V](reason(err, r.timeout))
		}
		all = append(all, items...)
		if next == "" {
			return fact.Present(all)
		}
		options.Continue = next
	}
}

// places lists an object's metadata alone.
func (r *reader) places(ctx context.Context, resource schema.GroupVersionResource) fact.Observed[[]metav1.PartialObjectMetadata] {
	return read(ctx, r, func(ctx context.Context, o metav1.ListOptions) ([]metav1.PartialObjectMetadata, string, error) {
		list, err := r.names.Resource(resource).List(ctx, o)
		if err == nil {
			err = whole(list)
		}
		if err != nil {
			return nil, "", err
		}
		for i := range list.Items { // what is kept does not hold the rest in memory
			m := &list.Items[i]
			*m = metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: m.Name, Namespace: m.Namespace, UID: m.UID}}
		}
		return list.Items, list.Continue, nil
	})
}

// way lists the objects of a resource that not every server has, in the
// version that the server prefers of those that have it.
func (r *reader) way(ctx context.Context, w cluster.Way) fact.Observed[[]cluster.Place] {
	version, err := r.versionOf(ctx, w)
	switch {
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return fact.Denied[[]cluster.Place](reason(err, 0))
	case err != nil:
		return fact.Unknown[[]cluster.Place](reason(err, r.timeout))
	case version == "":
		return fact.Absent[[]cluster.Place]("the server has no " + w.Resource + "." + w.Group)
	}
	return fact.Then(r.places(ctx, schema.GroupVersionResource{Group: w.Group, Version: version, Resource: w.Resource}), toPlaces)
}

func (r *reader) versionOf(ctx context.Context, w cluster.Way) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	var group metav1.APIGroup
	if err := r.get(ctx, "/apis/"+w.Group, &group); err != nil {
		return "", ignoreNotFound(err)
	}
	for _, v := range append([]metav1.GroupVersionForDiscovery{group.PreferredVersion}, group.Versions...) {
		var served metav1.APIResourceList
		if err := r.get(ctx, "/apis/"+v.GroupVersion, &served); ignoreNotFound(err) != nil {
			return "", err
		}
		for _, resource := range served.APIResources {
			if resource.Name == w.Resource {
				return v.Version, nil
			}
		}
	}
	return "", nil
}

func (r *reader) get(ctx context.Context, path string, into any) error {
	body, err := r.raw(ctx, path)
	if err != nil {
		return err
	}
	return decode(body, into)
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// maxReason bounds what a server's own message takes of the topology, in
// characters.
const maxReason = 300

// reason is an error on one line, without what changes from one call to the
// next: the ports of this side, and how long was left to wait.
func reason(err error, timeout time.Duration) string {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("no answer within %s", timeout)
	}
	if failed, ok := errors.AsType[*net.OpError](err); ok {
		if failed.Op == "dial" && failed.Addr != nil {
			return fmt.Sprintf("connect to %s: %v", failed.Addr, failed.Err)
		}
		return fmt.Sprintf("%s: %v", failed.Op, failed.Err)
	}
	text := strings.Join(strings.Fields(strings.ToValidUTF8(err.Error(), "?")), " ")
	if runes := []rune(text); len(runes) > maxReason {
		text = string(runes[:maxReason]) + "..."
	}
	return text
}
