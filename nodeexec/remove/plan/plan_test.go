package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// profileOf lists devices as data.
func profileOf(devices ...string) Profile {
	p := Profile{FSIDs: []Stated{{Value: ours}}}
	for i, d := range devices {
		p.Every = append(p.Every, entryOf(d, "data", inventory.Origin{File: "disks.yaml", Line: i + 1}))
	}
	return p
}

// attempt plans as remove does: choose, inspect, make.
func attempt(w *world, p Profile, kind inventory.Kind) (Node, []Refusal) {
	choices, refusals := Choose("node1", w.facts(), p)
	if len(refusals) > 0 {
		return Node{}, refusals
	}
	return makeFrom(w, choices, p, kind)
}

func makeFrom(w *world, choices []Choice, p Profile, kind inventory.Kind) (Node, []Refusal) {
	var paths []string
	for _, c := range choices {
		paths = append(paths, c.Path)
	}
	in, err := ParseInspection([]byte(w.print(paths...)))
	if err != nil {
		return Node{}, []Refusal{{Rule: RuleUnknown, Why: err.Error()}}
	}
	return Make(Input{Node: "node1", Choices: choices, Inspection: in, Profile: p, Kind: kind})
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*world)   // of what is true before discover
		between func(*world)   // of what changes before the inspection
		profile func() Profile // sdb by device where nil
		kind    inventory.Kind
		rule    Rule
		value   string // part of it
	}{
		"system disk":         {profile: func() Profile { return profileOf("/dev/sda") }, rule: RuleSystem, value: "sda1 is mounted at /"},
		"system disk by glob": {profile: func() Profile { return profileOf("/dev/sd*") }, rule: RuleSystem, value: "sda1"},
		"boot on it":          {change: func(w *world) { w.get("sdb").mounts = []string{"/boot/efi"} }, rule: RuleSystem, value: "/boot/efi"},
		"swap on it":          {change: func(w *world) { w.get("sdb").swap = true }, rule: RuleSystem, value: "active swap"},
		"var through dm, md and a partition": {change: func(w *world) {
			w.add(&thing{name: "sdb1", kind: "part", parents: []string{"sdb"}})
			w.add(&thing{name: "md0", kind: "raid1", parents: []string{"sdb1"}})
			w.add(&thing{name: "dm-0", dm: "vg-var", dmUUID: "LVM-x", kind: "lvm", parents: []string{"md0"}, mounts: []string{"/var"}})
		}, rule: RuleSystem, value: "/var"},
		"root not found":   {change: func(w *world) { w.get("sda1").mounts = nil }, rule: RuleNoSystem, value: "/"},
		"mounts not known": {change: func(w *world) { w.noMounts = true }, rule: RuleNoSystem, value: "/"},
		"mounted":          {change: func(w *world) { w.get("sdb").mounts = []string{"/data"} }, rule: RuleMounted, value: "/data"},
		"mounted by a pod": {change: func(w *world) { w.get("sdb").mounts = []string{"/var/lib/kubelet/pods/x/volumes/y"} }, rule: RuleMounted, value: "sdb is mounted"},
		"mounted since":    {between: func(w *world) { w.get("sdb").mounts = []string{"/data"} }, rule: RuleMounted, value: "/data"},
		"volume mounted since": {between: func(w *world) {
			w.add(&thing{name: "sdb1", kind: "part", parents: []string{"sdb"}, mounts: []string{"/d"}})
		}, rule: RuleMounted, value: "/d"},
		"swapped on since":          {between: func(w *world) { w.get("sdb").swap = true }, rule: RuleSwap, value: "/dev/sdb"},
		"read-only":                 {change: func(w *world) { w.get("sdb").ro = true }, rule: RuleReadOnly, value: "sdb"},
		"read-only since":           {between: func(w *world) { w.get("sdb").ro = true }, rule: RuleReadOnly, value: "/dev/sdb"},
		"another cluster":           {change: func(w *world) { w.get("sdb").osd, w.get("sdb").fsid = "osd-1", theirs }, rule: RuleForeign, value: theirs},
		"no cluster told":           {change: func(w *world) { w.get("sdb").osd = "osd-1" }, rule: RuleForeign, value: "osd-1"},
		"signature without a label": {change: func(w *world) { w.get("sdb").sign("ceph_bluestore") }, rule: RuleForeign, value: "label"},
		"another cluster on a volume": {change: func(w *world) {
			w.get("sdb").sigs = nil
			w.get("sdb").sign("LVM2_member")
			w.add(&thing{name: "dm-0", dm: "vg-lv", dmUUID: "LVM-uuid1xxx", kind: "lvm", parents: []string{"sdb"}, osd: "osd-1", fsid: theirs})
			w.pvs = []PV{{"sdb", "vg", "uuid1"}}
		}, rule: RuleForeign, value: theirs},
		"another cluster by tag": {change: func(w *world) {
			w.get("sdb").sigs = nil
			w.get("sdb").sign("LVM2_member")
			w.pvs, w.lvs = []PV{{"sdb", "vg", "uuid1"}}, []LV{{"vg", "osd-block-1", "ceph.osd_id=1,ceph.cluster_fsid=" + theirs}}
		}, rule: RuleForeign, value: theirs},
		"no expected cluster": {change: func(w *world) { w.get("sdb").osd, w.get("sdb").fsid = "osd-1", ours },
			profile: func() Profile { p := profileOf("/dev/sdb"); p.FSIDs = nil; return p }, rule: RuleForeign, value: ours},
		"rook of another cluster":       {change: func(w *world) { w.rook = Rook{State: "present", FSIDs: []string{theirs}} }, rule: RuleForeign, value: theirs},
		"ceph runs":                     {change: func(w *world) { w.processes = []string{"ceph-osd"} }, rule: RuleRunning, value: "ceph-osd"},
		"rook mounted":                  {change: func(w *world) { w.rook = Rook{State: "present", Mounts: []string{"/var/lib/rook/x"}} }, rule: RuleRook, value: "/var/lib/rook/x"},
		"rook is a link":                {change: func(w *world) { w.rook.State = "link" }, rule: RuleRook, value: "link"},
		"iSCSI":                         {change: func(w *world) { w.get("sdb").transport = "iscsi" }, rule: RuleNetwork, value: "iscsi"},
		"iSCSI seen by the kernel only": {between: func(w *world) { w.get("sdb").transport = "iscsi" }, rule: RuleNetwork, value: "iscsi"},
		"Longhorn's model":              {change: func(w *world) { w.get("sdb").model = "VIRTUAL-DISK" }, rule: RuleNetwork, value: "VIRTUAL-DISK"},
		"rbd":                           {change: func(w *world) { w.get("sdb").name = "rbd0" }, profile: func() Profile { return profileOf("/dev/rbd0") }, rule: RuleNetwork, value: "rbd"},
		"nbd":                           {change: func(w *world) { w.get("sdb").name = "nbd0" }, profile: func() Profile { return profileOf("/dev/nbd0") }, rule: RuleNetwork, value: "nbd"},
		"drbd":                          {change: func(w *world) { w.get("sdb").name = "drbd1" }, profile: func() Profile { return profileOf("/dev/drbd1") }, rule: RuleNetwork, value: "drbd"},
		"cidata":                        {change: func(w *world) { w.get("sdb").sigs[0].Type, w.get("sdb").sigs[0].Label = "iso9660", "CIDATA" }, rule: RuleCloudInit, value: "CIDATA"},
		"cidata on a partition since": {between: func(w *world) {
			w.add(&thing{name: "sdb1", kind: "part", parents: []string{"sdb"}}).sign("vfat").sigs[0].Label = "cidata"
		}, rule: RuleCloudInit, value: "cidata"},
		"removable":         {change: func(w *world) { w.get("sdb").removable = true }, rule: RuleRemovable, value: "/dev/sdb"},
		"USB":               {change: func(w *world) { w.get("sdb").transport = "usb" }, rule: RuleRemovable, value: "/dev/sdb"},
		"two of one WWN":    {change: func(w *world) { w.get("sdb").wwn = "0x5000"; w.add(&thing{name: "sdc", kind: "disk", wwn: "0x5000"}) }, rule: RuleDuplicate, value: "0x5000"},
		"two of one serial": {change: func(w *world) { w.add(&thing{name: "sdc", kind: "disk", serial: "S-sdb"}) }, rule: RuleDuplicate, value: "S-sdb"},
		"no identity":       {change: func(w *world) { w.get("sdb").serial = ""; w.get("sdb").ends = "e" }, rule: RuleIdentity, value: "sdb"},
		"zero WWN": {change: func(w *world) {
			w.get("sdb").serial, w.get("sdb").wwn, w.get("sdb").byID = "", "0x0000000000000000", []string{"wwn-0x0000000000000000"}
		}, rule: RuleIdentity, value: "sdb"},
		"no identity of this boot either": {change: func(w *world) { w.get("sdb").serial = "" }, kind: inventory.Lima, rule: RuleIdentity, value: "sdb"},
		"loop by glob":                    {change: loop, profile: func() Profile { return profileOf("/dev/loop*") }, rule: RuleLoop, value: "/dev/loop*"},
		"loop without its file":           {change: func(w *world) { loop(w); w.get("loop0").loopInode = "" }, profile: func() Profile { return profileOf("/dev/loop0") }, rule: RuleLoop, value: "/disk.img"},
		"path of a multipath device": {change: func(w *world) {
			w.add(&thing{name: "dm-0", dm: "mpatha", dmUUID: "mpath-1", kind: "mpath", parents: []string{"sdb"}})
		}, rule: RuleMultipath, value: "/dev/sdb"},
		"multipath since": {between: func(w *world) {
			w.add(&thing{name: "dm-0", dm: "mpatha", dmUUID: "mpath-1", kind: "mpath", parents: []string{"sdb"}})
		}, rule: RuleMultipath, value: "mpatha"},
		"size since":   {between: func(w *world) { w.get("sdb").size += 512 }, rule: RuleChanged, value: fmt.Sprint(20*gib + 512)},
		"serial since": {between: func(w *world) { w.get("sdb").serial = "other" }, rule: RuleChanged, value: "other"},
		"gone since":   {between: func(w *world) { w.get("sdb").name = "sdx" }, rule: RuleChanged, value: "/dev/sdb"},
		"another disk since": {change: func(w *world) { w.get("sdb").byID = []string{"ata-1"} }, between: func(w *world) {
			w.get("sdb").byID = nil
			w.add(&thing{name: "sdc", kind: "disk", serial: "S-sdb", byID: []string{"ata-1"}})
		}, profile: func() Profile { return profileOf(byIDFolder + "ata-1") }, rule: RuleChanged, value: "sdc"},
		"role unknown":               {change: func(w *world) { w.get("sdb").sigs, w.noWipefs = nil, true }, rule: RuleUnknown, value: "wipefs"},
		"unread since":               {between: func(w *world) { w.get("sdb").unread = true }, rule: RuleUnknown, value: "wipefs cannot read it"},
		"lvm fails":                  {change: func(w *world) { w.noPVs = true }, rule: RuleUnknown, value: "lvm pvs"},
		"held by what no list shows": {change: func(w *world) { w.get("sdb").held = true }, rule: RuleBusy, value: "/dev/sdb"},
		"md over a disk that is not listed": {change: func(w *world) {
			w.add(&thing{name: "sdc", kind: "disk", serial: "S-sdc"})
			w.add(&thing{name: "md0", kind: "raid1", parents: []string{"sdb", "sdc"}})
		}, rule: RuleSpans, value: "sdc"},
		"group over a disk that is not listed": {change: func(w *world) {
			w.get("sdb").sigs = nil
			w.get("sdb").sign("LVM2_member")
			w.pvs = []PV{{"sdb", "vg", "uuid1"}, {"sdc", "vg", "uuid1"}}
		}, rule: RuleSpans, value: "sdc"},
		"two groups of one name": {change: func(w *world) {
			w.add(&thing{name: "sdc", kind: "disk", serial: "S-sdc"}).sign("LVM2_member")
			w.pvs = []PV{{"sdb", "vg", "uuid1"}, {"sdc", "vg", "uuid2"}}
		}, profile: func() Profile { return profileOf("/dev/sdb", "/dev/sdc") }, rule: RuleDuplicate, value: "vg"},
		"no tool":  {change: func(w *world) { w.get("sdb").sign("LVM2_member"); w.tools = nil }, rule: RuleTool, value: "lvm"},
		"no mdadm": {change: func(w *world) { w.add(&thing{name: "md0", kind: "raid1", parents: []string{"sdb"}}); w.tools = nil }, rule: RuleTool, value: "mdadm"},
		"no cryptsetup": {change: func(w *world) {
			w.add(&thing{name: "dm-0", dm: "c", dmUUID: "CRYPT-LUKS2-x", kind: "crypt", parents: []string{"sdb"}})
			w.tools = nil
		}, rule: RuleTool, value: "cryptsetup"},
		"no dmsetup": {change: func(w *world) {
			w.add(&thing{name: "dm-0", dm: "d", dmUUID: "x", kind: "dm", parents: []string{"sdb"}})
			w.tools = nil
		}, rule: RuleTool, value: "dmsetup"},
		"machine-id":   {change: func(w *world) { w.machineID = "uninitialized" }, rule: RuleNode, value: "uninitialized"},
		"no role":      {profile: func() Profile { p := profileOf("/dev/sdb"); p.Every[0].Role = "unknown"; return p }, rule: RuleProfile, value: "unknown"},
		"not there":    {profile: func() Profile { return profileOf("/dev/sdz") }, rule: RuleMissing, value: "/dev/sdz"},
		"a partition":  {profile: func() Profile { return profileOf("/dev/sda1") }, rule: RuleMissing, value: "/dev/sda1"},
		"listed twice": {profile: func() Profile { return profileOf("/dev/sdb", "/dev/sd[b]") }, rule: RuleProfile, value: "/dev/sd[b]"},
		"nothing":      {profile: func() Profile { return Profile{} }, rule: RuleProfile, value: "node1"},
	} {
		t.Run(name, func(t *testing.T) {
			w, p := newWorld(), profileOf("/dev/sdb")
			if c.profile != nil {
				p = c.profile()
			}
			if c.change != nil {
				c.change(w)
			}
			choices, refusals := Choose("node1", w.facts(), p)
			if c.between != nil {
				require.Empty(t, refusals)
				c.between(w)
			}
			if len(refusals) == 0 {
				var n Node
				n, refusals = makeFrom(w, choices, p, orProd(c.kind))
				require.Empty(t, n.Disks)
			}
			i := slices.IndexFunc(refusals, func(r Refusal) bool { return r.Rule == c.rule && strings.Contains(r.Value, c.value) })
			require.GreaterOrEqual(t, i, 0, "%v", refusals)
			r := refusals[i]
			require.NotEmpty(t, r.Why)
			require.NotContains(t, r.Error(), "\n")
			if r.Disk != "" {
				require.Equal(t, "disks.yaml", r.Origin.File, "%s", r.Error())
			}
		})
	}
}

