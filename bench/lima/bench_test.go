package lima_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/lima"
)

// copyBench copies bench.sh and the shims: bench.sh writes beside itself.
func copyBench(t *testing.T) (script string) {
	root := t.TempDir()
	for _, name := range []string{"bench/lima/bench.sh", "shims/bench-compat.sh", "shims/node-exec.sh"} {
		content, err := os.ReadFile(filepath.Join("../..", name))
		require.NoError(t, err)
		file := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, content, 0o755))
	}
	return filepath.Join(root, "bench/lima/bench.sh")
}

func TestBench(t *testing.T) {
	l := lima.Install(t)
	script := copyBench(t)
	work := filepath.Join(filepath.Dir(script), ".work")
	table := filepath.Join(t.TempDir(), "vms.txt")
	require.NoError(t, os.WriteFile(table, []byte(`# a comment
cp1    control  2  4GiB  20GiB  -          16443  yes
node1  workers  1  1GiB  8GiB   2GiB,1GiB  -      -
`), 0o600))
	bench := func(args ...string) (string, error) {
		cmd := exec.Command("bash", append([]string{script}, args...)...)
		cmd.Env = append(l.Environ(os.Environ()), "NESTOR_BENCH_VMS="+table)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	read := func(name string) string {
		content, err := os.ReadFile(name)
		require.NoError(t, err)
		return string(content)
	}

	out, err := bench("up")
	require.NoError(t, err, out)
	assert.Equal(t, `# Written by bench.sh up; gone with bench.sh down.
all:
  vars:
    target_kind: lima
    stack_id: bench
  children:
    cloud:
      children:
        control:
          hosts:
            cp1:
              ansible_host: lima-cp1
              ansible_ssh_common_args: -F `+l.Home+`/cp1/ssh.config
              api_port: 16443
        workers:
          hosts:
            node1:
              ansible_host: lima-node1
              ansible_ssh_common_args: -F `+l.Home+`/node1/ssh.config
`, read(filepath.Join(work, "inventory.yaml")))
	cp1, node1 := read(filepath.Join(l.Home, "cp1", "lima.yaml")), read(filepath.Join(l.Home, "node1", "lima.yaml"))
	assert.Contains(t, cp1, "guestPort: 6443, hostPort: 16443}")
	assert.Contains(t, cp1, "guestPortRange: [30000, 32767]")
	assert.NotContains(t, cp1, "plain")
	assert.Contains(t, node1, "- {name: node1-1, format: false}\n- {name: node1-2, format: false}\n")
	assert.Contains(t, node1, "plain: true\n")
	for _, template := range []string{cp1, node1} {
		assert.Contains(t, template, "mounts: []\n")
		assert.Contains(t, template, "containerd: {system: false, user: false}\n")
	}
	assert.Equal(t, "1GiB", read(filepath.Join(l.Home, "_disks", "node1-2")))

	out, err = bench("up")
	require.NoError(t, err, "again, it changes nothing: %s", out)
	out, err = bench("status")
	require.NoError(t, err, out)
	assert.Regexp(t, `(?m)^node1 +Running +yes +2GiB,1GiB$`, out)
	require.Zero(t, call{}.run(t, l, "stop", "node1").code)
	out, err = bench("status")
	require.Error(t, err)
	assert.Regexp(t, `(?m)^node1 +Stopped +no `, out)
	out, err = bench("up", "node1")
	require.NoError(t, err, "what is stopped is started: %s", out)

	out, err = bench("down", "node1")
	require.NoError(t, err, out)
	assert.NoDirExists(t, filepath.Join(l.Home, "node1"))
	assert.NoFileExists(t, filepath.Join(l.Home, "_disks", "node1-1"))
	assert.DirExists(t, filepath.Join(l.Home, "cp1"))
	assert.NotContains(t, read(filepath.Join(work, "inventory.yaml")), "node1")

	// What it did not make stays.
	l.Add(t, "node1", lima.VM{})
	out, err = bench("up")
	require.Error(t, err)
	assert.Contains(t, out, "the instance node1 exists and bench.sh did not make it")
	out, err = bench("down")
	require.NoError(t, err, out)
	assert.DirExists(t, filepath.Join(l.Home, "node1"))
	assert.NoDirExists(t, filepath.Join(l.Home, "cp1"))
	assert.NoFileExists(t, filepath.Join(work, "inventory.yaml"))
	require.Zero(t, call{}.run(t, l, "delete", "--force", "node1").code)
	require.Zero(t, call{}.run(t, l, "disk", "create", "node1-2", "--size", "1GiB").code)
	out, err = bench("up", "node1")
	require.Error(t, err)
	assert.Contains(t, out, "the disk node1-2 exists and bench.sh did not make it")
	out, err = bench("down")
	require.NoError(t, err, out)
	assert.FileExists(t, filepath.Join(l.Home, "_disks", "node1-2"))
	assert.NoFileExists(t, filepath.Join(l.Home, "_disks", "node1-1"))

	for _, row := range []string{"cp1 control 2 4GiB", "cp1;id control 2 4GiB 20GiB - - -", "../x control 2 4GiB 20GiB - - -"} {
		require.NoError(t, os.WriteFile(table, []byte(row+"\n"), 0o600))
		out, err = bench("up")
		require.Error(t, err, row)
		assert.True(t, strings.HasPrefix(out, "bench: "+table+":1: "), out)
	}
	out, err = bench("sideways")
	require.Error(t, err)
	assert.Contains(t, out, "usage")
}
