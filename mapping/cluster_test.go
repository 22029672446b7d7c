package mapping_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/mapping"
	"github.com/nestor-tools/nestor/mapping/cni"
	"github.com/nestor-tools/nestor/mapping/fact"
	"github.com/nestor-tools/nestor/mapping/kubelet"
	"github.com/nestor-tools/nestor/mapping/probe"
)

// frames are a probe's answer, by name: the output, or "!STATUS" for one that
// did not end well, and "!STATUS complaint".
type frames map[string]string

func (f frames) node(t *testing.T) mapping.Node {
	t.Helper()
	var b strings.Builder
	b.WriteString("N nestor-probe 1\n")
	sections := 0
	for _, name := range slices.Sorted(maps.Keys(f)) {
		status, text, complaint := "0", f[name], ""
		if rest, ok := strings.CutPrefix(text, "!"); ok {
			status, complaint, _ = strings.Cut(rest, " ")
			text = ""
		}
		fmt.Fprintf(&b, "N begin %s\n%s", name, text)
		if complaint != "" {
			fmt.Fprintf(&b, "\nN err\n%s", complaint)
		}
		fmt.Fprintf(&b, "\nN end %s\n", status)
		if !strings.Contains(name, ":") {
			sections++
		}
	}
	fmt.Fprintf(&b, "N done %d\n", sections)
	out, err := probe.Parse([]byte(b.String()))
	require.NoError(t, err)
	require.True(t, out.Complete)
	return mapping.FromProbe(out, mapping.Options{})
}

func with(all ...frames) frames {
	merged := frames{}
	for _, f := range all {
		maps.Copy(merged, f)
	}
	return merged
}

const (
	containerdSocket = "/run/containerd/containerd.sock"
	crioSocket       = "/run/crio/crio.sock"
)

var (
	kubeletRuns = frames{
		"kubelet":                                    "process kubelet\nconfig /var/lib/kubelet/config.yaml\n",
		"kubelet:cmdline":                            "/usr/bin/kubelet\n--config=/var/lib/kubelet/config.yaml\n",
		"kubelet:/var/lib/kubelet/config.yaml":       "kind: KubeletConfiguration\ncgroupDriver: systemd\n",
		"kubelet:config mode":                        "600 root\n",
		"kubelet:version":                            "Kubernetes v1.31.2\n",
		"kubelet:/etc/kubernetes/manifests":          "",
		"kubelet:/var/lib/kubelet/kubeadm-flags.env": "!absent",
	}
	noKubelet = frames{
		"kubelet":                                    "config /var/lib/kubelet/config.yaml\n",
		"kubelet:/var/lib/kubelet/config.yaml":       "!absent",
		"kubelet:version":                            "!127 sh: 9: kubelet: not found",
		"kubelet:/etc/kubernetes/manifests":          "!absent",
		"kubelet:/var/lib/kubelet/kubeadm-flags.env": "!absent",
	}
	bothSockets = frames{
		"cri":                            containerdSocket + "\n" + crioSocket + "\n",
		"cri:crictl " + containerdSocket: "RuntimeName:  containerd\nRuntimeVersion:  v2.1.5\n",
		"cri:crictl " + crioSocket:       "RuntimeName:  cri-o\nRuntimeVersion:  1.31.0\n",
		"cri:driver " + containerdSocket: "cgroup driver:   SYSTEMD\n",
		"cri:driver " + crioSocket:       "cgroup driver:   CGROUPFS\n",
	}
)

