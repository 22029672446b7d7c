package mapping_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/nestor-tools/nestor/mapping"
	"github.com/nestor-tools/nestor/mapping/cluster"
	"github.com/nestor-tools/nestor/mapping/fact"
)

// machine is a node that was asked: "name machine-id hostname address", "-"
// for what is not known.
func machine(text string) mapping.Node {
	f := strings.Fields(text)
	n := mapping.Node{Name: f[0], Facts: &mapping.NodeFacts{}}
	if f[1] != "-" {
		n.Facts.MachineID = fact.Present(f[1])
	}
	if f[2] != "-" {
		n.Facts.Hostname = fact.Present(f[2])
	}
	if f[3] != "-" {
		n.Address = f[3]
	}
	return n
}

// ofAPI is a node of the API: "name machine-id address".
func ofAPI(text string) cluster.Node {
	f := strings.Fields(strings.ReplaceAll(text, "-", ""))
	n := cluster.Node{Name: f[0]}
	if len(f) > 1 && f[1] != "0" {
		n.MachineID = f[1]
	}
	if len(f) > 2 {
		n.Addresses = []cluster.Address{{Type: "InternalIP", Address: f[2]}}
	}
	return n
}

func TestWithAPI_Joins(t *testing.T) {
	for name, c := range map[string]struct {
		nodes, api, others []string
		want               map[string]string // by node of the topology
	}{
		"by name":         {[]string{"node1 - - -"}, []string{"node1 aa"}, nil, map[string]string{"node1": "node1 by name"}},
		"case":            {[]string{"Node1 - - -"}, []string{"node1 aa"}, nil, map[string]string{"Node1": "node1 by name"}},
		"by machine id":   {[]string{"node1 aa - -"}, []string{"k8s AA"}, nil, map[string]string{"node1": "k8s by machine-id"}},
		"by hostname":     {[]string{"cp1 - limacp1 -"}, []string{"limacp1 0"}, nil, map[string]string{"cp1": "limacp1 by hostname"}},
		"by address":      {[]string{"cp1 - - 192.0.2.1"}, []string{"x 0 192.0.2.1"}, nil, map[string]string{"cp1": "x by address"}},
		"names crossed":   {[]string{"a aa - -", "b bb - -"}, []string{"a bb", "b aa"}, nil, map[string]string{"a": "b by machine-id", "b": "a by machine-id"}},
		"one side only":   {[]string{"a aa - -"}, []string{"b bb"}, nil, map[string]string{"a": "absent", "b": "b by  not-in-inventory"}},
		"another machine": {[]string{"a aa - -"}, []string{"a bb"}, nil, map[string]string{"a": "unknown", "api:a": "a by  not-in-inventory"}},
		"clones":          {[]string{"a aa - -", "b aa - -"}, []string{"a aa", "b aa"}, nil, map[string]string{"a": "a by name", "b": "b by name"}},
		"one shared address": {[]string{"a - - 192.0.2.1", "b - - 192.0.2.1"}, []string{"x 0 192.0.2.1"}, nil,
			map[string]string{"a": "absent", "b": "absent", "x": "x by  not-in-inventory"}},
		"not asked, known by name":    {[]string{"a - - -"}, []string{"a", "b"}, []string{"b - - -"}, map[string]string{"a": "a by name"}},
		"not asked, known by address": {[]string{"a - - -"}, []string{"a", "x 0 192.0.2.2"}, []string{"b - - 192.0.2.2"}, map[string]string{"a": "a by name"}},
		"not asked, known by nothing": {[]string{"a - - -"}, []string{"a", "k8sb"}, []string{"b - - -"}, map[string]string{"a": "a by name"}},
		"a stranger all the same":     {[]string{"a - - -"}, []string{"a", "b", "c"}, []string{"b - - -"}, map[string]string{"a": "a by name", "c": "c by  not-in-inventory"}},
		"nothing":                     {nil, nil, nil, map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			var nodes, others []mapping.Node
			for _, n := range c.nodes {
				nodes = append(nodes, machine(n))
			}
			for _, n := range c.others {
				n := machine(n)
				n.Facts = nil
				others = append(others, n)
			}
			s := cluster.Snapshot{Nodes: fact.Present([]cluster.Node{})}
			for _, n := range c.api {
				s.Nodes.Value = append(s.Nodes.Value, ofAPI(n))
			}
			got := map[string]string{}
			for _, n := range mapping.NewTopology(nodes).WithAPI(s, mapping.JoinOptions{Others: others, Chosen: len(others) > 0}).Nodes {
				got[n.Name] = string(n.Kubernetes.State)
				if k, ok := n.Kubernetes.Get(); ok {
					got[n.Name] = k.Name + " by " + k.JoinedBy
				}
				if n.Error != nil {
					got[n.Name] += " " + n.Error.Kind
				}
			}
			require.Equal(t, c.want, got)
		})
	}
}

