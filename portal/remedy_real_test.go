//go:build integration

package portal_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"mvdan.cc/sh/v3/shell"

	"github.com/nestor-tools/nestor/bench/cptest"
	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/portal"
)

// The commands that the portal shows, run against a real API as they stand:
// they mend what they say, and those for passwords show them.
func TestRemedies_OnARealAPI(t *testing.T) {
	cluster := cptest.Start(t)
	objects := func(nodePortType, selector string) string {
		return `
apiVersion: v1
kind: Namespace
metadata: {name: app}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: app}
spec: {selector: {app: web}, ports: [{name: ui, port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: web-nodeport, namespace: app}
spec: {type: ` + nodePortType + `, selector: {app: ` + selector + `}, ports: [{name: ui, port: 80, targetPort: 8080}]}
`
	}
	slice := func(service string) string {
		return `
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: ` + service + `-1, namespace: app, labels: {kubernetes.io/service-name: ` + service + `}}
addressType: IPv4
endpoints: [{addresses: [10.244.0.7], conditions: {ready: true}, nodeName: n1}]
ports: [{name: ui, port: 8080, protocol: TCP}]
`
	}
	const node = `
---
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {addresses: [{type: InternalIP, address: 192.0.2.1}], conditions: [{type: Ready, status: "True"}]}
`
	entry := func(c *contract.Contract, id string) portal.Entry {
		dump := cluster.Kubectl(t, "get", "svc,endpointslices,nodes,pods", "-A", "-o", "yaml")
		s, err := portal.ReadDump(time.Now(), portal.File{Name: "dump", Text: []byte(dump)})
		require.NoError(t, err)
		v := portal.Judge(c, s, portal.Options{})
		for _, layer := range v.Layers {
			for _, e := range layer.Entries {
				if e.ID == id {
					return e
				}
			}
		}
		return portal.Entry{}
	}
	do := func(command string) string {
		words, err := shell.Fields(command, func(string) string { return "" })
		require.NoError(t, err)
		require.Equal(t, "kubectl", words[0])
		return cluster.Kubectl(t, words[1:]...)
	}
	apply := func(manifests string) {
		file := filepath.Join(t.TempDir(), "m.yaml")
		require.NoError(t, os.WriteFile(file, []byte(manifests), 0o600))
		cluster.Kubectl(t, "apply", "--server-side", "--force-conflicts", "-f", file)
	}
	fresh := func(manifests string) {
		cluster.Kubectl(t, "delete", "service,endpointslice", "--all", "-n", "app", "--ignore-not-found")
		apply(manifests)
	}
	web := promise()

	fresh(objects("ClusterIP", "web") + slice("web") + slice("web-nodeport"))
	cluster.Seed(t, node)
	e := entry(web, "web")
	require.Equal(t, portal.TypeChanged, e.Reason, "%+v", e)
	do(e.Remedy)
	e = entry(web, "web")
	assert.Equal(t, portal.Match, e.Verdict, "%+v", e)
	assert.True(t, strings.HasPrefix(e.URL, "http://192.0.2.1:3"), e.URL)

	fresh(objects("NodePort", "wbe") + slice("web"))
	e = entry(web, "web")
	require.Equal(t, portal.ExposureSelectorMismatch, e.Reason, "%+v", e)
	do(e.Remedy)
	apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: app}" + slice("web-nodeport")) // what the controller would do
	assert.Equal(t, portal.Match, entry(web, "web").Verdict)

	cluster.Kubectl(t, "-n", "app", "delete", "service", "web-nodeport")
	e = entry(web, "web")
	require.Equal(t, portal.NoNodePort, e.Reason)
	do(e.Remedy)
	assert.NotEmpty(t, entry(web, "web").URL, "it has a node port again")

	extra := entry(&contract.Contract{}, "nodeport/app/web-nodeport")
	require.Equal(t, portal.Extra, extra.Verdict)
	do(extra.Remedy)
	assert.Empty(t, entry(&contract.Contract{}, "nodeport/app/web-nodeport").Verdict, "it is closed")

	cluster.Kubectl(t, "-n", "app", "patch", "service", "web", "-p", `{"spec":{"externalIPs":["198.51.100.7"]}}`)
	extra = entry(&contract.Contract{}, "externalip/app/web")
	require.Equal(t, portal.Extra, extra.Verdict)
	do(extra.Remedy)
	assert.Empty(t, entry(&contract.Contract{}, "externalip/app/web").Verdict)

	cluster.Kubectl(t, "-n", "app", "create", "secret", "generic", "web-admin", "--from-literal=admin.password=it's \"$fine\"", "--from-literal=user=boss")
	cluster.Kubectl(t, "-n", "app", "create", "serviceaccount", "admin-user")
	web.Endpoints[0].Auth = "secret-admin"
	web.Endpoints[0].Credential = contract.Credential{Secret: "web-admin", Key: "admin.password", LoginKey: "user"}
	assert.Equal(t, "boss\nit's \"$fine\"\n", do(entry(web, "web").Command))
	web.Endpoints[0].Credential = contract.Credential{Secret: "web-admin"}
	assert.Equal(t, "admin.password: it's \"$fine\"\nuser: boss\n", do(entry(web, "web").Command))
	web.Endpoints[0].Auth, web.Endpoints[0].Credential = "token", contract.Credential{}
	assert.Equal(t, 2, strings.Count(do(entry(web, "web").Command), "."), "a token")
	cluster.Kubectl(t, "-n", "app", "get", "pods", "-l", "app=web") // the form of describe pods
}
