package plan_test

import (
	"fmt"

	"github.com/nestor-tools/nestor/mapping"
	"github.com/nestor-tools/nestor/mapping/disks"
	"github.com/nestor-tools/nestor/mapping/fact"
	"github.com/nestor-tools/nestor/nodeexec/remove/plan"
)

func Example() {
	profile, err := plan.ParseProfile([]byte(`
nodes:
  - name: node1
    disks: [{device: /dev/sda, role: data}, {device: /dev/sdb, role: data}]
`), "disks.yaml")
	if err != nil {
		fmt.Println(err)
	}
	facts := mapping.NodeFacts{ // what discover found
		Mounts: fact.Present([]mapping.Mount{{Target: "/", Source: "/dev/sda"}}),
		Disks: fact.Present([]disks.Disk{
			{Name: "sda", Type: "disk", Role: disks.System, Evidence: []string{"sda is mounted at /"}, Mounts: []string{"/"}},
			{Name: "sdb", Type: "disk", Role: disks.DataInUse, Evidence: []string{"sdb carries ext4 at 0x438 (wipefs)"}},
		}),
	}
	_, refusals := plan.Choose("node1", facts, profile)
	for _, r := range refusals {
		fmt.Println(r)
	}
	// Output:
	// disks.yaml:4: refused (rule system-disk): node "node1" sda: "sda is mounted at /" says that it carries the system, which is never wiped
}

func ExampleLeftovers() {
	in, err := plan.ParseInspection([]byte("nestor-wipe\t1\n" +
		"rook\tstate\tabsent\n" +
		"disk\t/dev/sdb\tsdb\n" +
		"dev\tsdb\tnode=/dev/sdb\tsize=12884901888\tlabel=10:aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee:-:-\n" +
		"inspected\n"))
	fmt.Println(plan.Leftovers(in, false), err)
	// Output:
	// [sdb: BlueStore label of OSD aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee at [10] GiB] <nil>
}