// Whoever is on either side is in the topology once, and no node of the API is
// two.
func TestWithAPI_LosesNobody(t *testing.T) {
	id := rapid.SampledFrom([]string{"-", "aa", "bb", "cc"})
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), rapid.ID[string])
		var nodes []mapping.Node
		for _, n := range names.Draw(t, "nodes") {
			nodes = append(nodes, machine(n+" "+id.Draw(t, "id")+" "+rapid.SampledFrom([]string{"-", "a", "x"}).Draw(t, "hostname")+" -"))
		}
		s := cluster.Snapshot{Nodes: fact.Present([]cluster.Node{})}
		api := names.Draw(t, "api")
		for _, n := range api {
			s.Nodes.Value = append(s.Nodes.Value, cluster.Node{Name: n, MachineID: strings.Trim(id.Draw(t, "api id"), "-")})
		}
		got := mapping.NewTopology(nodes).WithAPI(s, mapping.JoinOptions{})
		ofTopology, seen := map[string]int{}, map[string]int{}
		for _, n := range got.Nodes {
			ofTopology[n.Name]++
			if k, ok := n.Kubernetes.Get(); ok {
				seen[k.Name]++
				if n.Facts != nil && n.Facts.MachineID.State == fact.IsPresent {
					for _, m := range s.Nodes.Value {
						require.False(t, m.Name == k.Name && m.MachineID != "" && m.MachineID != n.Facts.MachineID.Value, "two machine ids are one node")
					}
				}
			}
		}
		for _, n := range nodes {
			require.Equal(t, 1, ofTopology[n.Name])
		}
		for name, times := range ofTopology {
			require.Equal(t, 1, times, name)
		}
		for _, n := range api {
			require.Equal(t, 1, seen[n], n)
		}
	})
}

func TestWithAPI_NodesDenied(t *testing.T) {
	got := mapping.NewTopology([]mapping.Node{machine("a aa - -")}).WithAPI(cluster.Snapshot{Nodes: fact.Denied[[]cluster.Node]("no")}, mapping.JoinOptions{})
	require.Equal(t, fact.Denied[mapping.Kubernetes]("no"), *got.Nodes[0].Kubernetes)
	require.Len(t, got.Nodes, 1)
}

// whole is a topology with an API half.
func whole(t *testing.T, change func(*cluster.Snapshot)) mapping.Topology {
	t.Helper()
	s := cluster.Snapshot{
		Version:        fact.Present("v1.35.4"),
		Nodes:          fact.Present([]cluster.Node{{Name: "a", Conditions: map[string]string{"Ready": "True"}}, {Name: "stranger", Conditions: map[string]string{"Ready": "True"}}}),
		Namespaces:     fact.Present([]cluster.Namespace{{Name: "kube-system", UID: "u1"}, {Name: "shop"}}),
		Deployments:    fact.Present([]cluster.Workload{{Kind: "Deployment", Namespace: "argocd", Name: "server", Wanted: 1, Ready: 1, Containers: []cluster.Container{{Image: "argoproj/argocd:v1"}}}}),
		DaemonSets:     fact.Present([]cluster.Workload{{Kind: "DaemonSet", Namespace: "kube-system", Name: "cilium", Containers: []cluster.Container{{Image: "cilium/cilium:v1"}}}}),
		StatefulSets:   fact.Present([]cluster.Workload{}),
		CronJobs:       fact.Present([]cluster.Workload{}),
		CRDs:           fact.Present([]string{"x.cilium.io"}),
		Services:       fact.Present([]cluster.Service{{Namespace: "shop", Name: "web", Type: "NodePort", Ports: []cluster.ServicePort{{Port: 80, Protocol: "TCP", NodePort: 30080}}}}),
		StorageClasses: fact.Present([]cluster.StorageClass{{Name: "c", Provisioner: "rancher.io/local-path", Default: true}}),
		Claims:         fact.Present([]cluster.Claim{{Namespace: "shop", Name: "data", Phase: "Bound"}}),
		Ways:           map[string]fact.Observed[[]cluster.Place]{},
	}
	for _, w := range cluster.Ways() {
		s.Ways[w.Resource] = fact.Absent[[]cluster.Place]("no such group")
	}
	if change != nil {
		change(&s)
	}
	topology := mapping.NewTopology([]mapping.Node{machine("a - - -")}).WithAPI(s, mapping.JoinOptions{})
	text, err := topology.YAML() // as from a file
	require.NoError(t, err)
	read, err := mapping.ParseTopology(text)
	require.NoError(t, err)
	again, err := read.YAML()
	require.NoError(t, err)
	require.Equal(t, string(text), string(again))
	return read
}

