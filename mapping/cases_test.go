package mapping_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/cases"
	"github.com/nestor-tools/nestor/mapping/bluestore"
	"github.com/nestor-tools/nestor/mapping/cni"
	"github.com/nestor-tools/nestor/mapping/containerd"
	"github.com/nestor-tools/nestor/mapping/cri"
	"github.com/nestor-tools/nestor/mapping/disks"
	"github.com/nestor-tools/nestor/mapping/fact"
	"github.com/nestor-tools/nestor/mapping/lsblk"
	"github.com/nestor-tools/nestor/mapping/mountinfo"
	"github.com/nestor-tools/nestor/mapping/sshd"
	"github.com/nestor-tools/nestor/mapping/swaps"
	"github.com/nestor-tools/nestor/mapping/sysctl"
	"github.com/nestor-tools/nestor/mapping/sysfs"
	"github.com/nestor-tools/nestor/mapping/units"
	"github.com/nestor-tools/nestor/mapping/wipefs"
)

// answers has the right answer to each real-world case, by the start of its
// SHA-256. A case without one fails the test.
var answers = map[string]func(t *testing.T, b []byte){
	"f1cf072b41f1": roles{"nvme0n1": disks.System, "sda": disks.DataInUse}.check,
	"440a62d4b8ac": bothVersionsOfOneDisk,
	"9383d47e147a": roles{"vda": disks.System, "nvme0n1": disks.DataInUse, "nvme1n1": disks.DataInUse, "nvme2n1": disks.DataInUse,
		"nvme3n1": disks.DataInUse, "nvme4n1": disks.DataInUse, "nvme5n1": disks.DataInUse, "nvme6n1": disks.DataInUse, "nvme7n1": disks.DataInUse}.check,
	"8cff8c33d721": roles{"sda": disks.System, "sdb": disks.Unknown, "nvme0n1": disks.DataInUse, "nvme1n1": disks.DataInUse, "nvme2n1": disks.DataInUse,
		"nvme3n1": disks.DataInUse, "nvme4n1": disks.DataInUse, "nvme5n1": disks.DataInUse, "nvme6n1": disks.DataInUse, "nvme7n1": disks.DataInUse}.check,
	"469904f66dff": roles{"sda": disks.System, "nvme0n1": disks.DataInUse, "nvme1n1": disks.DataInUse}.check,
	"6249a947a041": roles{"nvme0n1": disks.DataInUse, "nvme1n1": disks.DataInUse, "nvme2n1": disks.DataInUse, "nvme3n1": disks.DataInUse,
		"nvme4n1": disks.DataInUse, "nvme5n1": disks.DataInUse, "nvme6n1": disks.DataInUse, "nvme7n1": disks.DataInUse}.check,
	"e2602523dd0e": roles{"nvme4n1": disks.System, "nvme0n1": disks.DataInUse, "sda": disks.Unknown}.check,
	"d9feb6adbcdc": roles{"nvme0n1": disks.System, "sda": disks.DataInUse, "sdb": disks.Unknown, "sdc": disks.Unknown, "sdd": disks.DataInUse}.check,
	"483f684c4897": roles{"sda": disks.System}.check,
	"b60acac29303": roles{"sda": disks.System, "mpatha": disks.DataInUse, "mpathb": disks.DataInUse, "mpathc": disks.DataInUse}.check,
	"f68e7a78dd82": warningsKeptApart,
	"d2f91f308986": roles{"sda": disks.System}.check,
	"20d7c8bf5043": roles{"sda": disks.Unknown, "sdb": disks.DataInUse, "sdc": disks.DataInUse}.check,
	"2ceb364b5f42": roles{"sda": disks.DataInUse, "sdb": disks.DataInUse, "sdc": disks.DataInUse}.check,
	"8a374cf864bd": roles{"sda": disks.DataInUse, "sdb": disks.DataInUse, "sdd": disks.Unknown}.check,
	"fa3badb510de": func(t *testing.T, b []byte) {
		_, err := lsblk.Parse(fmt.Appendf(nil, `{"blockdevices": [{ %s "name": "sda"}]}`, b))
		require.ErrorContains(t, err, "not valid")
		require.ErrorContains(t, err, "bytes and for fewer columns")
	},
	"8f639900dd83": excerptWithCommas,
	"e72680188a62": roles{"nvme0n1": disks.System, "mpatha": disks.Free}.check,
	"66218f0a6f40": roles{"nvme0n1": disks.System, "nvme1n1": disks.DataInUse, "nvme2n1": disks.Free, "nvme3n1": disks.Free}.check,
	"c96b6126da3c": roles{"vdb": disks.DataInUse}.check,
	"936e7d645a84": roles{"mpatha": disks.Unknown}.check,
	"0bbc71a17703": roles{"vda": disks.System, "vdb": disks.Free, "vdc": disks.Free, "sda": disks.Free, "sdb": disks.Free, "sdc": disks.Free, "sdd": disks.Free,
		"nvme0n1": disks.Free, "sdg": disks.Unknown, "sdh": disks.Unknown, "sde": disks.Unknown, "sdf": disks.Unknown}.check,
	"f9066a033abf": func(t *testing.T, b []byte) {
		roles{"vda": disks.System, "sda": disks.DataInUse, "sdb": disks.DataInUse, "sdc": disks.Free, "sdd": disks.Free, "sde": disks.Unknown,
			"sdf": disks.Unknown, "sdg": disks.Unknown, "sdh": disks.Unknown, "vdb": disks.Free, "vdc": disks.Free, "nvme0n1": disks.Free}.check(t, b)
		array := assess(t, b)["sda"].Volumes[0].Volumes[0]
		require.Equal(t, "md0", array.Name)
		require.Equal(t, array, assess(t, b)["sdb"].Volumes[0].Volumes[0], "one array, under both of its disks")
		names := [][2]string{}
		for _, v := range array.Volumes {
			names = append(names, [2]string{v.Group, v.LV})
		}
		require.ElementsMatch(t, [][2]string{{"my-vg", "lv-data"}, {"my-vg", "lv--x"}}, names)
	},
	"698ffa0fa532": roles{"vdc": disks.Ceph}.check,
	"297a083d8756": func(t *testing.T, b []byte) {
		d := assess(t, b)
		require.Empty(t, d, "no disk: a loop device")
		listing, err := lsblk.Parse(b)
		require.NoError(t, err)
		require.Equal(t, []string{"/mnt/lab/mb", "/mnt/lab/mnt a"}, listing.Devices[0].Mounts)
		require.Empty(t, listing.Devices[0].FSType)
	},
	"003a03b545b4": rawBlueStore,

	"97f4ec7625ec": func(t *testing.T, b []byte) {
		at := byTarget(t, mtab(b))
		require.Equal(t, "/dev/mapper/rootvg-rootlv", at["/"].Source)
		require.Equal(t, at["/tmp"].Source, at["/var/tmp"].Source)
		require.Equal(t, "/dev/mapper/HostVG-Config", at["/etc/shadow"].Source)
		require.Equal(t, "dev/sr0", at["/run/media/root/VMware Tools"].Source)
	},
	"7b28592cf426": func(t *testing.T, b []byte) {
		at := byTarget(t, mtab(b))
		require.Equal(t, "selfukpi:/mnt/data/foto's", at["/mnt/data/home/user/MOUNTNAME"].Source)
		require.Equal(t, "/dev/sda2", at["/mnt/foo bar"].Source)
	},
	"bb9c3b7eeb6c": func(t *testing.T, b []byte) {
		at := byTarget(t, b)
		require.Equal(t, "/dev/mapper/vgsys-root", at["/"].Source)
		require.Equal(t, "autofs", at["/autofshost"].FSType)
		require.Equal(t, "253:36", at["/var/log"].Device)
	},
	"888240e115ca": func(t *testing.T, b []byte) {
		at := byTarget(t, b)
		require.Contains(t, at, "/mnt/tab\tand\\back")
		require.Contains(t, at, "/mnt/new\nline#x")
		require.Contains(t, at, "/mnt/ünï")
		require.Equal(t, "src with space", at["/mnt/tab\tand\\back"].Source)
		require.Equal(t, "a#b", at["/mnt/new\nline#x"].Source)
		require.Equal(t, "/dev/vda", at["/"].Source)
	},

	"f7fc504806e2": func(t *testing.T, b []byte) {
		wants := []string{"1.1.0", "1.2.0", "1.0.0-beta.2", "1.7.28", "1.6.20"}
		lines := strings.Split(strings.TrimSpace(string(b)), "\n")
		require.Len(t, lines, len(wants))
		for i, line := range lines {
			raw, err := cri.ParseVersion([]byte(line))
			require.NoError(t, err)
			require.True(t, strings.HasPrefix(strings.TrimPrefix(raw, "v"), wants[i]), "%s: %s", line, raw)
			number, err := cri.Number(raw)
			require.NoError(t, err)
			require.True(t, strings.HasPrefix(wants[i], number))
		}
	},
	"e9a165759435": func(t *testing.T, b []byte) {
		wants := []cri.Version{{Name: "containerd", Raw: "v1.6.8"}, {Name: "cri-o", Raw: "1.29.1"}, {Name: "containerd", Raw: "1.4.8"}, {Name: "cri-containerd", Raw: "1.0.0-alpha.0-27-ge77795b-dirty"}}
		answers := strings.Split(string(b), "---\n")
		require.Len(t, answers, len(wants)+1)
		for i, want := range wants {
			v, err := cri.Parse([]byte(answers[i]))
			require.NoError(t, err)
			require.Equal(t, want, v)
		}
		_, err := cri.Parse([]byte(answers[len(wants)]))
		require.ErrorContains(t, err, "Unimplemented")
	},
	"33efa11d65c1": func(t *testing.T, b []byte) {
		for _, runtime := range []string{"containerd", "cri-o"} {
			s := cni.Select(cni.Rule{Runtime: runtime}, "/etc/cni/net.d", netd(b))
			require.Equal(t, "00-multus.conf", s.File)
			require.Equal(t, []string{"05-cilium.conflist"}, s.Delegates)
			require.Equal(t, []string{"05-cilium.conflist"}, s.Leftovers)
		}
	},
	"06f06f0dae1e": func(t *testing.T, b []byte) {
		files := netd(b)
		require.Len(t, files, 3)
		s := cni.Select(cni.Rule{Runtime: "cri-o"}, "/etc/cni/net.d", files)
		require.Equal(t, "100-crio-bridge.conflist", s.File)
		require.Equal(t, []string{"200-loopback.conflist", "87-podman.conflist"}, s.Leftovers)
	},

	"956b9d5b5d91": func(t *testing.T, b []byte) {
		_, err := sshd.Parse(b)
		require.ErrorContains(t, err, "Match Group", "no settings are known")
	},
	"b63f4f752c23": func(t *testing.T, b []byte) {
		_, err := units.Parse(b) // words of is-active and its kin are not asked for
		require.Error(t, err)
		require.False(t, units.Unit{Load: "not-found", Active: "inactive"}.Exists())
		require.True(t, units.Unit{Load: "loaded", Active: "failed"}.Exists())
		require.False(t, units.Unit{Load: "loaded", Active: "failed"}.IsActive())
	},
	"6f360fceef1b": func(t *testing.T, b []byte) {
		settings, err := sysctl.Parse(b)
		require.NoError(t, err)
		for key, value := range map[string]string{
			"crypto.fips_name": "Linux Kernel Cryptographic API", "dev.parport.parport0.base-addr": "888\t0", "abi.vsyscall32": "1",
		} {
			require.Equal(t, value, settings.Get(key).Value)
		}
		require.Contains(t, settings.Get("dev.cdrom.info").Value, "drive speed:\t\t50", "lines of one key are kept")
	},
	"1316d4c2d431": func(t *testing.T, b []byte) {
		config, err := sshd.Parse(b)
		require.NoError(t, err)
		require.Equal(t, "prohibit-password", config.Get("PermitRootLogin"))
		require.Equal(t, []string{"[::]:22", "0.0.0.0:22"}, config["listenaddress"])
		require.Greater(t, len(config["hostkey"]), 1)
		require.Greater(t, len(config["acceptenv"]), 1)
	},
	"265c6230d78c": func(t *testing.T, b []byte) {
		config, err := containerd.Parse(b)
		require.NoError(t, err)
		require.Equal(t, 2, config.Version)
		require.Equal(t, "/etc/cni/net.d", config.CNIConfDir)
		require.False(t, *config.SystemdCgroup)
		require.EqualValues(t, 1, *config.CNIMaxConf)
	},
}

