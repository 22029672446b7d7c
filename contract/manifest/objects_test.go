package manifest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/contract/kube"
	"github.com/nestor-tools/nestor/contract/manifest"
)

func object(apiVersion, kind, rest string) string {
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: x, namespace: n}\n%s", apiVersion, kind, rest)
}

// What operators make of their resources, by the documentation of each.
func TestReadBytes_Operators(t *testing.T) {
	cases := []struct{ apiVersion, kind, spec, want string }{
		{"postgresql.cnpg.io/v1", "Cluster", "", "x-rw [5432], x-ro [5432], x-r [5432]"},
		{"postgresql.cnpg.io/v1", "Pooler", "", "x [5432]"},
		{"ceph.rook.io/v1", "CephObjectStore", "spec: {gateway: {port: 80, securePort: 443}}\n", "rook-ceph-rgw-x [80 443]"},
		{"ceph.rook.io/v1", "CephCluster", "spec: {dashboard: {port: 8443}}\n", "rook-ceph-mgr [9283 8443], rook-ceph-mgr-dashboard [8443]"},
		{"monitoring.coreos.com/v1", "Prometheus", "", "prometheus-operated [9090]"},
		{"example.org/v1", "Cluster", "", ""},
		{"v1", "Cluster", "", ""},
	}
	for _, c := range cases {
		var got []string
		for _, d := range manifest.ReadBytes("x.yaml", []byte(object(c.apiVersion, c.kind, c.spec))).Derived {
			got = append(got, fmt.Sprintf("%s %v", d.Service, d.Ports))
		}
		assert.Equal(t, c.want, strings.Join(got, ", "), "%s %s", c.apiVersion, c.kind)
	}
	assert.Len(t, manifest.ReadBytes("x.yaml", []byte(object("example.org/v1", "EventCluster", ""))).Generators, 1)
	assert.Len(t, manifest.ReadBytes("x.yaml", []byte(object("example.org/v1", "ObjectStore", ""))).Generators, 1)
	assert.Empty(t, manifest.ReadBytes("x.yaml", []byte(object("example.org/v1", "Thing", ""))).Generators)
}

func TestReadBytes_Routes(t *testing.T) {
	cases := []struct{ name, in, want string }{
		{"Ingress", object("networking.k8s.io/v1", "Ingress", "spec:\n  defaultBackend: {service: {name: a}}\n  rules: [{http: {paths: [{backend: {service: {name: b}}}]}}]\n"), "n/a n/b"},
		{"Ingress of old", object("extensions/v1beta1", "Ingress", "spec: {rules: [{http: {paths: [{backend: {serviceName: a, servicePort: 80}}]}}]}\n"), "n/a"},
		{"HTTPRoute", object("gateway.networking.k8s.io/v1", "HTTPRoute", "spec: {rules: [{backendRefs: [{name: a, port: 80}, {name: b, namespace: m}, {kind: Bucket, name: c}]}]}\n"), "n/a m/b"},
	}
	for _, c := range cases {
		var got []string
		for _, r := range manifest.ReadBytes("x.yaml", []byte(c.in)).Routes {
			got = append(got, r.Namespace+"/"+r.Service)
		}
		assert.Equal(t, c.want, strings.Join(got, " "), c.name)
	}
}

func TestReadBytes_Leftovers(t *testing.T) {
	for kind, apiVersion := range map[string]string{"Gateway": "gateway.networking.k8s.io/v1", "GatewayClass": "gateway.networking.k8s.io/v1", "HTTPRoute": "gateway.networking.k8s.io/v1",
		"CiliumLoadBalancerIPPool": "cilium.io/v2alpha1", "CiliumL2AnnouncementPolicy": "cilium.io/v2alpha1", "IPAddressPool": "metallb.io/v1beta1"} {
		assert.Len(t, manifest.ReadBytes("x.yaml", []byte(object(apiVersion, kind, ""))).Leftovers, 1, kind)
	}
	for kind, apiVersion := range map[string]string{"Ingress": "networking.k8s.io/v1", "ReferenceGrant": "gateway.networking.k8s.io/v1", "Gateway": "networking.istio.io/v1", "CiliumNetworkPolicy": "cilium.io/v2"} {
		assert.Empty(t, manifest.ReadBytes("x.yaml", []byte(object(apiVersion, kind, ""))).Leftovers, kind)
	}
}

