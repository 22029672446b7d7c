package discover

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nestor-tools/nestor/mapping/cluster"
	"github.com/nestor-tools/nestor/mapping/fact"
)

// readers fill the snapshot, each its own part of it.
func (r *reader) readers(s *cluster.Snapshot, ways []fact.Observed[[]cluster.Place]) []func(context.Context) {
	core, apps, batch, storage := corev1.SchemeGroupVersion, appsv1.SchemeGroupVersion, batchv1.SchemeGroupVersion, storagev1.SchemeGroupVersion
	all := []func(context.Context){
		func(ctx context.Context) { s.Nodes = objects(ctx, r, core.WithResource("nodes"), nodes) },
		func(ctx context.Context) { s.Services = objects(ctx, r, core.WithResource("services"), services) },
		func(ctx context.Context) {
			s.Claims = objects(ctx, r, core.WithResource("persistentvolumeclaims"), claims)
		},
		func(ctx context.Context) {
			s.Deployments = objects(ctx, r, apps.WithResource("deployments"), deployments)
		},
		func(ctx context.Context) { s.DaemonSets = objects(ctx, r, apps.WithResource("daemonsets"), daemonSets) },
		func(ctx context.Context) {
			s.StatefulSets = objects(ctx, r, apps.WithResource("statefulsets"), statefulSets)
		},
		func(ctx context.Context) { s.CronJobs = objects(ctx, r, batch.WithResource("cronjobs"), cronJobs) },
		func(ctx context.Context) {
			s.StorageClasses = objects(ctx, r, storage.WithResource("storageclasses"), storageClasses)
		},
		func(ctx context.Context) {
			s.Namespaces = fact.Then(r.places(ctx, schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}), toNamespaces)
		},
		func(ctx context.Context) {
			s.CRDs = fact.Then(r.places(ctx, schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}), toNames)
		},
	}
	for i, w := range cluster.Ways() {
		all = append(all, func(ctx context.Context) { ways[i] = r.way(ctx, w) })
	}
	return all
}

// objects lists a resource and keeps of its objects what items takes.
func objects[P interface {
	*L
	runtime.Object
	metav1.ListInterface
}, L, V any](ctx context.Context, r *reader, of schema.GroupVersionResource, items func(P) []V) fact.Observed[[]V] {
	return read(ctx, r, func(ctx context.Context, o metav1.ListOptions) ([]V, string, error) {
		page := P(new(L))
		if err := r.list(ctx, of, o, page); err != nil {
			return nil, "", err
		}
		return items(page), page.GetContinue(), nil
	})
}

func decode(body []byte, into any) error {
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("not what a Kubernetes API answers: %w", err)
	}
	return nil
}

// parseVersion reads /version. What answers something else is no Kubernetes.
func parseVersion(body []byte) (fact.Observed[string], error) {
	var v struct{ GitVersion string }
	if err := decode(body, &v); err != nil {
		return fact.Observed[string]{}, err
	}
	if v.GitVersion == "" {
		return fact.Observed[string]{}, fmt.Errorf("not what a Kubernetes API answers: no version")
	}
	return fact.Present(v.GitVersion), nil
}

func toPlaces(all []metav1.PartialObjectMetadata) ([]cluster.Place, error) {
	places := make([]cluster.Place, 0, len(all))
	for _, m := range all {
		places = append(places, cluster.Place{Namespace: m.Namespace, Name: m.Name})
	}
	return places, nil
}

func toNamespaces(all []metav1.PartialObjectMetadata) ([]cluster.Namespace, error) {
	namespaces := make([]cluster.Namespace, 0, len(all))
	for _, m := range all {
		namespaces = append(namespaces, cluster.Namespace{Name: m.Name, UID: string(m.UID)})
	}
	return namespaces, nil
}

func toNames(all []metav1.PartialObjectMetadata) ([]string, error) {
	names := make([]string, 0, len(all))
	for _, m := range all {
		names = append(names, m.Name)
	}
	return names, nil
}

func nodes(list *corev1.NodeList) (all []cluster.Node) {
	for _, n := range list.Items {
		info := n.Status.NodeInfo
		node := cluster.Node{
			Name: n.Name, Labels: n.Labels, Unschedulable: n.Spec.Unschedulable, Conditions: map[string]string{},
			MachineID: info.MachineID, SystemUUID: info.SystemUUID,
			Kubelet: info.KubeletVersion, Runtime: info.ContainerRuntimeVersion, OSImage: info.OSImage,
			Kernel: info.KernelVersion, Architecture: info.Architecture,
		}
		for _, a := range n.Status.Addresses {
			node.Addresses = append(node.Addresses, cluster.Address{Type: string(a.Type), Address: a.Address})
		}
		for _, c := range n.Status.Conditions {
			node.Conditions[string(c.Type)] = string(c.Status)
		}
		for _, t := range n.Spec.Taints {
			if strings.HasPrefix(t.Key, "node.kubernetes.io/") {
				continue // they come and go with the conditions
			}
			text := t.Key
			if t.Value != "" {
				text += "=" + t.Value
			}
			node.Taints = append(node.Taints, text+":"+string(t.Effect))
		}
		all = append(all, node)
	}
	return all
}