func orProd(k inventory.Kind) inventory.Kind {
	if k == "" {
		return inventory.Prod // the strict side of the rule on identities; Make itself asks for no kind
	}
	return k
}

func loop(w *world) {
	w.add(&thing{name: "loop0", kind: "loop", loopFile: "/disk.img", loopInode: "1:2", ends: "e"}).sign("ext4")
}

func TestMake_Accepts(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*world)
		profile func() Profile
		kind    inventory.Kind
		steps   string
	}{
		"ext4":  {steps: "1 clear-disk sdb; 2 reread sdb"},
		"blank": {change: func(w *world) { w.get("sdb").sigs, w.get("sdb").blank = nil, true }},
		"blank, and rook": {change: func(w *world) {
			w.get("sdb").sigs, w.get("sdb").blank, w.rook.State = nil, true, "present"
		}, steps: "1 remove-folder"},
		"this boot's identity on Lima": {change: func(w *world) { w.get("sdb").serial, w.get("sdb").ends = "", "e" }, kind: inventory.Lima, steps: "1 clear-disk sdb; 2 reread sdb"},
		"removable by id":              {change: func(w *world) { w.get("sdb").removable, w.get("sdb").byID = true, []string{"usb-1"} }, profile: func() Profile { return profileOf(byIDFolder + "usb-1") }, steps: "1 clear-disk sdb; 2 reread sdb"},
		"loop by path":                 {change: loop, profile: func() Profile { return profileOf("/dev/loop0") }, steps: "1 clear-disk loop0; 2 reread loop0"},
		"OSD of ours":                  {change: func(w *world) { w.get("sdb").osd, w.get("sdb").fsid = "osd-1", strings.ToUpper(ours) }, steps: "1 clear-disk sdb; 2 reread sdb"},
		"multipath whole": {change: func(w *world) {
			w.add(&thing{name: "sdc", kind: "disk", serial: "S-sdb"})
			w.get("sdb").sigs = nil
			w.add(&thing{name: "dm-0", dm: "mpatha", dmUUID: "mpath-1", kind: "mpath", parents: []string{"sdb", "sdc"}, byID: []string{"dm-uuid-mpath-1"}}).sign("ext4")
			w.add(&thing{name: "dm-1", dm: "mpatha-part1", dmUUID: "part1-mpath-1", kind: "part", parents: []string{"dm-0"}}).sign("xfs")
		}, profile: func() Profile { return profileOf("/dev/mapper/mpatha") }, steps: "1 clear-inner dm-1; 2 remove-dm dm-1; 3 clear-disk dm-0; 4 reread dm-0"},
		"LVM over LUKS over a partition": {change: func(w *world) {
			w.get("sdb").sigs = nil
			w.add(&thing{name: "sdb1", kind: "part", parents: []string{"sdb"}}).sign("crypto_LUKS")
			w.add(&thing{name: "dm-0", dm: "luks", dmUUID: "CRYPT-LUKS2-x", kind: "crypt", parents: []string{"sdb1"}}).sign("LVM2_member")
			w.add(&thing{name: "dm-1", dm: "vg-a", dmUUID: "LVM-uuid1aaa", kind: "lvm", parents: []string{"dm-0"}}).sign("ext4")
			w.add(&thing{name: "dm-2", dm: "vg-b", dmUUID: "LVM-uuid1bbb", kind: "lvm", parents: []string{"dm-0"}})
			w.pvs = []PV{{"dm-0", "vg", "uuid1"}}
		}, steps: "1 clear-inner dm-1; 2 clear-inner dm-2; 3 remove-vg vg uuid1; 4 remove-pv dm-0; 5 clear-inner dm-0; 6 close-luks dm-0; 7 clear-inner sdb1; 8 clear-disk sdb; 9 reread sdb"},
		"group over two disks, both listed": {change: func(w *world) {
			w.get("sdb").sigs = nil
			w.get("sdb").sign("LVM2_member")
			w.add(&thing{name: "sdc", kind: "disk", serial: "S-sdc"}).sign("LVM2_member")
			w.add(&thing{name: "dm-0", dm: "vg-a", dmUUID: "LVM-uuid1aaa", kind: "lvm", parents: []string{"sdb"}})
			w.add(&thing{name: "dm-1", dm: "vg-b", dmUUID: "LVM-uuid1bbb", kind: "lvm", parents: []string{"sdb", "sdc"}})
			w.pvs = []PV{{"sdb", "vg", "uuid1"}, {"sdc", "vg", "uuid1"}}
		}, profile: func() Profile { return profileOf("/dev/sdb", "/dev/sdc") },
			steps: "1 clear-inner dm-0; 2 clear-inner dm-1; 3 remove-vg vg uuid1; 4 remove-pv sdb; 5 clear-disk sdb; 6 reread sdb; 7 remove-pv sdc; 8 clear-disk sdc; 9 reread sdc"},
		"md over two partitions": {change: func(w *world) {
			w.get("sdb").sigs = nil
			w.add(&thing{name: "sdb1", kind: "part", parents: []string{"sdb"}}).sign("linux_raid_member")
			w.add(&thing{name: "sdb2", kind: "part", parents: []string{"sdb"}}).sign("linux_raid_member")
			w.add(&thing{name: "md0", kind: "raid1", parents: []string{"sdb1", "sdb2"}}).sign("xfs")
		}, steps: "1 clear-inner md0; 2 stop-md md0; 3 clear-inner sdb1; 4 clear-inner sdb2; 5 clear-disk sdb; 6 reread sdb"},
		"thin pool": {change: func(w *world) {
			w.get("sdb").sigs = nil
			w.get("sdb").sign("LVM2_member")
			id := "LVM-uuid1" + strings.Repeat("x", 59)
			w.add(&thing{name: "dm-0", dm: "vg-pool_tdata", dmUUID: id + "-tdata", kind: "lvm", parents: []string{"sdb"}})
			w.add(&thing{name: "dm-1", dm: "vg-pool-tpool", dmUUID: id + "-tpool", kind: "lvm", parents: []string{"dm-0"}})
			w.add(&thing{name: "dm-2", dm: "vg-pool", dmUUID: id + "-pool", kind: "lvm", parents: []string{"dm-1"}, ro: true, held: true})
			w.add(&thing{name: "dm-3", dm: "vg-a", dmUUID: id, kind: "lvm", parents: []string{"dm-1"}}).sign("ext4")
			w.pvs = []PV{{"sdb", "vg", "uuid1"}}
		}, steps: "1 clear-inner dm-3; 2 remove-vg vg uuid1; 3 remove-pv sdb; 4 clear-disk sdb; 5 reread sdb"},
		"ghost volume": {change: func(w *world) {
			w.get("sdb").sigs = nil
			w.add(&thing{name: "dm-0", dm: "vg-lv", dmUUID: "LVM-gone", kind: "lvm", parents: []string{"sdb"}})
		}, steps: "1 clear-inner dm-0; 2 remove-dm dm-0; 3 clear-disk sdb; 4 reread sdb"},
		"metadata device of an OSD of ours": {change: func(w *world) {
			w.get("sdb").osd, w.get("sdb").fsid = "osd-1", ours
			w.add(&thing{name: "sdc", kind: "disk", serial: "S-sdc", osd: "osd-1"})
		}, profile: func() Profile { return profileOf("/dev/sdb", "/dev/sdc") }, steps: "1 clear-disk sdb; 2 reread sdb; 3 clear-disk sdc; 4 reread sdc"},
		"btrfs whose other disk is not listed": {change: func(w *world) {
			w.get("sdb").sigs = nil
			w.get("sdb").sign("btrfs")
			w.add(&thing{name: "sdc", kind: "disk", serial: "S-sdc"}).sign("btrfs")
		}, steps: "1 clear-disk sdb; 2 reread sdb"},
	} {
		t.Run(name, func(t *testing.T) {
			w, p := newWorld(), profileOf("/dev/sdb")
			if c.profile != nil {
				p = c.profile()
			}
			if c.change != nil {
				c.change(w)
			}
			n, refusals := attempt(w, p, orProd(c.kind))
			require.Empty(t, refusals)
			var steps []string
			for _, s := range n.Steps {
				steps = append(steps, s.String())
			}
			require.Equal(t, c.steps, strings.Join(steps, "; "))

			file, err := Encode(Plan{TargetKind: "lima", CephFSIDs: []string{ours}, Nodes: []Node{n}})
			require.NoError(t, err)
			again, err := Decode(file)
			require.NoError(t, err)
			second, err := Encode(again)
			require.NoError(t, err)
			require.Equal(t, string(file), string(second))
			require.Contains(t, Text(again), n.Identity.MachineID)
		})
	}
}