func TestReadBytes_Charts(t *testing.T) {
	cases := map[string]int{
		object("helm.toolkit.fluxcd.io/v2", "HelmRelease", ""):                                           1,
		object("argoproj.io/v1alpha1", "Application", "spec: {source: {chart: c}}\n"):                    1,
		object("argoproj.io/v1alpha1", "Application", "spec: {sources: [{path: p}, {helm: {}}]}\n"):      1,
		object("argoproj.io/v1alpha1", "Application", "spec: {source: {path: p}}\n"):                     0,
		object("helm.cattle.io/v1", "HelmChart", "spec: {valuesContent: 'service: {type: NodePort}'}\n"): 1,
		object("helm.cattle.io/v1", "HelmChartConfig", "spec:\n  valuesContent: |-\n    a: [\n"):         1,
	}
	for in, want := range cases {
		assert.Len(t, manifest.ReadBytes("x.yaml", []byte(in)).Charts, want, in)
	}
	tree := manifest.ReadBytes("x.yaml", []byte(object("helm.cattle.io/v1", "HelmChart", "spec:\n  valuesContent: |\n    # a comment\n    service:\n      type: NodePort\n")))
	assert.Equal(t, []string{"8 operator x: type NodePort"}, seen(tree), "the line of the file")
	tree = manifest.ReadBytes("x.yaml", []byte(object("helm.cattle.io/v1", "HelmChart", "spec:\n  valuesContent: |\n    a: [\n")))
	assert.Equal(t, []string{"6 syntax"}, seen(tree))
}

func TestReadBytes_Access(t *testing.T) {
	reads := map[string]bool{
		"rules: [{apiGroups: [''], resources: [secrets], verbs: [get]}]\n":                                                      true,
		"rules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]\n":                                                         true,
		"rules: [{apiGroups: [''], resources: [pods], verbs: [get]}, {apiGroups: [''], resources: [secrets], verbs: [list]}]\n": true,
		"rules: [{apiGroups: [''], resources: [secrets], verbs: [create]}]\n":                                                   false,
		"rules: [{apiGroups: [example.org], resources: [secrets], verbs: [get]}]\n":                                             false,
		"rules: [{apiGroups: [''], resources: [services], verbs: [get]}]\n":                                                     false,
		"rules: []\n": false,
	}
	for in, want := range reads {
		tree := manifest.ReadBytes("x.yaml", []byte(object("rbac.authorization.k8s.io/v1", "ClusterRole", in)))
		require.Len(t, tree.Roles, 1)
		assert.Equal(t, want, tree.Roles[0].ReadsSecrets, in)
	}
	tree := manifest.ReadBytes("x.yaml", []byte(object("rbac.authorization.k8s.io/v1", "RoleBinding",
		"roleRef: {kind: Role, name: r}\nsubjects:\n- {kind: ServiceAccount, name: a, namespace: n}\n- {kind: User, name: 'system:serviceaccount:m:b'}\n- {kind: User, name: jane}\n- {kind: Group, name: g}\n")))
	require.Len(t, tree.Bindings, 1)
	b := tree.Bindings[0]
	assert.Equal(t, "r", b.Role.Name)
	assert.Equal(t, []string{"g"}, b.Groups)
	require.Len(t, b.Accounts, 2)
	assert.Equal(t, "n/a", b.Accounts[0].Namespace+"/"+b.Accounts[0].Name)
	assert.Equal(t, "m/b", b.Accounts[1].Namespace+"/"+b.Accounts[1].Name)
}