func TestRuntime_TheKubeletsNotTheFirst(t *testing.T) {
	endpoint := func(s string) frames {
		return frames{"kubelet:/var/lib/kubelet/config.yaml": "kind: KubeletConfiguration\ncgroupDriver: systemd\ncontainerRuntimeEndpoint: " + s + "\n"}
	}
	for name, c := range map[string]struct {
		frames         frames
		socket, chosen string
		state          fact.State
	}{
		"no kubelet, two sockets":    {with(noKubelet, bothSockets), "", "", fact.IsUnknown},
		"no kubelet, one socket":     {with(noKubelet, bothSockets, frames{"cri": crioSocket + "\n"}), crioSocket, "the only socket", fact.IsPresent},
		"no kubelet, docker's alone": {with(noKubelet, bothSockets, frames{"cri": "/run/docker.sock\n"}), "", "", fact.IsAbsent},
		"no kubelet, no socket":      {with(noKubelet, frames{"cri": ""}), "", "", fact.IsAbsent},
		"its default":                {with(kubeletRuns, bothSockets), containerdSocket, "the kubelet's default", fact.IsPresent},
		"its configuration":          {with(kubeletRuns, bothSockets, endpoint("unix:///var/run/crio/crio.sock")), crioSocket, "the kubelet's configuration", fact.IsPresent},
		"its flag over it": {with(kubeletRuns, bothSockets, endpoint("unix:///var/run/crio/crio.sock"), frames{"kubelet:cmdline": "kubelet\n--config=/var/lib/kubelet/config.yaml\n--container-runtime-endpoint\nunix:///run/containerd/containerd.sock\n"}),
			containerdSocket, "the kubelet's command line", fact.IsPresent},
		"its flag, while the configuration is denied": {with(kubeletRuns, bothSockets, frames{"kubelet:/var/lib/kubelet/config.yaml": "!denied", "kubelet:cmdline": "kubelet\n--config=/var/lib/kubelet/config.yaml\n--container-runtime-endpoint=unix:///run/crio/crio.sock\n"}),
			crioSocket, "the kubelet's command line", fact.IsPresent},
		"configuration denied, two sockets": {with(kubeletRuns, bothSockets, frames{"kubelet:/var/lib/kubelet/config.yaml": "!denied"}), "", "", fact.IsUnknown},
		"a kubelet that does not run": {with(noKubelet, bothSockets, frames{"kubelet:/var/lib/kubelet/config.yaml": "kind: KubeletConfiguration\n", "kubelet:/var/lib/kubelet/kubeadm-flags.env": "KUBELET_KUBEADM_ARGS=\"--container-runtime-endpoint=unix:///run/crio/crio.sock\"\n"}),
			crioSocket, "kubeadm-flags.env", fact.IsPresent},
		"k3s": {with(bothSockets, frames{"kubelet": "process k3s-agent\nconfig /var/lib/kubelet/config.yaml\n", "cri:crictl /run/k3s/containerd/containerd.sock": "RuntimeName: containerd\nRuntimeVersion: v2.1.5-k3s1\n"}),
			"/run/k3s/containerd/containerd.sock", "k3s", fact.IsPresent},
	} {
		t.Run(name, func(t *testing.T) {
			r := c.frames.node(t).Facts.ContainerRuntime
			require.Equal(t, c.state, r.State, r.Why)
			require.Equal(t, c.socket, r.Value.Socket)
			require.Equal(t, c.chosen, r.Value.ChosenBy)
			require.NotContains(t, r.Value.Others, c.socket)
		})
	}
}

func TestRuntime_Version(t *testing.T) {
	only := with(noKubelet, frames{"cri": containerdSocket + "\n", "cri:crictl " + containerdSocket: "!127 sh: crictl: not found"})
	r := with(only, frames{"cri:containerd": "containerd github.com/containerd/containerd 1.6.20~ds1 x\n"}).node(t).Facts.ContainerRuntime.Value
	require.Equal(t, "containerd", r.Name)
	require.Equal(t, fact.Present("1.6.20~ds1"), r.Version)
	r = with(only, frames{"cri:containerd": "!127 sh: containerd: not found"}).node(t).Facts.ContainerRuntime.Value
	require.Equal(t, "containerd", r.Name, "the socket tells as much")
	require.Equal(t, fact.Unknown[string]("containerd is not installed"), r.Version)
}

