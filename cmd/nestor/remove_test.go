package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/nodeexec/guard"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
	"github.com/nestor-tools/nestor/nodeexec/remove/plan"
)

// recordSSH puts an ssh and a limactl first on PATH that connect to nothing
// and note that they were asked to.
func recordSSH(t *testing.T) (log string) {
	t.Helper()
	dir := t.TempDir()
	log = filepath.Join(dir, "log")
	script := fmt.Sprintf("#!/bin/sh\nprintf '%%s\\n' \"$*\" >>%s\nexit 255\n", log)
	for _, name := range []string{"ssh", "limactl"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755))
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return log
}

const seedHosts = `all:
  vars: {ansible_user: debian}
  children:
    cloud:
%s      children:
        control: {hosts: {cp1: {ansible_host: 10.67.2.10}}}
        workers: {hosts: {node1: {ansible_host: 10.67.2.11}, node2: {ansible_host: 10.67.2.12}}}
`

// forged writes a plan for a node that no nestor has made: canonical, and for
// the very target of the inventory.
func forged(t *testing.T, hosts, node string) (file, hash string) {
	t.Helper()
	inv, err := inventory.Open(inventory.Options{FS: os.DirFS(filepath.Dir(hosts)), Name: filepath.Base(hosts), Dir: filepath.Dir(hosts)})
	require.NoError(t, err)
	target, err := inv.Target(node, "")
	require.NoError(t, err)
	const id = "0123456789abcdef0123456789abcdef"
	text, err := plan.Encode(plan.Plan{TargetKind: "lima", Nodes: []plan.Node{{
		Node: node, Identity: plan.Identity{MachineID: id, TargetDigest: guard.Digest(target)},
		Rook:  plan.Rook{State: "absent"},
		Disks: []plan.Disk{{Path: "/dev/sdb", Name: "sdb", Serial: "S", SizeBytes: 1024, Role: "data", OnIt: []string{}}},
		State: []string{"node\tmachine-id\t" + id, "rook\tstate\tabsent", "disk\t/dev/sdb\tsdb", "dev\tsdb\tnode=/dev/sdb\tsize=1024\tSERIAL=S", "inspected"},
		Steps: []plan.Step{{ID: 1, Verb: plan.ClearDisk, Args: []string{"sdb"}}, {ID: 2, Verb: plan.Reread, Args: []string{"sdb"}}},
	}}})
	require.NoError(t, err)
	file = filepath.Join(t.TempDir(), "plan.json")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	_, err = plan.Decode(text)
	require.NoError(t, err, "the forgery is well-formed: what refuses it is the guard")
	return file, plan.Hash(text)
}

// The inventory of production can't be planned or wiped by any combination of
// flags and environment.
func TestRemove_NeverProduction(t *testing.T) {
	log := recordSSH(t)
	for _, declaration := range []string{"", "      vars: {target_kind: prod}\n", "      vars: {target_kind: prod, stack_id: dirqual}\n", "      vars: {transport: lima}\n", "      vars: {local_bench: true}\n"} {
		dir := t.TempDir()
		hosts := filepath.Join(dir, "hosts.yaml")
		require.NoError(t, os.WriteFile(hosts, fmt.Appendf(nil, seedHosts, declaration), 0o600))
		disks := filepath.Join(dir, "disks.yaml")
		require.NoError(t, os.WriteFile(disks, []byte("ceph: {data_device_glob: /dev/sdb}\n"), 0o600))
		out := filepath.Join(dir, "out.json")
		forgery, hash := forged(t, hosts, "node1")
		runs := 0
		for _, kind := range []string{"", "lima", "prod"} {
			for _, envKind := range []string{"", "lima", "prod"} {
				for _, jetable := range []string{"", "1"} {
					for _, other := range []map[string]string{
						{}, {"STACK_ID": "dirqual"}, {"STACK_ID": "bench"}, {"NODE_EXEC_SHIM": "/bin/true"},
						{"NODE_EXEC_NODE": "node1", "NODE_EXEC_TARGET_KIND": "lima", "NODE_EXEC_TRANSPORT": "lima", "NODE_EXEC_HOST": "node1"},
						{"NESTOR_INVENTORY": hosts, "DATA_DEVICE_GLOB": "/dev/sd*", "NVME_BLOCK_DEVICE": "/dev/nvme0n1"},
					} {
						for _, verb := range [][]string{
							{"plan", "node1", "--disks", disks, "--out", out},
							{"plan", "node1", "node2", "cp1", "--disks", disks, "--out", out, "--sudo", "--discard", "--reboot", "--ceph-fsid", fsid},
							{"plan", "node1", "--out", out}, {"plan", "cloud", "--disks", disks, "--out", out},
							{"plan", "node*", "--disks", disks, "--out", out}, {"plan", "all", "--disks", disks, "--out", out, "--host-keys", "accept-new"},
							{"verify", "node1", "--disks", disks}, {"verify", "all", "--disks", disks, "--sudo"},
							{"apply", forgery, "--confirm", hash}, {"apply", forgery, "--confirm", hash, "--sudo", "--journal", filepath.Join(dir, "j"), "--host-keys", "accept-new"},
						} {
							env := map[string]string{"BANC_JETABLE": jetable, "EXPECTED_TARGET_KIND": envKind}
							for k, v := range other {
								env[k] = v
							}
							args := []string{"remove"}
							if env["NESTOR_INVENTORY"] == "" {
								args = append(args, "-i", hosts)
							}
							if kind != "" {
								args = append(args, "--target-kind", kind)
							}
							got := bare(t, env, append(args, verb...)...)
							if len(verb) == 4 && verb[2] == "--out" && env["DATA_DEVICE_GLOB"] == "" { // it lists no disk, which is said first
								require.Equal(t, exitUnevaluated, got.code, got.stderr)
							} else {
								require.Equal(t, exitRefused, got.code, "%v %v: %s", verb, env, got.stderr)
							}
							require.Empty(t, got.out)
							runs++
						}
					}
				}
			}
		}
		require.Equal(t, 3*3*2*6*10, runs)
		require.NoFileExists(t, out)
		require.NoFileExists(t, filepath.Join(dir, "j"))
		require.NoFileExists(t, forgery+".journal")
	}
	require.NoFileExists(t, log, "no transport was ever started")
}

