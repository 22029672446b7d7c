package observe

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/nestor-tools/nestor/portal"
	livestate "github.com/nestor-tools/nestor/portal/state"
)

// ReadState reads once what package state judges: Services, Pods, the objects of the
// ways that node ports replace, and Cilium's ConfigMap, all at the same time.
// What it may not read, or not read whole, is a state of its source; it is an
// error only that the server cannot be asked, or answers nothing at all.
func ReadState(ctx context.Context, config *rest.Config, options Options) (*livestate.Snapshot, error) {
	options.Pods = true
	o, err := New(config, options)
	if err != nil {
		return nil, err
	}
	defer utilnet.CloseIdleConnectionsFor(o.client.http.Transport)
	s := &livestate.Snapshot{Groups: map[string]portal.Source{}, Cluster: portal.Snapshot{Schema: portal.SnapshotSchema, Sources: map[portal.Resource]portal.Source{}}}
	asker := asker{o.client.groups[corev1.SchemeGroupVersion], o.options.Timeout}
	var all sync.WaitGroup
	all.Go(func() { o.services.once(ctx) })
	all.Go(func() { o.pods.once(ctx) })
	all.Go(func() { s.Groups, s.Kinds = asker.kinds(ctx) })
	all.Go(func() { s.Cilium = asker.cilium(ctx) })
	all.Wait()
	s.Cluster.ObservedAt = time.Now()
	s.Cluster.Services, s.Cluster.Sources[portal.Services] = o.services.read()
	s.Cluster.Pods, s.Cluster.Sources[portal.Pods] = o.pods.read()
	if s.Cilium.Namespace == "" && s.Cilium.Source.State == portal.Synced {
		s.Cilium = asker.ciliumElsewhere(ctx, s.Cluster.Pods, s.Cluster.Sources[portal.Pods])
	}

	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("read the cluster: %w", err)
	}
	if s.Cluster.Sources[portal.Services].State == portal.Unsynced && s.Cluster.Sources[portal.Pods].State == portal.Unsynced && s.Cilium.Source.State == portal.Unsynced {
		return nil, fmt.Errorf("read the cluster: %s", s.Cluster.Sources[portal.Services].Why)
	}
	return s, nil
}

// asker gets what no typed client knows, as JSON.
type asker struct {
	client  rest.Interface
	timeout time.Duration
}

// get reads one path into v. An answer of another kind is an error: a login
// page, or a proxy's own words, would pass for an empty list.
func (a asker) get(ctx context.Context, path, accept, kind string, v any) error {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	result := a.client.Get().AbsPath(path).SetHeader("Accept", accept).Do(ctx)
	if err := result.Error(); err != nil { // reads the server's own words, as Raw does not
		return err
	}
	b, err := result.Raw()
	if err != nil {
		return err
	}
	var head struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(b, &head); err != nil || head.Kind != kind {
		return fmt.Errorf("the answer to %s is no %s; is this an API server?", path, kind)
	}
	return json.Unmarshal(b, v)
}

// kinds finds which kinds of the families the server has, and lists their
// objects.
func (a asker) kinds(ctx context.Context) (map[string]portal.Source, []livestate.Kind) {
	groups := map[string]portal.Source{}
	var served metav1.APIGroupList
	if err := a.get(ctx, "/apis", "application/json", "APIGroupList", &served); err != nil {
		for _, f := range livestate.Families() {
			groups[f.Group] = sourceOf(err, schema.GroupVersionResource{Group: f.Group})
		}
		return groups, nil
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	var kinds []livestate.Kind
	for _, f := range livestate.Families() {
		groups[f.Group] = portal.Source{State: portal.Synced, Since: time.Now()}
		i := slices.IndexFunc(served.Groups, func(g metav1.APIGroup) bool { return g.Name == f.Group })
		if i < 0 {
			continue
		}
		all.Go(func() {
			found, err := a.family(ctx, f, served.Groups[i])
			mu.Lock()
			defer mu.Unlock()
			kinds = append(kinds, found...)
			if err != nil {
				groups[f.Group] = sourceOf(err, schema.GroupVersionResource{Group: f.Group})
			}
		})
	}
	all.Wait()
	slices.SortFunc(kinds, func(a, b livestate.Kind) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Resource, b.Resource))
	})
	return groups, kinds
}