func TestCases(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(cases.Dir(t, "nodes"), "*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			b, err := os.ReadFile(file)
			require.NoError(t, err)
			answer := answers[fmt.Sprintf("%x", sha256.Sum256(b))[:12]]
			require.NotNil(t, answer, "no right answer is known here for this case")
			answer(t, b)
		})
	}
}

// roles are the disks of a case and what they are used for: all of them, and
// no other.
type roles map[string]disks.Role

func (want roles) check(t *testing.T, b []byte) {
	got := roles{}
	for name, d := range assess(t, b) {
		got[name] = d.Role
		t.Log(name, d.Role, d.Evidence)
	}
	require.Equal(t, want, got)
}

// assess takes lsblk's word for what it tells, and lets the other sources
// agree: free is then what lsblk alone does not rule out.
func assess(t *testing.T, b []byte) map[string]disks.Disk {
	t.Helper()
	listing, err := lsblk.Parse(b)
	require.NoError(t, err)
	kernel := []sysfs.Device{}
	mounts := []mountinfo.Mount{}
	signed := map[string]string{}
	for _, d := range listing.Devices {
		kernel = append(kernel, sysfs.Device{Name: d.KName, Dev: d.Dev, SizeBytes: max(0, d.SizeBytes), ReadOnly: d.ReadOnly, Removable: d.Removable, Partition: d.Type == "part"})
		signed[d.KName] = d.FSType
		for _, target := range d.Mounts {
			if target == "/sysroot" { // where an image-based system sees its root
				mounts = append(mounts, mountinfo.Mount{Device: "0:0", Target: "/", FSType: "xfs", Source: "/dev/" + d.KName})
			}
			if target != "[SWAP]" {
				mounts = append(mounts, mountinfo.Mount{Device: "0:0", Target: target, Source: "/dev/" + d.KName})
			}
		}
	}
	found := map[string]disks.Disk{}
	for _, d := range disks.Assess(disks.Input{
		Lsblk: fact.Present(listing), Sysfs: fact.Present(kernel), Mounts: fact.Present(mounts), Swaps: fact.Present([]swaps.Swap{}),
		Signatures: func(kname string) fact.Observed[[]wipefs.Signature] {
			if signed[kname] != "" {
				return fact.Present([]wipefs.Signature{{Type: signed[kname]}})
			}
			return fact.Present([]wipefs.Signature{})
		},
		Labels: func(string) fact.Observed[[]bluestore.Label] { return fact.Present([]bluestore.Label{}) },
	}) {
		found[d.Name] = d
	}
	return found
}

