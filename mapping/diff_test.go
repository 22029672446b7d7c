package mapping_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/mapping"
	"github.com/nestor-tools/nestor/mapping/baseline"
	"github.com/nestor-tools/nestor/mapping/disks"
	"github.com/nestor-tools/nestor/mapping/fact"
)

func ExampleDiff() {
	at := func(release string) mapping.Topology {
		facts := mapping.NodeFacts{Kernel: fact.Present(mapping.Kernel{Release: release, Machine: "x86_64"})}
		return mapping.NewTopology([]mapping.Node{{Name: "node1", Facts: &facts}})
	}
	for _, c := range mapping.Diff(at("6.1.0-18-amd64"), at("6.1.0-20-amd64")) {
		fmt.Printf("%s %s %s: %s -> %s\n", c.Kind, c.Node, c.Field, c.Before, c.After)
	}
	// Output: drift node1 facts.kernel.release: 6.1.0-18-amd64 -> 6.1.0-20-amd64
}

func TestDiff(t *testing.T) {
	disk := func(name, serial string, role disks.Role) disks.Disk {
		return disks.Disk{Name: name, Serial: serial, Type: "disk", SizeBytes: 1 << 40, Role: role, Evidence: []string{string(role) + " " + name}}
	}
	node := func(change func(n *mapping.Node)) mapping.Topology {
		n := mapping.Node{Name: "n", Roles: []string{"a"}, Hardening: "plain", Facts: &mapping.NodeFacts{
			Hostname: fact.Present("n"),
			Disks:    fact.Present([]disks.Disk{disk("sda", "S1", disks.System), disk("sdb", "S2", disks.Free)}),
			Mounts:   fact.Present([]mapping.Mount{{Target: "/", Source: "/dev/sda1", FSType: "ext4"}}),
		}, Baseline: []baseline.Check{{ID: "H1", State: baseline.Pass, Evidence: []string{"x"}}}}
		if change != nil {
			change(&n)
		}
		return mapping.NewTopology([]mapping.Node{n})
	}
	for name, c := range map[string]struct {
		change func(n *mapping.Node)
		want   []string
	}{
		"nothing":             {nil, nil},
		"a value":             {func(n *mapping.Node) { n.Facts.Hostname = fact.Present("m") }, []string{"drift facts.hostname: n -> m"}},
		"gone":                {func(n *mapping.Node) { n.Facts.Hostname = fact.Absent[string]("x") }, []string{"drift facts.hostname: n -> absent"}},
		"denied":              {func(n *mapping.Node) { n.Facts.Hostname = fact.Denied[string]("x") }, []string{"unknown facts.hostname: n -> denied"}},
		"unknown":             {func(n *mapping.Node) { n.Facts.Disks = fact.Unknown[[]disks.Disk]("x") }, []string{"unknown facts.disks: "}},
		"another reason":      {func(n *mapping.Node) { n.Facts.Disks.Value[1].Evidence = []string{"else"} }, nil},
		"a role":              {func(n *mapping.Node) { n.Facts.Disks.Value[1].Role = disks.Ceph }, []string{"drift facts.disks.sdb.role: free -> ceph"}},
		"a role nobody knows": {func(n *mapping.Node) { n.Facts.Disks.Value[1].Role = disks.Unknown }, []string{"unknown facts.disks.sdb.role: free -> unknown"}},
		"names swapped":       {func(n *mapping.Node) { d := n.Facts.Disks.Value; d[0].Name, d[1].Name = "sdb", "sda" }, nil},
		"a disk more": {func(n *mapping.Node) {
			n.Facts.Disks.Value = append(n.Facts.Disks.Value, disk("sdc", "S3", disks.Free))
		}, []string{"drift facts.disks.sdc: none -> sdc (free)"}},
		"a disk less":          {func(n *mapping.Node) { n.Facts.Disks.Value = n.Facts.Disks.Value[:1] }, []string{"drift facts.disks.sdb: sdb (free) -> none"}},
		"no disk":              {func(n *mapping.Node) { n.Facts.Disks.Value = []disks.Disk{} }, []string{"drift facts.disks.sda: sda (system) -> none", "drift facts.disks.sdb: sdb (free) -> none"}},
		"a mount elsewhere":    {func(n *mapping.Node) { n.Facts.Mounts.Value[0].Source = "/dev/sdb" }, []string{"drift facts.mounts./.source: /dev/sda1 -> /dev/sdb"}},
		"roles":                {func(n *mapping.Node) { n.Roles = []string{"a", "b"} }, []string{"drift roles: [a] -> [a, b]"}},
		"hardening":            {func(n *mapping.Node) { n.Hardening = "partial" }, []string{"drift hardening: plain -> partial"}},
		"hardening unknown":    {func(n *mapping.Node) { n.Hardening = "unknown" }, []string{"unknown hardening: plain -> unknown"}},
		"a check":              {func(n *mapping.Node) { n.Baseline[0].State = baseline.Fail }, []string{"drift baseline.H1.state: pass -> fail"}},
		"a check nobody knows": {func(n *mapping.Node) { n.Baseline[0].State = baseline.Unknown }, []string{"unknown baseline.H1.state: pass -> unknown"}},
		"unreachable":          {func(n *mapping.Node) { n.Facts, n.Error = nil, &mapping.Failure{Kind: "unreachable", Message: "x"} }, []string{"unknown : read -> unreachable"}},
		"another node":         {func(n *mapping.Node) { n.Name = "m" }, []string{"drift : none -> a node", "drift : a node -> none"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, change := range mapping.Diff(node(nil), node(c.change)) {
				got = append(got, fmt.Sprintf("%s %s: %s -> %s", change.Kind, change.Field, change.Before, change.After))
			}
			if name == "unknown" { // the whole list is shown
				require.Len(t, got, 1)
				require.True(t, strings.HasPrefix(got[0], c.want[0]) && strings.HasSuffix(got[0], " -> unknown"), got[0])
				return
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestDiff_SameIsNothing(t *testing.T) {
	for _, name := range recorded(t) {
		topology := mapping.NewTopology([]mapping.Node{mapping.FromProbe(record(t, name), mapping.Options{})})
		text, err := topology.YAML()
		require.NoError(t, err)
		back, err := mapping.ParseTopology(text)
		require.NoError(t, err)
		again, err := back.YAML()
		require.NoError(t, err)
		require.Equal(t, string(text), string(again))
		require.Empty(t, mapping.Diff(topology, back))
	}
}

func TestParseTopology_Refused(t *testing.T) {
	for text, why := range map[string]string{
		"":                             `schema "" is not`,
		"schema: nestor.topology/v2\n": `schema "nestor.topology/v2" is not`,
		"- a\n":                        "read topology",
		"schema: [\n":                  "read topology",
		"schema: nestor.topology/v1\nnodes: {a: b}\n":                                         "read topology",
		"schema: nestor.topology/v1\nnodes: [{name: a, facts: {hostname: {state: maybe}}}]\n": `state "maybe"`,
	} {
		_, err := mapping.ParseTopology([]byte(text))
		require.ErrorContains(t, err, why, text)
		require.NotContains(t, err.Error(), "\n")
	}
	later, err := mapping.ParseTopology([]byte("schema: nestor.topology/v1\nlater: true\nnodes: [{name: a, roles: [], hardening: plain, later: [1]}]\n"))
	require.NoError(t, err, "what a later version adds is ignored")
	require.Equal(t, "a", later.Nodes[0].Name)
}

func FuzzParseTopology(f *testing.F) {
	f.Add([]byte("schema: nestor.topology/v1\nnodes: [{name: a, facts: {hostname: {state: present, value: b}}}]\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		topology, err := mapping.ParseTopology(b)
		if err != nil {
			return
		}
		require.Empty(t, mapping.Diff(topology, topology))
	})
}
