package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/nestor-tools/nestor/"

// layers says what of the module each package may import, by its longest
// prefix. A package that is not listed here fails the test.
var layers = map[string][]string{
	"shims":                        {},
	"mapping":                      {"mapping"},
	"contract":                     {"contract"},
	"portal":                       {"contract", "portal"},
	"nodeexec":                     {"nodeexec/inventory", "shims"},
	"nodeexec/internal":            {},
	"nodeexec/inventory":           {"nodeexec/inventory/internal", "nodeexec/internal/sshargs"},
	"nodeexec/inventory/internal":  {},
	"nodeexec/guard":               {"nodeexec/inventory", "nodeexec/internal/sshargs"},
	"nodeexec/nodeexectest":        {"nodeexec", "nodeexec/inventory"},
	"nodeexec/discover":            {"nodeexec", "nodeexec/inventory", "mapping", "shims"},
	"nodeexec/kubeconfig":          {"nodeexec", "nodeexec/inventory", "nodeexec/kubeconfig/internal"},
	"nodeexec/kubeconfig/internal": {},
	"nodeexec/remove":              {"nodeexec", "nodeexec/inventory", "nodeexec/guard", "nodeexec/remove/plan", "mapping", "shims"},
	"nodeexec/remove/plan":         {"nodeexec/inventory", "mapping"},
	"cmd/nestor":                   {"nodeexec", "mapping", "contract", "portal", "shims"},
}

// pure packages are handed the world: no process, network, clock, file of
// their own or environment.
var pure = []string{"mapping", "contract", "portal", "nodeexec/inventory", "nodeexec/guard", "nodeexec/internal", "nodeexec/kubeconfig/internal", "nodeexec/remove/plan"}

// worldly are the packages below a pure one that are not pure themselves.
var worldly = []string{"portal/observe", "portal/serve", "portal/probe"}

var impure = []string{"os", "os/exec", "os/user", "os/signal", "net", "net/http", "syscall", "log", "log/slog", "math/rand", "math/rand/v2"}

// clusterClients may import client-go.
var clusterClients = []string{"nodeexec/discover", "nodeexec/kubeconfig", "portal/observe", "cmd/nestor"}

// processFile is the one file that starts processes.
const processFile = "nodeexec/process.go"

type source struct {
	path    string // within the module
	pkg     string
	file    *ast.File
	imports []string
}

// sources are the non-test Go files outside bench.
func sources(t *testing.T) []source {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	var found []source
	require.NoError(t, fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "bench" || name != "." && strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "bin"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, parser.ParseComments)
		if err != nil {
			return err
		}
		s := source{path: name, pkg: path.Dir(name), file: file}
		for _, spec := range file.Imports {
			p, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			s.imports = append(s.imports, p)
		}
		found = append(found, s)
		return nil
	}))
	require.Greater(t, len(found), 20, "the walk found the module")
	return found
}

func within(pkg string, parents []string) bool {
	for _, p := range parents {
		if pkg == p || strings.HasPrefix(pkg, p+"/") {
			return true
		}
	}
	return false
}

func isPure(pkg string) bool { return within(pkg, pure) && !within(pkg, worldly) }

func TestImportsPointOneWay(t *testing.T) {
	for _, s := range sources(t) {
		layer := s.pkg
		for layers[layer] == nil && layer != "." {
			layer = path.Dir(layer)
		}
		if !assert.NotEqual(t, ".", layer, "%s: no layer is declared for package %s", s.path, s.pkg) {
			continue
		}
		for _, imported := range s.imports {
			inner, ok := strings.CutPrefix(imported, module)
			if !ok {
				continue
			}
			allowed := false
			for _, a := range layers[layer] {
				// nodeexec itself opens its usages to nobody but cmd.
				allowed = allowed || inner == a || (strings.HasPrefix(inner, a+"/") && (a != "nodeexec" || layer == "cmd/nestor"))
			}
			assert.True(t, allowed, "%s imports %s, which %s may not", s.path, inner, layer)
		}
	}
}

func TestPurePackagesTouchNoWorld(t *testing.T) {
	for _, s := range sources(t) {
		if !isPure(s.pkg) {
			continue
		}
		for _, imported := range s.imports {
			assert.NotContains(t, impure, imported, "%s is pure", s.path)
		}
		for _, call := range selectors(s.file, "time") {
			assert.NotContains(t, []string{"Now", "Since", "Until", "After", "Sleep", "Tick", "NewTimer"}, call, "%s is pure and reads the clock", s.path)
		}
	}
}