func services(list *corev1.ServiceList) (all []cluster.Service) {
	for _, s := range list.Items {
		service := cluster.Service{Namespace: s.Namespace, Name: s.Name, Type: string(s.Spec.Type), ExternalIPs: s.Spec.ExternalIPs}
		for _, p := range s.Spec.Ports {
			service.Ports = append(service.Ports, cluster.ServicePort{Name: p.Name, Port: int(p.Port), Protocol: string(p.Protocol), NodePort: int(p.NodePort)})
		}
		for _, in := range s.Status.LoadBalancer.Ingress {
			if address := in.IP + in.Hostname; address != "" {
				service.Balanced = append(service.Balanced, address)
			}
		}
		all = append(all, service)
	}
	return all
}

func claims(list *corev1.PersistentVolumeClaimList) (all []cluster.Claim) {
	for _, c := range list.Items {
		all = append(all, cluster.Claim{Namespace: c.Namespace, Name: c.Name, Phase: string(c.Status.Phase)})
	}
	return all
}

func storageClasses(list *storagev1.StorageClassList) (all []cluster.StorageClass) {
	for _, c := range list.Items {
		class := cluster.StorageClass{
			Name: c.Name, Provisioner: c.Provisioner, Created: c.CreationTimestamp.UTC(),
			Default:    c.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" || c.Annotations["storageclass.beta.kubernetes.io/is-default-class"] == "true",
			Expandable: c.AllowVolumeExpansion != nil && *c.AllowVolumeExpansion,
		}
		if c.ReclaimPolicy != nil {
			class.Reclaim = string(*c.ReclaimPolicy)
		}
		if c.VolumeBindingMode != nil {
			class.Binding = string(*c.VolumeBindingMode)
		}
		all = append(all, class)
	}
	return all
}

func deployments(list *appsv1.DeploymentList) (all []cluster.Workload) {
	for _, d := range list.Items {
		all = append(all, workload("Deployment", d.ObjectMeta, d.Spec.Template.Spec, replicas(d.Spec.Replicas), d.Status.ReadyReplicas))
	}
	return all
}

func statefulSets(list *appsv1.StatefulSetList) (all []cluster.Workload) {
	for _, s := range list.Items {
		all = append(all, workload("StatefulSet", s.ObjectMeta, s.Spec.Template.Spec, replicas(s.Spec.Replicas), s.Status.ReadyReplicas))
	}
	return all
}

func daemonSets(list *appsv1.DaemonSetList) (all []cluster.Workload) {
	for _, d := range list.Items {
		all = append(all, workload("DaemonSet", d.ObjectMeta, d.Spec.Template.Spec, d.Status.DesiredNumberScheduled, d.Status.NumberReady))
	}
	return all
}

func cronJobs(list *batchv1.CronJobList) (all []cluster.Workload) {
	for _, j := range list.Items {
		all = append(all, workload("CronJob", j.ObjectMeta, j.Spec.JobTemplate.Spec.Template.Spec, 0, 0))
	}
	return all
}

// replicas of a workload that does not say are 1.
func replicas(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}

func workload(kind string, meta metav1.ObjectMeta, pod corev1.PodSpec, wanted, ready int32) cluster.Workload {
	w := cluster.Workload{Kind: kind, Namespace: meta.Namespace, Name: meta.Name, HostNetwork: pod.HostNetwork, Wanted: int(wanted), Ready: int(ready)}
	for key, value := range meta.Labels {
		if strings.HasPrefix(key, "app.kubernetes.io/") {
			if w.Labels == nil {
				w.Labels = map[string]string{}
			}
			w.Labels[key] = value
		}
	}
	for _, c := range pod.Containers {
		container := cluster.Container{Image: c.Image}
		for _, p := range c.Ports {
			host := p.HostPort
			if host == 0 && pod.HostNetwork { // only the live pod is given the number
				host = p.ContainerPort
			}
			if host != 0 {
				container.Ports = append(container.Ports, cluster.HostPort{Name: p.Name, Port: int(p.ContainerPort), HostPort: int(host), Protocol: string(p.Protocol), HostIP: p.HostIP})
			}
		}
		w.Containers = append(w.Containers, container)
	}
	return w
}