// k3s and rke2 bring one containerd under one socket, and are told apart by
// their processes: their folders, and who runs the kubelet, are not the same.
func TestRuntime_Embedded(t *testing.T) {
	const socket = "/run/k3s/containerd/containerd.sock"
	node := frames{
		"cri": socket + "\n", "cri:crictl " + socket: "!127 sh: crictl: not found", "cri:driver " + socket: "!127 sh: crictl: not found",
		"cri:k3s": "k3s version v1.31.2+k3s1 (5b2d1271)\ngo version go1.22.8\n", "cri:rke2": "rke2 version v1.31.2+rke2r1 (abc)\n",
		"cri:/var/lib/rancher/k3s/agent/etc/containerd/config.toml":  "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]\nSystemdCgroup = true\n",
		"cri:/var/lib/rancher/rke2/agent/etc/containerd/config.toml": "version = 2\n[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.runc.options]\nSystemdCgroup = false\n",
		"cni": "", "cni:/etc/cni/net.d": "10-canal.conflist\n", "cni:/etc/cni/net.d/10-canal.conflist": `{"name":"canal","plugins":[{"type":"calico"}]}`,
		"cni:/var/lib/rancher/k3s/agent/etc/cni/net.d": "10-flannel.conflist\n", "cni:/var/lib/rancher/k3s/agent/etc/cni/net.d/10-flannel.conflist": `{"name":"cbr0","plugins":[{"type":"flannel"}]}`,
	}
	k3s := with(node, frames{"kubelet": "process k3s-server\nconfig /x\n"}).node(t).Facts
	require.Equal(t, "k3s v1.31.2+k3s1", k3s.ContainerRuntime.Value.EmbeddedIn)
	require.Equal(t, fact.Unknown[string]("crictl is not installed"), k3s.ContainerRuntime.Value.Version, "k3s's version is not containerd's")
	require.Equal(t, "systemd", k3s.ContainerRuntime.Value.CgroupDriver.Value)
	require.Equal(t, "cbr0", k3s.CNI.Value.Network)

	rke2 := with(node, kubeletRuns, frames{"kubelet": kubeletRuns["kubelet"] + "process rke2\n", "kubelet:cmdline": "kubelet\n--config=/var/lib/kubelet/config.yaml\n--container-runtime-endpoint=unix://" + socket + "\n"}).node(t).Facts
	require.Equal(t, "rke2 v1.31.2+rke2r1", rke2.ContainerRuntime.Value.EmbeddedIn)
	require.Equal(t, "cgroupfs", rke2.ContainerRuntime.Value.CgroupDriver.Value)
	require.Equal(t, "canal", rke2.CNI.Value.Network)
	require.True(t, rke2.Kubelet.Value.Running)
}

func TestRuntime_CgroupDriver(t *testing.T) {
	r := with(kubeletRuns, bothSockets).node(t).Facts.ContainerRuntime.Value
	require.Equal(t, fact.Present("systemd"), r.CgroupDriver)
	require.Empty(t, r.Disagreement)

	old := with(kubeletRuns, bothSockets, frames{"cri:driver " + containerdSocket: "!1 unknown method RuntimeConfig"})
	for config, want := range map[string]fact.Observed[string]{
		"version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc.options]\nSystemdCgroup = true\n":  fact.Present("systemd"),
		"version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc.options]\nSystemdCgroup = false\n": fact.Present("cgroupfs"),
		"version = 2\n": fact.Unknown[string]("containerd's configuration does not set it; containerd then chooses for itself"),
	} {
		r := with(old, frames{"cri:containerd config": config}).node(t).Facts.ContainerRuntime.Value
		require.Equal(t, want, r.CgroupDriver)
		require.Equal(t, want.Value == "cgroupfs", r.Disagreement != "", "the kubelet's is systemd")
	}

	crio := with(kubeletRuns, bothSockets, frames{"kubelet:cmdline": "kubelet\n--container-runtime-endpoint=unix://" + crioSocket + "\n", "cri:driver " + crioSocket: "!1 x"})
	require.Equal(t, fact.Present("systemd"), with(crio, frames{"cri:crio config": "!1"}).node(t).Facts.ContainerRuntime.Value.CgroupDriver, "nothing differs from the defaults")
	require.Equal(t, fact.Present("cgroupfs"), with(crio, frames{"cri:crio config": "[crio.runtime]\ncgroup_manager = \"cgroupfs\"\n"}).node(t).Facts.ContainerRuntime.Value.CgroupDriver)
}

