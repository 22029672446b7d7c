package seed

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

const (
	// workers is the number of objects in flight. More do not help: the
	// server allocates addresses and ports one after the other.
	workers = 16
	// crdTimeout bounds the wait between the creation of a
	// CustomResourceDefinition and the moment its kind is served: well under
	// a second on an idle machine.
	crdTimeout = 30 * time.Second
)

// Apply creates the objects on the server of config, then sets the status of
// those that have one. Namespaces and CustomResourceDefinitions go first,
// whatever the order; the rest is created in parallel. An object that is
// already there is brought to what is asked (server-side apply). The first
// object refused ends the work and is named in the error.
func Apply(ctx context.Context, config *rest.Config, objects []Object) error {
	config = rest.CopyConfig(config)
	config.QPS = -1 // no limit on the client's side
	config.WarningHandler = rest.NoWarnings{}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	s := seeder{client: client, discovery: disco}
	var first, others []Object
	var timeout time.Duration
	for _, o := range objects {
		switch o.GetKind() {
		case "CustomResourceDefinition":
			timeout = crdTimeout
			fallthrough
		case "Namespace":
			first = append(first, o)
		default:
			others = append(others, o)
		}
	}
	if err := s.putAll(ctx, first, 0); err != nil {
		return err
	}
	return s.putAll(ctx, others, timeout)
}

type seeder struct {
	client    dynamic.Interface
	discovery *discovery.DiscoveryClient
	resources map[schema.GroupVersionKind]resource
}

// resource is what the server says of a kind.
type resource struct {
	schema.GroupVersionResource
	namespaced, status bool
}

// putAll creates the objects, once the server knows all their kinds or
// timeout has passed.
func (s *seeder) putAll(ctx context.Context, objects []Object, timeout time.Duration) error {
	if err := s.waitForKinds(ctx, objects, timeout); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for _, o := range objects {
		group.Go(func() error {
			if err := s.put(ctx, o); err != nil {
				return fmt.Errorf("%s: %w", o, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func (s *seeder) waitForKinds(ctx context.Context, objects []Object, timeout time.Duration) error {
	for deadline := time.Now().Add(timeout); ; {
		err := s.discover()
		if err == nil {
			err = s.firstUnknown(objects)
		}
		if err == nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (s *seeder) firstUnknown(objects []Object) error {
	for _, o := range objects {
		if _, ok := s.resources[o.GroupVersionKind()]; !ok {
			return fmt.Errorf("%s: the server has no kind %s in %s; seed its CustomResourceDefinition", o, o.GetKind(), o.GetAPIVersion())
		}
	}
	return nil
}

// discover asks the server which resource serves each kind.
func (s *seeder) discover() error {
	_, lists, err := s.discovery.ServerGroupsAndResources()
	if err != nil {
		return fmt.Errorf("ask the server for its kinds: %w", err)
	}
	s.resources = map[schema.GroupVersionKind]resource{}
	withStatus := map[schema.GroupVersionResource]bool{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return err
		}
		for _, r := range list.APIResources {
			if name, sub, found := strings.Cut(r.Name, "/"); !found {
				s.resources[gv.WithKind(r.Kind)] = resource{gv.WithResource(name), r.Namespaced, false}
			} else if sub == "status" {
				withStatus[gv.WithResource(name)] = true
			}
		}
	}
	for kind, r := range s.resources {
		r.status = withStatus[r.GroupVersionResource]
		s.resources[kind] = r
	}
	return nil
}

func (s *seeder) put(ctx context.Context, o Object) error {
	r := s.resources[o.GroupVersionKind()]
	client := dynamic.ResourceInterface(s.client.Resource(r.GroupVersionResource))
	if r.namespaced {
		ns := o.GetNamespace()
		if ns == "" {
			ns = metav1.NamespaceDefault
		}
		client = s.client.Resource(r.GroupVersionResource).Namespace(ns)
	}
	object := o.DeepCopy()
	status, hasStatus := object.Object["status"]
	if r.status {
		// Create would ignore it. Apply would check it, and refuse a Node
		// with two InternalIPs.
		delete(object.Object, "status")
	}
	live, err := client.Create(ctx, object, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		live, err = client.Apply(ctx, o.GetName(), object, metav1.ApplyOptions{FieldManager: "controlplane-seed", Force: true})
	}
	// The server alone writes the status of namespaces and definitions.
	if err != nil || !hasStatus || !r.status || r.Resource == "namespaces" || r.Resource == "customresourcedefinitions" {
		return err
	}
	live.Object["status"] = status
	if _, err := client.UpdateStatus(ctx, live, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("set the status: %w", err)
	}
	return nil
}