// randomWorld draws a node: its disks, what is on them, and which tools fail.
func randomWorld(t *rapid.T) *world {
	w := newWorld()
	w.things = w.things[:2] // sda, with "/"
	yes := func(label string) bool { return rapid.IntRange(0, 24).Draw(t, label) == 7 }
	var members []*thing // of arrays and groups to come
	next := 0
	dm := func(kind, prefix string, parents ...string) *thing {
		d := w.add(&thing{name: fmt.Sprintf("dm-%d", next), dm: fmt.Sprintf("%s%d", kind, next), dmUUID: prefix, kind: kind, parents: parents})
		next++
		return d
	}
	var fill func(x *thing, depth int)
	fill = func(x *thing, depth int) {
		switch what := rapid.SampledFrom([]string{"nothing", "fs", "parts", "pv", "md", "luks", "opened", "own", "foreign", "untold", "copy", "multipath"}).Draw(t, "content"); {
		case what == "fs":
			x.sign("ext4")
			if yes("mounted") {
				x.mounts = []string{rapid.SampledFrom([]string{"/data", "/var", "/boot", "/var/lib/kubelet/pods/p/volumes/v"}).Draw(t, "target")}
			}
			x.swap = yes("swap")
			x.held = yes("held")
		case what == "parts" && x.kind == "disk":
			x.sign("gpt")
			for i := range rapid.IntRange(1, 2).Draw(t, "parts") {
				fill(w.add(&thing{name: fmt.Sprintf("%s%d", x.name, i+1), kind: "part", parents: []string{x.name}}), depth+1)
			}
		case what == "pv" || what == "md":
			x.sign(map[string]string{"pv": "LVM2_member", "md": "linux_raid_member"}[what])
			members = append(members, x)
		case what == "luks":
			x.sign("crypto_LUKS")
		case what == "opened" && depth < 3:
			x.sign("crypto_LUKS")
			fill(dm("crypt", "CRYPT-LUKS2-x", x.name), depth+1)
		case what == "multipath" && x.kind == "disk":
			fill(dm("mpath", "mpath-x", x.name), depth+1)
		case what == "own":
			x.sign("ceph_bluestore")
			x.osd, x.fsid = "osd-"+x.name, ours
		case what == "foreign":
			x.sign("ceph_bluestore")
			x.osd, x.fsid = "osd-"+x.name, theirs
		case what == "untold":
			x.osd = rapid.SampledFrom([]string{"osd-sdb", "osd-nowhere"}).Draw(t, "osd")
		case what == "copy": // of a label that wipefs does not know
			x.osd, x.fsid = "osd-"+x.name, rapid.SampledFrom([]string{ours, theirs}).Draw(t, "fsid")
		}
		x.unread = yes("unread")
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "disks") {
		name := "sd" + string(rune('b'+i))
		d := w.add(&thing{name: name, kind: "disk", serial: "S-" + name})
		d.ro, d.removable, d.blank = yes("read-only"), yes("removable"), yes("blank")
		if yes("same serial") {
			d.serial = "S-sdb"
		}
		if yes("no serial") {
			d.serial = ""
		}
		if yes("transport") {
			d.transport = rapid.SampledFrom([]string{"iscsi", "usb", "sata"}).Draw(t, "transport")
		}
		fill(d, 0)
	}
	for len(members) > 0 { // built on one or two of them
		n := min(len(members), rapid.IntRange(1, 2).Draw(t, "members"))
		group := members[:n]
		members = members[n:]
		var names []string
		for _, m := range group {
			names = append(names, m.name)
		}
		id := fmt.Sprintf("uuid%d", next)
		switch {
		case yes("inactive"):
		case group[0].sigs[len(group[0].sigs)-1].Type == "LVM2_member":
			fill(dm("lvm", "LVM-"+id+"xxx", names...), 9)
		default:
			fill(w.add(&thing{name: fmt.Sprintf("md%d", next), kind: "raid1", parents: names}), 9)
			next++
		}
		if group[0].sigs[len(group[0].sigs)-1].Type == "LVM2_member" {
			for _, m := range names {
				w.pvs = append(w.pvs, PV{m, "vg" + id, id})
			}
		}
		members = slices.DeleteFunc(members, func(x *thing) bool { return len(w.children(x.name)) > 0 })
	}
	w.noLsblk, w.noSysfs, w.noMounts = yes("no lsblk"), yes("no sysfs"), yes("no mounts")
	w.noWipefs, w.noLabels, w.noPVs = yes("no wipefs"), yes("no labels"), yes("no pvs")
	if yes("no tools") {
		w.tools = nil
	}
	if yes("ceph runs") {
		w.processes = []string{"ceph-osd"}
	}
	return w
}

