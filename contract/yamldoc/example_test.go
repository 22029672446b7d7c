package yamldoc_test

import (
	"fmt"

	"github.com/nestor-tools/nestor/contract/yamldoc"
)

func ExampleSplit() {
	stream := "# a licence\n---\nkind: Service\n--- # broken\nkind: [Service\n---\nkind: Pod\n"
	for _, chunk := range yamldoc.Split([]byte(stream)) {
		root, problems := chunk.Parse()
		for _, p := range problems {
			fmt.Printf("line %d: %s\n", p.Line, p.Message)
		}
		if kind := root.Get("kind"); kind.Kind() == yamldoc.Scalar {
			fmt.Printf("line %d: %s\n", kind.Line(), kind.Text())
		}
	}
	// Output:
	// line 3: Service
	// line 5: did not find expected ',' or ']'
	// line 7: Pod
}
