package containerd_test

import (
	"fmt"

	"github.com/nestor-tools/nestor/mapping/containerd"
)

func ExampleParse() {
	config, err := containerd.Parse([]byte(`version = 3
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
SystemdCgroup = true`))
	fmt.Println(config.Version, *config.SystemdCgroup, err)
	// Output: 3 true <nil>
}
