//go:build !race

// Millions of lines take minutes under the race detector, which has nothing
// to find in a parser: "make test" runs these without it.

package inventory

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
)

// bomb is a chain of aliases, each of which holds the one before it ten times.
func bomb(levels int, first, next string) string {
	text := "a0: &a0 " + first + "\n"
	for i := 1; i <= levels; i++ {
		text += fmt.Sprintf("a%d: &a%d "+next+"\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	return text
}

// TestHostileFiles: one line, in bounded time, whatever the file holds.
func TestHostileFiles(t *testing.T) {
	groups := "a0: &g0 {hosts: {h: }}\n"
	for i := 1; i < 30; i++ {
		groups += fmt.Sprintf("a%d: &g%d {children: {x%da: *g%d, x%db: *g%d}}\n", i, i, i, i-1, i, i-1)
	}
	var chain, wide strings.Builder
	for i := range 99_999 {
		fmt.Fprintf(&chain, "[g%d:children]\ng%d\n", i+1, i)
	}
	wide.WriteString("[all:children]\n")
	for i := range 100_000 {
		fmt.Fprintf(&wide, "w%d\n", i)
	}
	for _, c := range []struct{ name, text, want string }{
		{"alias bomb of groups", groups, "more than"},
		{"alias bomb of merges", bomb(9, "{a: 1}", "{<<: [%s]}") + "all: {hosts: {h: }}", ""},
		{"merges of merges", "all: {vars: &v {a: 1, b: 2}, hosts: {h: {<<: [" + strings.Repeat("*v,", 600_000) + "*v]}}}", "merged entries"},
		{"anchor that holds itself", "all: &a {hosts: {h: {x: *a}}}", "holds itself"},
		{"deep flow", strings.Repeat("[", 1_000_000), ""},
		{"deep mapping", strings.Repeat("{a: ", 5000) + strings.Repeat("}", 5000), "nested deeper"},
		{"deep blocks", strings.Repeat("- ", 200_000) + "x", ""},
		{"deep JSON", strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000), "nested deeper"},
		{"huge range", "all: {hosts: {'h[1:999999999]': }}", "more than"},
		{"many ranges", "all: {hosts: {'h[1:9999]x[1:9999]': }}", "more than"},
		{"range with variables", "all: {hosts: {'h[1:99999]': {" + manyVars(100) + "}}}", "more than"},
		{"loop of groups", "[g0:children]\ng99999\n" + chain.String(), "loop"},
		{"deep groups", "[g0]\n" + chain.String(), "nested deeper"},
		{"many undeclared groups", wide.String(), "declared nowhere"},
		{"NUL in YAML", "all: {hosts: {\"h\\0\": }}", "NUL"},
		{"raw NUL", "all:\n  hosts:\n    h\x00:\n", "control character"},
		{"NUL in INI", "[a]\nh\x00 x=1\n", "control character"},
		{"not UTF-8", "[a]\nh\xff\n", "not UTF-8"},
		{"binary", string([]byte{0x7f, 'E', 'L', 'F', 1, 0, 2, 0xff}), ""},
		{"many ranges in a name", "[a]\nx" + strings.Repeat("[1:1]", 1_000_000) + "\n", "longer than"},
		{"large YAML", "all:\n  hosts:\n" + strings.Repeat("    h:\n", 700_000), "YAML larger than 4 MiB"},
		{"large INI", strings.Repeat("h a=b\n", 800_000), "-"},
		{"literal bomb", "[a]\nh x=" + strings.Repeat("[", 60_000) + "\n", "-"},
		{"long literal", "[a]\nh x={" + strings.Repeat("1:1,", 100_000) + "}\n", "-"},
		{"script", "#!/bin/sh\necho {}\n", "inventory script"},
		{"plugin", "plugin: aws_ec2\nregions: [x]\n", "inventory plugin"},
		{"two documents", "all: {hosts: {h: }}\n---\nall: {}\n", "second YAML document"},
		{"unknown tag", "all: {vars: {x: !ENV y}}", "unknown tag"},
		{"python tag", "all: {vars: {x: !!python/object/apply:os.system [id]}}", "unknown tag"},
	} {
		t.Run(c.name, func(t *testing.T) {
			start := time.Now()
			for _, name := range []string{"hosts", "hosts.yaml"} {
				fsys := fstest.MapFS{name: &fstest.MapFile{Data: []byte(c.text)}}
				_, err := Load(fsys, name, nil)
				require.Less(t, time.Since(start), 60*time.Second)
				switch c.want {
				case "-":
					require.NoError(t, err)
					continue
				case "":
					if err == nil {
						continue // bounded is what counts
					}
				}
				require.ErrorIs(t, err, ErrUnreadable)
				require.Contains(t, err.Error(), c.want)
				require.NotContains(t, err.Error(), "\n")
				require.Less(t, len(err.Error()), 500)
				require.True(t, strings.HasPrefix(err.Error(), "hosts"), err)
			}
		})
	}
}

func manyVars(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "v%d: x, ", i)
	}
	return b.String()
}

