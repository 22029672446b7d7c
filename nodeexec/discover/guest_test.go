//go:build guest

package discover_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/guest"
	"github.com/nestor-tools/nestor/mapping"
	"github.com/nestor-tools/nestor/mapping/baseline"
	"github.com/nestor-tools/nestor/mapping/disks"
	"github.com/nestor-tools/nestor/mapping/fact"
	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/nodeexec/discover"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

const (
	osdUUID = "11111111-aaaa-bbbb-cccc-555555555555"
	lvmOSD  = "22222222-aaaa-bbbb-cccc-555555555555"
	fsid    = "99999999-aaaa-bbbb-cccc-000000000000"
)

// layers puts on the guest's disks what a kernel without device-mapper, md and
// udev cannot have. $name is the device of the disk so named.
const layers = `
mkfs() { # TYPE ARGUMENTS; the device is named by udev, which is given time
  udevadm settle --timeout=600
  "mkfs.$@" >/dev/null
}
osd() { # DEVICE UUID ID
  mkdir -p "/root/osd$3"
  ln -s "$1" "/root/osd$3/block"
  ceph-osd --mkfs -i "$3" --osd-data "/root/osd$3" --osd-objectstore bluestore --osd-uuid "$2" \
    --fsid ` + fsid + ` --no-mon-config --conf /dev/null --keyring "/root/osd$3/keyring" \
    --log-file /root/osd.log --setuser root --setgroup root >/dev/null 2>&1
}
mkdir -p /srv/md /srv/lv /srv/btrfs /var/lib/rook/rook-ceph
mdadm --create /dev/md/pair --run --level=1 --raid-devices=2 --metadata=1.2 --assume-clean "$md1" "$md2" 2>/dev/null
mkfs ext4 -q /dev/md/pair
mount /dev/md/pair /srv/md
pvcreate -q "$lvm" >/dev/null
vgcreate -q data "$lvm" >/dev/null
lvcreate -q -y -L 256M -n files data >/dev/null
mkfs ext4 -q /dev/data/files
mount /dev/data/files /srv/lv
pvcreate -q "$cephlvm" >/dev/null
vgcreate -q ceph-0b5c "$cephlvm" >/dev/null
lvcreate -q -y -l 100%FREE -n osd-block-` + lvmOSD + ` ceph-0b5c >/dev/null
osd /dev/ceph-0b5c/osd-block-` + lvmOSD + ` ` + lvmOSD + ` 1
osd "$ceph" ` + osdUUID + ` 0
printf secret | cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 "$luks" -
printf secret | cryptsetup open "$luks" safe -
mkfs btrfs -f "$btrfs1" "$btrfs2"
mount "$btrfs1" /srv/btrfs
printf 'label: gpt\nsize=64MiB, name=one\n' | sfdisk -q "$tail"
dd if=/dev/zero of="$tail" bs=1M count=1 conv=fsync status=none
modprobe zram num_devices=1
echo 64M >/sys/block/zram0/disksize
mkswap -q /dev/zram0 >/dev/null
swapon /dev/zram0
truncate -s 32M /root/loop.img
losetup /dev/loop0 /root/loop.img
cat >/etc/nftables.conf <<'END'
table inet filter {
  chain input {
    type filter hook input priority 0; policy drop;
    ct state established,related accept
    iif lo accept
    tcp dport 22 accept
  }
}
END
systemctl start nftables containerd
mkdir -p /etc/cni/net.d
printf '{"cniVersion":"1.0.0","name":"cilium","plugins":[{"type":"cilium-cni"}]}' >/etc/cni/net.d/05-cilium.conflist
printf '{"cniVersion":"1.0.0","name":"old","type":"bridge"}' >/etc/cni/net.d/10-bridge.conf.cilium_bak
udevadm settle --timeout=600
`

