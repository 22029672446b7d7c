package kubelet_test

import (
	"fmt"

	"github.com/nestor-tools/nestor/mapping/kubelet"
)

func ExampleMerge() {
	file, err := kubelet.Parse([]byte("kind: KubeletConfiguration\ncgroupDriver: systemd\nreadOnlyPort: 10255\n"))
	flags := kubelet.ParseFlags([]byte("/usr/bin/kubelet\n--read-only-port=0\n"))
	config := kubelet.Merge([]kubelet.File{file}, flags)
	fmt.Println(config.CgroupDriver, config.ReadOnlyPort, config.AnonymousAuth, err)
	// Output: systemd 0 false <nil>
}
