package portal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var verbs = regexp.MustCompile(`%(\[\d+\])?[a-z]|\{[a-z]+\}`)

func TestCatalogue_IsWhole(t *testing.T) {
	for key, w := range catalogue {
		for _, lang := range Languages() {
			assert.NotEmpty(t, strings.TrimSpace(w.in(lang)), "%s in %s", key, lang)
		}
		assert.Equal(t, verbs.FindAllString(w.en, -1), verbs.FindAllString(w.fr, -1), "%s: the languages fill in the same things in the same order", key)
	}
}

// Every phrase that the code or the template asks for is in the catalogue, and
// nothing else is.
func TestCatalogue_MatchesItsUse(t *testing.T) {
	used := map[string]string{}
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			fun, _ := call.Fun.(*ast.Ident)
			sel, _ := call.Fun.(*ast.SelectorExpr)
			if (fun != nil && fun.Name == "say") || (sel != nil && sel.Sel.Name == "say") {
				if lit, ok := call.Args[0].(*ast.BasicLit); ok {
					key, err := strconv.Unquote(lit.Value)
					require.NoError(t, err)
					used[key] = name
				}
			}
			return true
		})
	}
	page, err := os.ReadFile("page.html")
	require.NoError(t, err)
	for _, m := range regexp.MustCompile(`\.T "([^"]+)"`).FindAllStringSubmatch(string(page), -1) {
		used[m[1]] = "page.html"
	}
	for _, v := range filterOrder {
		used["verdict-"+class(v)] = "verdicts"
	}
	for _, r := range []Reason{PolicyMayBlock, System, NoService, NoHostPort, NoNodePort, TypeChanged, PortAmbiguous, PortMismatch, NoReadyEndpoint, ExposureSelectorMismatch,
		NoReachableNode, ETPLocalEmpty, UndeclaredPort, UnpromisedNodePort, UnpromisedLoadBalancer, UnpromisedExternalIP, UnpromisedHostPort, UnpromisedHostNetwork,
		SourceDenied, SourceUnsynced, SourceStale, SourceNotAsked, OutOfCluster, OtherProfile} {
		used["reason-"+string(r)] = "reasons"
	}
	for _, suffix := range []string{"how-stated", "how-itself", "how-same pods", "how-convention", "scheme-scheme", "scheme-protocol", "scheme-appProtocol", "scheme-port name", "scheme-default",
		"kind-nodeport", "kind-loadbalancer", "kind-externalip", "kind-hostport", "kind-hostnetwork"} {
		used[suffix] = "contract's words"
	}
	for key, by := range used {
		assert.Contains(t, catalogue, phrase(key), "asked for by %s", by)
	}
	for key := range catalogue {
		assert.Contains(t, used, string(key), "nobody asks for it")
	}
}

// The style sheet knows every verdict, so that no filter shows nothing.
func TestStyle_KnowsEveryVerdict(t *testing.T) {
	for _, v := range filterOrder {
		assert.Contains(t, asset("portal.css"), ".v-"+class(v)+" { --c: var(--"+class(v)+")")
		assert.Contains(t, asset("portal.css"), "[value="+class(v)+"]:checked) .entry:not(.v-"+class(v)+")")
		assert.Contains(t, pageText, `<symbol id="i-`+class(v)+`"`)
	}
}
