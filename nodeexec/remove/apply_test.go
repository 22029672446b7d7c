package remove_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/nodeexec/guard"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
	"github.com/nestor-tools/nestor/nodeexec/nodeexectest"
	"github.com/nestor-tools/nestor/nodeexec/remove"
	"github.com/nestor-tools/nestor/nodeexec/remove/plan"
)

const machineID = "0123456789abcdef0123456789abcdef"

func permit(t *testing.T, node string, apply bool) guard.Permit {
	t.Helper()
	target := inventory.Target{
		Node: node, Kind: inventory.Lima, Transport: inventory.TransportSSH, Host: "192.0.2.7",
		Origins: map[string]inventory.Origin{"target_kind": {File: "hosts.yaml", Line: 1}},
	}
	p, err := guard.Authorize(target, guard.Effective{SSH: guard.SSH{Hostname: "192.0.2.7"}, Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.7")}},
		guard.Intent{Node: node, Kind: inventory.Lima, Apply: apply}, func(string) (string, bool) { return "1", true })
	require.NoError(t, err)
	return p
}

// planned is the file of a plan of two steps for each node, and its hash.
func planned(t *testing.T, nodes ...string) (file []byte, hash string) {
	t.Helper()
	p := plan.Plan{TargetKind: "lima"}
	for _, n := range nodes {
		p.Nodes = append(p.Nodes, plan.Node{
			Node: n, Identity: plan.Identity{MachineID: machineID, TargetDigest: permit(t, n, false).Digest()},
			Disks: []plan.Disk{{Path: "/dev/sdb", Name: "sdb", Serial: "S", SizeBytes: 1024, Role: "data", OnIt: []string{}}},
			Rook:  plan.Rook{State: "absent"},
			State: []string{"node\tmachine-id\t" + machineID, "rook\tstate\tabsent", "disk\t/dev/sdb\tsdb", "dev\tsdb\tnode=/dev/sdb\tsize=1024\tSERIAL=S", "inspected"},
			Steps: []plan.Step{{ID: 1, Verb: plan.ClearDisk, Args: []string{"sdb"}}, {ID: 2, Verb: plan.Reread, Args: []string{"sdb"}}},
		})
	}
	file, err := plan.Encode(p)
	require.NoError(t, err)
	_, err = plan.Decode(file)
	require.NoError(t, err)
	return file, plan.Hash(file)
}

const (
	taken = "nestor-wipe\t1\nsame\nbegin\t1\nend\t1\nbegin\t2\nend\t2\n"
	after = "node\tmachine-id\t" + machineID + "\nrook\tstate\tabsent\ndisk\t/dev/sdb\tsdb\ndev\tsdb\tnode=/dev/sdb\tsize=1024\tblank=1\ninspected\n"
)

// bench answers for nodes by name.
type bench map[string]nodeexectest.Reply

func (b bench) open(t inventory.Target) nodeexec.Runner {
	return &nodeexectest.Node{NodeName: t.Node, Answer: func(nodeexectest.Call) nodeexectest.Reply { return b[t.Node] }}
}

type journal struct {
	*remove.Journal
	path string
}

func newJournal(t *testing.T) journal {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal")
	j, err := remove.OpenJournal(path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = j.Close() })
	return journal{j, path}
}

// events are what the journal tells of a node.
func (j journal) events(t *testing.T, node string) string {
	t.Helper()
	text, err := os.ReadFile(j.path)
	require.NoError(t, err)
	var told []string
	for line := range strings.Lines(string(text)) {
		var e remove.Entry
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		require.False(t, e.Time.IsZero())
		if e.Node == node {
			told = append(told, string(e.Event))
		}
	}
	return strings.Join(told, " ")
}

