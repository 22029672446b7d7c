package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// nestorContract runs one command line of the verb.
func nestorContract(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(context.Background(), append([]string{"contract"}, args...), &cli{in: strings.NewReader(""), out: &out, err: &err, env: func(string) (string, bool) { return "", false }})
	return code, out.String(), err.String()
}

// contractTree copies a small tree that keeps its contract.
func contractTree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("../../contract/testdata/base")))
	return dir
}

func replace(t *testing.T, file, old, replacement string) {
	t.Helper()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(b), old))
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(b), old, replacement, 1)), 0o600))
}

func TestContractCheck_ExitCodes(t *testing.T) {
	const nodeport = "apps/web/nodeport.yaml"
	cases := []struct {
		name             string
		file, old, new   string
		args             []string
		code             int
		stdout, onStderr string
	}{
		{name: "clean", file: nodeport, old: "name: http", new: "name: ui", code: exitOK, stdout: "no findings"},
		{name: "an error", file: nodeport, old: "type: NodePort", new: "type: ClusterIP", code: exitFindings, stdout: "exposed-without-nodeport"},
		{name: "a warning", file: nodeport, old: "targetPort: ui", new: "targetPort: ui\n      nodePort: 30080", code: exitOK, stdout: "nodeport-pinned"},
		{name: "a warning that fails", file: nodeport, old: "targetPort: ui", new: "targetPort: ui\n      nodePort: 30080", args: []string{"--fail-on", "warning"}, code: exitFindings, stdout: "nodeport-pinned"},
		{name: "a manifest that cannot be read", file: nodeport, old: "spec:", new: " spec:", code: exitUnevaluated, stdout: "manifest-syntax"},
		{name: "a contract that cannot be read", file: "contract/endpoints.yaml", old: "endpoints:\n", new: "endpoints: [\n", code: exitUnevaluated, stdout: "contract-syntax"},
		{name: "a bad threshold", file: nodeport, old: "name: http", new: "name: ui", args: []string{"--fail-on", "info"}, code: exitUnevaluated, onStderr: `--fail-on "info"`},
		{name: "an unknown format", file: nodeport, old: "name: http", new: "name: ui", args: []string{"--output", "xml"}, code: exitUnevaluated, onStderr: `unknown output format "xml"`},
		{name: "two formats on standard output", file: nodeport, old: "name: http", new: "name: ui", args: []string{"-o", "json", "-o", "sarif"}, code: exitUnevaluated, onStderr: "only one format"},
		{name: "two formats to one file", file: nodeport, old: "name: http", new: "name: ui", args: []string{"-o", "json=out", "-o", "sarif=./out"}, code: exitUnevaluated, onStderr: "another format goes to that file"},
		{name: "a format to no file", file: nodeport, old: "name: http", new: "name: ui", args: []string{"-o", "json="}, code: exitUnevaluated, onStderr: "no file after ="},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := contractTree(t)
			replace(t, filepath.Join(dir, c.file), c.old, c.new)
			code, stdout, stderr := nestorContract(t, append([]string{"check", "--root", dir}, c.args...)...)
			assert.Equal(t, c.code, code, stdout+stderr)
			assert.Contains(t, stdout, c.stdout)
			assert.Contains(t, stderr, c.onStderr)
		})
	}
}

