package contract_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/contract/manifest"
)

func ExampleCheck() {
	tree := fstest.MapFS{
		"contract/endpoints.yaml": {Data: []byte(`contract_version: "1.0"
endpoints:
  - {id: grafana, service: grafana, namespace: monitoring, port: 80, exposed: true}
`)},
		"grafana.yaml": {Data: []byte(`apiVersion: v1
kind: Service
metadata: {name: grafana, namespace: monitoring}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: debug, namespace: monitoring}
spec:
  type: NodePort
  ports: [{port: 9000}]
`)},
	}
	set, findings, err := contract.Load(tree, "contract", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	manifests, err := manifest.Read(context.Background(), tree, manifest.Options{Skip: []string{"contract"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range append(findings, contract.Check(set, manifests, contract.Options{Root: tree})...) {
		fmt.Printf("%s:%d: %s: %s\n", f.File, f.Line, f.Severity, f.Message)
	}
	// Output:
	// contract/endpoints.yaml:3: error: no NodePort exposes Service grafana: Service grafana is a ClusterIP
	// grafana.yaml:10: error: Service monitoring/debug is a NodePort and no endpoint promises port 9000/TCP
}