func TestApply_EachNodeForItself(t *testing.T) {
	lost := &nodeexec.Error{Node: "lost", Kind: nodeexec.KindLost, Remote: nodeexec.RemoteUnknown, Detail: "gone"}
	nodes := bench{
		"clean":    {Stdout: taken + after + "done\n"},
		"changed":  {Stdout: "nestor-wipe\t1\ndiffer\t-dev\tsdb\ndiffer\t+dev\tsdc\n", ExitCode: 4},
		"failed":   {Stdout: "nestor-wipe\t1\nsame\nbegin\t1\nfail\t1\twipefs: no\n", ExitCode: 1},
		"stopped":  {Stdout: "nestor-wipe\t1\nstop\twipefs is not installed\n", ExitCode: 3},
		"lost":     {Stdout: "nestor-wipe\t1\nsame\nbegin\t1\nend\t1\nbegin\t2\n", Err: lost},
		"silent":   {Err: lost},
		"unsent":   {Err: &nodeexec.Error{Node: "unsent", Kind: nodeexec.KindUnreachable, Remote: nodeexec.RemoteNone, Detail: "refused"}},
		"leftover": {Stdout: taken + strings.Replace(after, "blank=1", "sig=0x438,,,ext4", 1) + "done\n"},
		"unzeroed": {Stdout: taken + strings.Replace(after, "\tblank=1", "", 1) + "done\n"},
		"folder":   {Stdout: taken + strings.Replace(after, "absent", "present", 1) + "done\n"},
		"short":    {Stdout: "nestor-wipe\t1\nsame\nbegin\t1\nend\t1\n" + after + "done\n"},
		"cut":      {Stdout: taken + strings.TrimSuffix(after, "inspected\n") + "done\n"},
		"nothing":  {},
		"unasked":  {Stdout: "nestor-wipe\t1\nbegin\t1\nend\t1\n"},
		"strange":  {Stdout: "nestor-wipe\t1\nsame\nbegin\t7\n"},
		"twice":    {Stdout: "nestor-wipe\t1\nsame\nbegin\t1\nend\t2\n"},
	}
	want := map[string]struct {
		status remove.Status
		events string
		done   int
		detail string
	}{
		"clean":    {remove.Clean, "sent same begin end begin end verified", 2, ""},
		"changed":  {remove.Changed, "sent differs differs", 0, ""},
		"failed":   {remove.Broken, "sent same begin failed", 0, "wipefs: no"},
		"stopped":  {remove.Refused, "sent stopped", 0, "wipefs is not installed"},
		"lost":     {remove.Interrupted, "sent same begin end begin lost", 1, "gone"},
		"unsent":   {remove.Unsent, "sent unsent", 0, "refused"},
		"silent":   {remove.Interrupted, "sent lost", 0, "gone"},
		"leftover": {remove.LeftOver, "sent same begin end begin end leftover leftover", 2, ""},
		"unzeroed": {remove.LeftOver, "sent same begin end begin end leftover", 2, ""},
		"folder":   {remove.LeftOver, "sent same begin end begin end leftover", 2, ""},
		"short":    {remove.Interrupted, "sent same begin end lost", 1, "before it was done"},
		"cut":      {remove.Interrupted, "sent same begin end begin end lost", 2, "was cut"},
		"nothing":  {remove.Interrupted, "sent lost", 0, "before it was done"},
		"unasked":  {remove.Interrupted, "sent lost", 0, "not planned"},
		"strange":  {remove.Interrupted, "sent same lost", 0, "not planned"},
		"twice":    {remove.Interrupted, "sent same begin lost", 0, "ends step 2"},
	}
	var names []string
	var permits []guard.Permit
	for name := range nodes {
		names = append(names, name)
		permits = append(permits, permit(t, name, true))
	}
	file, hash := planned(t, names...)
	j := newJournal(t)
	outcomes, err := remove.Apply(t.Context(), file, hash, permits, j.Journal, remove.Options{Open: nodes.open})
	require.NoError(t, err)
	require.Len(t, outcomes, len(names))
	for _, o := range outcomes {
		w := want[o.Node]
		require.Equal(t, w.status, o.Status, "%s: %v", o.Node, o.Err)
		require.Equal(t, w.events, j.events(t, o.Node), o.Node)
		require.Equal(t, w.done, o.Done, o.Node)
		require.Contains(t, o.Detail, w.detail, o.Node)
	}
}