func TestContractCheck_Outputs(t *testing.T) {
	dir := contractTree(t)
	replace(t, filepath.Join(dir, "apps/web/nodeport.yaml"), "type: NodePort", "type: ClusterIP")
	sarif, junit := filepath.Join(dir, "out.sarif"), filepath.Join(dir, "out.xml")
	code, stdout, stderr := nestorContract(t, "check", "--root", dir, "-o", "json", "-o", "sarif="+sarif, "-o", "junit="+junit)
	assert.Equal(t, exitFindings, code)
	assert.Empty(t, stderr, "no progress but on a terminal")
	var got struct {
		Schema   string
		Findings []struct {
			Rule, Endpoint, File string
			Line                 int
			Related              []struct{ File string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &got))
	assert.Equal(t, "nestor.findings/v1", got.Schema)
	require.Len(t, got.Findings, 1)
	f := got.Findings[0]
	assert.Equal(t, "exposed-without-nodeport", f.Rule)
	assert.Equal(t, "web", f.Endpoint)
	assert.Equal(t, filepath.ToSlash(filepath.Join(dir, "contract/endpoints.yaml")), f.File)
	assert.Equal(t, 15, f.Line)
	require.Len(t, f.Related, 1)
	assert.Equal(t, filepath.ToSlash(filepath.Join(dir, "apps/web/nodeport.yaml")), f.Related[0].File)
	for _, file := range []string{sarif, junit} {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Contains(t, string(b), "exposed-without-nodeport")
	}
}

// Code scanning and annotations know files from the top of the repository, in
// which a build works, however --root is written.
func TestContractCheck_NamesOfFiles(t *testing.T) {
	repository := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(repository, "sub"), os.DirFS(contractTree(t))))
	replace(t, filepath.Join(repository, "sub/apps/web/nodeport.yaml"), "type: NodePort", "type: ClusterIP")
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(repository, link))
	elsewhere := t.TempDir()
	sub := filepath.Join(repository, "sub")
	cases := []struct {
		name, dir, want string
		args            []string
	}{
		{"relative", repository, "sub/", []string{"--root", "sub"}},
		{"absolute", repository, "sub/", []string{"--root", sub}},
		{"absolute, with a contract that is relative", repository, "sub/", []string{"--root", sub, "--contract", "sub/contract"}},
		{"a contract alone that is absolute", repository, "sub/", []string{"--root", "sub", "--contract", filepath.Join(sub, "contract")}},
		{"the working directory itself", sub, "", []string{"--root", sub}},
		{"through a link", link, "sub/", []string{"--root", filepath.Join(link, "sub")}},
		{"through a link, by the real name", link, "sub/", []string{"--root", sub}},
		{"out of the working directory", elsewhere, "", []string{"--root", sub}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(c.dir)
			sarif := filepath.Join(t.TempDir(), "out")
			_, stdout, stderr := nestorContract(t, append([]string{"check", "-o", "github", "-o", "sarif=" + sarif}, c.args...)...)
			assert.Empty(t, stderr)
			assert.Contains(t, stdout, "file="+c.want+"contract/endpoints.yaml,")
			assert.Contains(t, stdout, "See: "+c.want+"apps/web/nodeport.yaml:")
			b, err := os.ReadFile(sarif)
			require.NoError(t, err)
			assert.Contains(t, string(b), `"uri": "`+c.want+`contract/endpoints.yaml"`)
			assert.Contains(t, string(b), `"uri": "`+c.want+`apps/web/nodeport.yaml"`)
		})
	}
}

func TestContractCheck_Flags(t *testing.T) {
	dir := contractTree(t)
	code, _, stderr := nestorContract(t, "check", "--root", filepath.Join(dir, "apps"))
	assert.Equal(t, exitUnevaluated, code)
	assert.Contains(t, stderr, "name it with --contract")

	code, stdout, stderr := nestorContract(t, "check", "--root", dir, "--contract", filepath.Join(dir, "contract"))
	assert.Equal(t, exitOK, code, stdout+stderr)

	code, _, stderr = nestorContract(t, "check", "--root", filepath.Join(dir, "none"), "--contract", filepath.Join(dir, "contract"))
	assert.Equal(t, exitUnevaluated, code)
	assert.Contains(t, stderr, "is not a folder")

	entry := "  - {kind: Gateway, namespace: front, name: edge, reason: for a while, until: 2027-02-28}\n\nnetwork_access:\n"
	replace(t, filepath.Join(dir, "contract/endpoints.yaml"), "network_access:\n", entry)
	_, stdout, _ = nestorContract(t, "check", "--root", dir, "--today", "2027-03-01")
	assert.Contains(t, stdout, "accept-expired")
	_, stdout, _ = nestorContract(t, "check", "--root", dir, "--today", "2027-02-28")
	assert.NotContains(t, stdout, "accept-expired")
}

