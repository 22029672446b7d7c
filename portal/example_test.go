package portal_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/portal"
)

func ExampleJudge() {
	dump := portal.File{Name: "dump.yaml", Text: []byte(`
kind: List
items:
- {kind: Service, metadata: {name: web, namespace: app}, spec: {type: NodePort, ports: [{name: http, port: 80, nodePort: 30080}]}}
- kind: EndpointSlice
  metadata: {name: web-1, namespace: app, labels: {kubernetes.io/service-name: web}}
  endpoints: [{addresses: [10.244.0.7]}]
  ports: [{name: http, port: 8080}]
- {kind: Node, metadata: {name: node1}, status: {addresses: [{type: InternalIP, address: 192.0.2.1}], conditions: [{type: Ready, status: "True"}]}}
`)}
	snapshot, err := portal.ReadDump(time.Now(), dump)
	if err != nil {
		fmt.Println(err)
		return
	}
	promised := &contract.Contract{Endpoints: []contract.Endpoint{
		{ID: "web", Service: "web", Namespace: "app", Port: 80, Protocol: "http", Layer: "apps", Exposed: true},
		{ID: "api", Service: "api", Namespace: "app", Port: 80, Protocol: "http", Layer: "apps", Exposed: true},
	}}
	view := portal.Judge(promised, snapshot, portal.Options{})
	for _, entry := range view.Layers[0].Entries {
		fmt.Println(strings.Fields(fmt.Sprint(entry.ID, " ", entry.Verdict, " ", entry.URL, " ", entry.Reason)))
	}
	// Output:
	// [web MATCH http://192.0.2.1:30080]
	// [api MISSING NO_SERVICE]
}
