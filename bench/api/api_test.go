package api

import (
	"bytes"
	"flag"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "record the API as it is")

// recorded are the packages that importers rely on.
var recorded = []string{"nodeexec", "nodeexec/inventory", "nodeexec/nodeexectest"}

func TestExportedAPIIsAsRecorded(t *testing.T) {
	for _, pkg := range recorded {
		t.Run(pkg, func(t *testing.T) {
			got := exported(t, filepath.Join("..", "..", filepath.FromSlash(pkg)))
			file := filepath.Join("..", "..", "docs", "api", strings.ReplaceAll(pkg, "/", "-")+".txt")
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Equal(t, string(want), got, "the API changed: if that is meant, run go test ./bench/api -update and say so in CHANGELOG.md")
		})
	}
}

// exported prints a package's exported declarations without their comments,
// in the order of go/doc.
func exported(t *testing.T, dir string) string {
	fset := token.NewFileSet()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, 0)
		require.NoError(t, err)
		files = append(files, file)
	}
	pkg, err := doc.NewFromFiles(fset, files, dir)
	require.NoError(t, err)
	var out bytes.Buffer
	show := func(decl ast.Node) {
		if f, ok := decl.(*ast.FuncDecl); ok {
			f.Body = nil
		}
		require.NoError(t, printer.Fprint(&out, fset, decl))
		out.WriteString("\n")
	}
	for _, v := range append(pkg.Consts, pkg.Vars...) {
		show(v.Decl)
	}
	for _, f := range pkg.Funcs {
		show(f.Decl)
	}
	for _, typ := range pkg.Types {
		show(typ.Decl)
		for _, v := range append(typ.Consts, typ.Vars...) {
			show(v.Decl)
		}
		for _, f := range append(typ.Funcs, typ.Methods...) {
			show(f.Decl)
		}
	}
	return out.String()
}
