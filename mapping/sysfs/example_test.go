package sysfs_test

import (
	"fmt"

	"github.com/nestor-tools/nestor/mapping/sysfs"
)

func ExampleParse() {
	devices, err := sysfs.Parse([]byte("sdb\tdev=8:16\tsize=4194304\tro=0\tholders=dm-0\n"))
	fmt.Println(devices[0].Name, devices[0].SizeBytes, devices[0].Holders, err)
	// Output: sdb 2147483648 [dm-0] <nil>
}
