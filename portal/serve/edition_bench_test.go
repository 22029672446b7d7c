package serve

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/portal"
)

// BenchmarkEdition is what each change costs in front of a large cluster: 5,000
// Services, 200 of them NodePorts and 100 promised, and 1,000 nodes.
func BenchmarkEdition(b *testing.B) {
	snapshot := shop(30080)
	text := promise
	ready := true
	for i := range 5000 {
		name := fmt.Sprintf("s%d", i)
		s := portal.Service{Namespace: "large", Name: name, Type: "ClusterIP", Selector: map[string]string{"app": name}, Ports: []portal.ServicePort{{Name: "http", Port: 80, TargetPort: "8080"}}}
		if i%25 == 0 {
			s.Type, s.Ports[0].NodePort = "NodePort", 30100+i/25
		}
		if i%50 == 0 {
			text += fmt.Sprintf("  - {id: %s, service: %s, namespace: large, port: 80, protocol: http, exposed: true, source: a.yaml, auth: none}\n", name, name)
		}
		snapshot.Services = append(snapshot.Services, s)
		snapshot.Slices = append(snapshot.Slices, portal.EndpointSlice{
			Namespace: "large", Name: name + "-1", Service: name, Ports: []portal.SlicePort{{Name: "http", Port: 8080}},
			Endpoints: []portal.Endpoint{{Addresses: []string{"10.1.0.1"}, Ready: &ready, Node: fmt.Sprintf("n%d", i%1000)}},
		})
	}
	for i := range 1000 {
		snapshot.Nodes = append(snapshot.Nodes, portal.Node{Name: fmt.Sprintf("n%d", i), Ready: true, Addresses: []portal.Address{{Type: "InternalIP", Address: fmt.Sprintf("10.9.%d.%d", i/250, i%250+1)}}})
	}
	c, _ := contract.Parse("endpoints.yaml", []byte(text))
	var earlier *edition
	for b.Loop() {
		e, err := newEdition(nil, snapshot, c, "", portal.Options{}, earlier)
		require.NoError(b, err)
		earlier = e
	}
}
