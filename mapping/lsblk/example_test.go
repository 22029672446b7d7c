package lsblk_test

import (
	"fmt"

	"github.com/nestor-tools/nestor/mapping/lsblk"
)

func ExampleParse() {
	listing, err := lsblk.Parse([]byte(`{"blockdevices": [
		{"name":"sda", "type":"disk", "size":"2147483648", "children": [
			{"name":"sda1", "type":"part", "size":1073741824, "mountpoints":[null, "/srv"]}]}]}`))
	for _, d := range listing.Devices {
		fmt.Println(d.Name, d.Type, d.SizeBytes, d.Parents, d.Mounts)
	}
	fmt.Println(err)
	// Output:
	// sda disk 2147483648 [] []
	// sda1 part 1073741824 [sda] [/srv]
	// <nil>
}
