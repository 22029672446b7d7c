package cluster_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/nestor-tools/nestor/bench/golden"
	"github.com/nestor-tools/nestor/mapping/cluster"
	"github.com/nestor-tools/nestor/mapping/fact"
)

type half struct {
	API     cluster.API
	Cluster cluster.Cluster
}

func mapped(b []byte) (half, error) {
	var s cluster.Snapshot
	if err := json.Unmarshal(b, &s); err != nil {
		return half{}, err
	}
	return half{cluster.About(s), cluster.Map(s)}, nil
}

func TestMap(t *testing.T) { golden.Run(t, mapped) }

func FuzzMap(f *testing.F) {
	golden.Fuzz(f, mapped, func(t *testing.T, h half) {
		_, err := json.Marshal(h)
		require.NoError(t, err)
	})
}

func ExampleMap() {
	half := cluster.Map(cluster.Snapshot{
		Deployments: fact.Present([]cluster.Workload{{
			Kind: "Deployment", Namespace: "argocd", Name: "argocd-server",
			Containers: []cluster.Container{{Image: "quay.io/argoproj/argocd:v3.1.0"}},
		}}),
		StorageClasses: fact.Present([]cluster.StorageClass{{Name: "block", Provisioner: "rook-ceph.rbd.csi.ceph.com", Default: true}}),
	})
	c := half.Catalog.Value[0]
	fmt.Println(c.Name, c.Version.Value, c.Layer, half.Storage.Backend.Value, half.Health.Nodes.State)
	// Output: argo-cd v3.1.0 gitops ceph unknown
}

// Whatever the API says, in any order: nothing of it is dropped, and the same
// gives the same.
func TestMap_DropsNothing(t *testing.T) {
	word := rapid.SampledFrom([]string{"shop", "argocd", "kube-system", "a", "monitoring", "cilium"})
	image := rapid.SampledFrom([]string{"quay.io/cilium/cilium:v1", "quay.io/cilium/cilium:v2", "shop/web:1", "", "redis", ":", "a@b", "registry.k8s.io/sig-storage/csi-provisioner:v5", "localhost/argoproj/argocd"})
	rapid.Check(t, func(t *rapid.T) {
		workloads := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) cluster.Workload {
			w := cluster.Workload{Kind: "Deployment", Namespace: word.Draw(t, "ns"), Name: word.Draw(t, "name")}
			for _, i := range rapid.SliceOfN(image, 0, 3).Draw(t, "images") {
				w.Containers = append(w.Containers, cluster.Container{Image: i})
			}
			return w
		}), 0, 8, func(w cluster.Workload) string { return w.Namespace + "/" + w.Name }).Draw(t, "workloads")
		crds := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a.cilium.io", "b.cilium.io", "x.shop.example.org", "y.source.toolkit.fluxcd.io", "z.io", "odd"}), rapid.ID[string]).Draw(t, "crds")
		spaces := rapid.SliceOfDistinct(word, rapid.ID[string]).Draw(t, "namespaces")
		s := cluster.Snapshot{Deployments: fact.Present(workloads), CRDs: fact.Present(crds)}
		var namespaces []cluster.Namespace
		for _, n := range spaces {
			namespaces = append(namespaces, cluster.Namespace{Name: n})
		}
		s.Namespaces = fact.Present(namespaces)
		got := cluster.Map(s)

		seen := map[string]int{}
		for _, c := range got.Catalog.Value {
			for _, w := range c.Workloads {
				seen[w]++
			}
			for _, g := range c.CRDGroups {
				seen["APIGroup /"+g]++
			}
		}
		for _, o := range got.Unknown.Value {
			seen[o.Kind+" "+o.Namespace+"/"+o.Name]++
		}
		for _, w := range workloads {
			require.Equal(t, 1, seen["Deployment "+w.Namespace+"/"+w.Name], "%v", w)
		}
		for _, c := range crds {
			if _, group, ok := strings.Cut(c, "."); ok {
				require.Equal(t, 1, seen["APIGroup /"+group], group)
			}
		}
		for _, ns := range spaces {
			inLayer := slices.ContainsFunc(got.Layers.Value, func(l cluster.Layer) bool { return slices.Contains(l.Namespaces, ns) })
			require.NotEqual(t, inLayer, seen["Namespace /"+ns] == 1, "%s is in a layer or unknown", ns)
		}

		s.Deployments = fact.Present(rapid.Permutation(workloads).Draw(t, "other order"))
		s.CRDs = fact.Present(rapid.Permutation(crds).Draw(t, "other crds"))
		s.Namespaces = fact.Present(rapid.Permutation(namespaces).Draw(t, "other namespaces"))
		one, err := json.Marshal(got)
		require.NoError(t, err)
		two, err := json.Marshal(cluster.Map(s))
		require.NoError(t, err)
		require.JSONEq(t, string(one), string(two))
	})
}

