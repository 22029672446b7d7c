package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// workstation is the files and the environment that a command is run with.
type workstation struct {
	files map[string]string
	env   map[string]string
}

func (i workstation) run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range i.files {
		name = filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	t.Chdir(dir)
	var out, err bytes.Buffer
	c := &cli{in: strings.NewReader(""), out: &out, err: &err, env: func(k string) (string, bool) { v, ok := i.env[k]; return v, ok }}
	code = run(context.Background(), args, c)
	return code, out.String(), err.String()
}

const prodHosts = `all:
  vars: {target_kind: prod, stack_id: s1}
  children:
    cloud:
      hosts:
        node1: {ansible_host: 192.0.2.11, ansible_user: debian, ansible_port: 2222, ansible_ssh_private_key_file: ~/k, ansible_ssh_common_args: -J 'a b' -4}
        node2:
`

var prod = workstation{files: map[string]string{"bootstrap/hosts.yaml": prodHosts}, env: map[string]string{"HOME": "/home/me"}}

func TestResolve(t *testing.T) {
	code, out, _ := prod.run(t, "resolve", "node1", "--output", "shim")
	require.Zero(t, code)
	require.Equal(t, `NODE_EXEC_NODE=node1
NODE_EXEC_TARGET_KIND=prod
NODE_EXEC_TRANSPORT=ssh
NODE_EXEC_HOST=192.0.2.11
NODE_EXEC_USER=debian
NODE_EXEC_PORT=2222
NODE_EXEC_IDENTITY=/home/me/k
NODE_EXEC_SSH_ARG=-J
NODE_EXEC_SSH_ARG=a b
NODE_EXEC_SSH_ARG=-4
NODE_EXEC_HOST_KEYS=strict
`, out)

	code, out, _ = prod.run(t, "resolve", "node2", "--output", "shim", "--host-keys", "accept-new")
	require.Zero(t, code)
	require.Equal(t, "NODE_EXEC_NODE=node2\nNODE_EXEC_TARGET_KIND=prod\nNODE_EXEC_TRANSPORT=ssh\nNODE_EXEC_HOST=node2\nNODE_EXEC_USER=\nNODE_EXEC_PORT=\nNODE_EXEC_IDENTITY=\nNODE_EXEC_HOST_KEYS=accept-new\n", out)

	code, out, _ = prod.run(t, "resolve", "node2", "--output", "json")
	require.Zero(t, code)
	require.JSONEq(t, `{"schema":"nestor.target/v1","node":"node2","target_kind":"prod","transport":"ssh","host":"node2","port":0,"user":"","identity_file":"","ssh_args":[]}`, out)

	code, out, _ = prod.run(t, "resolve", "node1")
	require.Zero(t, code)
	require.Contains(t, out, "user           debian\n")
}

func TestResolveRefuses(t *testing.T) {
	both := workstation{files: map[string]string{"bootstrap/hosts.yaml": prodHosts, "bench/lima/.work/inventory.yaml": "all: {vars: {target_kind: lima}, hosts: {node1: }}"}}
	with := func(i workstation, env ...string) workstation {
		i.env = map[string]string{"HOME": "/home/me"}
		for j := 0; j < len(env); j += 2 {
			i.env[env[j]] = env[j+1]
		}
		return i
	}
	for _, c := range []struct {
		name string
		workstation
		args []string
		code int
		err  string
	}{
		{"no inventory", workstation{}, []string{"resolve", "node1"}, 2, "nestor: no inventory: name one with --inventory or NESTOR_INVENTORY"},
		{"a missing inventory", prod, []string{"-i", "nowhere.yaml", "resolve", "node1"}, 2, "nestor: nowhere.yaml: no such file or directory"},
		{"two inventories", both, []string{"resolve", "node1"}, 2, "nestor: both bench/lima/.work/inventory.yaml and bootstrap/hosts.yaml exist"},
		{"an unknown node", prod, []string{"resolve", "nodel"}, 2, `nestor: bootstrap/hosts.yaml: no host "nodel"; nearest: node1, node2`},
		{"a group", prod, []string{"resolve", "cloud"}, 2, `nestor: bootstrap/hosts.yaml: no host "cloud"; a group has that name, and one host is needed here`},
		{"another kind", prod, []string{"resolve", "node1", "--target-kind", "lima"}, 4, `nestor: bootstrap/hosts.yaml:2: node "node1" is declared prod, and lima was stated`},
		{"another kind, by environment", with(prod, "EXPECTED_TARGET_KIND", "lima"), []string{"resolve", "node1"}, 4, `is declared prod, and lima was stated`},
		{"two kinds stated", with(prod, "EXPECTED_TARGET_KIND", "lima"), []string{"resolve", "node1", "--target-kind", "prod"}, 4, "nestor: --target-kind prod and EXPECTED_TARGET_KIND=lima contradict each other"},
		{"no kind at all", prod, []string{"resolve", "node1", "--target-kind", "staging"}, 2, `nestor: target kind "staging" is neither lima nor prod`},
		{"another stack", prod, []string{"resolve", "node1", "--stack-id", "s2"}, 4, `nestor: bootstrap/hosts.yaml:2: node "node1" belongs to stack "s1", and "s2" was stated`},
		{"two stacks stated", with(prod, "STACK_ID", "s1"), []string{"resolve", "node1", "--stack-id", "s2"}, 4, "nestor: --stack-id s2 and STACK_ID=s1 contradict each other"},
		{"an unknown format", prod, []string{"resolve", "node1", "-o", "xml"}, 2, `nestor: --output "xml" is not one of text, json, shim`},
		{"unknown host keys", prod, []string{"resolve", "node1", "--host-keys", "no"}, 2, `nestor: --host-keys "no" is neither strict nor accept-new`},
		{"no node", prod, []string{"resolve"}, 2, "nestor: accepts 1 arg(s), received 0; see nestor resolve --help"},
		{"an empty password file", with(workstation{files: map[string]string{"bootstrap/hosts.yaml": prodHosts, "pw": "\n"}}), []string{"--vault-password-file", "pw", "resolve", "node1"}, 2, "nestor: vault password: pw is empty"},
		{"a missing password file", with(prod, "ANSIBLE_VAULT_PASSWORD_FILE", "pw"), []string{"resolve", "node1"}, 2, "nestor: vault password: stat pw: no such file or directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, stderr := c.run(t, c.args...)
			require.Equal(t, c.code, code, stderr)
			require.Empty(t, out)
			require.Contains(t, stderr, c.err)
			require.Equal(t, 1, strings.Count(stderr, "\n"), "one line: %q", stderr)
		})
	}
}

