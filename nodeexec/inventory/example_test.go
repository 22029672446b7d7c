package inventory_test

import (
	"fmt"
	"testing/fstest"

	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

var hosts = fstest.MapFS{"hosts.yaml": {Data: []byte(`all:
  vars:
    target_kind: prod
    ansible_user: debian
  children:
    cloud:
      hosts:
        node[1:3]:
        node2: {ansible_host: 192.0.2.12, ansible_ssh_common_args: -J gate.example.test}
`)}}

func noEnv(string) (string, bool) { return "", false }

func ExampleLoad() {
	inv, err := inventory.Load(hosts, "hosts.yaml", noEnv)
	if err != nil {
		fmt.Println(err)
		return
	}
	target, err := inv.Target("node2", inventory.Prod)
	fmt.Println(target.User, target.Host, target.SSHArgs, err)
	// Output: debian 192.0.2.12 [-J gate.example.test] <nil>
}

// The kind is an assertion: where the inventory says otherwise, nothing runs.
func ExampleInventory_Target() {
	inv, _ := inventory.Load(hosts, "hosts.yaml", noEnv)
	_, err := inv.Target("node1", inventory.Lima)
	fmt.Println(err)
	_, err = inv.Target("nodel", "")
	fmt.Println(err)
	// Output:
	// hosts.yaml:3: node "node1" is declared prod, and lima was stated
	// hosts.yaml: no host "nodel"; nearest: node1, node2, node3
}

func ExampleInventory_Select() {
	inv, _ := inventory.Load(hosts, "hosts.yaml", noEnv)
	fmt.Println(inv.Select("cloud:!node2"))
	fmt.Println(inv.Select("cloud:!cloud"))
	// Output:
	// [node1 node3] <nil>
	// [] pattern "cloud:!cloud" selects no host of hosts.yaml
}

func ExampleInventory_Explain() {
	inv, _ := inventory.Load(hosts, "hosts.yaml", noEnv)
	x, _ := inv.Explain("node2")
	for _, f := range x.Fields {
		if f.Variable != "" {
			fmt.Println(f.Name, f.Value, f.Origin)
		}
	}
	// Output:
	// target_kind prod hosts.yaml:3
	// host 192.0.2.12 hosts.yaml:9
	// user debian hosts.yaml:4
	// ssh_args -J gate.example.test hosts.yaml:9
}