func TestHostileTemplates(t *testing.T) {
	vars := "a0: xxxxxxxxxx, b0: ''"
	for i := 1; i < 30; i++ {
		vars += fmt.Sprintf(", a%d: '{{ a%d }}{{ a%d }}{{ a%d }}', b%d: '{{ b%d }}{{ b%d }}'", i, i-1, i-1, i-1, i, i-1, i-1)
	}
	for template, want := range map[string]string{
		"{{ b29 }}":                          "more than 10000 references",
		"{{ a10 }}":                          "longer than",
		"{{ (" + strings.Repeat("(", 5000):   "nested deeper",
		"{{ x":                               "not closed",
		"{{":                                 "not closed",
		"{{ 'x }}":                           "quote is not closed",
		"{% if x %}y{% endif %}":             "cannot be resolved without Ansible",
		"{{ lookup('pipe', 'id') }}":         "cannot be resolved without Ansible",
		"{{ lookup('file', '/etc/x') }}":     "cannot be resolved without Ansible",
		"{{ a0.__class__ }}":                 "cannot be resolved without Ansible",
		"{{ range(9) }}":                     "cannot be resolved without Ansible",
		"{{ a0 if true else a0 }}":           "cannot be resolved without Ansible",
		"{{ ansible_default_ipv4.address }}": "not defined in the inventory",
	} {
		inv := open(t, map[string]string{"hosts.yaml": fmt.Sprintf("all: {vars: {%s}, hosts: {h: {ansible_host: %q}}}", vars, template)})
		_, err := inv.Target("h", "")
		require.ErrorContains(t, err, want, template[:min(40, len(template))])
		require.True(t, strings.HasPrefix(err.Error(), `hosts.yaml:1: node "h": ansible_host `), err)
		require.NotContains(t, err.Error(), "\n")
	}
}

func TestHostileFolders(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	put("hosts", "h\n")
	put("group_vars/all/x.yml", "a: 1\n")
	load := func() error {
		inv, err := Load(os.DirFS(dir), ".", nil)
		if err == nil {
			_, err = inv.Target("h", "")
		}
		return err
	}
	require.NoError(t, load())

	require.NoError(t, os.Symlink("..", filepath.Join(dir, "group_vars/all/loop")))
	require.ErrorContains(t, load(), "symbolic link")
	require.NoError(t, os.Remove(filepath.Join(dir, "group_vars/all/loop")))

	require.NoError(t, os.Symlink(".", filepath.Join(dir, "self")))
	require.ErrorContains(t, load(), "symbolic link")
	require.NoError(t, os.Remove(filepath.Join(dir, "self")))

	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "dangling")))
	require.ErrorContains(t, load(), "dangling: no such file")
	require.NoError(t, os.Remove(filepath.Join(dir, "dangling")))

	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(dir, "zero")))
	require.ErrorContains(t, load(), "neither a file nor a directory")
	require.NoError(t, os.Remove(filepath.Join(dir, "zero")))

	// 100 MB, sparse.
	f, err := os.Create(filepath.Join(dir, "big"))
	require.NoError(t, err)
	require.NoError(t, f.Truncate(100<<20))
	require.NoError(t, f.Close())
	require.ErrorContains(t, load(), "big: larger than 32 MiB")
	require.NoError(t, os.Remove(filepath.Join(dir, "big")))

	put("host_vars/h.yml", "a: [\n")
	require.ErrorContains(t, load(), "host_vars/h.yml")
	require.NoError(t, os.Remove(filepath.Join(dir, "host_vars/h.yml")))
	put("host_vars/h.yml", "- a\n")
	require.ErrorContains(t, load(), "host_vars/h.yml:1: a file of variables is a mapping; this is a list")
}

// TestDenied: what may not be read is an error of its own, and never "none".
func TestDenied(t *testing.T) {
	for _, denied := range []string{"hosts.yaml", "group_vars", "group_vars/all.yml", "host_vars"} {
		fsys := deniedFS{fstest.MapFS{
			"hosts.yaml":         {Data: []byte("all: {hosts: {h: }}")},
			"group_vars/all.yml": {Data: []byte("ansible_user: u")},
			"host_vars/x.yml":    {Data: []byte("ansible_user: u")},
		}, denied}
		inv, err := Load(fsys, "hosts.yaml", nil)
		if err == nil {
			_, err = inv.Target("h", "")
		}
		require.ErrorIs(t, err, fs.ErrPermission, denied)
		require.ErrorIs(t, err, ErrUnreadable)
		require.EqualError(t, err, denied+": permission denied")
	}
}

// deniedFS refuses to open one name.
type deniedFS struct {
	fs.FS
	name string
}

func (d deniedFS) Open(name string) (fs.File, error) {
	if name == d.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return d.FS.Open(name)
}
