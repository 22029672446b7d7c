package contract_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/contract/kube"
)

const one = "contract_version: \"1.0\"\nendpoints:\n  - id: a\n    service: a\n    namespace: n\n    port: 80\n"

// Each text is read by Parse and by the published schema, and both agree on
// whether it is a contract. note marks what is accepted with a remark, that a
// schema cannot make.
func TestParse(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../docs/schema/endpoints.v1.json")
	require.NoError(t, err)
	cases := []struct {
		name, in string
		rules    []string
		line     int
	}{
		{"the least", "contract_version: '1.0'\n", nil, 0},
		{"one endpoint", one, nil, 0},
		{"version as a number", "contract_version: 1\n", nil, 0},
		{"no version", "endpoints: []\n", []string{"contract-field"}, 1},
		{"a version to come", "contract_version: '2.0'\n", []string{"contract-field"}, 1},
		{"an unknown field on top", one + "endpoint: []\n", []string{"contract-field"}, 7},
		{"an unknown field", one + "    services: x\n", []string{"contract-field"}, 7},
		{"another case", one + "    Exposed: true\n", []string{"contract-field"}, 7},
		{"a missing field", strings.Replace(one, "    service: a\n", "", 1), []string{"contract-field"}, 3},
		{"exposed in quotes", one + "    exposed: \"false\"\n", []string{"contract-field"}, 7},
		{"exposed as a number", one + "    exposed: 1\n", []string{"contract-field"}, 7},
		{"exposed", one + "    exposed: true\n", nil, 0},
		{"a scheme", one + "    scheme: https\n", nil, 0},
		{"another scheme", one + "    scheme: javascript\n", []string{"contract-field"}, 7},
		{"a protocol", one + "    protocol: HTTP\n", []string{"contract-field"}, 7},
		{"a port in quotes", strings.Replace(one, "80", "'80'", 1), []string{"contract-field"}, 6},
		{"a port that is none", strings.Replace(one, "80", "65536", 1), []string{"contract-field"}, 6},
		{"a service that is a list", strings.Replace(one, "service: a", "service: [a]", 1), []string{"contract-field"}, 4},
		{"a service that is no name", strings.Replace(one, "service: a", "service: A_b", 1), []string{"contract-field"}, 4},
		{"endpoints as a mapping", "contract_version: '1'\nendpoints: {a: b}\n", []string{"contract-field"}, 2},
		{"endpoints as a text", "contract_version: '1'\nendpoints: [a]\n", []string{"contract-field"}, 2},
		{"endpoints of nothing", "contract_version: '1'\nendpoints:\n", nil, 0},
		{"a path", one + "    path: /grafana/\n", nil, 0},
		{"a path that leaves", one + "    path: //evil.example\n", []string{"contract-field"}, 7},
		{"a relative path", one + "    path: grafana\n", []string{"contract-field"}, 7},
		{"a credential", one + "    credential: {secret: s, key: a.b_c, login_key: user}\n", nil, 0},
		{"a placeholder in a credential", one + "    credential: {secret: <secret>, key: k}\n", []string{"contract-field"}, 7},
		{"a blank in a credential", one + "    credential: {secret: s, key: \"a b\"}\n", []string{"contract-field"}, 7},
		{"a credential without a Secret", one + "    credential: {key: k}\n", []string{"contract-field"}, 7},
		{"an exposing Service", one + "    exposure: a-web\n", nil, 0},
		{"an exposing hostPort", one + "    exposure: {hostPort: 8080}\n", nil, 0},
		{"an exposing hostPort as a text", one + "    exposure: 'hostPort: 8080'\n", nil, 0},
		{"an exposing nonsense", one + "    exposure: [a]\n", []string{"contract-field"}, 7},
		{"accept", "contract_version: '1'\naccept:\n  - {kind: HostPort, namespace: n, name: a, port: 25, reason: mail, until: 2027-01-31}\n", nil, 0},
		{"accept without a reason", "contract_version: '1'\naccept:\n  - {kind: HostPort, namespace: n, name: a}\n", []string{"contract-field"}, 3},
		{"accept with no date", "contract_version: '1'\naccept:\n  - {kind: HostPort, name: a, reason: b, until: soon}\n", []string{"contract-field"}, 3},
		{"network access", "contract_version: '1'\nnetwork_access:\n  - {endpoint: a, ingress_from: [x, y], source: p.yaml, note: z}\n", nil, 0},
		{"network access of a text", "contract_version: '1'\nnetwork_access:\n  - {endpoint: a, ingress_from: x}\n", []string{"contract-field"}, 3},
		{"a schema for editors", "$schema: x.json\n" + one, nil, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, findings := contract.Parse("c.yaml", []byte(c.in))
			require.NotNil(t, got)
			assert.Equal(t, c.rules, rulesOf(findings), "%+v", findings)
			for _, f := range findings {
				assert.Equal(t, contract.Position{File: "c.yaml", Line: c.line, Column: f.Column}, f.Position)
				assert.NotZero(t, f.Column)
			}
			var plain any
			require.NoError(t, yaml.Unmarshal([]byte(c.in), &plain))
			assert.Equal(t, len(c.rules) == 0, schema.Validate(jsonOf(plain)) == nil, "the schema does not agree: %v", schema.Validate(jsonOf(plain)))
		})
	}
	for _, file := range []string{"testdata/base/contract/endpoints.yaml", "../bench/platform/contract/endpoints.yaml"} {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		var plain any
		require.NoError(t, yaml.Unmarshal(b, &plain))
		assert.NoError(t, schema.Validate(jsonOf(plain)), file)
	}
}

