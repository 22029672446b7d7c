package wipefs_test

import (
	"fmt"

	"github.com/nestor-tools/nestor/mapping/wipefs"
)

func ExampleParse() {
	signatures, err := wipefs.Parse([]byte(`{"signatures": [{"device":"vdc","offset":"0x0","type":"ceph_bluestore","uuid":null,"label":null}]}`))
	fmt.Println(signatures[0].Type, signatures[0].Offset, err)
	// Output: ceph_bluestore 0 <nil>
}
