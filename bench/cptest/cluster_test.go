//go:build integration

package cptest_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/nestor-tools/nestor/bench/cptest"
)

var api cptest.Shared

func TestMain(m *testing.M) { os.Exit(api.Main(m)) }

func client(t *testing.T, kubeconfig string) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	require.NoError(t, err)
	config.QPS = -1
	c, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return c
}

// namespace makes a namespace of the test's own: without controllers a deleted
// one never goes away, so names are not used twice.
func namespace(t *testing.T, c kubernetes.Interface) string {
	t.Helper()
	ns, err := c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "t-"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	return ns.Name
}

func nodePortService(name string, nodePort int32) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80, NodePort: nodePort}}},
	}
}

func TestNodePortsAreTheServersOwn(t *testing.T) {
	c := client(t, api.Get(t).Kubeconfig)
	services := c.CoreV1().Services(namespace(t, c))
	first, err := services.Create(t.Context(), nodePortService("first", 0), metav1.CreateOptions{})
	require.NoError(t, err)
	port := first.Spec.Ports[0].NodePort
	assert.GreaterOrEqual(t, port, int32(30000))
	assert.LessOrEqual(t, port, int32(32767))
	assert.NotEmpty(t, first.Spec.ClusterIP)

	_, err = services.Create(t.Context(), nodePortService("twice", port), metav1.CreateOptions{})
	assert.True(t, apierrors.IsInvalid(err), "%v", err)
	assert.ErrorContains(t, err, "already allocated")
	_, err = services.Create(t.Context(), nodePortService("outside", 80), metav1.CreateOptions{})
	assert.True(t, apierrors.IsInvalid(err), "%v", err)
	assert.ErrorContains(t, err, "not in the valid range")

	require.NoError(t, services.Delete(t.Context(), "first", metav1.DeleteOptions{}))
	_, err = services.Create(t.Context(), nodePortService("again", port), metav1.CreateOptions{})
	assert.NoError(t, err, "a freed port can be had again")
}

func TestDualStackServices(t *testing.T) {
	c := client(t, api.Get(t).Kubeconfig)
	service := nodePortService("both", 0)
	policy := corev1.IPFamilyPolicyRequireDualStack
	service.Spec.IPFamilyPolicy = &policy
	made, err := c.CoreV1().Services(namespace(t, c)).Create(t.Context(), service, metav1.CreateOptions{})
	require.NoError(t, err)
	assert.Equal(t, []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}, made.Spec.IPFamilies)
	assert.Len(t, made.Spec.ClusterIPs, 2)
}

func TestWatchSeesChanges(t *testing.T) {
	c := client(t, api.Get(t).Kubeconfig)
	services := c.CoreV1().Services(namespace(t, c))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	watch, err := services.Watch(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	defer watch.Stop()
	made, err := services.Create(ctx, nodePortService("web", 0), metav1.CreateOptions{})
	require.NoError(t, err)
	made.Spec.Type = corev1.ServiceTypeClusterIP
	_, err = services.Update(ctx, made, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.NoError(t, services.Delete(ctx, "web", metav1.DeleteOptions{}))
	var got []string
	for range 3 {
		event := <-watch.ResultChan()
		service, ok := event.Object.(*corev1.Service)
		require.True(t, ok, "%v", event)
		got = append(got, string(event.Type)+" "+string(service.Spec.Type))
	}
	assert.Equal(t, []string{"ADDED NodePort", "MODIFIED ClusterIP", "DELETED ClusterIP"}, got)
}

func TestSeedSetsStatus(t *testing.T) {
	cluster := api.Get(t)
	cluster.SeedFiles(t, "testdata/shop.yaml")
	c := client(t, cluster.Kubeconfig)

	node, err := c.CoreV1().Nodes().Get(t.Context(), "shop-node1", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, corev1.ConditionTrue, node.Status.Conditions[0].Status)
	assert.Equal(t, "192.0.2.11", node.Status.Addresses[0].Address)
	assert.Empty(t, node.Spec.Taints, "no controller would ever lift a taint of the server's")
	node, err = c.CoreV1().Nodes().Get(t.Context(), "shop-node2", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, corev1.ConditionFalse, node.Status.Conditions[0].Status)
	assert.True(t, node.Spec.Unschedulable)

	pod, err := c.CoreV1().Pods("shop").Get(t.Context(), "web-0", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, corev1.PodRunning, pod.Status.Phase)

	slice, err := c.DiscoveryV1().EndpointSlices("shop").Get(t.Context(), "web-1", metav1.GetOptions{})
	require.NoError(t, err)
	assert.True(t, *slice.Endpoints[0].Conditions.Ready)
	assert.True(t, *slice.Endpoints[1].Conditions.Terminating)

	code, gateway := cluster.Do(t, http.MethodGet, "/apis/gateway.networking.k8s.io/v1/namespaces/shop/gateways/web", "")
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, string(gateway), "192.0.2.200", "a custom resource has its status too")

	service, err := c.CoreV1().Services("shop").Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	cluster.SeedFiles(t, "testdata/shop.yaml") // again: nothing is refused, nothing moves
	after, err := c.CoreV1().Services("shop").Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, service.UID, after.UID)
	assert.Equal(t, service.Spec.Ports, after.Spec.Ports)
}