func TestCNI_PerRuntime(t *testing.T) {
	folder := frames{
		"cni": "", "cni:/opt/cni/bin": "bridge\nloopback\ncilium-cni\n",
		"cni:/etc/cni/net.d":                     ".00-hidden.conflist\n05-broken.conf\n10-missing.conflist\n20-cilium.conflist\n30-other.conflist\nold.conflist.cilium_bak\n",
		"cni:/etc/cni/net.d/.00-hidden.conflist": `{"name":"hidden","plugins":[{"type":"bridge"}]}`,
		"cni:/etc/cni/net.d/05-broken.conf":      `{"name":`,
		"cni:/etc/cni/net.d/10-missing.conflist": `{"name":"missing","plugins":[{"type":"weave"}]}`,
		"cni:/etc/cni/net.d/20-cilium.conflist":  `{"name":"cilium","plugins":[{"type":"cilium-cni"}]}`,
		"cni:/etc/cni/net.d/30-other.conflist":   `{"name":"other","plugins":[{"type":"bridge"}]}`,
	}
	withoutHidden := with(folder, frames{"cni:/etc/cni/net.d": strings.TrimPrefix(folder["cni:/etc/cni/net.d"], ".00-hidden.conflist\n")})
	crio := frames{"kubelet:cmdline": "kubelet\n--container-runtime-endpoint=unix://" + crioSocket + "\n", "cri:crio config": "!1"}

	s := with(kubeletRuns, bothSockets, folder).node(t).Facts.CNI.Value
	require.Equal(t, ".00-hidden.conflist", s.File, "a dot in front hides it from ls, not from containerd")
	s = with(kubeletRuns, bothSockets, withoutHidden).node(t).Facts.CNI.Value
	require.Empty(t, s.File)
	require.Contains(t, s.Error, "05-broken.conf: not valid JSON", "containerd stops at the first")
	s = with(kubeletRuns, bothSockets, withoutHidden, crio).node(t).Facts.CNI.Value
	require.Equal(t, "cilium", s.Network, "CRI-O passes over what is broken or not installed")
	require.Equal(t, []string{"05-broken.conf", "10-missing.conflist", "30-other.conflist", "old.conflist.cilium_bak"}, s.Leftovers)
	s = with(kubeletRuns, bothSockets, withoutHidden, crio, frames{"cri:crio config": "cni_default_network = \"other\"\n"}).node(t).Facts.CNI.Value
	require.Equal(t, "other", s.Network)

	for want, f := range map[fact.State]frames{
		fact.IsAbsent: {"cni": "", "cni:/etc/cni/net.d": "!absent"},
		fact.IsDenied: {"cni": "", "cni:/etc/cni/net.d": "!2 ls: cannot open directory '/etc/cni/net.d': Permission denied"},
	} {
		require.Equal(t, want, with(kubeletRuns, bothSockets, f).node(t).Facts.CNI.State)
	}
	require.Equal(t, fact.IsAbsent, with(kubeletRuns, bothSockets, frames{"cni": "", "cni:/etc/cni/net.d": ""}).node(t).Facts.CNI.State, "an empty folder")
}

