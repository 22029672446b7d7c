package sysctl_test

import (
	"fmt"

	"github.com/nestor-tools/nestor/mapping/sysctl"
)

func ExampleParse() {
	settings, err := sysctl.Parse([]byte("kernel.randomize_va_space = 2\n"))
	fmt.Println(settings.Get("kernel.randomize_va_space").Value, settings.Get("kernel.yama.ptrace_scope").State, err)
	// Output: 2 absent <nil>
}
