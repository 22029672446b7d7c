package kubeconfig_test

import (
	"fmt"
	"testing/fstest"

	"github.com/nestor-tools/nestor/nodeexec/inventory"
	"github.com/nestor-tools/nestor/nodeexec/kubeconfig"
)

func ExampleCandidates() {
	files := fstest.MapFS{"hosts.yaml": {Data: []byte(`
all:
  children:
    cloud: {hosts: {cp1: , node1: , node2: }}
    kube_control_plane: {hosts: {cp1: }}
`)}}
	inv, err := inventory.Load(files, "hosts.yaml", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	names, err := kubeconfig.Candidates(inv, "")
	fmt.Println(names, err)
	_, err = kubeconfig.Candidates(inv, "cp2")
	fmt.Println(err)
	// Output:
	// [cp1] <nil>
	// hosts.yaml: no host "cp2"; nearest: cp1
}

func ExampleBelongs() {
	inventory := []kubeconfig.Machine{{Name: "node1", MachineID: "3f7b"}}
	fmt.Println(kubeconfig.Belongs([]kubeconfig.Machine{{Name: "worker-a", MachineID: "3f7b"}}, inventory))
	fmt.Println(kubeconfig.Belongs([]kubeconfig.Machine{{Name: "node1", MachineID: "91c2"}}, inventory))
	// Output:
	// <nil>
	// it is another cluster: node node1 of its API has machine-id 91c2, and node node1 of the inventory 3f7b
}
