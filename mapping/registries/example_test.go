package registries_test

import (
	"fmt"

	"github.com/nestor-tools/nestor/mapping/registries"
)

func ExampleParse() {
	all, err := registries.Parse([]byte("[[registry]]\nprefix = \"docker.io\"\n[[registry.mirror]]\nlocation = \"mirror.example.org\"\n"))
	fmt.Println(all, err)
	// Output: [{docker.io [mirror.example.org]}] <nil>
}
