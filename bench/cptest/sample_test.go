//go:build integration

package cptest_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestSample proves that make controlplane shows what its files promise.
func TestSample(t *testing.T) {
	files, err := filepath.Glob("../controlplane/sample/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	cluster := api.Get(t)
	cluster.SeedFiles(t, files...)
	c := client(t, cluster.Kubeconfig)

	nodes, err := c.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{LabelSelector: "kubernetes.io/hostname"})
	require.NoError(t, err)
	ready := map[string]corev1.ConditionStatus{}
	for _, n := range nodes.Items {
		ready[n.Name] = n.Status.Conditions[0].Status
	}
	assert.Equal(t, map[string]corev1.ConditionStatus{"cp1": "True", "node1": "True", "node2": "True", "node3": "True", "node4": "Unknown"}, ready)

	types := map[corev1.ServiceType]int{}
	for _, ns := range []string{"argocd", "databases", "gitea", "mail", "monitoring", "rook-ceph"} {
		services, err := c.CoreV1().Services(ns).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		for _, s := range services.Items {
			types[s.Spec.Type]++
			if s.Spec.Type != corev1.ServiceTypeClusterIP {
				assert.NotZero(t, s.Spec.Ports[0].NodePort, s.Name)
			}
		}
	}
	assert.Equal(t, map[corev1.ServiceType]int{"ClusterIP": 4, "NodePort": 4, "LoadBalancer": 1}, types)

	classes, err := c.StorageV1().StorageClasses().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, classes.Items, 4)

	groups, err := c.Discovery().ServerGroups()
	require.NoError(t, err)
	var names []string
	for _, g := range groups.Groups {
		names = append(names, g.Name)
	}
	assert.Subset(t, names, []string{
		"gateway.networking.k8s.io", "snapshot.storage.k8s.io", "cilium.io", "ceph.rook.io", "objectbucket.io",
		"postgresql.cnpg.io", "monitoring.coreos.com", "argoproj.io", "cert-manager.io",
	})
	assert.Equal(t, "HEALTH_OK", cluster.Kubectl(t, "get", "cephcluster", "rook-ceph", "-n", "rook-ceph", "-o", "jsonpath={.status.ceph.health}"))
}