func TestDiff_API(t *testing.T) {
	denied := func(s *cluster.Snapshot) {
		s.Deployments = fact.Denied[[]cluster.Workload]("no")
		s.Services = fact.Denied[[]cluster.Service]("no")
		s.StorageClasses = fact.Denied[[]cluster.StorageClass]("no")
		s.Nodes = fact.Denied[[]cluster.Node]("no")
	}
	nodesOnly := whole(t, nil).NodesOnly()
	for name, c := range map[string]struct {
		before, after mapping.Topology
		want          []string
	}{
		"the same": {whole(t, nil), whole(t, nil), nil},
		"another version, another cluster": {whole(t, nil), whole(t, func(s *cluster.Snapshot) { s.Version, s.Namespaces.Value[0].UID = fact.Present("v1.36.0"), "u2" }),
			[]string{"drift  api.cluster_id u1 -> u2", "drift  api.version v1.35.4 -> v1.36.0"}},
		"a component": {whole(t, nil), whole(t, func(s *cluster.Snapshot) {
			s.Deployments.Value[0].Containers[0].Image = "argoproj/argocd:v2"
			s.DaemonSets.Value = nil
		}), []string{"drift  catalog.argo-cd.version v1 -> v2", "drift  catalog.cilium.namespaces [kube-system] -> none", "unknown  catalog.cilium.version v1 -> unknown", "drift  catalog.cilium.workloads [DaemonSet kube-system/cilium] -> none"}},
		"a node port": {whole(t, nil), whole(t, func(s *cluster.Snapshot) { s.Services.Value[0].Ports[0].NodePort = 30081 }),
			[]string{`drift  exposition.NodePort Service shop/web.ports [{"node_port":30080,"port":80,"protocol":"TCP"}] -> [{"node_port":30081,"port":80,"protocol":"TCP"}]`}},
		"not well": {whole(t, nil), whole(t, func(s *cluster.Snapshot) {
			s.Nodes.Value[0].Conditions["Ready"] = "False"
			s.Claims.Value[0].Phase = "Lost"
			s.Deployments.Value[0].Ready = 0
		}), []string{"drift  health.nodes.Node a none -> Node a (not-ready)", "drift  health.volumes.PersistentVolumeClaim shop/data none -> PersistentVolumeClaim shop/data (Lost)", "drift  health.workloads.Deployment argocd/server none -> Deployment argocd/server (not-ready)"}},
		"a node of the API": {whole(t, nil), whole(t, func(s *cluster.Snapshot) { s.Nodes.Value = s.Nodes.Value[:1] }), []string{"drift stranger  a node -> none"}},
		"its role": {whole(t, nil), whole(t, func(s *cluster.Snapshot) {
			s.Nodes.Value[0].Labels = map[string]string{"node-role.kubernetes.io/x": ""}
		}), []string{"drift a kubernetes.roles [] -> [x]"}},
		"less may be read": {whole(t, nil), whole(t, denied), []string{
			"unknown  catalog.argo-cd argo-cd -> none", "unknown  exposition [NodePort Service shop/web] -> denied", "unknown  health.nodes [] -> denied", "unknown  health.workloads [] -> denied",
			"unknown  layers.gitops gitops -> none",
			"unknown  storage.backend local-path -> denied", "unknown  storage.classes [c] -> denied", "unknown  storage.default c -> denied",
			"unknown a kubernetes a -> denied", "unknown stranger  a node -> none"}},
		"nothing may be read, twice": {whole(t, denied), whole(t, denied), nil},
		"the API was not asked":      {whole(t, nil), nodesOnly, []string{"unknown  api v1.35.4 -> not asked", "unknown stranger  a node -> none"}},
		"the API was not asked then": {nodesOnly, whole(t, nil), []string{"unknown  api not asked -> v1.35.4", "unknown stranger  none -> a node"}},
		"no answer":                  {whole(t, nil), nodesOnly.WithoutAPI(fact.Unknown[cluster.API]("no answer")), []string{"unknown  api v1.35.4 -> unknown", "unknown stranger  a node -> none"}},
		"no cluster any more":        {whole(t, nil), nodesOnly.WithoutAPI(fact.Absent[cluster.API]("none")), []string{"drift  api v1.35.4 -> absent", "drift stranger  a node -> none"}},
		"the API alone":              {whole(t, nil).APIOnly(), whole(t, nil).APIOnly(), nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, ch := range mapping.Diff(c.before, c.after) {
				got = append(got, strings.Join([]string{string(ch.Kind), ch.Node, ch.Field, ch.Before + " -> " + ch.After}, " "))
			}
			require.Equal(t, c.want, got)
		})
	}
}

// Every API half validates, and one that was not read as well.
func TestSchema_APIHalf(t *testing.T) {
	schema := compileSchema(t, true)
	for name, topology := range map[string]mapping.Topology{
		"whole":       whole(t, nil),
		"denied":      whole(t, func(s *cluster.Snapshot) { *s = cluster.Snapshot{Nodes: fact.Denied[[]cluster.Node]("no")} }),
		"not read":    mapping.NewTopology(nil).WithoutAPI(fact.Unknown[cluster.API]("no answer")),
		"none at all": mapping.NewTopology(nil).WithoutAPI(fact.Absent[cluster.API]("none")),
		"alone":       whole(t, nil).APIOnly(),
	} {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(topology)
			require.NoError(t, err)
			document, err := unmarshalJSON(text)
			require.NoError(t, err)
			require.NoError(t, schema.Validate(document))
		})
	}
}