func TestApply_RefusesBeforeAnythingIsSent(t *testing.T) {
	file, hash := planned(t, "node1", "node2")
	both := []guard.Permit{permit(t, "node1", true), permit(t, "node2", true)}
	other := func() []guard.Permit {
		target, err := both[1].Target()
		require.NoError(t, err)
		target.Port = 2222
		p, err := guard.Authorize(target, guard.Effective{SSH: guard.SSH{Hostname: "192.0.2.7", Port: 2222}, Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.7")}},
			guard.Intent{Node: "node2", Kind: inventory.Lima, Apply: true}, func(string) (string, bool) { return "1", true })
		require.NoError(t, err)
		return []guard.Permit{both[0], p}
	}()
	for name, c := range map[string]struct {
		confirm string
		permits []guard.Permit
		want    error
	}{
		"no hash":                     {"", both, remove.ErrConfirm},
		"part of the hash":            {hash[:40], both, remove.ErrConfirm},
		"no permits":                  {hash, nil, guard.ErrNoPermit},
		"zero permits":                {hash, []guard.Permit{{}, {}}, guard.ErrNoPermit},
		"one permit":                  {hash, both[:1], guard.ErrNoPermit},
		"a permit to plan only":       {hash, []guard.Permit{both[0], permit(t, "node2", false)}, guard.ErrNoPermit},
		"a permit for another target": {hash, other, guard.ErrNoPermit},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJournal(t)
			_, err := remove.Apply(t.Context(), file, c.confirm, c.permits, j.Journal, remove.Options{Open: func(inventory.Target) nodeexec.Runner {
				return &nodeexectest.Node{Answer: func(nodeexectest.Call) nodeexectest.Reply {
					t.Error("something was sent")
					return nodeexectest.Reply{}
				}}
			}})
			require.ErrorIs(t, err, c.want)
			require.Empty(t, j.events(t, "node1")+j.events(t, "node2"))
		})
	}
}

func TestApply_WithoutItsJournalNothingIsSent(t *testing.T) {
	file, hash := planned(t, "node1")
	j := newJournal(t)
	require.NoError(t, j.Close())
	_, err := remove.Apply(t.Context(), file, hash, []guard.Permit{permit(t, "node1", true)}, j.Journal, remove.Options{Open: func(inventory.Target) nodeexec.Runner {
		return &nodeexectest.Node{Answer: func(nodeexectest.Call) nodeexectest.Reply {
			t.Error("something was sent")
			return nodeexectest.Reply{}
		}}
	}})
	require.ErrorContains(t, err, "journal")
}

func TestApply_Reboot(t *testing.T) {
	file, _ := planned(t, "node1")
	p, err := plan.Decode(file)
	require.NoError(t, err)
	p.Reboot = true
	file, err = plan.Encode(p)
	require.NoError(t, err)
	j := newJournal(t)
	node := &nodeexectest.Node{NodeName: "node1", Answer: func(c nodeexectest.Call) nodeexectest.Reply {
		if c.Argv[len(c.Argv)-1] == "reboot" {
			return nodeexectest.Reply{}
		}
		return nodeexectest.Reply{Stdout: taken + after + "done\n"}
	}}
	outcomes, err := remove.Apply(t.Context(), file, plan.Hash(file), []guard.Permit{permit(t, "node1", true)}, j.Journal,
		remove.Options{Open: func(inventory.Target) nodeexec.Runner { return node }})
	require.NoError(t, err)
	require.NoError(t, outcomes[0].Err)
	require.Len(t, node.Calls(), 2)
	require.Equal(t, "sent same begin end begin end verified reboot", j.events(t, "node1"))
}

func TestOpenJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	for range 2 { // a second run appends
		j, err := remove.OpenJournal(path)
		require.NoError(t, err)
		require.NoError(t, j.Close())
	}
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.NoError(t, os.Chmod(path, 0o644))
	_, err = remove.OpenJournal(path)
	require.ErrorContains(t, err, "chmod 600")
	_, err = remove.OpenJournal(filepath.Join(t.TempDir(), "no", "journal"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestPlan_WithoutAPermit(t *testing.T) {
	planned, refusals, failures := remove.Plan(context.Background(), []remove.Node{{}}, remove.PlanOptions{})
	require.Empty(t, planned)
	require.True(t, len(refusals)+len(failures) > 0)
	for _, f := range failures {
		require.True(t, errors.Is(f.Err, guard.ErrNoPermit))
	}
}