func bothVersionsOfOneDisk(t *testing.T, b []byte) {
	parts := strings.SplitN(string(b), "$ lsblk --version\n", 3)
	document := func(s string) string { return s[strings.Index(s, "{\n"):] }
	newer, err := lsblk.Parse([]byte(document(parts[1])))
	require.NoError(t, err)
	// The second half was cut within its last value.
	older, err := lsblk.Parse([]byte(strings.TrimSpace(document(parts[2])) + `"}]}`))
	require.NoError(t, err)
	for _, listing := range []lsblk.Listing{newer, older} {
		require.Len(t, listing.Devices, 1)
		d := listing.Devices[0]
		require.Equal(t, "sdc", d.Name)
		require.EqualValues(t, 8001563222016, d.SizeBytes)
		require.True(t, *d.Rotational)
		require.Empty(t, d.FSType)
	}
}

func warningsKeptApart(t *testing.T, b []byte) {
	listing, err := lsblk.Parse(b)
	require.NoError(t, err)
	require.Len(t, listing.Devices, 1)
	require.Equal(t, "sda", listing.Devices[0].Name)
	require.Equal(t, "PERC H710P", listing.Devices[0].Model)
	require.Len(t, listing.Warnings, 4)
}

// The excerpt lacks its middle, which is put back as short as can be.
func excerptWithCommas(t *testing.T, b []byte) {
	cut := regexp.MustCompile(`(?s)\n\[\.\.\..*?\]\n`)
	text := cut.ReplaceAllString(string(b), "}]},\n")
	text = strings.TrimRight(text, ", \n") + "]}"
	listing, err := lsblk.Parse([]byte(text))
	require.NoError(t, err)
	i := slices.IndexFunc(listing.Devices, func(d lsblk.Device) bool { return d.Name == "sda" })
	require.InDelta(t, 465.8*(1<<30), float64(listing.Devices[i].SizeBytes), 1<<20)
	require.EqualValues(t, -1, listing.Devices[len(listing.Devices)-1].SizeBytes, "loop1 has no size")
	require.Equal(t, disks.DataInUse, assess(t, []byte(text))["sda"].Role)
}

