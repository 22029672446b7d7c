package disks

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/nestor-tools/nestor/mapping/bluestore"
	"github.com/nestor-tools/nestor/mapping/fact"
	"github.com/nestor-tools/nestor/mapping/lsblk"
	"github.com/nestor-tools/nestor/mapping/mountinfo"
	"github.com/nestor-tools/nestor/mapping/swaps"
	"github.com/nestor-tools/nestor/mapping/sysfs"
	"github.com/nestor-tools/nestor/mapping/wipefs"
)

const gib = 1 << 30

// world is a node whose sources all answer and agree: sda carries "/", sdb is
// blank. A test changes what it is about.
type world struct {
	lsblk      []lsblk.Device
	sysfs      []sysfs.Device
	mounts     []mountinfo.Mount
	swaps      []swaps.Swap
	signatures map[string]fact.Observed[[]wipefs.Signature]
	labels     map[string]fact.Observed[[]bluestore.Label] // none where not named
	input      func(*Input)
}

func newWorld() *world {
	w := &world{signatures: map[string]fact.Observed[[]wipefs.Signature]{}}
	w.add(lsblk.Device{Name: "sda", Type: "disk", SizeBytes: 100 * gib, Dev: "8:0"})
	w.add(lsblk.Device{Name: "sda1", Type: "part", SizeBytes: 99 * gib, Dev: "8:1", Parents: []string{"sda"}})
	w.add(lsblk.Device{Name: "sdb", Type: "disk", SizeBytes: 200 * gib, Dev: "8:16"})
	w.mount("8:1", "/", "ext4", "/dev/sda1")
	return w
}

// add gives the device to lsblk and sysfs, without a signature.
func (w *world) add(d lsblk.Device) {
	if d.KName == "" {
		d.KName = d.Name
	}
	w.lsblk = append(w.lsblk, d)
	s := sysfs.Device{Name: d.KName, Dev: d.Dev, SizeBytes: d.SizeBytes, ReadOnly: d.ReadOnly, Removable: d.Removable, Partition: d.Type == "part"}
	if d.Type != "part" {
		s.Slaves = d.Parents
	} else if len(d.Parents) > 0 {
		parent, _ := w.device(d.Parents[0])
		s.ParentDev = parent.Dev
	}
	w.sysfs = append(w.sysfs, s)
	w.signatures[d.KName] = fact.Present([]wipefs.Signature{})
}

func (w *world) sign(kname string, types ...string) {
	var list []wipefs.Signature
	for _, kind := range types {
		list = append(list, wipefs.Signature{Type: kind})
	}
	w.signatures[kname] = fact.Present(list)
}

func (w *world) mount(dev, target, fsType, source string) {
	w.mounts = append(w.mounts, mountinfo.Mount{Device: dev, Root: "/", Target: target, FSType: fsType, Source: source})
}

func (w *world) assess() map[string]Disk {
	in := Input{
		Lsblk: fact.Present(lsblk.Listing{Devices: w.lsblk}), Sysfs: fact.Present(w.sysfs),
		Mounts: fact.Present(w.mounts), Swaps: fact.Present(w.swaps),
		Signatures: func(kname string) fact.Observed[[]wipefs.Signature] {
			if s, ok := w.signatures[kname]; ok {
				return s
			}
			return fact.Unknown[[]wipefs.Signature]("this device was not read")
		},
		Labels: func(kname string) fact.Observed[[]bluestore.Label] {
			if l, ok := w.labels[kname]; ok {
				return l
			}
			return fact.Present([]bluestore.Label{})
		},
	}
	if w.input != nil {
		w.input(&in)
	}
	disks := map[string]Disk{}
	for _, d := range Assess(in) {
		disks[d.Name] = d
	}
	return disks
}

// device gives the device of that name for changing, in both sources.
func (w *world) device(name string) (*lsblk.Device, *sysfs.Device) {
	i := slices.IndexFunc(w.lsblk, func(d lsblk.Device) bool { return d.Name == name })
	return &w.lsblk[i], &w.sysfs[i]
}

