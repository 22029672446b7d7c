package inventory

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// TestFalsy asks Ansible what it makes of values that Python takes for false:
// it gives ssh no user where the user is the boolean no or the number 0, and
// no key.
func TestFalsy(t *testing.T) {
	t.Parallel()
	values := []string{"no", "False", "off", "0", "-0", "0.0", "-0.0", "''", "'0'", "'no'", "~", "0x0", "+0", "0e0", `"{{ zero }}"`, `"{{ no_user }}"`, "yes", "00", "!!str 0"}
	var b strings.Builder
	b.WriteString("all:\n  vars: {zero: 0, no_user: no}\n  hosts:\n")
	for _, variable := range []string{"ansible_user", "ansible_ssh_user", "ansible_ssh_private_key_file"} {
		for i, value := range values {
			fmt.Fprintf(&b, "    %s-%d:\n      %s: %s\n", strings.ReplaceAll(variable, "_", "-"), i, variable, value)
		}
	}
	path := filepath.Join(t.TempDir(), "hosts.yaml")
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	want := ask(t, question{Inventories: []inventoryQuestion{{Path: path, Argv: true}}}).Inventories[0]
	inv, err := openPath(path, nil)
	require.NoError(t, err)
	compared := 0
	for _, node := range inv.Hosts() {
		target, err := inv.Target(node, "")
		require.NoError(t, err)
		if argv, ran := want.Argv[node]; ran { // Ansible itself trips over a key named True
			requireSameSSH(t, argv, target)
			compared++
		}
	}
	require.GreaterOrEqual(t, compared, 3*len(values)-1)
}

func TestFalsyUserIsRemarked(t *testing.T) {
	for value, remark := range map[string]string{
		"no": "ansible_user is False, which Ansible takes for none at all; quote it if a word was meant",
		"-0": "ansible_user is 0, which Ansible takes for none at all; quote it if a word was meant", "'no'": "", "~": "",
	} {
		inv, err := Load(fstest.MapFS{"hosts.yaml": {Data: []byte("all: {hosts: {h: {ansible_user: " + value + "}}}")}}, "hosts.yaml", nil)
		require.NoError(t, err)
		x, err := inv.Explain("h")
		require.NoError(t, err)
		got := ""
		for _, w := range x.Warnings {
			require.Equal(t, WarnBoolean, w.Code)
			got += w.Message
		}
		require.Equal(t, remark, got, value)
	}
}
