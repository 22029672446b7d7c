//go:build integration

package cptest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-tools/nestor/bench/cptest"
)

// TestSeedsALargeCluster seeds 5,000 Services, 2,000 of them with NodePorts
// that the server chooses, and 1,000 Nodes with their status. It takes about a
// minute; the limit is five times the two minutes that it may take.
func TestSeedsALargeCluster(t *testing.T) {
	const services, nodePorts, nodes = 5000, 2000, 1000
	cluster := cptest.Start(t) // of its own: it takes most of the NodePorts
	var yaml strings.Builder
	yaml.WriteString("apiVersion: v1\nkind: Namespace\nmetadata: {name: large}\n")
	for i := range nodes {
		fmt.Fprintf(&yaml, "---\napiVersion: v1\nkind: Node\nmetadata: {name: n%d}\nstatus:\n  addresses: [{type: InternalIP, address: 10.9.%d.%d}]\n  conditions: [{type: Ready, status: %q}]\n",
			i, i/250, i%250+1, []string{"True", "False"}[i%2])
	}
	for i := range services {
		kind := "ClusterIP"
		if i < nodePorts {
			kind = "NodePort"
		}
		fmt.Fprintf(&yaml, "---\napiVersion: v1\nkind: Service\nmetadata: {name: s%d, namespace: large}\nspec: {type: %s, selector: {app: s%d}, ports: [{name: http, port: 80}]}\n", i, kind, i)
	}
	begin := time.Now()
	cluster.Seed(t, yaml.String())
	took := time.Since(begin)
	t.Logf("seeded %d services and %d nodes in %s", services, nodes, took.Round(time.Second))
	assert.Less(t, took, 10*time.Minute)

	c := client(t, cluster.Kubeconfig)
	begin = time.Now()
	all, err := c.CoreV1().Services("large").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	t.Logf("listed them in %s", time.Since(begin).Round(time.Millisecond))
	ports := map[int32]bool{}
	for _, s := range all.Items {
		if s.Spec.Type == corev1.ServiceTypeNodePort {
			ports[s.Spec.Ports[0].NodePort] = true
		}
	}
	assert.Len(t, all.Items, services)
	assert.Len(t, ports, nodePorts, "each its own port")
	assert.False(t, ports[0])
	listed, err := c.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	ready := 0
	for _, n := range listed.Items {
		for _, condition := range n.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
				ready++
			}
		}
	}
	assert.Len(t, listed.Items, nodes)
	assert.Equal(t, nodes/2, ready, "the status is set")
}