func TestKubelet(t *testing.T) {
	k := kubeletRuns.node(t).Facts.Kubelet
	require.Equal(t, fact.IsPresent, k.State)
	require.True(t, k.Value.Running)
	require.Equal(t, fact.Present("v1.31.2"), k.Value.Version)
	require.Equal(t, fact.Present(kubelet.Config{AuthorizationMode: "Webhook", CgroupDriver: "systemd"}), k.Value.Config)

	require.Equal(t, fact.IsAbsent, noKubelet.node(t).Facts.Kubelet.State)
	require.Equal(t, fact.IsDenied, with(kubeletRuns, frames{"kubelet:/var/lib/kubelet/config.yaml": "!denied"}).node(t).Facts.Kubelet.Value.Config.State)
	require.Equal(t, fact.IsDenied, with(noKubelet, frames{"kubelet": "hidden\nconfig /x\n"}).node(t).Facts.Kubelet.State, "hidepid hides it, which is no absence")
	require.Equal(t, fact.IsUnknown, with(noKubelet, frames{"kubelet": "process k3s-server\nconfig /x\n"}).node(t).Facts.Kubelet.State)

	flagsOnly := with(kubeletRuns, frames{"kubelet:cmdline": "kubelet\n--cgroup-driver=systemd\n"}).node(t).Facts.Kubelet.Value
	require.True(t, flagsOnly.Config.Value.AnonymousAuth, "without --config the file at the default place is not read")
	require.Empty(t, flagsOnly.ConfigFile)
	require.Equal(t, fact.IsAbsent, flagsOnly.ConfigMode.State)

	dropin := with(kubeletRuns, frames{"kubelet": kubeletRuns["kubelet"] + "dropin /d/10.conf\ndropin /d/20.conf\n", "kubelet:/d/10.conf": "kind: KubeletConfiguration\nreadOnlyPort: 1\n", "kubelet:/d/20.conf": "kind: KubeletConfiguration\nreadOnlyPort: 2\n"})
	require.Equal(t, 2, dropin.node(t).Facts.Kubelet.Value.Config.Value.ReadOnlyPort)
	dropin["kubelet:/d/20.conf"] = "!denied"
	require.Equal(t, fact.IsDenied, dropin.node(t).Facts.Kubelet.Value.Config.State, "an unread drop-in may hold anything")
}

func TestControlPlane(t *testing.T) {
	for name, c := range map[string]struct {
		frames frames
		want   fact.Observed[bool]
	}{
		"its process":          {with(kubeletRuns, frames{"kubelet": kubeletRuns["kubelet"] + "process kube-apiserver\n"}), fact.Present(true)},
		"its manifest":         {with(kubeletRuns, frames{"kubelet:/etc/kubernetes/manifests": "etcd.yaml\nkube-apiserver.yaml\n"}), fact.Present(true)},
		"a manifest put aside": {with(kubeletRuns, frames{"kubelet:/etc/kubernetes/manifests": "kube-apiserver.yaml.bak\n"}), fact.Present(false)},
		"a worker":             {kubeletRuns, fact.Present(false)},
		"no folder":            {noKubelet, fact.Present(false)},
		"folder denied":        {with(kubeletRuns, frames{"kubelet:/etc/kubernetes/manifests": "!denied"}), fact.Denied[bool]("/etc/kubernetes/manifests may not be read by this user")},
		"k3s":                  {with(noKubelet, frames{"kubelet": "process k3s-server\nconfig /x\n"}), fact.Present(true)},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, c.frames.node(t).Facts.ControlPlane) })
	}
}

func TestCeph(t *testing.T) {
	nothing := frames{"ceph": "", "ceph:/var/lib/rook": "!absent", "ceph:/var/lib/ceph": "!absent", "labels": "", "labels:sda": ""}
	require.Equal(t, fact.IsAbsent, nothing.node(t).Facts.Ceph.State)
	found := with(nothing, frames{"labels:sdb": "10 aaaa 1111 3\n"}).node(t).Facts.Ceph.Value
	require.Equal(t, "sdb", found.OSDs.Value[0].Device)
	require.Equal(t, []int{10}, found.OSDs.Value[0].AtGiB)
	some := with(nothing, frames{"labels:sdb": "!1 head: cannot open '/dev/sdb' for reading: Permission denied"}).node(t).Facts.Ceph
	require.Equal(t, fact.IsPresent, some.State, "it cannot be called absent")
	require.Equal(t, []string{"sdb"}, some.Value.Unread)
	delete(nothing, "labels:sda")
	all := with(nothing, frames{"labels:sdb": "!1 head: cannot open '/dev/sdb' for reading: Permission denied"}).node(t).Facts.Ceph.Value
	require.Equal(t, fact.IsDenied, all.OSDs.State)
}