func TestRole(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(*world)
		disk     string // sdb where empty
		role     Role
		evidence string // part of it
	}{
		"all sources agree":    {role: Free, evidence: "no signature (wipefs) and no BlueStore label"},
		"root":                 {disk: "sda", role: System, evidence: "sda1 is mounted at /"},
		"whole disk mounted":   {change: func(w *world) { w.mount("8:16", "/data", "xfs", "/dev/sdb") }, role: DataInUse, evidence: "sdb is mounted at /data"},
		"boot on it":           {change: func(w *world) { w.mount("8:16", "/boot/efi", "vfat", "/dev/sdb") }, role: System, evidence: "sdb is mounted at /boot/efi"},
		"bootstrap is no boot": {change: func(w *world) { w.mount("8:16", "/bootstrap", "ext4", "/dev/sdb") }, role: DataInUse},
		"mount only in lsblk":  {change: func(w *world) { d, _ := w.device("sdb"); d.Mounts = []string{"/x"} }, role: DataInUse, evidence: "sdb is mounted at /x"},
		"mount by name, with a number of its own (btrfs)": {
			change: func(w *world) { w.mount("0:35", "/pool", "btrfs", "/dev/sdb") }, role: DataInUse, evidence: "sdb is mounted at /pool"},
		"btrfs member without a mount": {change: func(w *world) { w.sign("sdb", "btrfs") }, role: DataInUse, evidence: "sdb carries btrfs at 0x0 (wipefs)"},
		"active swap":                  {change: func(w *world) { w.swaps = []swaps.Swap{{Path: "/dev/sdb", Type: "partition"}} }, role: System, evidence: "sdb is active swap"},
		"swap only in lsblk":           {change: func(w *world) { d, _ := w.device("sdb"); d.Mounts = []string{"[SWAP]"} }, role: System, evidence: "sdb is active swap"},
		"idle swap signature":          {change: func(w *world) { w.sign("sdb", "swap") }, role: DataInUse, evidence: "sdb carries swap at 0x0"},
		"lone backup GPT":              {change: func(w *world) { w.sign("sdb", "gpt") }, role: DataInUse, evidence: "carries gpt"},
		"partition table in lsblk only": {
			change: func(w *world) { d, _ := w.device("sdb"); d.PTType = "atari" }, role: DataInUse, evidence: "partition table, atari (lsblk)"},
		"partition without a file system": {
			change: func(w *world) {
				w.add(lsblk.Device{Name: "sdb1", Type: "part", SizeBytes: gib, Parents: []string{"sdb"}})
			}, role: DataInUse, evidence: "sdb1 is on it (part)"},
		"idle LVM":           {change: func(w *world) { w.sign("sdb", "LVM2_member") }, role: DataInUse, evidence: "carries LVM2_member"},
		"idle LUKS":          {change: func(w *world) { w.sign("sdb", "crypto_LUKS") }, role: DataInUse, evidence: "carries crypto_LUKS"},
		"raid member":        {change: func(w *world) { w.sign("sdb", "linux_raid_member") }, role: DataInUse},
		"bluestore":          {change: func(w *world) { w.sign("sdb", "ceph_bluestore") }, role: Ceph, evidence: "sdb carries a BlueStore label"},
		"bluestore by lsblk": {change: func(w *world) { d, _ := w.device("sdb"); d.FSType = "ceph_bluestore" }, role: Ceph},
		"bluestore wiped at its start only": {
			change: func(w *world) {
				w.labels = map[string]fact.Observed[[]bluestore.Label]{"sdb": fact.Present([]bluestore.Label{{OSDUUID: "a", AtGiB: []int{10, 100}}})}
			}, role: Ceph, evidence: "a copy of a BlueStore label at 10 GiB"},
		"labels not read": {
			change: func(w *world) {
				w.labels = map[string]fact.Observed[[]bluestore.Label]{"sdb": fact.Denied[[]bluestore.Label]("no")}
			}, role: Unknown, evidence: "BlueStore labels: no"},
		"ceph volume, active and mounted nowhere": {
			change: func(w *world) {
				w.sign("sdb", "LVM2_member")
				w.add(lsblk.Device{Name: "ceph--1b2c-osd--block--9f8e", KName: "dm-0", Type: "lvm", SizeBytes: gib, Parents: []string{"sdb"}})
			}, role: Ceph, evidence: "is a volume of ceph-volume"},
		"a volume that is only named after ceph": {
			change: func(w *world) {
				w.add(lsblk.Device{Name: "cephdata-lv", KName: "dm-0", Type: "lvm", SizeBytes: gib, Parents: []string{"sdb"}})
			}, role: DataInUse},
		"ceph-disk partition": {
			change: func(w *world) {
				w.add(lsblk.Device{Name: "sdb1", Type: "part", PartType: "4FBD7E29-9D25-41B8-AFD0-062C0CEFF05D", SizeBytes: gib, Parents: []string{"sdb"}})
			}, role: Ceph},
		"root on LVM over LUKS": {
			change: func(w *world) {
				w.mounts = nil
				w.add(lsblk.Device{Name: "sdb2", Type: "part", Dev: "8:18", SizeBytes: gib, Parents: []string{"sdb"}})
				w.add(lsblk.Device{Name: "luks-x", KName: "dm-1", Type: "crypt", Dev: "253:1", SizeBytes: gib, Parents: []string{"sdb2"}})
				w.add(lsblk.Device{Name: "vg-root", KName: "dm-2", Type: "lvm", Dev: "253:2", SizeBytes: gib, Parents: []string{"dm-1"}})
				w.mount("253:2", "/", "xfs", "/dev/mapper/vg-root")
			}, role: System, evidence: "vg-root is mounted at /"},
		"held by something unknown": {change: func(w *world) { _, s := w.device("sdb"); s.Holders = []string{"bcache0"} }, role: DataInUse, evidence: "sdb is held by bcache0 (sysfs)"},
		"a pod's volume":            {change: func(w *world) { w.mount("8:16", "/run/pods/1", "ext4", "/dev/sdb") }, role: DataInUse, evidence: "sdb is mounted by a workload"},

		"read-only":                     {change: func(w *world) { d, _ := w.device("sdb"); d.ReadOnly = true }, role: Unknown, evidence: "it is read-only"},
		"read-only for the kernel only": {change: func(w *world) { _, s := w.device("sdb"); s.ReadOnly = true }, role: Unknown, evidence: "it is read-only"},
		"removable":                     {change: func(w *world) { d, _ := w.device("sdb"); d.Removable = true }, role: Unknown, evidence: "it is removable"},
		"no medium":                     {change: func(w *world) { d, s := w.device("sdb"); d.SizeBytes, s.SizeBytes = 0, 0 }, role: Unknown, evidence: "no medium"},
		"size not told":                 {change: func(w *world) { d, _ := w.device("sdb"); d.SizeBytes = -1; w.sysfs = w.sysfs[:2] }, role: Unknown, evidence: "its size is not known"},
		"tiny":                          {change: func(w *world) { d, s := w.device("sdb"); d.SizeBytes, s.SizeBytes = 8<<20, 8<<20 }, role: Unknown, evidence: "smaller than 1 GiB"},
		"sizes disagree":                {change: func(w *world) { _, s := w.device("sdb"); s.SizeBytes += 512 }, role: Unknown, evidence: "disagree about its size"},
		"same WWN twice": {
			change: func(w *world) {
				w.add(lsblk.Device{Name: "sdc", Type: "disk", SizeBytes: 200 * gib, Dev: "8:32", WWN: "0x5000c500a1b2c301"})
				d, _ := w.device("sdb")
				d.WWN = "0x5000c500a1b2c301"
			}, role: Unknown, evidence: "sdc has the same WWN 0x5000c500a1b2c301"},
		"a WWN of zeros is none": {
			change: func(w *world) {
				w.add(lsblk.Device{Name: "sdc", Type: "disk", SizeBytes: 200 * gib, Dev: "8:32", WWN: "0x0000000000000000"})
				d, _ := w.device("sdb")
				d.WWN = "0x0000000000000000"
			}, role: Free},
		"same serial, model and size": {
			change: func(w *world) {
				w.add(lsblk.Device{Name: "sdc", Type: "disk", SizeBytes: 200 * gib, Dev: "8:32", Serial: "S1"})
				d, _ := w.device("sdb")
				d.Serial = "S1"
			}, role: Unknown, evidence: "one disk seen twice"},

		"wipefs denied":         {change: func(w *world) { w.signatures["sdb"] = fact.Denied[[]wipefs.Signature]("not root") }, role: Unknown, evidence: "wipefs: not root"},
		"wipefs missing":        {change: func(w *world) { delete(w.signatures, "sdb") }, role: Unknown, evidence: "wipefs: this device was not read"},
		"mounts unknown":        {change: func(w *world) { w.input = func(in *Input) { in.Mounts = fact.Unknown[[]mountinfo.Mount]("cut") } }, role: Unknown, evidence: "mounts: cut"},
		"swaps unknown":         {change: func(w *world) { w.input = func(in *Input) { in.Swaps = fact.Unknown[[]swaps.Swap]("cut") } }, role: Unknown, evidence: "swaps: cut"},
		"a kernel without swap": {change: func(w *world) { w.input = func(in *Input) { in.Swaps = fact.Absent[[]swaps.Swap]("no file") } }, role: Free},
		"sysfs unknown":         {change: func(w *world) { w.input = func(in *Input) { in.Sysfs = fact.Unknown[[]sysfs.Device]("cut") } }, role: Unknown, evidence: "sysfs: cut"},
		"lsblk missing": {change: func(w *world) {
			w.input = func(in *Input) { in.Lsblk = fact.Unknown[lsblk.Listing]("lsblk is not installed") }
		}, role: Unknown, evidence: "lsblk: lsblk is not installed"},
		"lsblk missing, mounted all the same": {
			change: func(w *world) {
				w.input = func(in *Input) { in.Lsblk = fact.Unknown[lsblk.Listing]("lsblk is not installed") }
			}, disk: "sda", role: System, evidence: "sda1 is mounted at /"},
		"lsblk does not list it": {change: func(w *world) { w.lsblk = w.lsblk[:2] }, role: Unknown, evidence: "lsblk does not list it"},
		"the kernel does not":    {change: func(w *world) { w.sysfs = w.sysfs[:2] }, role: Unknown, evidence: "the kernel does not list it"},
		"root not found":         {change: func(w *world) { w.mounts = nil; w.mount("259:9", "/", "ext4", "/dev/root") }, role: Unknown, evidence: "the device that carries / was not found"},
		"root on overlay":        {change: func(w *world) { w.mounts = nil; w.mount("0:50", "/", "overlay", "overlay") }, role: Unknown, evidence: "the device that carries / was not found"},
		"root over the network":  {change: func(w *world) { w.mounts = nil; w.mount("0:50", "/", "nfs4", "server:/root") }, role: Free},
		"no mount at /":          {change: func(w *world) { w.mounts = nil }, role: Unknown, evidence: "the device that carries / was not found"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			if c.change != nil {
				c.change(w)
			}
			inner := w.input
			w.input = func(in *Input) {
				in.Volatile = func(m string) bool { return strings.HasPrefix(m, "/run/pods/") }
				if inner != nil {
					inner(in)
				}
			}
			disk := c.disk
			if disk == "" {
				disk = "sdb"
			}
			d := w.assess()[disk]
			require.Equal(t, c.role, d.Role, "%v", d.Evidence)
			require.Contains(t, strings.Join(d.Evidence, "\n"), c.evidence)
			require.NotEmpty(t, d.Evidence)
		})
	}
}