func TestWhichInventory(t *testing.T) {
	both := workstation{files: map[string]string{
		"bootstrap/hosts.yaml":            prodHosts,
		"bench/lima/.work/inventory.yaml": "all: {vars: {target_kind: lima}, hosts: {node1: }}",
		"own/hosts":                       "node1 ansible_user=own\n",
		"own/group_vars/all":              "ansible_port: 9\n",
	}}
	code, out, _ := both.run(t, "--target-kind", "lima", "resolve", "node1", "-o", "shim")
	require.Zero(t, code)
	require.Contains(t, out, "NODE_EXEC_TRANSPORT=lima\nNODE_EXEC_HOST=node1\n")
	code, out, _ = both.run(t, "--target-kind", "prod", "resolve", "node1", "-o", "shim")
	require.Zero(t, code)
	require.Contains(t, out, "NODE_EXEC_HOST=192.0.2.11\n")
	for _, name := range []string{"own", "own/", "own/hosts", "./own", "bootstrap/../own"} {
		code, out, stderr := both.run(t, "-i", name, "resolve", "node1", "-o", "shim")
		require.Zero(t, code, stderr)
		require.Contains(t, out, "NODE_EXEC_USER=own\nNODE_EXEC_PORT=9\n", name)
	}
	both.env = map[string]string{"NESTOR_INVENTORY": "own"}
	code, out, _ = both.run(t, "resolve", "node1", "-o", "shim")
	require.Zero(t, code)
	require.Contains(t, out, "NODE_EXEC_USER=own\n")
}

func TestVaultPassword(t *testing.T) {
	i := workstation{files: map[string]string{"hosts": "h\n", "pw": "x\n", "group_vars/all": "$ANSIBLE_VAULT;1.1;AES256\n30\n"}}
	code, _, stderr := i.run(t, "-i", "hosts", "resolve", "h")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "group_vars/all: node \"h\": target_kind may be set in this vaulted file, which is closed; give the vault password file\n")
	code, _, stderr = i.run(t, "-i", "hosts", "--vault-password-file", "pw", "resolve", "h")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "group_vars/all: is a damaged vault")

	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\necho x\n"), 0o700))
	code, _, stderr = i.run(t, "-i", "hosts", "--vault-password-file", script, "resolve", "h")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "is executable, and is not run")
}

