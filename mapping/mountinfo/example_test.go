package mountinfo_test

import (
	"fmt"

	"github.com/nestor-tools/nestor/mapping/mountinfo"
)

func ExampleParse() {
	mounts, err := mountinfo.Parse([]byte(`40 27 8:17 / /mnt/two\040words rw,relatime shared:30 - ext4 /dev/sdb1 rw` + "\n"))
	fmt.Printf("%q on %s, %s, %v\n", mounts[0].Target, mounts[0].Source, mounts[0].FSType, err)
	// Output: "/mnt/two words" on /dev/sdb1, ext4, <nil>
}
