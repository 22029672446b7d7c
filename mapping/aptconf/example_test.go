package aptconf_test

import (
	"fmt"

	"github.com/nestor-tools/nestor/mapping/aptconf"
)

func ExampleParse() {
	values, err := aptconf.Parse([]byte("APT::Periodic::Unattended-Upgrade \"1\";\n"))
	fmt.Println(values["APT::Periodic::Unattended-Upgrade"], err)
	// Output: 1 <nil>
}
