package swaps_test

import (
	"fmt"

	"github.com/nestor-tools/nestor/mapping/swaps"
)

func ExampleParse() {
	active, err := swaps.Parse([]byte("Filename Type Size Used Priority\n/dev/dm-1 partition 974844 0 -2\n"))
	fmt.Println(active[0].Path, active[0].SizeBytes, err)
	// Output: /dev/dm-1 998240256 <nil>
}