func TestHardening_TheShortSignal(t *testing.T) {
	unit := func(name, active string) string {
		return "Id=" + name + ".service\nLoadState=loaded\nActiveState=" + active + "\n\n"
	}
	for units, want := range map[string]string{
		unit("auditd", "active") + unit("fail2ban", "active"):                               "hardened",
		unit("auditd", "active") + unit("fail2ban", "failed"):                               "partial",
		unit("auditd", "inactive") + unit("fail2ban", "active"):                             "partial",
		unit("auditd", "inactive") + unit("fail2ban", "inactive"):                           "plain",
		"!1 System has not been booted with systemd as init system (PID 1). Can't operate.": "unknown",
		"!127 sh: systemctl: not found":                                                     "unknown",
	} {
		require.Equal(t, want, frames{"units": units}.node(t).Hardening)
	}
}

func TestVirtualization(t *testing.T) {
	guest := "processor\t: 0\nflags\t: hypervisor\n"
	for name, c := range map[string]struct {
		frames frames
		want   string
		state  fact.State
	}{
		"a word":           {frames{"virt": "", "virt:detect": "kvm\n"}, "kvm", fact.IsPresent},
		"no tool, a flag":  {frames{"virt": "", "virt:detect": "!127 sh: systemd-detect-virt: not found", "host:/proc/cpuinfo": guest}, "vm-other", fact.IsPresent},
		"no tool, no flag": {frames{"virt": "", "virt:detect": "!127 sh: systemd-detect-virt: not found", "host:/proc/cpuinfo": "processor\t: 0\n"}, "", fact.IsUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			v := c.frames.node(t).Facts.Virtualization
			require.Equal(t, c.state, v.State)
			require.Equal(t, c.want, v.Value)
		})
	}
	out, err := probe.Parse([]byte("N nestor-probe 1\nN begin virt:detect\nnone\n\nN end 1\nN begin virt\n\nN end 0\nN done 1\n"))
	require.NoError(t, err)
	require.Equal(t, fact.Present("none"), mapping.FromProbe(out, mapping.Options{}).Facts.Virtualization, "it says none with exit code 1")
}

func TestMachineID(t *testing.T) {
	for text, want := range map[string]fact.Observed[string]{
		"0123456789abcdef0123456789abcdef\n": fact.Present("0123456789abcdef0123456789abcdef"),
		"":                                   fact.Unknown[string]("/etc/machine-id is 0 words, not one"),
		"uninitialized\n":                    fact.Unknown[string](`/etc/machine-id is "uninitialized", not 32 hexadecimal digits`),
		"!absent":                            fact.Absent[string]("/etc/machine-id does not exist"),
	} {
		require.Equal(t, want, frames{"host": "", "host:/etc/machine-id": text}.node(t).Facts.MachineID)
	}
}