func TestMultipath_OneDisk(t *testing.T) {
	w := newWorld()
	w.add(lsblk.Device{Name: "sdc", Type: "disk", SizeBytes: 10 * gib, Dev: "8:32", FSType: "mpath_member", WWN: "0x3"})
	w.add(lsblk.Device{Name: "sdd", Type: "disk", SizeBytes: 10 * gib, Dev: "8:48", FSType: "mpath_member", WWN: "0x3"})
	w.add(lsblk.Device{Name: "mpatha", KName: "dm-0", Type: "mpath", SizeBytes: 10 * gib, Dev: "253:0", Parents: []string{"sdd", "sdc"}})
	disks := w.assess()
	require.NotContains(t, disks, "sdc")
	require.NotContains(t, disks, "sdd")
	require.Equal(t, Free, disks["mpatha"].Role, "%v", disks["mpatha"].Evidence)
	require.Equal(t, []string{"sdc", "sdd"}, disks["mpatha"].Paths)
}

func TestMultipathMember_WithoutItsDevice(t *testing.T) {
	w := newWorld()
	d, _ := w.device("sdb")
	d.FSType = "mpath_member"
	require.Equal(t, DataInUse, w.assess()["sdb"].Role)
}

func TestWhatIsNoDisk(t *testing.T) {
	w := newWorld()
	for _, d := range []lsblk.Device{
		{Name: "ram0", Type: "disk", SizeBytes: 64 << 20}, {Name: "zram0", Type: "disk", SizeBytes: 4 * gib},
		{Name: "fd0", Type: "disk", SizeBytes: 4096}, {Name: "sr0", Type: "rom", SizeBytes: gib},
		{Name: "nbd0", Type: "disk", SizeBytes: 0}, {Name: "loop0", Type: "loop", SizeBytes: 10 * gib},
		{Name: "loop1", Type: "loop", SizeBytes: 0}, {Name: "nbd1", Type: "disk", SizeBytes: 10 * gib},
	} {
		w.add(d)
	}
	require.ElementsMatch(t, []string{"sda", "sdb", "nbd1"}, names(w.assess()))
	w.input = func(in *Input) { in.Loops = true }
	disks := w.assess()
	require.ElementsMatch(t, []string{"sda", "sdb", "nbd1", "loop0"}, names(disks))
	require.Equal(t, Free, disks["loop0"].Role)
}