// However the folder of the contract is written, it is found.
func TestContractCheck_Folders(t *testing.T) {
	dir := contractTree(t)
	for _, name := range []string{"contract", "contract/", "contract//.", ".", "./", "apps/../contract"} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(dir)
			if name[0] == '.' {
				t.Chdir("contract")
			}
			code, stdout, stderr := nestorContract(t, "check", "--root", dir, "--contract", name)
			assert.Equal(t, exitOK, code, stdout+stderr)
		})
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "contract/deep"), 0o700))
	for _, name := range []string{"..", "../", "../../contract/deep/.."} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(filepath.Join(dir, "contract/deep"))
			code, stdout, stderr := nestorContract(t, "check", "--root", dir, "--contract", name)
			assert.Equal(t, exitOK, code, stdout+stderr)
		})
	}
}

// What was in a file stays whole where the new text cannot be written, and a
// link stays a link.
func TestContractCheck_WritesWhole(t *testing.T) {
	dir := contractTree(t)
	file, link := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.WriteFile(file, []byte("old"), 0o644))
	require.NoError(t, os.Symlink(file, link))
	before, err := os.Stat(file)
	require.NoError(t, err)
	code, stdout, stderr := nestorContract(t, "check", "--root", dir, "-o", "json="+link, "-o", "text=/dev/null")
	require.Equal(t, exitOK, code, stdout+stderr)
	info, err := os.Lstat(link)
	require.NoError(t, err)
	assert.NotZero(t, info.Mode()&os.ModeSymlink)
	after, err := os.Stat(file)
	require.NoError(t, err)
	assert.False(t, os.SameFile(before, after), "it was replaced, not written over")
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.True(t, json.Valid(b))

	code, _, stderr = nestorContract(t, "check", "--root", dir, "-o", "json="+filepath.Join(dir, "none/out"))
	assert.Equal(t, exitUnevaluated, code)
	assert.Contains(t, stderr, "--output json: ")
}

func TestContractNodePorts(t *testing.T) {
	dir := contractTree(t)
	require.NoError(t, os.Remove(filepath.Join(dir, "apps/web/nodeport.yaml")))
	vendored, err := os.ReadFile(filepath.Join(dir, "apps/web/web.yaml"))
	require.NoError(t, err)
	written := filepath.Join(dir, "apps/web/web-nodeport.yaml")

	code, stdout, _ := nestorContract(t, "nodeports", "--root", dir, "--check")
	assert.Equal(t, exitFindings, code)
	assert.Equal(t, "missing "+written+" (web)\n", stdout)
	assert.NoFileExists(t, written)

	code, stdout, _ = nestorContract(t, "nodeports", "--root", dir, "--dry-run")
	assert.Equal(t, exitOK, code)
	assert.Contains(t, stdout, "type: NodePort")
	assert.NoFileExists(t, written)

	code, stdout, _ = nestorContract(t, "nodeports", "--root", dir)
	assert.Equal(t, exitOK, code)
	assert.Equal(t, "wrote "+written+" (web)\n", stdout)
	code, stdout, _ = nestorContract(t, "check", "--root", dir)
	assert.Equal(t, exitOK, code, stdout)
	code, stdout, _ = nestorContract(t, "nodeports", "--root", dir, "--check")
	assert.Equal(t, exitOK, code)
	assert.Empty(t, stdout)

	after, err := os.ReadFile(filepath.Join(dir, "apps/web/web.yaml"))
	require.NoError(t, err)
	assert.Equal(t, vendored, after, "the vendored file is not touched")
}

func TestContractNodePorts_NeverReplaces(t *testing.T) {
	dir := contractTree(t)
	require.NoError(t, os.Remove(filepath.Join(dir, "apps/web/nodeport.yaml")))
	occupied := filepath.Join(dir, "apps/web/web-nodeport.yaml")
	require.NoError(t, os.WriteFile(occupied, []byte("# mine\n"), 0o600))
	code, _, stderr := nestorContract(t, "nodeports", "--root", dir)
	assert.Equal(t, exitUnevaluated, code)
	assert.Contains(t, stderr, "file exists")
	b, err := os.ReadFile(occupied)
	require.NoError(t, err)
	assert.Equal(t, "# mine\n", string(b))
}