// jsonOf makes what JSON would hold: dates are texts there.
func jsonOf(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = jsonOf(v[k])
		}
	case []any:
		for i := range v {
			v[i] = jsonOf(v[i])
		}
	case time.Time:
		return v.Format(time.DateOnly)
	}
	return v
}

// What a schema cannot say, or the schema takes for good.
func TestParse_Remarks(t *testing.T) {
	cases := []struct {
		name, in, rule string
		line           int
	}{
		{"an id twice", one + "  - {id: a, service: b, namespace: n, port: 1}\n", "endpoint-duplicate", 7},
		{"prose as a role", one + "    role: primary read-write\n", "contract-note", 7},
		{"the exposing Service as the Service", strings.Replace(one, "service: a", "service: a-nodeport", 1), "contract-note", 4},
		{"exposed as YAML 1.1 has it", one + "    exposed: yes\n", "contract-note", 7},
		{"the gateway's host name", one + "    ui_hostname: a.lan\n", "legacy-field", 7},
		{"the frozen port", one + "    ui_nodeport: 30080\n", "legacy-field", 7},
		{"a reason to be written", "contract_version: '1'\naccept:\n  - kind: HostPort\n    name: a\n    reason: todo\n", "accept-reason", 5},
		{"a key twice", one + "    port: 81\n", "contract-syntax", 7},
		{"not YAML", one + " x\n", "contract-syntax", 7},
		{"two documents", one + "---\na: b\n", "contract-syntax", 1},
		{"nothing", "# later\n", "contract-syntax", 1},
		{"a list", "- a\n", "contract-syntax", 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, findings := contract.Parse("c.yaml", []byte(c.in))
			require.Len(t, findings, 1, "%+v", findings)
			assert.Equal(t, c.rule, findings[0].Rule)
			assert.Equal(t, c.line, findings[0].Line)
			assert.Equal(t, c.rule == "contract-syntax", got == nil)
			assert.Equal(t, c.rule == "contract-syntax", contract.Unevaluated(findings))
		})
	}
}

func TestEndpoint_URLScheme(t *testing.T) {
	cases := []struct {
		e                 contract.Endpoint
		appProtocol, name string
		scheme, from      string
	}{
		{contract.Endpoint{Scheme: "http", Protocol: "https"}, "https", "https", "http", "scheme"},
		{contract.Endpoint{Protocol: "https"}, "http", "http", "https", "protocol"},
		{contract.Endpoint{Protocol: "http"}, "https", "http", "https", "appProtocol"},
		{contract.Endpoint{Protocol: "http"}, "", "https-web", "https", "port name"},
		{contract.Endpoint{}, "kubernetes.io/h2c", "https", "http", "appProtocol"},
		{contract.Endpoint{}, "redis", "web", "http", "default"},
	}
	for _, c := range cases {
		scheme, from := c.e.URLScheme(c.appProtocol, c.name)
		assert.Equal(t, c.scheme, scheme)
		assert.Equal(t, c.from, from)
	}
}

