package remove_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/mapping"
	"github.com/nestor-tools/nestor/mapping/disks"
	"github.com/nestor-tools/nestor/mapping/fact"
	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
	"github.com/nestor-tools/nestor/nodeexec/nodeexectest"
	"github.com/nestor-tools/nestor/nodeexec/remove"
	"github.com/nestor-tools/nestor/nodeexec/remove/plan"
)

// facts are what discover found on a node with a system disk and sdb.
func facts(machineID string) mapping.NodeFacts {
	return mapping.NodeFacts{
		MachineID: fact.Present(machineID),
		Mounts:    fact.Present([]mapping.Mount{{Target: "/", Source: "/dev/sda"}}),
		Disks: fact.Present([]disks.Disk{
			{Name: "sda", Type: "disk", SizeBytes: 1 << 30, Role: disks.System, Evidence: []string{"sda is mounted at /"}, Mounts: []string{"/"}},
			{Name: "sdb", Type: "disk", SizeBytes: 1 << 30, Serial: "S", Role: disks.DataInUse, Evidence: []string{"ext4"}},
		}),
	}
}

func inspected(machineID string) string {
	return "nestor-wipe\t1\nnode\tmachine-id\t" + machineID + "\nrook\tstate\tpresent\ndisk\t/dev/sdb\tsdb\n" +
		"dev\tsdb\tnode=/dev/sdb\tnumber=8:16\tsize=1073741824\tSERIAL=S\tsig=0x438,,,ext4\ninspected\n"
}

func profile(t *testing.T) plan.Profile {
	t.Helper()
	p, err := plan.ParseProfile([]byte("ceph: {data_device_glob: /dev/sdb}"), "disks.yaml")
	require.NoError(t, err)
	return p
}

func TestPlan(t *testing.T) {
	one, two := machineID, strings.Repeat("e", 32)
	for name, c := range map[string]struct {
		nodes    map[string]nodeexectest.Reply
		facts    map[string]string // machine-id, by node
		rule     plan.Rule
		failures int
	}{
		"good":                        {nodes: map[string]nodeexectest.Reply{"a": {Stdout: inspected(one)}, "b": {Stdout: inspected(two)}}, facts: map[string]string{"a": one, "b": two}},
		"one machine under two names": {nodes: map[string]nodeexectest.Reply{"a": {Stdout: inspected(one)}, "b": {Stdout: inspected(one)}}, facts: map[string]string{"a": one, "b": one}, rule: plan.RuleNode},
		"another machine by now":      {nodes: map[string]nodeexectest.Reply{"a": {Stdout: inspected(two)}}, facts: map[string]string{"a": one}, rule: plan.RuleHostChange},
		"one is unreachable": {nodes: map[string]nodeexectest.Reply{"a": {Stdout: inspected(one)}, "b": {Err: &nodeexec.Error{Node: "b", Kind: nodeexec.KindUnreachable}}},
			facts: map[string]string{"a": one, "b": two}, failures: 1},
		"cut":     {nodes: map[string]nodeexectest.Reply{"a": {Stdout: strings.TrimSuffix(inspected(one), "inspected\n")}}, facts: map[string]string{"a": one}, failures: 1},
		"failing": {nodes: map[string]nodeexectest.Reply{"a": {Stderr: "no", ExitCode: 3}}, facts: map[string]string{"a": one}, failures: 1},
	} {
		t.Run(name, func(t *testing.T) {
			var nodes []remove.Node
			for _, n := range []string{"a", "b"} {
				if id, ok := c.facts[n]; ok {
					nodes = append(nodes, remove.Node{Permit: permit(t, n, false), Facts: facts(id)})
				}
			}
			planned, refusals, failures := remove.Plan(t.Context(), nodes, remove.PlanOptions{
				Options: remove.Options{Open: bench(c.nodes).open}, Profile: profile(t), Kind: inventory.Lima,
			})
			require.Len(t, failures, c.failures)
			if c.rule == "" && c.failures == 0 {
				require.Empty(t, refusals)
				require.Len(t, planned, len(nodes))
				require.Len(t, planned[0].Steps, 3)
				require.Equal(t, nodes[0].Permit.Digest(), planned[0].Identity.TargetDigest)
				return
			}
			require.Empty(t, planned, "one that fails, and there is no plan")
			if c.rule != "" {
				require.Equal(t, c.rule, refusals[0].Rule)
			}
		})
	}
}

func TestVerify(t *testing.T) {
	nodes := []remove.Node{{Permit: permit(t, "a", false), Facts: facts(machineID)}}
	for reply, want := range map[string]remove.Status{inspected(machineID): remove.LeftOver, "nestor-wipe\t1\n" + after: remove.Clean} {
		outcomes, refusals, failures := remove.Verify(t.Context(), nodes, remove.PlanOptions{
			Options: remove.Options{Open: bench{"a": {Stdout: reply}}.open}, Profile: profile(t),
		})
		require.Empty(t, refusals)
		require.Empty(t, failures)
		require.Equal(t, want, outcomes[0].Status, "%v", outcomes[0].Left)
	}
}