func TestNodes(t *testing.T) {
	code, out, stderr := prod.run(t, "nodes")
	require.Zero(t, code, stderr)
	require.Equal(t, `NODE   KIND  TRANSPORT  ADDRESS                      GROUPS
node1  prod  ssh        debian@192.0.2.11 port 2222  cloud
node2  prod  ssh        node2                        cloud
`, out)

	code, out, _ = prod.run(t, "nodes", "cloud:!node1", "--output", "json")
	require.Zero(t, code)
	require.JSONEq(t, `{"schema":"nestor.nodes/v1","inventory":"bootstrap/hosts.yaml","nodes":[
		{"node":"node2","target_kind":"prod","transport":"ssh","host":"node2","port":0,"user":"","groups":["cloud"],"error":null}]}`, out)

	code, out, stderr = prod.run(t, "nodes", ",")
	require.Equal(t, 2, code)
	require.Empty(t, out)
	require.Equal(t, "nestor: pattern \",\" is empty\n", stderr)

	partial := workstation{files: map[string]string{"h.yaml": "all: {hosts: {a: , b: {ansible_user: '{{ x }}'}}}"}}
	code, out, stderr = partial.run(t, "-i", "h.yaml", "nodes")
	require.Equal(t, 2, code)
	require.Contains(t, out, "a     -     ssh        a        ungrouped\nb     -     -          -        ungrouped\n")
	require.Contains(t, stderr, `h.yaml:1: node "b": ansible_user`)
	require.Contains(t, stderr, "1 of 2 nodes cannot be resolved")
	code, out, _ = partial.run(t, "-i", "h.yaml", "nodes", "-o", "json")
	require.Equal(t, 2, code)
	var list nodesV1
	require.NoError(t, json.Unmarshal([]byte(out), &list))
	require.Contains(t, *list.Nodes[1].Error, "not defined")
}

func TestExplainText(t *testing.T) {
	i := workstation{files: map[string]string{
		"inv/hosts.yaml":          "all:\n  vars: {ansible_user: a}\n  children:\n    g:\n      hosts:\n        h: {ansible_host: 0.0.0.0, ansible_port: '{{ p }}', p: 22}\n",
		"inv/group_vars/g.yml":    "ansible_user: b\n",
		"inv/host_vars/h.yml":     "ansible_user: c\n",
		"inv/group_vars/all.yaml": "ansible_ssh_common_args: -J gate\n",
	}}
	code, out, stderr := i.run(t, "-i", "inv", "explain", "h")
	require.Zero(t, code, stderr)
	require.True(t, strings.HasPrefix(out, `h, from inv
groups, the later override the earlier: all, g

target_kind     -  (undeclared: reads are allowed, mutations are refused)
transport       ssh  (the default)
host            0.0.0.0
                from inv/hosts.yaml:6  ansible_host
port            22
                from inv/hosts.yaml:6  ansible_port: {{ p }}
user            c
                from inv/host_vars/h.yml:1  ansible_user
                over inv/group_vars/g.yml:1  ansible_user: b
                over inv/hosts.yaml:2  ansible_user: a
identity_file   -  (left to ssh)
ssh_args        -J gate
                from inv/group_vars/all.yaml:1  ansible_ssh_common_args

remarks:
  inv/hosts.yaml:6: 0.0.0.0 is no machine's address; ssh takes it for this one
`), out)

	code, out, _ = i.run(t, "-i", "inv", "explain", "h", "-o", "json")
	require.Zero(t, code)
	var v explainV1
	require.NoError(t, json.Unmarshal([]byte(out), &v))
	require.Equal(t, "nestor.explain/v1", v.Schema)
	require.Equal(t, "c", v.Target.User)
	require.Equal(t, []beatenV1{{"ansible_user", "b", inventory.Origin{File: "inv/group_vars/g.yml", Line: 1}}, {"ansible_user", "a", inventory.Origin{File: "inv/hosts.yaml", Line: 2}}}, v.Fields[4].Beat)

	code, out, stderr = i.run(t, "-i", "inv", "explain", "h", "--target-kind", "prod")
	require.Equal(t, 4, code)
	require.Contains(t, out, "user            c\n", "the story is told all the same")
	require.Contains(t, stderr, `declares no target_kind, and prod was stated`)
}

// TestExplainView: the shim's view stands at the end, or why there is none.
func TestExplainView(t *testing.T) {
	s := story{argv: []string{"ssh", "--", "h"}, effective: "host h\nport 22\nciphers a,b\nuserknownhostsfile /k\n"}
	var b bytes.Buffer
	require.NoError(t, s.print(&b))
	require.Contains(t, b.String(), "\nwhat nestor runs:\n  ssh\n  --\n  h\n\nwhat ssh makes of it (from ssh -G; all of it with --output json):\n  port 22\n  userknownhostsfile /k\n")
	s = story{viewErr: os.ErrPermission}
	b.Reset()
	require.NoError(t, s.print(&b))
	require.Contains(t, b.String(), "\nthe shim could not be asked: permission denied\n")
}

func TestCompletion(t *testing.T) {
	code, out, _ := prod.run(t, "__complete", "resolve", "no")
	require.Zero(t, code)
	require.Equal(t, "node1\nnode2\n:4\n", out)
	code, out, _ = prod.run(t, "__complete", "nodes", "c")
	require.Zero(t, code)
	require.Equal(t, "cloud\n:4\n", out)
	code, out, _ = workstation{}.run(t, "__complete", "resolve", "no")
	require.Zero(t, code)
	require.Equal(t, ":4\n", out)
	_, out, _ = workstation{}.run(t, "__complete", "nodes", "--target-kind", "")
	require.Equal(t, "lima\nprod\n:4\n", out)
}
