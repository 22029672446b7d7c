package portal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/nestor-tools/nestor/bench/golden"
	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/portal"
)

// validates asserts that a document keeps a schema of docs/schema.
func validates(t testing.TB, schema string, document []byte) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "docs", "schema", schema))
	require.NoError(t, err)
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource(schema, parsed))
	compiled, err := compiler.Compile(schema)
	require.NoError(t, err)
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	require.NoError(t, err)
	require.NoError(t, compiled.Validate(value))
}

func render(t testing.TB, v portal.View, o portal.PageOptions) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, portal.Page(&b, &v, o))
	return b.String()
}

func TestView_Schema(t *testing.T) {
	yes := true
	views := []portal.View{
		judgeDump(t, "troubled.yaml", portal.Options{Profile: "ceph", AccessHosts: map[string]string{"": "ui.example.org"}}),
		judgeDump(t, "healthy.yaml", portal.Options{Profile: "local-path"}),
		judgeDump(t, "healthy.yaml", portal.Options{}, staleSince(observed), func(s *portal.Snapshot) { s.SecretsReadable = &yes }),
		portal.Judge(nil, nil, portal.Options{}),
	}
	for _, v := range views {
		b, err := json.Marshal(v)
		require.NoError(t, err)
		validates(t, "view.v1.json", b)
	}
	b, err := json.Marshal(views[0])
	require.NoError(t, err)
	for _, broken := range []string{
		strings.Replace(string(b), `"verdict":"MISSING"`, `"verdict":"MISSING","url":"http://192.0.2.1:1"`, 1),
		strings.Replace(string(b), `"DRIFT"`, `"ODD"`, 1),
		strings.Replace(string(b), `"url":"http:`, `"url":"javascript:`, 1),
	} {
		require.NotEqual(t, string(b), broken)
		assert.Error(t, invalid(t, "view.v1.json", broken))
	}
}

func invalid(t testing.TB, schema, document string) error {
	b, err := os.ReadFile(filepath.Join("..", "docs", "schema", schema))
	require.NoError(t, err)
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource(schema, parsed))
	compiled, err := compiler.Compile(schema)
	require.NoError(t, err)
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(document))
	require.NoError(t, err)
	return compiled.Validate(value)
}

func TestPage_Golden(t *testing.T) {
	yes := true
	denied := func(s *portal.Snapshot) {
		s.Sources[portal.EndpointSlices] = portal.Source{State: portal.Denied, Since: observed}
		s.Slices = nil
	}
	cases := []struct {
		name string
		view portal.View
		o    portal.PageOptions
	}{
		{"troubled.en.html", judgeDump(t, "troubled.yaml", portal.Options{Profile: "ceph"}), portal.PageOptions{Live: true}},
		{"troubled.fr.html", judgeDump(t, "troubled.yaml", portal.Options{Profile: "ceph"}), portal.PageOptions{Lang: portal.French, Live: true}},
		{"alarms.en.html", judgeDump(t, "healthy.yaml", portal.Options{Profile: "local-path"}, staleSince(observed), denied, func(s *portal.Snapshot) { s.SecretsReadable = &yes; delete(s.Sources, portal.Pods) }), portal.PageOptions{Assets: "/assets/"}},
		{"empty.fr.html", portal.Judge(nil, nil, portal.Options{}), portal.PageOptions{Lang: portal.French, Live: true}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			golden.File(t, "testdata/pages/"+c.name, []byte(render(t, c.view, c.o)))
		})
	}
}

// The page works under a policy without inline script or style, and asks
// nobody else for anything.
func TestPage_HoldsToThePolicy(t *testing.T) {
	text := render(t, judgeDump(t, "troubled.yaml", portal.Options{}), portal.PageOptions{Live: true})
	root, err := html.Parse(strings.NewReader(text))
	require.NoError(t, err)
	ids := map[string]bool{}
	walk(root, func(n *html.Node) {
		if n.Type != html.ElementNode {
			return
		}
		assert.NotContains(t, []string{"style", "iframe", "object", "embed", "base", "img"}, n.Data)
		for _, a := range n.Attr {
			assert.False(t, strings.HasPrefix(a.Key, "on"), "%s on <%s>", a.Key, n.Data)
			assert.NotEqual(t, "style", a.Key)
			switch {
			case a.Key == "id":
				assert.False(t, ids[a.Val], "id %s twice", a.Val)
				ids[a.Val] = true
			case n.Data == "script" && a.Key == "src", n.Data == "link" && a.Key == "href":
				assert.True(t, strings.HasPrefix(a.Val, "assets/"), a.Val)
				_, err := fs.Stat(portal.Assets(), strings.TrimPrefix(a.Val, "assets/"))
				assert.NoError(t, err)
			}
		}
		if n.Data == "script" {
			assert.Nil(t, n.FirstChild, "no script inside the page")
		}
	})
}

func walk(n *html.Node, f func(*html.Node)) {
	f(n)
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		walk(c, f)
	}
}

