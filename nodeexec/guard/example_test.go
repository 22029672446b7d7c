package guard_test

import (
	"fmt"
	"net/netip"

	"github.com/nestor-tools/nestor/nodeexec/guard"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

func ExampleAuthorize() {
	target := inventory.Target{
		Node: "node1", Kind: inventory.Lima, Transport: inventory.TransportSSH, Host: "192.0.2.11",
		Origins: map[string]inventory.Origin{"target_kind": {File: "hosts.yaml", Line: 3}, "ansible_host": {File: "hosts.yaml", Line: 7}},
	}
	ssh, _ := guard.ParseSSH("hostname 192.0.2.11\nport 22\n") // what "ssh -G" prints
	effective := guard.Effective{SSH: ssh, Others: []guard.Other{{Node: "node2", Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.11")}}}}
	intent := guard.Intent{Node: "node1", Kind: inventory.Lima, Apply: true}
	env := func(key string) (string, bool) { return "1", key == "BANC_JETABLE" }

	_, err := guard.Authorize(target, effective, intent, env)
	fmt.Println(err)

	effective.Others = nil
	permit, err := guard.Authorize(target, effective, intent, env)
	fmt.Println(permit.Node(), err)
	// Output:
	// hosts.yaml:7: refused (rule shared): node "node1": "192.0.2.11" is also the address of node "node2"; which of them would be wiped?
	// node1 <nil>
}