// guestDisks are the disks of the guest, in the order of their names there,
// and what each is expected to be.
var guestDisks = []struct {
	disk guest.Disk
	role disks.Role
}{
	{guest.Disk{Name: "ceph", SizeMiB: 4096}, disks.Ceph},
	{guest.Disk{Name: "cephlvm", SizeMiB: 4096, Serial: "CEPHLVM"}, disks.Ceph},
	{guest.Disk{Name: "lvm", SizeMiB: 1024}, disks.DataInUse},
	{guest.Disk{Name: "luks", SizeMiB: 1024}, disks.DataInUse},
	{guest.Disk{Name: "tail", SizeMiB: 1024}, disks.DataInUse},
	{guest.Disk{Name: "empty", SizeMiB: 1024}, disks.Free},
	{guest.Disk{Name: "md1", Bus: guest.SCSI, SizeMiB: 1024, Serial: "MD1", WWN: 0x5000c500a1b2c301}, disks.DataInUse},
	{guest.Disk{Name: "md2", Bus: guest.SCSI, SizeMiB: 1024, Serial: "MD2", WWN: 0x5000c500a1b2c302}, disks.DataInUse},
	{guest.Disk{Name: "btrfs1", Bus: guest.SCSI, SizeMiB: 1024, Serial: "BT1"}, disks.DataInUse},
	{guest.Disk{Name: "btrfs2", Bus: guest.SCSI, SizeMiB: 1024, Serial: "BT2"}, disks.DataInUse},
	{guest.Disk{Name: "paths", Bus: guest.SCSI, SizeMiB: 1024, Serial: "MP1", WWN: 0x5000c500a1b2c303, SecondPath: true}, disks.Free},
	{guest.Disk{Name: "stick", Bus: guest.SCSI, SizeMiB: 1024, Serial: "ST1", Removable: true}, disks.Unknown},
	{guest.Disk{Name: "fixed", Bus: guest.SCSI, SizeMiB: 1024, Serial: "RO1", ReadOnly: true}, disks.Unknown},
	{guest.Disk{Name: "nvme", Bus: guest.NVMe, SizeMiB: 1024}, disks.Free},
	{guest.Disk{Name: "disc", Bus: guest.CDROM, SizeMiB: 16}, ""},
}

// openGuest is the guest behind the brick, as its inventory describes it.
func openGuest(t *testing.T, g *guest.Guest) discover.Node {
	t.Helper()
	inv, err := inventory.Load(os.DirFS(g.Dir), filepath.Base(g.InventoryPath), os.LookupEnv)
	require.NoError(t, err)
	target, err := inv.Target(g.Spec.Name, inventory.Lima)
	require.NoError(t, err)
	control, err := os.MkdirTemp("", "nd")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(control) })
	return discover.Node{Runner: nodeexec.Open(target, nodeexec.Options{ControlDir: control}), Roles: []string{"cloud"}}
}

// guestOptions are for a processor that is emulated.
func guestOptions() discover.Options {
	return discover.Options{Sudo: true, SectionTimeout: 5 * time.Minute}
}

func askGuest(t *testing.T, node discover.Node, o discover.Options) mapping.Topology {
	t.Helper()
	began := time.Now()
	topology, failures := discover.Run(t.Context(), []discover.Node{node}, o)
	require.Empty(t, failures)
	t.Logf("discover took %v", time.Since(began).Round(time.Millisecond))
	return topology
}