func rawBlueStore(t *testing.T, b []byte) {
	_, rest, _ := strings.Cut(string(b), "wipefs -J /dev/vdc\n")
	first, second, _ := strings.Cut(rest, "# lsblk")
	signatures, err := wipefs.Parse([]byte(first))
	require.NoError(t, err)
	require.Equal(t, []wipefs.Signature{{Type: "ceph_bluestore", Offset: 0}}, signatures)
	require.Equal(t, disks.Ceph, assess(t, []byte(second[strings.Index(second, "{"):]))["vdc"].Role)
}

// mtab makes mountinfo of the lines of /proc/mounts, whose escapes are the
// same.
func mtab(b []byte) []byte {
	var out strings.Builder
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) >= 4 {
			fmt.Fprintf(&out, "1 1 0:1 / %s rw - %s %s %s\n", f[1], f[2], f[0], f[3])
		}
	}
	return []byte(out.String())
}

func byTarget(t *testing.T, b []byte) map[string]mountinfo.Mount {
	t.Helper()
	mounts, err := mountinfo.Parse(b)
	require.NoError(t, err)
	at := map[string]mountinfo.Mount{}
	for _, m := range mounts {
		at[m.Target] = m
	}
	return at
}

// netd splits a listing of files, each after a line with its path.
func netd(b []byte) []cni.File {
	var files []cni.File
	for line := range strings.Lines(string(b)) {
		if path := strings.TrimSpace(line); strings.Contains(path, "net.d/") && !strings.ContainsAny(path, " \"") {
			files = append(files, cni.File{Name: filepath.Base(path)})
		} else if len(files) > 0 {
			last := &files[len(files)-1]
			last.Content = append(last.Content, line...)
		}
	}
	return files
}
