package apparmor_test

import (
	"fmt"

	"github.com/nestor-tools/nestor/mapping/apparmor"
)

func ExampleParse() {
	profiles, err := apparmor.Parse([]byte("/usr/sbin/chronyd (enforce)\nman_groff (complain)\n"))
	fmt.Println(profiles["enforce"], profiles["complain"], err)
	// Output: 1 1 <nil>
}
