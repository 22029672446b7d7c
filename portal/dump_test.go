package portal_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/golden"
	"github.com/nestor-tools/nestor/portal"
)

func read(files ...string) (*portal.Snapshot, error) {
	var all []portal.File
	for i, text := range files {
		all = append(all, portal.File{Name: "dump" + string(rune('1'+i)), Text: []byte(text)})
	}
	return portal.ReadDump(observed, all...)
}

func TestReadDump(t *testing.T) {
	const (
		service = `{"apiVersion":"v1","kind":"Service","metadata":{"name":"web","namespace":"app"},"spec":{"type":"NodePort","ports":[{"port":80,"targetPort":"http","nodePort":30080}]}}`
		node    = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nspec: {unschedulable: true}\nstatus:\n  addresses: [{type: InternalIP, address: 192.0.2.1}]\n  conditions: [{type: Ready, status: \"True\"}]\n"
	)
	state := func(s *portal.Snapshot) string {
		var words []string
		for _, r := range []portal.Resource{portal.Services, portal.EndpointSlices, portal.Nodes, portal.Pods} {
			source, ok := s.Sources[r]
			if !ok {
				words = append(words, "-")
				continue
			}
			words = append(words, string(source.State))
		}
		return strings.Join(words, " ")
	}
	cases := []struct {
		name            string
		files           []string
		services, nodes int
		sources         string
	}{
		{"one object", []string{service}, 1, 0, "synced unsynced unsynced -"},
		{"several documents", []string{"# a comment\n---\n" + node + "---\n" + service + "\n---\n"}, 1, 1, "synced unsynced synced -"},
		{"several files", []string{service, node}, 1, 1, "synced unsynced synced -"},
		{"JSON after JSON", []string{service + "\n" + strings.ReplaceAll(service, "web", "api")}, 2, 0, "synced unsynced unsynced -"},
		{"a list", []string{`{"kind":"List","items":[` + service + `]}`}, 1, 0, "synced unsynced unsynced -"},
		{"a list in a list", []string{`{"kind":"List","items":[{"kind":"List","items":[` + service + `]}]}`}, 1, 0, "synced unsynced unsynced -"},
		{"a typed list whose items leave the kind out", []string{`{"kind":"ServiceList","items":[` + strings.Replace(service, `"kind":"Service",`, "", 1) + `]}`}, 1, 0, "synced unsynced unsynced -"},
		{"empty typed lists: asked for, and none", []string{`{"kind":"ServiceList","items":[]}`, `{"kind":"PodList","items":null}`}, 0, 0, "synced unsynced unsynced synced"},
		{"the same object twice: as last given", []string{service, strings.ReplaceAll(service, "30080", "30081")}, 1, 0, "synced unsynced unsynced -"},
		{"CRLF", []string{strings.ReplaceAll(node, "\n", "\r\n")}, 0, 1, "unsynced unsynced synced -"},
		{"a byte order mark", []string{"\ufeff" + node}, 0, 1, "unsynced unsynced synced -"},
		{"a byte order mark before JSON", []string{"\ufeff" + service}, 1, 0, "synced unsynced unsynced -"},
		{"other kinds, of any shape", []string{service + `{"kind":"Deployment","metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{}},"ports":7}}`}, 1, 0, "synced unsynced unsynced -"},
		{"a Service of another group", []string{service + `{"apiVersion":"serving.knative.dev/v1","kind":"Service","metadata":{"name":"k"},"spec":{"ports":"no"}}`}, 1, 0, "synced unsynced unsynced -"},
		{"emoji as JSON writes them", []string{strings.Replace(service, `"name":"web"`, `"name":"web","annotations":{"x":"\ud83d\ude00"}`, 1)}, 1, 0, "synced unsynced unsynced -"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, err := read(c.files...)
			require.NoError(t, err)
			assert.Len(t, s.Services, c.services)
			assert.Len(t, s.Nodes, c.nodes)
			assert.Equal(t, c.sources, state(s))
			assert.Equal(t, observed, s.ObservedAt)
		})
	}
	t.Run("as last given", func(t *testing.T) {
		s, err := read(service, strings.ReplaceAll(service, "30080", "30081"))
		require.NoError(t, err)
		assert.Equal(t, 30081, s.Services[0].Ports[0].NodePort)
	})
	t.Run("a node", func(t *testing.T) {
		s, err := read(node)
		require.NoError(t, err)
		assert.Equal(t, []portal.Node{{Name: "n1", Ready: true, Cordoned: true, Addresses: []portal.Address{{Type: "InternalIP", Address: "192.0.2.1"}}}}, s.Nodes)
	})
}

func TestReadDump_Pods(t *testing.T) {
	pod := func(rest string) string {
		return `{"kind":"Pod","metadata":{"name":"p","namespace":"app"` + rest + `}`
	}
	const ports = `"containers":[{"name":"c","ports":[{"containerPort":80,"hostPort":8080,"hostIP":"192.0.2.1"}]}]`
	const ready = `"conditions":[{"type":"Ready","status":"True"}]`
	cases := []struct {
		name, text string
		count      int
		ready      bool
		owner      string
	}{
		{"holds a port", pod(`},"spec":{` + ports + `},"status":{` + ready + `}`), 1, true, " "},
		{"holds none", pod(`},"spec":{"containers":[{"name":"c","ports":[{"containerPort":80}]}]}`), 0, false, ""},
		{"is on the host", pod(`},"spec":{"hostNetwork":true,"containers":[]}`), 1, false, " "},
		{"is done", pod(`},"spec":{` + ports + `},"status":{"phase":"Succeeded"}`), 0, false, ""},
		{"is going", pod(`,"deletionTimestamp":"2026-11-30T18:00:00Z"},"spec":{` + ports + `},"status":{` + ready + `}`), 1, false, " "},
		{"of a Deployment", pod(`,"labels":{"pod-template-hash":"6f5d"},"ownerReferences":[{"kind":"ReplicaSet","name":"mail-6f5d","controller":true}]},"spec":{` + ports + `}`), 1, false, "Deployment mail"},
		{"in a sidecar", pod(`},"spec":{"initContainers":[{"name":"s","restartPolicy":"Always","ports":[{"containerPort":1,"hostPort":1}]}]}`), 1, false, " "},
		{"in what ran before", pod(`},"spec":{"initContainers":[{"name":"s","ports":[{"containerPort":1,"hostPort":1}]}]}`), 0, false, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, err := read(c.text)
			require.NoError(t, err)
			require.Len(t, s.Pods, c.count)
			if c.count > 0 {
				assert.Equal(t, c.ready, s.Pods[0].Ready)
				assert.Equal(t, c.owner, s.Pods[0].OwnerKind+" "+s.Pods[0].OwnerName)
			}
			assert.Equal(t, portal.Synced, s.Sources[portal.Pods].State)
		})
	}
}

