package manifest_test

import (
	"fmt"

	"github.com/nestor-tools/nestor/contract/kube"
	"github.com/nestor-tools/nestor/contract/manifest"
)

func ExampleReadBytes() {
	tree := manifest.ReadBytes("web.yaml", []byte(`apiVersion: v1
kind: Service
metadata: {name: web, namespace: front}
spec:
  type: NodePort
  ports: [{name: http, port: 80}]
---
kind: [broken
---
apiVersion: v1
kind: Pod
metadata: {name: agent, namespace: front}
spec: {hostNetwork: true}
`))
	for _, e := range kube.Exposures(tree.Services, tree.Workloads) {
		fmt.Printf("%s:%d %s %s/%s\n", e.Source.File, e.Source.Line, e.Kind, e.Namespace, e.Name)
	}
	for _, p := range tree.Problems {
		fmt.Printf("%s:%d %s\n", p.At.File, p.At.Line, p.Kind)
	}
	// Output:
	// web.yaml:13 HostNetwork front/agent
	// web.yaml:5 NodePort front/web
	// web.yaml:8 syntax
}