// Of a Secret the names of its keys are kept, and no value.
func TestReadBytes_Secrets(t *testing.T) {
	tree := manifest.ReadBytes("x.yaml", []byte(object("v1", "Secret", "data: {a: c2VjcmV0LXZhbHVl}\nstringData: {b: another-secret}\n")))
	require.Len(t, tree.Secrets, 1)
	assert.Equal(t, []string{"a", "b"}, tree.Secrets[0].Keys)
	assert.NotContains(t, fmt.Sprintf("%+v", tree), "c2VjcmV0")
	assert.NotContains(t, fmt.Sprintf("%+v", tree), "another-secret")

	tree = manifest.ReadBytes("x.yaml", []byte(object("v1", "Pod", "spec:\n  containers:\n  - env: [{valueFrom: {secretKeyRef: {name: a}}}, {value: b}]\n    envFrom: [{secretRef: {name: c}}]\n  volumes: [{secret: {secretName: d}}, {emptyDir: {}}]\n")))
	var names []string
	for _, s := range tree.SecretRefs {
		names = append(names, s.Name)
	}
	assert.Equal(t, []string{"a", "c", "d"}, names)
}

func TestReadBytes_Databases(t *testing.T) {
	tree := manifest.ReadBytes("x.yaml", []byte(object("postgresql.cnpg.io/v1", "Cluster", "spec:\n  managed: {roles: [{name: r, passwordSecret: {name: a}}, {name: s}]}\n  bootstrap: {initdb: {secret: {name: b}}}\n  superuserSecret: {name: c}\n")))
	require.Len(t, tree.Databases, 1)
	var names []string
	for _, s := range tree.Databases[0].Secrets {
		names = append(names, s.Name)
	}
	assert.Equal(t, []string{"a", "b", "c"}, names)
}

func TestPolicy_Selects(t *testing.T) {
	pods := map[string]string{"app": "web", "tier": "front"}
	cases := map[string]bool{
		"{}":                        true,
		"{matchLabels: {app: web}}": true,
		"{matchLabels: {app: db}}":  false,
		"{matchExpressions: [{key: app, operator: In, values: [db, web]}]}": true,
		"{matchExpressions: [{key: app, operator: NotIn, values: [web]}]}":  false,
		"{matchExpressions: [{key: zone, operator: NotIn, values: [a]}]}":   true,
		"{matchExpressions: [{key: zone, operator: Exists}]}":               false,
		"{matchExpressions: [{key: app, operator: Exists}]}":                true,
		"{matchExpressions: [{key: app, operator: DoesNotExist}]}":          false,
	}
	for selector, want := range cases {
		tree := manifest.ReadBytes("x.yaml", []byte(object("networking.k8s.io/v1", "NetworkPolicy", "spec: {podSelector: "+selector+", policyTypes: [Egress]}\n")))
		require.Len(t, tree.Policies, 1)
		assert.Equal(t, want, tree.Policies[0].Selects(pods), selector)
		assert.False(t, tree.Policies[0].Ingress, "it speaks of what goes out")
	}
}

// The kinds that run pods under another group's name are read as well.
func TestReadBytes_Workloads(t *testing.T) {
	const template = "spec: {template: {spec: {hostNetwork: true}}}\n"
	for _, c := range []struct {
		apiVersion, kind string
		want             int
	}{
		{"apps/v1", "Deployment", 1}, {"extensions/v1beta1", "Deployment", 1}, {"apps/v1", "StatefulSet", 1}, {"apps/v1", "ReplicaSet", 1}, {"batch/v1", "Job", 1},
		{"argoproj.io/v1alpha1", "Rollout", 1}, {"apps.kruise.io/v1alpha1", "CloneSet", 1}, {"apps.kruise.io/v1alpha1", "DaemonSet", 1},
		{"example.org/v1", "Deployment", 0},
	} {
		tree := manifest.ReadBytes("x.yaml", []byte(object(c.apiVersion, c.kind, template)))
		assert.Len(t, kube.Exposures(nil, tree.Workloads), c.want, "%s %s", c.apiVersion, c.kind)
		assert.Len(t, tree.Elsewhere, 1-c.want, "%s %s: never taken for no exposure", c.apiVersion, c.kind)
	}
}