// Every refusal names its rule, the value and where it is written.
// A node whose address nobody knows here could be the one that is wiped. The
// name is none that a resolver would be asked for.
func TestRemove_AnotherNodeWithoutAnAddress(t *testing.T) {
	hosts := filepath.Join(t.TempDir(), "hosts.yaml")
	require.NoError(t, os.WriteFile(hosts, []byte(`all:
  hosts:
    node1: {ansible_host: 127.0.0.1, target_kind: lima, transport: ssh}
    lost: {ansible_host: no..name, target_kind: prod}
`), 0o600))
	disks := filepath.Join(t.TempDir(), "disks.yaml")
	require.NoError(t, os.WriteFile(disks, []byte("ceph: {data_device_glob: /dev/sdb}\n"), 0o600))
	got := bare(t, nil, "-i", hosts, "remove", "plan", "node1", "--target-kind", "lima", "--disks", disks, "--out", filepath.Join(t.TempDir(), "plan.json"))
	require.Equal(t, exitUnevaluated, got.code, got.stderr)
	require.Contains(t, got.stderr, `whether node "lost" has the same address as "node1" cannot be told: no..name has none here`)
}

func TestRemove_GuardRefusals(t *testing.T) {
	dir := t.TempDir()
	hosts, config := filepath.Join(dir, "hosts.yaml"), filepath.Join(dir, "ssh_config")
	require.NoError(t, os.WriteFile(config, []byte("Host gate\n  HostName 127.0.0.1\nHost onward\n  HostName 192.0.2.1\n  ProxyCommand socat - tcp:127.0.0.1:22\n"), 0o600))
	require.NoError(t, os.WriteFile(hosts, []byte(`all:
  children:
    bench:
      vars: {target_kind: lima, transport: ssh}
      hosts:
        node1: {ansible_host: 192.0.2.11}
        twin: {ansible_host: 192.0.2.11}
        here: {ansible_host: 127.0.0.1}
        jumped: {ansible_host: 192.0.2.12, ansible_ssh_common_args: -F /dev/null -J localhost}
        renamed: {ansible_host: 192.0.2.15, ansible_ssh_common_args: -F `+config+` -J gate}
        onward: {ansible_host: 192.0.2.16, ansible_ssh_common_args: -F `+config+` -J onward}
    rest:
      hosts:
        own: {target_kind: lima, ansible_connection: local}
        undeclared: {ansible_host: 192.0.2.13}
        prod: {ansible_host: 192.0.2.14, target_kind: prod}
`), 0o600))
	disks := filepath.Join(dir, "disks.yaml")
	require.NoError(t, os.WriteFile(disks, []byte("ceph: {data_device_glob: /dev/sdb}\n"), 0o600))
	for name, c := range map[string]struct {
		node, kind string
		apply      bool
		rule       guard.Rule
		value, at  string
	}{
		"undeclared":                          {node: "undeclared", kind: "", rule: guard.RuleUndeclared},
		"production":                          {node: "prod", kind: "prod", rule: guard.RuleKind, value: `"prod"`, at: "hosts.yaml:16"},
		"no intent":                           {node: "jumped", rule: guard.RuleIntent, at: "hosts.yaml:4"},
		"group":                               {node: "bench", kind: "lima", rule: guard.RuleName, value: `"bench"`},
		"pattern":                             {node: "node*", kind: "lima", rule: guard.RuleName, value: `"node*"`},
		"local":                               {node: "own", kind: "lima", rule: guard.RuleTransport, value: `"local"`, at: "hosts.yaml:14"},
		"this machine":                        {node: "here", kind: "lima", rule: guard.RuleAddress, value: "127.0.0.1", at: "hosts.yaml:8"},
		"shared":                              {node: "node1", kind: "lima", rule: guard.RuleShared, value: "192.0.2.11", at: "hosts.yaml:6"},
		"tunnel":                              {node: "jumped", kind: "lima", rule: guard.RuleTunnel, value: "localhost", at: "hosts.yaml:9"},
		"jump renamed by ssh's configuration": {node: "renamed", kind: "lima", rule: guard.RuleTunnel, value: "gate", at: "hosts.yaml:10"},
		"jump with a proxy of its own":        {node: "onward", kind: "lima", rule: guard.RuleTunnel, value: "onward", at: "hosts.yaml:11"},
		"not disposable":                      {node: "jumped", kind: "lima", apply: true, rule: guard.RuleDisposable, value: "BANC_JETABLE"},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"-i", hosts, "remove", "plan", c.node, "--disks", disks, "--out", filepath.Join(dir, "plan.json")}
			if c.apply {
				file, hash := forged(t, hosts, c.node)
				args = []string{"-i", hosts, "remove", "apply", file, "--confirm", hash}
			}
			if c.kind != "" {
				args = append(args, "--target-kind", c.kind)
			}
			got := bare(t, nil, args...)
			require.Equal(t, exitRefused, got.code, got.stderr)
			require.Contains(t, got.stderr, "rule "+string(c.rule))
			require.Contains(t, got.stderr, c.value)
			require.Contains(t, got.stderr, c.at)
			require.Equal(t, 1, strings.Count(got.stderr, "\n"))
		})
	}
}

