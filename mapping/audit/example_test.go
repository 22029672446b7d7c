package audit_test

import (
	"fmt"

	"github.com/nestor-tools/nestor/mapping/audit"
)

func ExampleParse() {
	status, err := audit.Parse([]byte("enabled 1\nfailure 1\npid 612\n"))
	fmt.Println(status.Enabled, status.PID, err)
	// Output: 1 612 <nil>
}