func TestReadDump_Refuses(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"nothing", "", "dump1: no Service, EndpointSlice, Node or Pod; make it with: kubectl get svc,endpointslices,nodes,pods -A -o yaml"},
		{"nothing of use", "kind: ConfigMap\nmetadata: {name: x}\n", "no Service"},
		{"an empty list: of what?", "kind: List\nitems: []\n", "no Service"},
		{"half of YAML", "kind: List\nitems:\n- kind: Service\n  metadata: {name: web\n", "dump1: line "},
		{"half of JSON", `{"kind":"List","items":[`, "dump1: not whole JSON"},
		{"a wrong type", "kind: Service\nmetadata: {name: web}\nspec: {ports: 80}\n", `dump1: Service "web": `},
		{"a port in words", "kind: Service\nmetadata: {name: web}\nspec: {ports: [{port: http}]}\n", `dump1: Service "web": `},
		{"no name", "kind: Service\nspec: {}\n", "dump1: a Service without a name"},
		{"an error of kubectl", "Error from server (Forbidden): services is forbidden\n", "dump1: "},
		{"keys that are no texts", "kind: Service\n? [a]\n: b\n", "dump1: "},
		{"a snapshot of tomorrow", `{"schema":"nestor.snapshot/v2"}`, `dump1: schema "nestor.snapshot/v2" is not known; this nestor reads nestor.snapshot/v1`},
		{"a broken snapshot", `{"schema":"nestor.snapshot/v1","services":7}`, "dump1: "},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := read(c.text)
			require.Error(t, err)
			assert.Contains(t, err.Error(), c.want)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
	_, err := read()
	assert.Error(t, err)
}

// A snapshot that is written and read is the same one, in whatever order its
// objects came.
func TestReadDump_RoundTrip(t *testing.T) {
	for _, name := range []string{"troubled.yaml", "healthy.yaml"} {
		s, err := portal.ReadDump(observed, portal.File{Name: name, Text: golden.Read(t, "testdata/"+name)})
		require.NoError(t, err)
		b, err := json.Marshal(s)
		require.NoError(t, err)
		back, err := portal.ReadDump(observed.AddDate(1, 0, 0), portal.File{Name: "snapshot.json", Text: b})
		require.NoError(t, err)
		assert.Equal(t, observed, back.ObservedAt, "a snapshot knows when it was taken")
		again, err := json.Marshal(back)
		require.NoError(t, err)
		assert.Equal(t, string(b), string(again))
		validates(t, "snapshot.v1.json", b)
		assert.Equal(t, portal.Judge(platformContract(t), s, portal.Options{}), portal.Judge(platformContract(t), back, portal.Options{}))
	}
}

func FuzzReadDump(f *testing.F) {
	for _, name := range []string{"troubled.yaml", "healthy.yaml"} {
		b, err := os.ReadFile("testdata/" + name)
		require.NoError(f, err)
		f.Add(b[:4000])
	}
	f.Add([]byte(`{"kind":"List","items":[{"kind":"Service","metadata":{"name":"a"},"spec":{"ports":[{"port":80,"targetPort":8080}]}}]}`))
	f.Add([]byte("kind: Node\nmetadata: {name: n, labels: &a {x: y}}\nstatus: {addresses: [{type: InternalIP, address: '::1'}]}\n---\nkind: EndpointSlice\nmetadata: {name: s, labels: *a}\n"))
	f.Add([]byte(`{"schema":"nestor.snapshot/v1","sources":{"services":{"state":"synced"}},"services":[{"name":"a","ports":[{"port":1}]}]}`))
	c := promise()
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := portal.ReadDump(observed, portal.File{Name: "dump", Text: b})
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		v := portal.Judge(c, s, portal.Options{})
		var page strings.Builder
		require.NoError(t, portal.Page(&page, &v, portal.PageOptions{}))
	})
}