// All is written, or nothing: half of it would be taken for the whole.
func TestContractNodePorts_AllOrNothing(t *testing.T) {
	const second = "  - {id: second, service: second, namespace: front, port: 80, exposed: true, source: SOURCE}\n\naccept:\n"
	for source, want := range map[string]string{
		"zzz/none/second.yaml":           "zzz/none is not a folder",
		"contract/endpoints.yaml/x.yaml": "contract/endpoints.yaml is not a folder",
		"zzz/folder.yaml":                "zzz is not a folder",
	} {
		t.Run(source, func(t *testing.T) {
			dir := contractTree(t)
			require.NoError(t, os.Remove(filepath.Join(dir, "apps/web/nodeport.yaml")))
			replace(t, filepath.Join(dir, "contract/endpoints.yaml"), "\naccept:\n", strings.Replace(second, "SOURCE", source, 1))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "apps/second.yaml"), []byte("apiVersion: v1\nkind: Service\nmetadata: {name: second, namespace: front}\nspec: {selector: {app: web}, ports: [{port: 80, targetPort: ui}]}\n"), 0o600))
			code, stdout, stderr := nestorContract(t, "nodeports", "--root", dir)
			assert.Equal(t, exitUnevaluated, code)
			assert.Empty(t, stdout)
			assert.Contains(t, stderr, want)
			assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
			assert.NoFileExists(t, filepath.Join(dir, "apps/web/web-nodeport.yaml"))
		})
	}
}

func TestContractAllowlist(t *testing.T) {
	dir := contractTree(t)
	code, stdout, _ := nestorContract(t, "allowlist", "--root", dir)
	assert.Equal(t, exitOK, code)
	assert.Equal(t, "HostPort\tmail/mail\t1025/TCP\nHostPort\tmail/mail\t8025/TCP\nNodePort\tboard/board-nodeport\nNodePort\tfront/web-nodeport\nNodePort\tportal/portal\n", stdout)
}

func TestContractAdopt(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.yaml"), []byte("apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: n}\nspec: {type: NodePort, ports: [{port: 80}]}\n"), 0o600))
	code, stdout, stderr := nestorContract(t, "adopt", "--root", dir)
	require.Equal(t, exitOK, code, stderr)
	assert.Contains(t, stderr, "1 to adopt")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "contract"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "contract/endpoints.yaml"), []byte(stdout), 0o600))
	code, stdout, _ = nestorContract(t, "check", "--root", dir)
	assert.Equal(t, exitOK, code, stdout)
	assert.Contains(t, stdout, "accept-reason")
	code, stdout, stderr = nestorContract(t, "adopt", "--root", dir)
	assert.Equal(t, exitOK, code)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "nothing to adopt")

	// adopt > contract/endpoints.yaml: the shell has made the file already.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "contract", "endpoints.yaml"), nil, 0o600))
	for _, args := range [][]string{{}, {"--contract", filepath.Join(dir, "contract", "endpoints.yaml")}} {
		code, stdout, stderr = nestorContract(t, append([]string{"adopt", "--root", dir}, args...)...)
		assert.Zero(t, code, stderr)
		assert.Contains(t, stdout, "contract_version:")
	}

	code, _, stderr = nestorContract(t, "adopt", "--root", dir, "--contract", filepath.Join(dir, "gone.yaml"))
	assert.Equal(t, exitUnevaluated, code, "a contract that is named must be there")
	assert.Contains(t, stderr, "gone.yaml")
}

