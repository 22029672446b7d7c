package state_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/portal"
	"github.com/nestor-tools/nestor/portal/state"
)

const (
	dumpOfServices = `apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Service, metadata: {name: a, namespace: n}, spec: {ports: [{port: 80}]}}
- {apiVersion: v1, kind: Pod, metadata: {name: kube-proxy-1, namespace: kube-system, ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: kube-proxy, controller: true}]}, spec: {hostNetwork: true, containers: [{name: a}]}}
`
	crds = `---
apiVersion: v1
kind: List
items:
- {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: gateways.gateway.networking.k8s.io}, spec: {group: gateway.networking.k8s.io, names: {kind: Gateway, plural: gateways}, versions: [{name: v1beta1, served: false}, {name: v1, served: true}]}}
- {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: gateways.networking.istio.io}, spec: {group: networking.istio.io, names: {kind: Gateway, plural: gateways}, versions: [{name: v1, served: true}]}}
`
	emptyGateways  = `{"apiVersion":"gateway.networking.k8s.io/v1","kind":"GatewayList","metadata":{"resourceVersion":"9"},"items":[]}`
	emptyIngresses = `{"apiVersion":"networking.k8s.io/v1","kind":"IngressList","metadata":{"resourceVersion":"9"},"items":[]}`
)

func read(t *testing.T, texts ...string) *state.Snapshot {
	t.Helper()
	s, err := state.ReadDump(today, files(texts)...)
	require.NoError(t, err)
	return s
}

func files(texts []string) (all []portal.File) {
	for _, text := range texts {
		all = append(all, portal.File{Name: "dump.yaml", Text: []byte(text)})
	}
	return all
}

func TestReadDump(t *testing.T) {
	t.Run("a whole one of a clean cluster", func(t *testing.T) {
		s := read(t, dumpOfServices, crds, emptyGateways, emptyIngresses)
		for _, f := range state.Families() {
			assert.Equal(t, portal.Synced, s.Groups[f.Group].State, f.Group)
		}
		require.Len(t, s.Kinds, 2)
		assert.Equal(t, state.Kind{Group: "gateway.networking.k8s.io", Resource: "gateways", Kind: "Gateway", Source: portal.Source{State: portal.Synced, Since: today}}, s.Kinds[0])
		assert.Equal(t, portal.Synced, s.Cilium.Source.State)
		assert.Empty(t, s.Cilium.Namespace)
		r := state.Judge(nil, s, state.Options{})
		assert.Zero(t, r.Count(state.Unknown), "%+v", r)
	})
	t.Run("what it does not hold it does not prove absent", func(t *testing.T) {
		s := read(t, dumpOfServices)
		assert.Contains(t, s.Groups["metallb.io"].Why, "kubectl get crd -o yaml")
		r := state.Judge(nil, s, state.Options{})
		assert.Equal(t, 4, r.Count(state.Unknown), "%+v", r)
	})
	t.Run("a kind that is defined, and of which there is none", func(t *testing.T) {
		s := read(t, dumpOfServices, crds)
		assert.Contains(t, s.Kinds[0].Source.Why, "kubectl get --raw /apis/gateway.networking.k8s.io/v1/gateways")
	})
	t.Run("objects, and Istio's Gateway, which is another", func(t *testing.T) {
		s := read(t, dumpOfServices, `apiVersion: v1
kind: List
items:
- {apiVersion: networking.istio.io/v1, kind: Gateway, metadata: {name: istio, namespace: n}}
- {apiVersion: gateway.networking.k8s.io/v1beta1, kind: Gateway, metadata: {name: g, namespace: n}}
- {apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: g, namespace: n}}
`)
		require.Len(t, s.Kinds, 2) // Ingress too, not read
		assert.Equal(t, []state.Object{{Namespace: "n", Name: "g"}}, s.Kinds[0].Objects)
		r := state.Judge(nil, s, state.Options{})
		assert.Equal(t, 1, r.Count(state.Drift), "what is there is told, though the rest is not known: %+v", r)
	})
	t.Run("items of a typed list, which leave their kind out", func(t *testing.T) {
		s := read(t, dumpOfServices, `{"apiVersion":"networking.k8s.io/v1","kind":"IngressList","metadata":{},"items":[{"metadata":{"name":"a","namespace":"n"}}]}`)
		assert.Equal(t, []state.Object{{Namespace: "n", Name: "a"}}, s.Kinds[len(s.Kinds)-1].Objects)
	})
	t.Run("Cilium's ConfigMap, and others", func(t *testing.T) {
		s := read(t, dumpOfServices, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: n}, data: {a: b}}", "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: cilium-config, namespace: net}, data: {kube-proxy-replacement: 'true'}}")
		assert.Equal(t, "net", s.Cilium.Namespace)
		assert.Equal(t, map[string]string{"kube-proxy-replacement": "true"}, s.Cilium.Config)
	})
	t.Run("Cilium's agents without their ConfigMap", func(t *testing.T) {
		s := read(t, dumpOfServices, "---\n{apiVersion: v1, kind: Pod, metadata: {name: cilium-1, namespace: net, labels: {k8s-app: cilium}}, spec: {hostNetwork: true, containers: [{name: a}]}}")
		assert.Contains(t, s.Cilium.Source.Why, "kubectl -n net get configmap cilium-config -o yaml")
	})
	t.Run("pods of some namespaces say nothing of Cilium", func(t *testing.T) {
		s := read(t, "---\n{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: n}, spec: {containers: [{name: a}]}}")
		assert.Equal(t, portal.Unsynced, s.Cilium.Source.State)
	})
}

func TestReadDump_Refused(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"a refusal":                {"---\n{kind: Status, apiVersion: v1, status: Failure, message: \"services is\\nforbidden\"}", "forbidden"},
		"a part of a list":         {`{"kind":"ServiceList","apiVersion":"v1","metadata":{"continue":"abc"},"items":[]}`, "first part"},
		"a part of gateways":       {`{"kind":"GatewayList","apiVersion":"gateway.networking.k8s.io/v1","metadata":{"continue":"abc"},"items":[]}`, "first part"},
		"a login page":             {"<html><body>please: log in</body></html>", ""},
		"half of it":               {`{"kind":"List","items":[{"kind":"Service"`, "not whole JSON"},
		"nothing":                  {"", "no Service"},
		"a Gateway without a name": {dumpOfServices + "---\n{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {}}\n", "without a name"},
		"an odd definition":        {dumpOfServices + "---\n{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: x}, spec: [1]}\n", "CustomResourceDefinition \"x\""},
		"an odd ConfigMap":         {dumpOfServices + "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: cilium-config}, data: 1}\n", "ConfigMap"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := state.ReadDump(today, files([]string{c.text})...)
			require.Error(t, err)
			assert.Contains(t, err.Error(), c.says)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

// No dump breaks the reader, and none that lacks something is conform.
func FuzzReadDump(f *testing.F) {
	for _, text := range []string{dumpOfServices, crds, emptyGateways, emptyIngresses, dumpOfServices + crds, "{kind: Status}", "{kind: List, items: [null]}", "- a", "{kind: GatewayList, items: [{kind: GatewayList}]}"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := state.ReadDump(time.Time{}, portal.File{Name: "f", Text: text})
		if err == nil {
			state.Judge(nil, s, state.Options{}).Findings()
		}
	})
}