// bad says what forbids to wipe a thing, in truth.
func (w *world) bad(x *thing) string {
	for _, t := range w.tree(x) {
		switch {
		case len(t.mounts) > 0:
			return t.name + " is mounted"
		case t.swap:
			return t.name + " is swap"
		case t.held:
			return t.name + " is held open"
		case t.unread:
			return t.name + " was not read"
		case t.ro:
			return t.name + " is read-only"
		case t.fsid == theirs:
			return t.name + " is another cluster's"
		case t.osd != "" && t.fsid == "" && (t.osd == "osd-nowhere" || w.get("sdb") == nil || !slices.ContainsFunc(w.things, func(o *thing) bool { return o.osd == t.osd && o.fsid == ours })):
			return t.name + " is nobody knows whose"
		case t.transport == "iscsi":
			return t.name + " is another machine's"
		}
	}
	return ""
}

// No plan ever holds a disk that is mounted, foreign, or of which something is
// not known; nor a step that touches a disk that is not listed.
func TestPlan_NeverHoldsADiskThatMustStay(t *testing.T) {
	planned, steps := 0, 0
	property := func(t *rapid.T) {
		before := randomWorld(t)
		now := before
		var listed []string
		for _, d := range before.things {
			if (len(d.parents) == 0 || d.kind == "mpath") && rapid.Bool().Draw(t, "list "+d.name) {
				listed = append(listed, "/dev/"+strings.Replace(orElse(d.dm, d.name), "mpath", "mapper/mpath", 1))
			}
		}
		if rapid.IntRange(0, 5).Draw(t, "glob") == 0 {
			listed = []string{"/dev/sd*"}
		}
		p := profileOf(listed...)
		choices, refusals := Choose("node1", before.facts(), p)
		if len(refusals) > 0 {
			return
		}
		if rapid.IntRange(0, 3).Draw(t, "changes meanwhile") == 0 {
			now = randomWorld(t)
		}
		n, refusals := makeFrom(now, choices, p, rapid.SampledFrom([]inventory.Kind{inventory.Lima, inventory.Prod}).Draw(t, "kind"))
		if len(refusals) > 0 {
			return
		}
		planned++
		if now.noPVs || len(now.processes) > 0 {
			t.Fatalf("planned while lvm failed (%v) or Ceph ran (%v)", now.noPVs, now.processes)
		}
		for _, d := range n.Disks {
			x := now.get(d.Name)
			if why := now.bad(x); why != "" {
				t.Fatalf("planned %s, and %s", d.Name, why)
			}
			if len(x.parents) == 0 && slices.ContainsFunc(now.children(x.name), func(c *thing) bool { return c.kind == "mpath" }) {
				t.Fatalf("planned %s, one path of a multipath device", d.Name)
			}
		}
		for _, s := range n.Steps {
			if s.Verb == RemoveVG || s.Verb == RemoveFolder {
				continue
			}
			steps++
			for _, root := range now.roots(now.get(s.Args[0])) {
				ok := slices.ContainsFunc(n.Disks, func(d Disk) bool {
					return d.Name == root || slices.Contains(now.get(d.Name).parents, root) && now.get(d.Name).kind == "mpath"
				})
				if !ok {
					t.Fatalf("step %s touches %s, which is not listed", s, root)
				}
			}
		}
	}
	for range 30 { // a hundred draws each
		rapid.Check(t, property)
	}
	require.Greater(t, planned, 100, "some nodes can be planned")
	require.Greater(t, steps, 100, "some plans have steps")
	t.Logf("%d plans, %d steps", planned, steps)
}
