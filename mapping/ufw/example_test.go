package ufw_test

import (
	"fmt"

	"github.com/nestor-tools/nestor/mapping/ufw"
)

func ExampleParse() {
	status, err := ufw.Parse([]byte("Status: active\nDefault: deny (incoming), allow (outgoing)\n"))
	fmt.Println(status.Active, status.Incoming, err)
	// Output: true deny <nil>
}
