package sshd_test

import (
	"fmt"

	"github.com/nestor-tools/nestor/mapping/sshd"
)

func ExampleParse() {
	config, err := sshd.Parse([]byte("port 22\nPermitRootLogin without-password\n"))
	fmt.Println(config.Get("permitrootlogin"), err)
	// Output: prohibit-password <nil>
}
