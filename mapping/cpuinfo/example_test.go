package cpuinfo_test

import (
	"fmt"

	"github.com/nestor-tools/nestor/mapping/cpuinfo"
)

func ExampleParse() {
	cpu, err := cpuinfo.Parse([]byte("processor\t: 0\nBogoMIPS\t: 50.00\n\nprocessor\t: 1\nBogoMIPS\t: 50.00\n"))
	fmt.Println(cpu.Threads, cpu.Sockets, err)
	// Output: 2 0 <nil>
}