// family lists the objects of a family, all kinds at the same time. They need
// not all be served in one version; the preferred one is taken where it is.
func (a asker) family(ctx context.Context, f livestate.Family, group metav1.APIGroup) ([]livestate.Kind, error) {
	versions := []string{group.PreferredVersion.GroupVersion}
	for _, v := range group.Versions {
		if !slices.Contains(versions, v.GroupVersion) {
			versions = append(versions, v.GroupVersion)
		}
	}
	served := make([]metav1.APIResourceList, len(versions))
	failed := make([]error, len(versions))
	var all sync.WaitGroup
	for i, version := range versions {
		all.Go(func() {
			if err := a.get(ctx, "/apis/"+version, "application/json", "APIResourceList", &served[i]); err != nil {
				failed[i] = fmt.Errorf("%s: %w", version, err) // an aggregated API may be down
			}
		})
	}
	all.Wait()

	var kinds []*livestate.Kind
	for i, version := range versions {
		for _, r := range served[i].APIResources {
			if !f.Wants(r.Kind) || strings.Contains(r.Name, "/") || slices.ContainsFunc(kinds, func(k *livestate.Kind) bool { return k.Resource == r.Name }) {
				continue
			}
			k := &livestate.Kind{Group: f.Group, Resource: r.Name, Kind: r.Kind, Source: portal.Source{State: portal.Synced, Since: time.Now()}}
			kinds = append(kinds, k)
			all.Go(func() {
				var err error
				if k.Objects, err = a.names(ctx, "/apis/"+version+"/"+k.Resource); err != nil {
					k.Source = sourceOf(err, schema.GroupVersionResource{Group: f.Group, Resource: k.Resource})
				}
			})
		}
	}
	all.Wait()
	var found []livestate.Kind
	for _, k := range kinds {
		found = append(found, *k)
	}
	return found, errors.Join(failed...)
}

// names lists the names of objects.
func (a asker) names(ctx context.Context, path string) ([]livestate.Object, error) {
	var list metav1.PartialObjectMetadataList
	const accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	if err := a.get(ctx, path, accept, "PartialObjectMetadataList", &list); err != nil {
		return nil, err
	}
	if list.ResourceVersion == "" {
		return nil, errors.New("the answer is no whole list; is this an API server?")
	}
	if list.Continue != "" {
		return nil, errors.New("the server gave only a part of the list")
	}
	var objects []livestate.Object
	for _, o := range list.Items {
		objects = append(objects, livestate.Object{Namespace: o.Namespace, Name: o.Name})
	}
	return objects, nil
}

// ciliumNamespace is where Cilium's documentation installs it.
const ciliumNamespace = "kube-system"

func (a asker) cilium(ctx context.Context) livestate.Cilium { return a.ciliumIn(ctx, ciliumNamespace) }

func (a asker) ciliumIn(ctx context.Context, namespace string) livestate.Cilium {
	var m corev1.ConfigMap
	err := a.get(ctx, "/api/v1/namespaces/"+namespace+"/configmaps/"+livestate.ConfigMap, "application/json", "ConfigMap", &m)
	switch {
	case err == nil && m.Name == livestate.ConfigMap:
		return livestate.Cilium{Source: portal.Source{State: portal.Synced, Since: time.Now()}, Namespace: namespace, Config: m.Data}
	case err == nil:
		err = errors.New("the answer is another ConfigMap")
	case isNotFound(err):
		return livestate.Cilium{Source: portal.Source{State: portal.Synced, Since: time.Now()}}
	}
	s := sourceOf(err, schema.GroupVersionResource{Resource: "configmaps"})
	if s.State == portal.Denied && apierrors.IsForbidden(err) {
		s.Why = fmt.Sprintf(`HTTP 403: no role of this reader in namespace %s has the rule {apiGroups: [""], resources: [configmaps], resourceNames: [%s], verbs: [get]}`, namespace, livestate.ConfigMap)
	}
	return livestate.Cilium{Source: s}
}

// ciliumElsewhere looks where Cilium's agents run, once its usual namespace
// holds no configuration.
func (a asker) ciliumElsewhere(ctx context.Context, pods []portal.Pod, source portal.Source) livestate.Cilium {
	if source.State != portal.Synced {
		return livestate.Cilium{Source: portal.Source{State: portal.Unsynced, Since: time.Now(),
			Why: "it is not in " + ciliumNamespace + ", and without the Pods nobody knows whether Cilium runs elsewhere"}}
	}
	namespace := livestate.CiliumNamespace(pods)
	if namespace == "" {
		return livestate.Cilium{Source: portal.Source{State: portal.Synced, Since: time.Now()}}
	}
	c := a.ciliumIn(ctx, namespace)
	if c.Source.State == portal.Synced && c.Namespace == "" {
		c.Source = portal.Source{State: portal.Unsynced, Since: time.Now(), Why: "Cilium's agents run in " + namespace + ", which holds no such ConfigMap"}
	}
	return c
}

// isNotFound tells a 404 of the API server, which says what is not found, from
// one of whatever else answers there.
func isNotFound(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && apierrors.IsNotFound(err) && status.Status().Details != nil && status.Status().Details.Name == livestate.ConfigMap
}

// sourceOf is the state of what failed to be read.
func sourceOf(err error, resource schema.GroupVersionResource) portal.Source {
	f := describe(err, resource)
	s := portal.Source{State: portal.Unsynced, Since: time.Now(), Why: f.why}
	if f.denied {
		s.State = portal.Denied
		if resource.Resource == "" {
			s.Why = "the API server refuses to say what it serves"
		}
	}
	return s
}