func TestMounts_OnlyWhatStays(t *testing.T) {
	mounts := frames{"host": "", "host:/proc/self/mountinfo": `27 1 254:1 / / rw - ext4 /dev/vda1 rw
28 27 0:22 / /sys rw - sysfs sysfs rw
29 27 0:23 / /run rw - tmpfs tmpfs rw
30 27 7:0 / /snap/core/1 ro - squashfs /dev/loop0 ro
31 27 0:30 / /efi rw - autofs systemd-1 rw
32 31 254:15 / /efi rw - vfat /dev/vda15 rw
33 27 0:31 / /net rw - autofs -hosts rw
34 33 0:40 / /net/filer/a rw - nfs4 filer:/a rw
35 27 0:41 / /network rw - nfs4 filer:/b rw
36 27 254:32 / /data/kubelet/pods/1/volumes/kubernetes.io~csi/x/mount rw - ext4 /dev/vdc rw
37 27 0:42 / /home/u/.local/share/containers/storage/overlay/ab/merged rw - overlay overlay rw
38 27 0:43 / /srv/docker/overlay2/ab/merged rw - overlay overlay rw
39 27 0:44 / /mnt/\351t\351 ro - fuse.sshfs host:/x rw
40 27 0:45 /sub /mnt/sub rw - btrfs /dev/vdb rw
`}
	got := map[string]mapping.Mount{}
	for _, m := range mounts.node(t).Facts.Mounts.Value {
		got[m.Target] = m
	}
	require.Equal(t, map[string]mapping.Mount{
		"/":              {Target: "/", Source: "/dev/vda1", FSType: "ext4"},
		"/network":       {Target: "/network", Source: "filer:/b", FSType: "nfs4"},
		`/mnt/\351t\351`: {Target: `/mnt/\351t\351`, Source: "host:/x", FSType: "fuse.sshfs", ReadOnly: true},
		"/mnt/sub":       {Target: "/mnt/sub", Source: "/dev/vdb", FSType: "btrfs", Root: "/sub"},
	}, got)
}

// CRI-O's mirrors are those of registries.conf and its drop-ins.
func TestRuntime_CRIOMirrors(t *testing.T) {
	const conf = "cri:/etc/containers/registries.conf"
	crio := with(noKubelet, frames{"cri": crioSocket + "\n", "cri:crio config": "!1"})
	mirrors := func(f frames) fact.Observed[mapping.Mirror] {
		return with(crio, f).node(t).Facts.ContainerRuntime.Value.Mirrors
	}
	hub := "[[registry]]\nprefix = \"docker.io\"\n[[registry.mirror]]\nlocation = \"mirror.example.org\"\n"
	require.Equal(t, fact.Present(mapping.Mirror{}), mirrors(frames{conf: "!absent"}))
	require.Equal(t, fact.Present(mapping.Mirror{"docker.io": {"mirror.example.org"}}), mirrors(frames{conf: hub}))
	other := strings.ReplaceAll(hub, "mirror.example.org", "other.example.org")
	require.Equal(t, fact.Present(mapping.Mirror{"docker.io": {"other.example.org"}}), mirrors(frames{conf: hub, conf + ".d/10-a.conf": other}), "a drop-in replaces it")
	require.Equal(t, fact.IsUnknown, mirrors(frames{conf: hub, conf + ".d/10-a.conf": "[["}).State, "one that is broken may hold anything")
	require.Equal(t, fact.IsDenied, mirrors(frames{conf: hub, conf + ".d": "!denied"}).State)
	require.Equal(t, fact.IsUnknown, mirrors(nil).State, "an older probe did not look")
}

// A runtime that was told another folder is asked there, and its listing is
// none of plugins.
func TestCNI_AnotherFolder(t *testing.T) {
	crio := with(noKubelet, frames{"cri": crioSocket + "\n", "cri:crio config": "network_dir = \"/srv/cni/\"\n", "cni": "",
		"cni:/etc/cni/net.d": "!absent", "cni:/srv/cni": "10-x.conflist\n", "cni:/srv/cni/10-x.conflist": `{"name":"x","plugins":[{"type":"bridge"}]}`, "cni:/opt/cni/bin": "bridge\n"})
	s := crio.node(t).Facts.CNI.Value
	require.Equal(t, "x", s.Network, s.Error)
	require.Equal(t, "/srv/cni", s.Folder)
	missing := with(crio, frames{"cni:/srv/cni": "!absent"}).node(t).Facts.CNI
	require.Equal(t, fact.Absent[cni.Selection]("/srv/cni does not exist"), missing)
	containerd := with(noKubelet, frames{"cri": containerdSocket + "\n", "cni": "", "cri:containerd config": "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".cni]\nconf_dir = \"/srv/cni/\"\n",
		"cni:/srv/cni": "10-x.conf\n", "cni:/srv/cni/10-x.conf": `{"name":"y","type":"bridge"}`})
	require.Equal(t, "y", containerd.node(t).Facts.CNI.Value.Network)
}