func TestUpdateStatusOfANode(t *testing.T) {
	cluster := api.Get(t)
	nodes := client(t, cluster.Kubeconfig).CoreV1().Nodes()
	cluster.Seed(t, `{apiVersion: v1, kind: Node, metadata: {name: flapping}, status: {conditions: [{type: Ready, status: "True"}]}}`)
	node, err := nodes.Get(t.Context(), "flapping", metav1.GetOptions{})
	require.NoError(t, err)
	node.Status.Conditions[0].Status = corev1.ConditionUnknown
	node.Labels = map[string]string{"set-by": "status"}
	after, err := nodes.UpdateStatus(t.Context(), node, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.Equal(t, corev1.ConditionUnknown, after.Status.Conditions[0].Status)
	node.Spec.Unschedulable = true
	node.ResourceVersion = after.ResourceVersion
	after, err = nodes.UpdateStatus(t.Context(), node, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.False(t, after.Spec.Unschedulable, "the status subresource leaves the spec alone")
}

// TestPortalRole proves with the server's own RBAC that the portal's role reads
// what it needs and nothing else.
func TestPortalRole(t *testing.T) {
	cluster := api.Get(t)
	cluster.SeedFiles(t, "testdata/shop.yaml")
	token := cluster.ServiceAccountToken(t, "shop", "portal")
	portal := client(t, cluster.As(token).WriteKubeconfig(t))

	services, err := portal.CoreV1().Services("").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.NotEmpty(t, services.Items)
	slices, err := portal.DiscoveryV1().EndpointSlices("").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.NotEmpty(t, slices.Items)
	nodes, err := portal.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.NotEmpty(t, nodes.Items)

	_, err = portal.CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{})
	assert.True(t, apierrors.IsForbidden(err), "secrets: %v", err)
	_, err = portal.CoreV1().Secrets("shop").Get(t.Context(), "any", metav1.GetOptions{})
	assert.True(t, apierrors.IsForbidden(err), "one secret: %v", err)
	_, err = portal.CoreV1().Services("shop").Create(t.Context(), nodePortService("mine", 0), metav1.CreateOptions{})
	assert.True(t, apierrors.IsForbidden(err), "create: %v", err)
	err = portal.CoreV1().Nodes().Delete(t.Context(), "shop-node1", metav1.DeleteOptions{})
	assert.True(t, apierrors.IsForbidden(err), "delete: %v", err)
	_, err = portal.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	assert.True(t, apierrors.IsForbidden(err), "pods: %v", err)

	code, _ := cluster.As("not-a-token").Do(t, http.MethodGet, "/api/v1/services", "")
	assert.Equal(t, http.StatusUnauthorized, code)
}

func TestKubectl(t *testing.T) {
	cluster := api.Get(t)
	cluster.SeedFiles(t, "testdata/shop.yaml")
	assert.Regexp(t, `shop +web +NodePort`, cluster.Kubectl(t, "get", "svc", "-A"))

	var version struct {
		ClientVersion, ServerVersion struct{ GitVersion, Major, Minor string }
	}
	require.NoError(t, json.Unmarshal([]byte(cluster.Kubectl(t, "version", "-o", "json")), &version))
	assert.Regexp(t, `^v1\.\d+\.\d+$`, version.ServerVersion.GitVersion)
	assert.Equal(t, version.ClientVersion, version.ServerVersion)
	assert.Equal(t, "1", version.ServerVersion.Major)

	cluster.Kubectl(t, "apply", "-f", "testdata/shop.yaml")
	assert.Contains(t, cluster.Kubectl(t, "apply", "-f", "testdata/shop.yaml"), "service/web unchanged")
	assert.Contains(t, cluster.Kubectl(t, "describe", "node", "shop-node1"), "KubeletReady")
	assert.Contains(t, cluster.Kubectl(t, "explain", "service.spec.ports.nodePort"), "NodePort")
}