func TestGuest(t *testing.T) {
	spec := guest.Spec{Name: "node1", Hostname: "lima-node1", User: "debian"}
	for _, d := range guestDisks {
		spec.Disks = append(spec.Disks, d.disk)
	}
	g := guest.Start(t, spec)
	kernelName := map[string]string{}
	script := "set -e\n"
	for name, device := range g.MustDevices(t) {
		kernelName[name] = strings.TrimPrefix(device, "/dev/")
		script += name + "=" + device + "\n"
	}
	began := time.Now()
	g.MustRun(t, script+layers)
	t.Logf("laying out the disks took %v", time.Since(began).Round(time.Second))
	node := openGuest(t, g)
	topology := askGuest(t, node, guestOptions())
	f := *topology.Nodes[0].Facts
	byName := map[string]disks.Disk{}
	for _, d := range f.Disks.Value {
		byName[d.Name] = d
	}
	// of is the disk of that name in the spec, wherever it is listed.
	of := func(t *testing.T, name string) disks.Disk {
		t.Helper()
		for _, d := range f.Disks.Value {
			if d.Name == kernelName[name] || slices.Contains(d.Paths, kernelName[name]) {
				return d
			}
		}
		t.Fatalf("%s (%s) is not among the disks", name, kernelName[name])
		return disks.Disk{}
	}

	t.Run("host", func(t *testing.T) {
		assert.Equal(t, g.MustRun(t, "hostname"), f.Hostname.Value)
		assert.Equal(t, g.MustRun(t, "cat /etc/machine-id"), f.MachineID.Value)
		assert.Equal(t, g.MustRun(t, "uname -r"), f.Kernel.Value.Release)
		assert.Equal(t, g.MustRun(t, "systemd-detect-virt"), f.Virtualization.Value)
		assert.Equal(t, g.MustRun(t, "nproc"), strconv.Itoa(f.CPU.Value.Threads))
		assert.Equal(t, g.MustRun(t, ". /etc/os-release; echo $ID $VERSION_ID"), f.OS.Value.ID+" "+f.OS.Value.VersionID)
		assert.Equal(t, "v2", f.Cgroup.Value)
		assert.Equal(t, g.MustRun(t, "swapon --noheadings --show=NAME | sort"), strings.Join(swapNames(f), "\n"))
	})

	t.Run("mounts", func(t *testing.T) {
		require.Equal(t, fact.IsPresent, f.Mounts.State)
		for _, m := range f.Mounts.Value {
			assert.Equal(t, m.FSType, g.MustRun(t, "findmnt -n -o FSTYPE --mountpoint '"+m.Target+"'"), m.Target)
		}
		for _, want := range strings.Fields(g.MustRun(t, "findmnt -rn -o TARGET -t ext4,vfat,btrfs")) {
			assert.True(t, slices.ContainsFunc(f.Mounts.Value, func(m mapping.Mount) bool { return m.Target == want }), want)
		}
	})

	t.Run("what each disk is", func(t *testing.T) {
		assert.Equal(t, disks.System, byName["vda"].Role)
		for _, want := range guestDisks {
			if want.role == "" {
				assert.NotContains(t, byName, kernelName[want.disk.Name], "an optical drive is no disk")
				continue
			}
			d := of(t, want.disk.Name)
			assert.Equal(t, want.role, d.Role, "%s: %v", want.disk.Name, d.Evidence)
			assert.EqualValues(t, want.disk.SizeMiB<<20, d.SizeBytes, want.disk.Name)
			assert.Equal(t, want.disk.ReadOnly, d.ReadOnly, want.disk.Name)
			assert.Equal(t, want.disk.Removable, d.Removable, want.disk.Name)
			// Of a SCSI disk with a WWN Debian 12's udev gives that for the
			// serial number.
			if want.disk.Serial != "" && want.disk.WWN == 0 {
				assert.Equal(t, want.disk.Serial, d.Serial, want.disk.Name)
			}
		}
		for _, d := range f.Disks.Value {
			assert.NotEqual(t, "loop", d.Type)
			assert.False(t, strings.HasPrefix(d.Name, "zram"))
		}
	})

	t.Run("the kernel says the same of each disk", func(t *testing.T) {
		for _, d := range f.Disks.Value {
			device := "/dev/" + d.Name
			if d.Type == "mpath" {
				device = "/dev/mapper/" + d.Name
			}
			assert.Equal(t, g.MustRun(t, "blockdev --getsize64 "+device), strconv.FormatInt(d.SizeBytes, 10), d.Name)
			// wipefs opens exclusively and writes nothing: what is in use
			// refuses it.
			free := g.MustRun(t, "wipefs --all --no-act "+device+" >/dev/null 2>&1 && echo yes || echo no")
			if d.Role == disks.Free {
				assert.Equal(t, "yes", free, d.Name)
			}
			want := signaturesOf(t, g, device)
			var got []string
			for _, s := range d.Signatures {
				got = append(got, s.Type)
			}
			assert.Equal(t, want, got, d.Name)
		}
	})

	t.Run("layers", func(t *testing.T) {
		for _, parent := range []string{"md1", "md2"} {
			v := volumeOf(t, of(t, parent), "raid1")
			assert.Equal(t, []string{"/srv/md"}, v.Mounts, parent)
		}
		lv := volumeOf(t, of(t, "lvm"), "lvm")
		assert.Equal(t, "data/files", lv.Group+"/"+lv.LV)
		assert.Equal(t, []string{"/srv/lv"}, lv.Mounts)
		assert.Equal(t, "ceph-0b5c/osd-block-"+lvmOSD, volumeOf(t, of(t, "cephlvm"), "lvm").Group+"/"+volumeOf(t, of(t, "cephlvm"), "lvm").LV)
		assert.Equal(t, "safe", volumeOf(t, of(t, "luks"), "crypt").Name)
		assert.Equal(t, "mpath", of(t, "paths").Type)
		assert.Len(t, of(t, "paths").Paths, 2)
		assert.Equal(t, []string{"/srv/btrfs"}, of(t, "btrfs1").Mounts)
		for _, name := range []string{"vda1", "vda2", "vda3"} {
			assert.True(t, slices.ContainsFunc(byName["vda"].Volumes, func(v disks.Volume) bool { return v.Name == name }), name)
		}
	})

	t.Run("ceph", func(t *testing.T) {
		assert.Equal(t, []string{"rook-ceph"}, f.Ceph.Value.Rook.Value)
		found := map[string]string{}
		for _, osd := range f.Ceph.Value.OSDs.Value {
			found[osd.OSDUUID] = osd.ClusterFSID + " " + osd.OSDID
		}
		assert.Equal(t, map[string]string{osdUUID: fsid + " 0", lvmOSD: fsid + " 1"}, found)
		// Ceph's own tool reads its labels, as an oracle.
		label := g.MustRun(t, "ceph-bluestore-tool show-label --dev /dev/"+kernelName["ceph"])
		assert.Contains(t, label, osdUUID)
		assert.Contains(t, label, fsid)
	})

	t.Run("runtime and network", func(t *testing.T) {
		assert.Equal(t, "containerd", f.ContainerRuntime.Value.Name)
		assert.Contains(t, g.MustRun(t, "containerd --version"), f.ContainerRuntime.Value.Version.Value)
		assert.Equal(t, "/run/containerd/containerd.sock", f.ContainerRuntime.Value.Socket)
		assert.Equal(t, "cilium", f.CNI.Value.Network)
		assert.Equal(t, []string{"10-bridge.conf.cilium_bak"}, f.CNI.Value.Leftovers)
	})

	t.Run("hardening", func(t *testing.T) {
		n := topology.Nodes[0]
		assert.Equal(t, "partial", n.Hardening, "auditd is active, fail2ban is not")
		checks := map[string]baseline.Check{}
		for _, c := range n.Baseline {
			checks[c.ID] = c
		}
		yes := func(ok string) baseline.State {
			if ok == "yes" {
				return baseline.Pass
			}
			return baseline.Fail
		}
		for id, oracle := range map[string]string{
			"H1": "sshd -T | grep -qi '^permitrootlogin no$'",
			"H2": "sshd -T | grep -qi '^passwordauthentication no$' && sshd -T | grep -qi '^kbdinteractiveauthentication no$'",
			"H3": "sshd -T | grep -qi '^permitemptypasswords no$' && [ $(sshd -T | sed -n 's/^maxauthtries //p') -le 4 ]",
			"H4": "nft list chain inet filter input | grep -q 'policy drop'",
			"H5": "aa-status --enabled && [ $(aa-status --enforced) -gt 0 ]",
			"H6": "auditctl -s | grep -q 'enabled 1' && auditctl -l | grep -q identity",
			"H7": "timedatectl show -p NTPSynchronized --value | grep -q yes",
		} {
			assert.Equal(t, yes(g.MustRun(t, "if "+oracle+"; then echo yes; else echo no; fi")), checks[id].State, "%s: %v", id, checks[id])
		}
		assert.Equal(t, g.MustRun(t, "systemctl is-active chrony"), "active")
		assert.Equal(t, []string{"chrony.service"}, f.TimeSync.Value.Daemons)
	})

	t.Run("same reality, same bytes", func(t *testing.T) {
		first, err := topology.YAML()
		require.NoError(t, err)
		second, err := askGuest(t, node, guestOptions()).YAML()
		require.NoError(t, err)
		assert.Equal(t, string(first), string(second))
	})

	t.Run("without a tool", func(t *testing.T) {
		for tool, clear := range map[string]func(n *mapping.Node){
			"nft":      func(n *mapping.Node) { clearCheck(n, "H4") },
			"auditctl": func(n *mapping.Node) { clearCheck(n, "H6") },
			"timedatectl": func(n *mapping.Node) {
				n.Facts.TimeSync = fact.Observed[mapping.TimeSync]{}
				clearCheck(n, "H7")
			},
		} {
			where := g.MustRun(t, "command -v "+tool)
			g.MustRun(t, "mv "+where+" /root/aside")
			less := askGuest(t, node, guestOptions()).Nodes[0]
			g.MustRun(t, "mv /root/aside "+where)
			all := topology.Nodes[0]
			facts := *all.Facts
			all.Facts, all.Baseline = &facts, slices.Clone(all.Baseline)
			for _, c := range less.Baseline {
				for _, before := range all.Baseline {
					if c.ID == before.ID && c.State != before.State {
						assert.Equal(t, baseline.Unknown, c.State, "%s without %s: %v", c.ID, tool, c)
					}
				}
			}
			clear(&all)
			clear(&less)
			assert.Equal(t, all, less, "without %s nothing else changes", tool)
		}
	})
}

