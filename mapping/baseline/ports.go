package baseline

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/nestor-tools/nestor/mapping/listeners"
)

// expectedPorts are what a Kubernetes node with Cilium, Calico or flannel,
// and Ceph, keeps open, by protocol and range. ssh's own come from sshd.
var expectedPorts = []struct {
	protocol string
	from, to int
	what     string
	control  bool // on a control plane only
}{
	{"tcp", 10250, 10250, "kubelet", false},
	{"tcp", 10256, 10256, "kube-proxy's health", false},
	{"tcp", 30000, 32767, "NodePorts", false},
	{"udp", 30000, 32767, "NodePorts", false},
	{"tcp", 6443, 6443, "kube-apiserver", true},
	{"tcp", 2379, 2380, "etcd", true},
	{"tcp", 179, 179, "BGP", false},
	{"tcp", 4240, 4240, "Cilium's health", false},
	{"tcp", 4244, 4244, "Hubble", false},
	{"tcp", 5473, 5473, "Typha", false},
	{"udp", 4789, 4789, "VXLAN", false},
	{"udp", 8472, 8472, "VXLAN", false},
	{"udp", 6081, 6081, "Geneve", false},
	{"udp", 51820, 51821, "WireGuard", false},
	{"udp", 51871, 51871, "Cilium's WireGuard", false},
	{"tcp", 3300, 3300, "Ceph's monitor", false},
	{"tcp", 6789, 6789, "Ceph's monitor", false},
	{"tcp", 6800, 7568, "Ceph's daemons", false},
	{"udp", 68, 68, "DHCP", false},
	{"udp", 546, 546, "DHCPv6", false},
}

// firstEphemeral is where Linux starts to pick the ports of clients. A UDP
// client looks like a server, and its port changes all the time.
const firstEphemeral = 32768

func openPorts(in Input, f *findings) {
	list, ok := known(f, in.Listeners, "ss")
	if !ok {
		return
	}
	sshPorts := in.SSHD.Value["port"]
	unexpected := false
	for _, l := range list {
		if l.IsLocal() || (l.Protocol == "udp" && l.Port >= firstEphemeral) || expected(l, in.ControlPlane) {
			continue
		}
		if l.Protocol == "tcp" && (slices.Contains(sshPorts, strconv.Itoa(l.Port)) || l.Process == "sshd" && l.Port == 22) {
			continue
		}
		unexpected = true
		by := l.Process
		if by == "" {
			by = "a process that was not told"
		}
		f.require(false, fmt.Sprintf("%s port %d is open, by %s", l.Protocol, l.Port, by))
	}
	if !unexpected {
		f.require(true, "only expected ports are open")
	}
}

func expected(l listeners.Listener, controlPlane bool) bool {
	for _, e := range expectedPorts {
		if l.Protocol == e.protocol && l.Port >= e.from && l.Port <= e.to && (controlPlane || !e.control) {
			return true
		}
	}
	return false
}