func TestOneFileStartsProcessesAndOnlyBash(t *testing.T) {
	var starters []string
	for _, s := range sources(t) {
		for _, imported := range s.imports {
			if imported != "os/exec" {
				continue
			}
			starters = append(starters, s.path)
			ast.Inspect(s.file, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					if sel, ok := call.Fun.(*ast.SelectorExpr); ok && isIdent(sel.X, "exec") {
						require.Equal(t, "LookPath", sel.Sel.Name)
						assert.Equal(t, `"bash"`, call.Args[0].(*ast.BasicLit).Value)
					}
				}
				return true
			})
		}
		for _, call := range selectors(s.file, "os") {
			assert.NotEqual(t, "StartProcess", call, s.path)
		}
		for _, call := range selectors(s.file, "syscall") {
			assert.NotContains(t, []string{"Exec", "ForkExec", "StartProcess"}, call, s.path)
		}
	}
	assert.Equal(t, []string{processFile}, starters)
}

func TestOnlyCmdReadsTheEnvironment(t *testing.T) {
	for _, s := range sources(t) {
		for _, call := range selectors(s.file, "os") {
			switch call {
			case "Getenv", "LookupEnv", "ExpandEnv":
				assert.Equal(t, "cmd/nestor", s.pkg, s.path)
			case "Environ": // to hand on a cleaned copy
				assert.Equal(t, processFile, s.path)
			}
		}
	}
}

func TestClientGoStaysAtTheEdge(t *testing.T) {
	for _, s := range sources(t) {
		for _, imported := range s.imports {
			if within(imported, []string{"k8s.io/client-go", "k8s.io/api"}) {
				assert.True(t, within(s.pkg, clusterClients), "%s imports %s", s.path, imported)
				assert.False(t, within(imported, []string{"k8s.io/client-go/kubernetes", "k8s.io/client-go/informers"}), "%s imports %s, whose types double the binary", s.path, imported)
			}
		}
	}
}

func TestOneFileReadsYAMLInEachPackage(t *testing.T) {
	readers := map[string][]string{}
	for _, s := range sources(t) {
		for _, imported := range s.imports {
			if strings.Contains(imported, "yaml") && !strings.HasPrefix(imported, module) {
				assert.Equal(t, "gopkg.in/yaml.v3", imported, s.path)
				readers[s.pkg] = append(readers[s.pkg], s.path)
			}
		}
	}
	for pkg, files := range readers {
		assert.Len(t, files, 1, pkg)
	}
}

func TestPackagesAreNamedForWhatTheyDo(t *testing.T) {
	for _, s := range sources(t) {
		assert.NotContains(t, []string{"util", "utils", "common", "helper", "helpers", "misc"}, path.Base(s.pkg), s.path)
	}
}

// What cannot be run here says so, and in CI fails: a function that skips a
// test asks for the variable CI, and tells what is "NOT RUN".
func TestNothingIsSkippedInSilence(t *testing.T) {
	skipping := 0
	require.NoError(t, filepath.WalkDir(filepath.Join("..", ".."), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			return err
		}
		testing := slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"testing"` })
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || !testing || !calls(f, "Skip", "Skipf", "SkipNow") {
				continue
			}
			skipping++
			asks, loud := false, false
			ast.Inspect(f, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok {
					asks = asks || lit.Value == `"CI"`
					loud = loud || strings.HasPrefix(lit.Value, `"NOT RUN: `)
				}
				return true
			})
			assert.True(t, asks && loud, "%s: %s skips in silence, or in CI", name, f.Name.Name)
		}
		return nil
	}))
	assert.Greater(t, skipping, 10, "the walk found the tests")
}

// calls tells whether a function calls a method of one of these names.
func calls(f *ast.FuncDecl, names ...string) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			found = found || slices.Contains(names, sel.Sel.Name)
		}
		return true
	})
	return found
}

func TestMainIsShort(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "cmd", "nestor", "main.go"))
	require.NoError(t, err)
	assert.LessOrEqual(t, strings.Count(string(b), "\n"), 40)
}

// selectors are the names used of an imported package: LookupEnv of os.
func selectors(file *ast.File, pkg string) (names []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && isIdent(sel.X, pkg) {
			names = append(names, sel.Sel.Name)
		}
		return true
	})
	return names
}

func isIdent(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}