// clearCheck blanks a check.
func clearCheck(n *mapping.Node, id string) {
	for i := range n.Baseline {
		if n.Baseline[i].ID == id {
			n.Baseline[i] = baseline.Check{}
		}
	}
}

func swapNames(f mapping.NodeFacts) []string {
	var names []string
	for _, s := range f.Swap.Value {
		names = append(names, s.Path)
	}
	slices.Sort(names)
	return names
}

// signaturesOf asks wipefs itself.
func signaturesOf(t *testing.T, g *guest.Guest, device string) []string {
	t.Helper()
	out, err := g.Exec(context.Background(), "wipefs", "-J", device)
	require.NoError(t, err)
	var answer struct{ Signatures []struct{ Type string } }
	if len(out) > 0 {
		require.NoError(t, json.Unmarshal(out, &answer))
	}
	var types []string
	for _, s := range answer.Signatures {
		types = append(types, s.Type)
	}
	return types
}

// volumeOf is the disk's only volume of a type, however deep.
func volumeOf(t *testing.T, d disks.Disk, kind string) disks.Volume {
	t.Helper()
	for queue := d.Volumes; len(queue) > 0; queue = append(queue[1:], queue[0].Volumes...) {
		if queue[0].Type == kind {
			return queue[0]
		}
	}
	t.Fatalf("no %s on %s: %v", kind, d.Name, d.Volumes)
	return disks.Volume{}
}