func TestStorage(t *testing.T) {
	class := func(name, provisioner string, byDefault bool, day int) cluster.StorageClass {
		return cluster.StorageClass{Name: name, Provisioner: provisioner, Default: byDefault, Created: time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC)}
	}
	const rbd, local = "rook-ceph.rbd.csi.ceph.com", "rancher.io/local-path"
	for name, c := range map[string]struct {
		classes        []cluster.StorageClass
		backend, chose fact.Observed[string]
	}{
		"none":                 {nil, fact.Absent[string]("there is no storage class"), fact.Absent[string]("no class is marked as the default")},
		"the newest default":   {[]cluster.StorageClass{class("a", local, true, 1), class("b", rbd, true, 2)}, fact.Present("ceph"), fact.Present("b")},
		"defaults of one day":  {[]cluster.StorageClass{class("b", rbd, true, 1), class("a", local, true, 1)}, fact.Present("local-path"), fact.Present("a")},
		"all of one backend":   {[]cluster.StorageClass{class("a", rbd, false, 1), class("b", "x.cephfs.csi.ceph.com", false, 1)}, fact.Present("ceph"), fact.Absent[string]("no class is marked as the default")},
		"several, no default":  {[]cluster.StorageClass{class("a", rbd, false, 1), class("b", local, false, 1)}, fact.Unknown[string]("no class is the default, and they have several: ceph, local-path"), fact.Absent[string]("no class is marked as the default")},
		"an unknown one":       {[]cluster.StorageClass{class("a", "disks.example.org", true, 1)}, fact.Unknown[string]("nestor does not know the provisioner disks.example.org"), fact.Present("a")},
		"a name that ends so":  {[]cluster.StorageClass{class("a", "evilrbd.csi.ceph.com", true, 1)}, fact.Unknown[string]("nestor does not know the provisioner evilrbd.csi.ceph.com"), fact.Present("a")},
		"nfs in any namespace": {[]cluster.StorageClass{class("a", "cluster.local/nfs-subdir-external-provisioner", true, 1)}, fact.Present("nfs"), fact.Present("a")},
	} {
		t.Run(name, func(t *testing.T) {
			got := cluster.Map(cluster.Snapshot{StorageClasses: fact.Present(c.classes)}).Storage
			require.Equal(t, c.backend, got.Backend)
			require.Equal(t, c.chose, got.Default)
		})
	}
}

func TestRoles(t *testing.T) {
	for name, c := range map[string]struct {
		labels map[string]string
		want   []string
	}{
		"none":       {nil, []string{}},
		"kubeadm":    {map[string]string{"node-role.kubernetes.io/control-plane": "", "kubernetes.io/os": "linux"}, []string{"control-plane"}},
		"old name":   {map[string]string{"node-role.kubernetes.io/master": "", "node-role.kubernetes.io/control-plane": ""}, []string{"control-plane"}},
		"several":    {map[string]string{"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/ingress": "true"}, []string{"ingress", "worker"}},
		"by value":   {map[string]string{"kubernetes.io/role": "storage"}, []string{"storage"}},
		"empty ones": {map[string]string{"node-role.kubernetes.io/": "", "kubernetes.io/role": ""}, []string{}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, cluster.Node{Labels: c.labels}.Roles()) })
	}
}

// Images are recognised whatever registry they come from.
func TestCatalog_Images(t *testing.T) {
	for image, want := range map[string]string{
		"quay.io/argoproj/argocd:v3.1.0":                         "argo-cd v3.1.0",
		"registry.example.org:5000/mirror/argoproj/argocd:v3":    "argo-cd v3",
		"localhost/argoproj/argocd":                              "argo-cd ",
		"argoproj/argocd@sha256:0123":                            "argo-cd ",
		"quay.io/argoproj/argocd:v3@sha256:0123":                 "argo-cd v3",
		"redis:7":                                                "redis 7",
		"docker.io/library/redis:7":                              "redis 7",
		"registry.example.org/library/redis:7":                   "redis 7",
		"registry.example.org:5000/redis:7":                      "redis 7",
		"registry.example.org/shop/redis:7":                      "",
		"registry.example.org/notargoproj/argocd:1":              "",
		"registry.example.org/argoproj/argocd/more:1":            "",
		"registry.k8s.io/kube-proxy:v1.35.4":                     "kube-proxy v1.35.4",
		"registry.k8s.io/sig-storage/csi-provisioner:v5":         "",
		"harbor.example.org/proxy/quay.io/cilium/cilium:v1.17.2": "cilium v1.17.2",
		"": "",
	} {
		t.Run(image, func(t *testing.T) {
			got := cluster.Map(cluster.Snapshot{Deployments: fact.Present([]cluster.Workload{{Kind: "Deployment", Namespace: "x", Name: "y", Containers: []cluster.Container{{Image: image}}}})})
			if want == "" {
				require.Empty(t, got.Catalog.Value)
				require.Equal(t, []cluster.Object{{Kind: "Deployment", Namespace: "x", Name: "y", Images: []string{image}}}, got.Unknown.Value)
				return
			}
			require.Equal(t, want, got.Catalog.Value[0].Name+" "+got.Catalog.Value[0].Version.Value)
			require.Empty(t, got.Unknown.Value)
		})
	}
}
