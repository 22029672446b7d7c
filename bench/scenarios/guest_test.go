//go:build integration && guest

package scenarios_test

import (
	"testing"

	"github.com/nestor-tools/nestor/bench/guest"
	"github.com/nestor-tools/nestor/bench/lima"
)

// Two real Debian guests, node1 with two extra disks. Only their NodePorts are
// not forwarded, so ui-reachable is for a bench with Lima.
func TestScenariosOnGuests(t *testing.T) {
	b := open(t, func(l *lima.Lima, adminConf string) {
		disks := []guest.Disk{{Name: "data1", SizeMiB: 256}, {Name: "data2", SizeMiB: 128}}
		for _, spec := range []guest.Spec{{Name: "cp1"}, {Name: "node1", Disks: disks}} {
			spec.Hostname, spec.User = "lima-"+spec.Name, "debian"
			g := guest.Start(t, spec)
			l.Add(t, spec.Name, lima.VM{SSH: g.SSHArgs()})
			if spec.Name == "cp1" {
				g.MustRun(t, "umask 077; mkdir -p -m 755 /etc/kubernetes; cat >/etc/kubernetes/admin.conf <<'END'\n"+adminConf+"END\n")
			}
		}
	})
	pass(t, b, "node-exec", "run-cni", "kubeconfig", "node-side", "portal", "remove")
}
