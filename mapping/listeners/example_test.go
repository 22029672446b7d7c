package listeners_test

import (
	"fmt"

	"github.com/nestor-tools/nestor/mapping/listeners"
)

func ExampleParse() {
	list, err := listeners.Parse([]byte("tcp LISTEN 0 128 0.0.0.0:22 0.0.0.0:* users:((\"sshd\",pid=1,fd=3))\n"))
	fmt.Println(list[0].Port, list[0].Process, list[0].IsLocal(), err)
	// Output: 22 sshd false <nil>
}
