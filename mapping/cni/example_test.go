package cni_test

import (
	"fmt"

	"github.com/nestor-tools/nestor/mapping/cni"
)

func ExampleParse() {
	c, err := cni.Parse([]byte(`{"cniVersion":"0.3.1", "name":"cbr0", "plugins":[{"type":"flannel"},{"type":"portmap"}]}`))
	fmt.Println(c.Network, c.Plugins, err)
	// Output: cbr0 [flannel portmap] <nil>
}

// The first file decides for containerd, even when it is broken; CRI-O skips
// it. What Cilium put aside is read by neither.
func ExampleSelect() {
	files := []cni.File{
		{Name: "10-flannel.conflist", Content: []byte(`{"name":"cbr0","plugins":[{"type":"flannel"}]}`)},
		{Name: "05-old.conf", Content: []byte(`{"name":"old"`)},
		{Name: "01-calico.conflist.cilium_bak"},
	}
	for _, runtime := range []string{"containerd", "cri-o"} {
		s := cni.Select(cni.Rule{Runtime: runtime}, "/etc/cni/net.d", files)
		fmt.Printf("%s: %q %q\n", runtime, s.File, s.Error)
	}
	// Output:
	// containerd: "" "05-old.conf: not valid JSON: unexpected end of JSON input"
	// cri-o: "10-flannel.conflist" ""
}