func names(disks map[string]Disk) []string {
	var list []string
	for name := range disks {
		list = append(list, name)
	}
	return list
}

// A listing that goes in circles, as no kernel has, must end all the same.
func TestCircle(t *testing.T) {
	w := newWorld()
	w.add(lsblk.Device{Name: "dm-0", Type: "lvm", SizeBytes: gib, Parents: []string{"sdb", "dm-1"}})
	w.add(lsblk.Device{Name: "dm-1", Type: "lvm", SizeBytes: gib, Parents: []string{"dm-0"}})
	require.Equal(t, DataInUse, w.assess()["sdb"].Role)
}

func TestOrder(t *testing.T) {
	w := newWorld()
	for _, name := range []string{"nvme10n1", "nvme2n1", "sdaa"} {
		w.add(lsblk.Device{Name: name, Type: "disk", SizeBytes: gib})
	}
	in := Input{Lsblk: fact.Present(lsblk.Listing{Devices: w.lsblk})}
	var order []string
	for _, d := range Assess(in) {
		order = append(order, d.Name)
	}
	require.Equal(t, []string{"nvme2n1", "nvme10n1", "sda", "sdaa", "sdb"}, order)
}

// Free is what only full agreement gives: whatever single source is taken
// away or made to show use, it is gone, and for no other disk does it appear.
func TestFree_NeedsEverySource(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		what := rapid.IntRange(0, 10).Draw(t, "what")
		w.input = func(in *Input) {
			switch what {
			case 0:
				in.Lsblk = fact.Denied[lsblk.Listing]("x")
			case 1:
				in.Sysfs = fact.Denied[[]sysfs.Device]("x")
			case 2:
				in.Mounts = fact.Denied[[]mountinfo.Mount]("x")
			case 3:
				in.Swaps = fact.Denied[[]swaps.Swap]("x")
			case 4:
				in.Signatures = nil
			case 5:
				in.Signatures = func(string) fact.Observed[[]wipefs.Signature] {
					return fact.Present([]wipefs.Signature{{Type: rapid.StringMatching(`[a-z]{1,8}`).Draw(t, "type")}})
				}
			case 6:
				in.Mounts = fact.Present(append(w.mounts, mountinfo.Mount{Device: "8:16", Target: "/" + rapid.String().Draw(t, "target")}))
			case 7:
				in.Swaps = fact.Present([]swaps.Swap{{Path: "/dev/sdb", Type: "partition"}})
			case 8:
				in.Sysfs.Value[2].Holders = []string{fmt.Sprintf("dm-%d", rapid.IntRange(0, 99).Draw(t, "holder"))}
			case 10:
				in.Labels = nil
			case 9:
				in.Mounts = fact.Present([]mountinfo.Mount{})
			}
		}
		for name, d := range w.assess() {
			require.NotEqual(t, Free, d.Role, "%s, %d: %v", name, what, d.Evidence)
		}
	})
}

func TestLVMNames(t *testing.T) {
	for name, want := range map[string][2]string{
		"vg-lv": {"vg", "lv"}, "my--vg-lv----x": {"my-vg", "lv--x"}, "vg--one-lv--data": {"vg-one", "lv-data"}, "vg": {"vg", ""},
		"ceph--1b2c-osd--block--9f8e": {"ceph-1b2c", "osd-block-9f8e"},
	} {
		group, volume := lvmNames(name)
		require.Equal(t, want, [2]string{group, volume}, name)
	}
}
