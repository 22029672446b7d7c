package cri_test

import (
	"fmt"

	"github.com/nestor-tools/nestor/mapping/cri"
)

func ExampleParse() {
	v, err := cri.Parse([]byte("Version:  0.1.0\nRuntimeName:  containerd\nRuntimeVersion:  v1.7.24\nRuntimeApiVersion:  v1\n"))
	fmt.Println(v.Name, v.Raw, err)
	// Output: containerd v1.7.24 <nil>
}

func ExampleNumber() {
	number, err := cri.Number("1.6.20~ds1")
	fmt.Println(number, err)
	// Output: 1.6.20 <nil>
}