// Whatever accept: a contract has, what is printed fits where it is said to go.
func TestContractAdopt_Into(t *testing.T) {
	const rest = "contract_version: \"1.0\"\n"
	cases := []struct {
		name, before, where string
		into                string // before, ready for the entries at its end
	}{
		{"no accept", rest, "1 to adopt at the end of FILE;", rest},
		{"an empty list", rest + "accept: []\n", "below accept:, line 2 of FILE, with nothing else after the colon;", rest + "accept:\n"},
		{"nothing after the colon", rest + "accept:\n", "below accept:, line 2 of FILE, with", rest + "accept:\n"},
		{"a list", rest + "accept:\n    - {kind: NodePort, namespace: n, name: b, reason: r}\n", "below the last entry of accept:, line 2 of FILE;", ""},
		{"a list without indent", rest + "accept:\n- kind: NodePort\n  name: b\n  reason: r\n", "below the last entry of accept:, line 2 of FILE;", ""},
		{"a list in brackets", rest + "accept: [{kind: NodePort, name: b, reason: r}]\n", "must each start with a dash", rest + "accept:\n  - {kind: NodePort, name: b, reason: r}\n"},
		{"no version", "accept: []\nendpoints: []\n", "below accept:, line 1 of FILE", rest + "accept:\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "contract/endpoints.yaml")
			require.NoError(t, os.Mkdir(filepath.Join(dir, "contract"), 0o700))
			require.NoError(t, os.WriteFile(file, []byte(c.before), 0o600))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "a.yaml"), []byte("apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: n}\nspec: {type: NodePort, ports: [{port: 80}]}\n"), 0o600))
			code, stdout, stderr := nestorContract(t, "adopt", "--root", dir)
			require.Equal(t, exitOK, code, stderr)
			assert.Contains(t, strings.ReplaceAll(stderr, filepath.ToSlash(file), "FILE"), c.where)
			into := c.into
			if into == "" {
				into = c.before
			}
			require.NoError(t, os.WriteFile(file, []byte(into+stdout), 0o600))
			code, _, stderr = nestorContract(t, "adopt", "--root", dir)
			assert.Equal(t, exitOK, code, stderr)
			assert.Contains(t, stderr, "nothing to adopt")
			_, stdout, _ = nestorContract(t, "check", "--root", dir)
			assert.NotContains(t, stdout, "contract-")
		})
	}
}

// What no entry can name is not passed over.
func TestContractAdopt_Unnamed(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.yaml")
	require.NoError(t, os.WriteFile(file, []byte("apiVersion: v1\nkind: Service\nmetadata: {generateName: a-, namespace: n}\nspec: {type: NodePort, ports: [{port: 80}]}\n"), 0o600))
	code, stdout, stderr := nestorContract(t, "adopt", "--root", dir)
	assert.Equal(t, exitOK, code)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, filepath.ToSlash(file))
	assert.Contains(t, stderr, "generateName")
	assert.NotContains(t, stderr, "nothing to adopt")
}

func TestContractExplain(t *testing.T) {
	dir := contractTree(t)
	code, stdout, _ := nestorContract(t, "explain", "web", "--root", dir)
	assert.Equal(t, exitOK, code)
	assert.Contains(t, stdout, "- Service web-nodeport exposes it")
	assert.Contains(t, stdout, "apps/web/nodeport.yaml:7\n")
	code, stdout, _ = nestorContract(t, "explain", "web", "--root", dir, "-o", "json")
	assert.Equal(t, exitOK, code)
	assert.True(t, json.Valid([]byte(stdout)))
	code, _, stderr := nestorContract(t, "explain", "nobody", "--root", dir)
	assert.Equal(t, exitUnevaluated, code)
	assert.Contains(t, stderr, `no endpoint is called "nobody"`)
}

func TestContractRule(t *testing.T) {
	code, stdout, _ := nestorContract(t, "rule", "policy-may-block")
	assert.Equal(t, exitOK, code)
	assert.True(t, strings.HasPrefix(stdout, "# policy-may-block\n"))
	code, stdout, _ = nestorContract(t, "rule")
	assert.Equal(t, exitOK, code)
	assert.Greater(t, strings.Count(stdout, "\n"), 50)
	code, _, stderr := nestorContract(t, "rule", "nothing")
	assert.Equal(t, exitUnevaluated, code)
	assert.Contains(t, stderr, "no rule is called")
}