func TestPage_Inline(t *testing.T) {
	text := render(t, judgeDump(t, "troubled.yaml", portal.Options{}), portal.PageOptions{Inline: true})
	assert.NotContains(t, text, `src="assets`)
	assert.NotContains(t, text, `href="assets`)
	assert.NotContains(t, text, "?lang=", "there is nobody to ask for another language")
	style, err := fs.ReadFile(portal.Assets(), "portal.css")
	require.NoError(t, err)
	script, err := fs.ReadFile(portal.Assets(), "portal.js")
	require.NoError(t, err)
	assert.Contains(t, text, string(style))
	assert.Contains(t, text, string(script))
	assert.NotRegexp(t, `(?i)https?://(?:[a-z.]*)(?:googleapis|cdn|unpkg|jsdelivr)`, text)
}

// Whatever a contract or a cluster says is text.
func TestPage_Hostile(t *testing.T) {
	const tag = `"><script>window.pwned=1</script><img src=x onerror=window.pwned=1>'`
	s := newScene()
	for range 3 {
		s.c.Endpoints = append(s.c.Endpoints, contract.Endpoint{ID: tag, Service: "web", Namespace: "app", Port: 80, Exposed: true, Layer: tag, Login: tag, Note: tag, Role: tag, Auth: tag, Profil: tag, Source: tag, Scheme: "javascript", Path: "javascript:window.pwned=1"})
	}
	s.Services = append(s.Services, portal.Service{Namespace: tag, Name: tag, Type: "NodePort", Ports: []portal.ServicePort{{Name: tag, Port: 1, NodePort: 30001}}, ExternalIPs: []string{tag}})
	s.Nodes[0].Name = tag
	s.Sources[portal.Pods] = portal.Source{State: portal.Unsynced, Why: tag}
	for _, inline := range []bool{false, true} {
		v := portal.Judge(s.c, s.Snapshot, portal.Options{})
		text := render(t, v, portal.PageOptions{Inline: inline})
		root, err := html.Parse(strings.NewReader(text))
		require.NoError(t, err)
		walk(root, func(n *html.Node) {
			if n.Type == html.ElementNode {
				assert.NotEqual(t, "img", n.Data)
				for _, a := range n.Attr {
					assert.NotEqual(t, "onerror", a.Key)
					if a.Key == "href" {
						assert.NotContains(t, a.Val, "javascript:")
					}
				}
			}
			if n.Type == html.ElementNode && n.Data == "script" && n.FirstChild != nil {
				assert.NotContains(t, n.FirstChild.Data, "pwned")
			}
		})
		assert.Contains(t, text, "&lt;script&gt;window.pwned=1&lt;/script&gt;")
	}
}

func TestPage_SaysWhatItKnows(t *testing.T) {
	healthy := func(change ...func(*portal.Snapshot)) string {
		return render(t, judgeDump(t, "healthy.yaml", portal.Options{Profile: "ceph"}, change...), portal.PageOptions{Live: true})
	}
	assert.Contains(t, healthy(), "No Service is exposed without a promise.")
	assert.NotContains(t, healthy(), "were not looked at")
	assert.NotContains(t, healthy(), `class="banner warn"`)
	assert.Contains(t, healthy(func(s *portal.Snapshot) { delete(s.Sources, portal.Pods); s.Pods = nil }), "Ports that pods hold on their node were not looked at.")
	denied := healthy(func(s *portal.Snapshot) {
		s.Sources[portal.Services] = portal.Source{State: portal.Denied}
		s.Services = nil
	})
	assert.Contains(t, denied, "reading services is denied; the missing rule:")
	assert.NotContains(t, denied, "No Service is exposed", "what was not read proves nothing")
	assert.Contains(t, healthy(staleSince(observed.Add(-time.Hour))), "2026-11-30 17:00:00 UTC")
	yes, no := true, false
	assert.Contains(t, healthy(func(s *portal.Snapshot) { s.SecretsReadable = &yes }), "This portal can read Secrets, and must not.")
	assert.NotContains(t, healthy(func(s *portal.Snapshot) { s.SecretsReadable = &no }), "This portal can read Secrets")
	assert.Contains(t, render(t, portal.Judge(nil, nil, portal.Options{}), portal.PageOptions{}), "Waiting for the cluster&#39;s first answer")
	assert.Contains(t, healthy(), `<title>Portal</title>`)
	assert.Contains(t, render(t, judgeDump(t, "troubled.yaml", portal.Options{}), portal.PageOptions{}), `<title>(9) Portal</title>`)
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestPage_ReportsWriteErrors(t *testing.T) {
	v := portal.Judge(nil, nil, portal.Options{})
	assert.ErrorContains(t, portal.Page(failing{}, &v, portal.PageOptions{}), "disk full")
	assert.ErrorContains(t, portal.WriteText(failing{}, &v, portal.English), "disk full")
}

// The script's few words come with the page: it has none of its own.
func TestAssets_HaveNoWords(t *testing.T) {
	script, err := fs.ReadFile(portal.Assets(), "portal.js")
	require.NoError(t, err)
	assert.NotRegexp(t, regexp.MustCompile(`"[A-Z][a-z]+ [a-z]+`), string(script))
	assert.NotContains(t, string(script), "innerHTML")
	assert.NotContains(t, string(script), "eval(")
}

func TestWriteText_Golden(t *testing.T) {
	for _, lang := range portal.Languages() {
		v := judgeDump(t, "troubled.yaml", portal.Options{Profile: "local-path"})
		var b strings.Builder
		require.NoError(t, portal.WriteText(&b, &v, lang))
		golden.File(t, "testdata/pages/troubled."+string(lang)+".txt", []byte(b.String()))
	}
}
