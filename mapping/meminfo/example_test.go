package meminfo_test

import (
	"fmt"

	"github.com/nestor-tools/nestor/mapping/meminfo"
)

func ExampleParse() {
	memory, err := meminfo.Parse([]byte("MemTotal:        8112776 kB\nMemFree:         1234567 kB\n"))
	fmt.Println(memory.TotalBytes, err)
	// Output: 8307482624 <nil>
}
