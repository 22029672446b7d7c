package kubeconfig

import (
	"context"
	"fmt"
	"slices"

	"github.com/nestor-tools/nestor/nodeexec"
)

// authorities are where distributions keep the certificate authority of their
// API server's and clients' certificates, in the order of files.
var authorities = []string{
	"/etc/kubernetes/pki/ca.crt",
	"/var/lib/rancher/k3s/server/tls/server-ca.crt",
	"/var/lib/rancher/rke2/server/tls/server-ca.crt",
	"/var/lib/k0s/pki/ca.crt",
	"/var/snap/microk8s/current/certs/ca.crt",
}

// ReadCA reads the certificate authority of a control plane, in PEM: no
// secret, and with some distributions there for everybody. It is read as
// root, else, without the right, as the user.
func ReadCA(ctx context.Context, node nodeexec.Runner, o Options) ([]byte, error) {
	argv := append([]string{"sh", "-c", `for f do [ -f "$f" ] || continue; cat -- "$f"; exit; done`, "nestor-ca"}, authorities...)
	read := func(sudo bool) ([]byte, error) {
		var out bounded
		_, err := node.Run(ctx, nodeexec.Command{Argv: argv, Sudo: sudo, Stdout: &out, Timeout: o.timeout()})
		return out.Bytes(), err
	}
	text, err := read(true)
	if nodeexec.KindOf(err) == nodeexec.KindSudo {
		text, err = read(false)
	}
	if err != nil {
		return nil, err
	}
	if _, err := certificates(text); err != nil {
		return nil, fmt.Errorf("%s: the certificate authority of the control plane %w", node.Name(), err)
	}
	return text, nil
}

// SameCA says whether two PEM texts share a certificate authority: one key is
// enough, for while an authority is being replaced both stand side by side.
func SameCA(a, b []byte) (bool, error) {
	x, err := Fingerprints(a)
	if err != nil {
		return false, err
	}
	y, err := Fingerprints(b)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(x, func(sum string) bool { return slices.Contains(y, sum) }), nil
}

// Machine is a node as the API or the inventory knows it. What is not known is
// empty.
type Machine struct {
	Name      string
	Addresses []string
	MachineID string // /etc/machine-id; nodeInfo.machineID of the API
}

// Belongs says whether the nodes of an API are those of the inventory: nil, or
// why not, which matches ErrOtherCluster.
//
// A name proves nothing, for every bench has a node1. A machine-id that both
// sides hold once proves it, unless nodes of the same name have different
// ones. Without machine-ids, every node of the API has to be in the inventory
// with its name and one of its addresses.
func Belongs(api, nodes []Machine) error {
	other := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrOtherCluster, fmt.Sprintf(format, args...))
	}
	if len(api) == 0 {
		return other("its API has no node")
	}
	byID := false
	for _, m := range api {
		for _, n := range nodes {
			switch {
			case m.MachineID == "" || n.MachineID == "":
			case m.MachineID == n.MachineID && count(api, m.MachineID) == 1 && count(nodes, m.MachineID) == 1:
				byID = true
			case m.MachineID != n.MachineID && m.Name == n.Name:
				return other("node %s of its API has machine-id %s, and node %s of the inventory %s", m.Name, m.MachineID, n.Name, n.MachineID)
			}
		}
	}
	if byID {
		return nil
	}
	for _, m := range api {
		if !slices.ContainsFunc(nodes, func(n Machine) bool {
			return m.Name == n.Name && slices.ContainsFunc(m.Addresses, func(a string) bool { return slices.Contains(n.Addresses, a) })
		}) {
			return other("node %s of its API is none of the inventory's, by name and address", m.Name)
		}
	}
	return nil
}

func count(machines []Machine, id string) (n int) {
	for _, m := range machines {
		if m.MachineID == id {
			n++
		}
	}
	return n
}
