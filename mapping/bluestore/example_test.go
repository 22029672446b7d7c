package bluestore_test

import (
	"fmt"

	"github.com/nestor-tools/nestor/mapping/bluestore"
)

func ExampleParse() {
	labels, err := bluestore.Parse([]byte("0 aaaa 1111 3\n10 aaaa 1111 3\n"))
	fmt.Println(labels[0].OSDUUID, labels[0].AtGiB, err)
	// Output: aaaa [0 10] <nil>
}