func TestAccept_Covers(t *testing.T) {
	e := kube.Exposure{Kind: kube.HostPort, Object: "DaemonSet", Namespace: "n", Name: "a", Port: 80, NodePort: 8080, Protocol: "TCP"}
	today := time.Date(2027, 1, 31, 23, 59, 0, 0, time.UTC)
	last := time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC)
	cases := []struct {
		name string
		a    contract.Accept
		want bool
	}{
		{"its kind", contract.Accept{Kind: "HostPort", Namespace: "n", Name: "a"}, true},
		{"in another case", contract.Accept{Kind: "hostport", Namespace: "n", Name: "a"}, true},
		{"the object's kind", contract.Accept{Kind: "DaemonSet", Namespace: "n", Name: "a"}, true},
		{"the whole network of the host", contract.Accept{Kind: "HostNetwork", Namespace: "n", Name: "a"}, true},
		{"another kind", contract.Accept{Kind: "NodePort", Namespace: "n", Name: "a"}, false},
		{"another namespace", contract.Accept{Kind: "HostPort", Namespace: "m", Name: "a"}, false},
		{"no namespace", contract.Accept{Kind: "HostPort", Name: "a"}, false},
		{"another name", contract.Accept{Kind: "HostPort", Namespace: "n", Name: "b"}, false},
		{"its port on the node", contract.Accept{Kind: "HostPort", Namespace: "n", Name: "a", Port: 8080}, true},
		{"its port in the pod", contract.Accept{Kind: "HostPort", Namespace: "n", Name: "a", Port: 80}, false},
		{"another port", contract.Accept{Kind: "HostPort", Namespace: "n", Name: "a", Port: 81}, false},
		{"on the last day", contract.Accept{Kind: "HostPort", Namespace: "n", Name: "a", Until: last}, true},
		{"a day later", contract.Accept{Kind: "HostPort", Namespace: "n", Name: "a", Until: last.AddDate(0, 0, -1)}, false},
	}
	for _, c := range cases {
		assert.Equal(t, c.want, c.a.Covers(e, today), c.name)
	}
	e.Namespace = ""
	assert.True(t, contract.Accept{Kind: "HostPort", Namespace: "n", Name: "a"}.Covers(e, today), "a namespace that is yet to be chosen")
}

func TestLoad(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	tree := fstest.MapFS{
		"c/endpoints.example.yaml":          file(one),
		"c/namespaces-secrets.example.yaml": file("contract_version: '1'\nnamespaces: {a: {items: [{name: n}]}}\n"),
		"c/storage-classes.yaml":            file("contract_version: '1'\nprofils: {x: {default_storage_class: s}}\n"),
		"d/endpoints.yaml":                  file(one),
		"e/endpoints.yaml":                  file("- a"),
		"f/other.yaml":                      file(one),
	}
	set, findings, err := contract.Load(tree, "c", "deep")
	require.NoError(t, err)
	assert.Empty(t, findings)
	assert.Equal(t, "deep/c/endpoints.example.yaml", set.File)
	assert.Equal(t, "n", set.Platform.Namespaces[0].Name)
	assert.Equal(t, contract.Position{File: "deep/c/storage-classes.yaml", Line: 2, Column: 38}, set.Storage.Profiles[0].Default.At)

	set, _, err = contract.Load(tree, "d/endpoints.yaml", "")
	require.NoError(t, err)
	assert.Nil(t, set.Platform)
	assert.Nil(t, set.Storage)

	set, findings, err = contract.Load(tree, "e", "")
	require.NoError(t, err)
	assert.Nil(t, set.Contract)
	assert.Equal(t, []string{"contract-syntax"}, rulesOf(findings))

	_, _, err = contract.Load(tree, "f", "deep")
	assert.EqualError(t, err, "deep/f/endpoints.yaml: file does not exist")
	_, _, err = contract.Load(tree, "g/endpoints.yaml", "")
	assert.ErrorContains(t, err, "g/endpoints.yaml: file does not exist")
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(one))
	f.Add([]byte(one + "    credential: {secret: {}}\n    exposure: {hostPort: [1]}\n    path: {}\n"))
	f.Add([]byte("endpoints: [{id: {}}, [], 1, null, &a {id: *a}]\naccept: [[], {until: {}}]\nnetwork_access: [null]\n"))
	f.Add([]byte("namespaces: {a: {items: [1, {name: []}]}}\nsecrets: {a: [{secret: x, keys: {}}], b: 1}\nprofils: [x]\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		_, findings := contract.Parse("c.yaml", in)
		_, more := contract.ParsePlatform("c.yaml", in)
		_, yet := contract.ParseStorage("c.yaml", in)
		for _, f := range append(append(findings, more...), yet...) {
			if f.Line < 1 || f.Message == "" || strings.ContainsAny(f.Message+f.Remedy, "\n\r\x1b") || f.Related == nil {
				t.Fatalf("%+v", f)
			}
		}
	})
}