func TestRemove_ProfileThatDiscoverWrote(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "topology.yaml")
	require.NoError(t, os.WriteFile(file, []byte("schema: nestor.topology/v1\ngenerated_by: nestor discover\nnodes: []\n"), 0o600))
	got := bare(t, nil, "remove", "plan", "node1", "--disks", file, "--out", filepath.Join(dir, "plan.json"))
	require.Equal(t, exitRefused, got.code)
	require.Contains(t, got.stderr, "rule generated")
	require.Contains(t, got.stderr, "topology.yaml:2")
}

func TestRemove_PlanThatWasEdited(t *testing.T) {
	dir := t.TempDir()
	hosts := filepath.Join(dir, "hosts.yaml")
	require.NoError(t, os.WriteFile(hosts, []byte("all: {hosts: {node1: {target_kind: lima}}}\n"), 0o600))
	file, hash := forged(t, hosts, "node1")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	edited := strings.Replace(string(text), `"reread"`, `"clear-disk"`, 1) + " "
	require.NoError(t, os.WriteFile(file, []byte(edited), 0o600))
	env := map[string]string{"BANC_JETABLE": "1"}
	got := bare(t, env, "-i", hosts, "--target-kind", "lima", "remove", "apply", file, "--confirm", plan.Hash([]byte(edited)))
	require.Equal(t, exitRefused, got.code)
	require.Contains(t, got.stderr, "plan again")

	require.NoError(t, os.WriteFile(file, text, 0o600))
	got = bare(t, env, "-i", hosts, "--target-kind", "lima", "remove", "apply", file, "--confirm", hash[:12])
	require.Equal(t, exitRefused, got.code)
	require.Contains(t, got.stderr, "hash")
	require.NoFileExists(t, file+".journal")
}

// No verb has a flag that forces anything.
func TestRemove_NoForce(t *testing.T) {
	for _, verb := range []string{"plan", "apply", "verify"} {
		got := bare(t, nil, "remove", verb, "--help")
		require.Equal(t, exitOK, got.code)
		for _, word := range []string{"--force", "--yes", "--all", "--ignore", "--skip"} {
			require.NotContains(t, got.out, word)
		}
	}
}
