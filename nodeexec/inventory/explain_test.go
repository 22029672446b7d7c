package inventory

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func field(t *testing.T, x Explanation, name string) Field {
	t.Helper()
	for _, f := range x.Fields {
		if f.Name == name {
			return f
		}
	}
	require.Fail(t, "no field "+name)
	return Field{}
}

// TestExplainBeaten: the value that counts, where it stands, and everything
// that it beat, the strongest first.
func TestExplainBeaten(t *testing.T) {
	inv := open(t, map[string]string{
		"hosts.yaml": `
all:
  vars: {ansible_user: from-all, jump: gate}
  children:
    rack1:
      vars: {ansible_user: from-group}
      hosts:
        node1:
          ansible_user: inline
          ansible_port: 1
          ansible_ssh_port: "{{ 2000 }}"
          ansible_ssh_common_args: -J {{ jump }}
`,
		"group_vars/all.yml":      "ansible_user: from-all-file\n",
		"group_vars/rack1/10.yml": "ansible_user: from-group-file\n",
		"group_vars/rack1/20.yml": "ansible_user: from-later-file\n",
		"host_vars/node1":         "ansible_user: \"{{ who }}\"\nwho: root\n",
	})
	x, err := inv.Explain("node1")
	require.NoError(t, err)
	require.NoError(t, x.Err)
	require.Equal(t, []string{"rack1"}, x.Groups)
	require.Equal(t, Field{
		Name: "user", Value: "root", Variable: "ansible_user", Written: "{{ who }}", Origin: Origin{"host_vars/node1", 1},
		Beat: []Beaten{
			{"ansible_user", "inline", Origin{"hosts.yaml", 9}},
			{"ansible_user", "from-later-file", Origin{"group_vars/rack1/20.yml", 1}},
			{"ansible_user", "from-group-file", Origin{"group_vars/rack1/10.yml", 1}},
			{"ansible_user", "from-all-file", Origin{"group_vars/all.yml", 1}},
			{"ansible_user", "from-group", Origin{"hosts.yaml", 6}},
			{"ansible_user", "from-all", Origin{"hosts.yaml", 3}},
		},
	}, field(t, x, "user"))
	require.Equal(t, Field{
		Name: "port", Value: "2000", Variable: "ansible_ssh_port", Written: "{{ 2000 }}", Origin: Origin{"hosts.yaml", 11},
		Beat: []Beaten{{"ansible_port", "1", Origin{"hosts.yaml", 10}}},
	}, field(t, x, "port"))
	args := field(t, x, "ssh_args")
	require.Equal(t, "-J gate", args.Value)
	require.Equal(t, "-J {{ jump }}", args.Written)
	require.Equal(t, "node1", field(t, x, "host").Value)
	require.Equal(t, "the node's name, as no ansible_host is set", field(t, x, "host").Why)
	require.Equal(t, "left to ssh", field(t, x, "identity_file").Why)
	require.Contains(t, field(t, x, "target_kind").Why, "undeclared")
}

// TestExplainErrors: what cannot be resolved is told in its field, and the
// others are told all the same.
func TestExplainErrors(t *testing.T) {
	inv := open(t, map[string]string{"hosts.yaml": "all: {hosts: {h: {ansible_host: '{{ x }}', ansible_user: u, ansible_ssh_args: '-o Port=1', ansible_port: 2}}}"})
	x, err := inv.Explain("h")
	require.NoError(t, err)
	require.ErrorContains(t, x.Err, "x is not defined")
	require.ErrorContains(t, field(t, x, "host").Err, "x is not defined")
	require.Equal(t, "{{ x }}", field(t, x, "host").Written)
	require.Equal(t, "u", field(t, x, "user").Value)

	_, err = inv.Explain("nobody")
	var unknown *UnknownNodeError
	require.ErrorAs(t, err, &unknown)
}

func TestExplainYields(t *testing.T) {
	inv := open(t, map[string]string{"hosts.yaml": "all: {hosts: {h: {ansible_ssh_args: '-o Port=1', ansible_port: 2}}}"})
	x, err := inv.Explain("h")
	require.NoError(t, err)
	require.Equal(t, "given way to ansible_ssh_args, which comes first in Ansible's command", field(t, x, "port").Why)
}

func TestWarnings(t *testing.T) {
	host := func(vars string) map[string]string {
		return map[string]string{"hosts.yaml": "all: {hosts: {other: {ansible_host: 192.0.2.9}, h: {" + vars + "}}}"}
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		want  []string // code, then the message
	}{
		{"none", host("ansible_host: 192.0.2.1"), nil},
		{"a key twice", map[string]string{"hosts.yaml": "all:\n  hosts:\n    h:\n    h:\n"}, []string{WarnDuplicate, `hosts.yaml:4: the key "h" stands here again, first at line 3; the last one counts`}},
		{"a file never read", map[string]string{"hosts.yaml": "all: {hosts: {h: }}", "host_vars/h.yml": "a: 1", "host_vars/h.json": "{}"}, []string{WarnShadowed, "host_vars/h.json: never read by Ansible, because host_vars/h.yml exists"}},
		{"any address", host("ansible_host: 0.0.0.0"), []string{WarnAnyAddress, "hosts.yaml:1: 0.0.0.0 is no machine's address; ssh takes it for this one"}},
		{"any address, IPv6", host("ansible_host: '::'"), []string{WarnAnyAddress, "hosts.yaml:1: :: is no machine's address; ssh takes it for this one"}},
		{"a jump through itself", host("ansible_host: 192.0.2.1, ansible_ssh_common_args: '-J a,me@192.0.2.1:22'"), []string{WarnSelfJump, "hosts.yaml:1: ansible_ssh_common_args jumps through 192.0.2.1, which is the node itself"}},
		{"a jump through itself, by name", host("ansible_host: 192.0.2.1, ansible_ssh_extra_args: '-o proxyjump=h'"), []string{WarnSelfJump, "hosts.yaml:1: ansible_ssh_extra_args jumps through h, which is the node itself"}},
		{"a shared address", host("ansible_host: 192.0.2.9"), []string{WarnShared, "hosts.yaml:1: 192.0.2.9 is also the address of other"}},
		{"another port is another node", host("ansible_host: 192.0.2.9, ansible_port: 2222"), nil},
		{"a password", host("ansible_password: secret"), []string{WarnPassword, "hosts.yaml:1: ansible_password stands here in plain text (nestor never uses it)"}},
		{"a vaulted password is none", host("ansible_password: !vault x, ansible_become_pass: '{{ p }}'"), nil},
		{"host keys off", host("ansible_ssh_common_args: -o StrictHostKeyChecking=no"), []string{WarnHostKeys, "hosts.yaml:1: ansible_ssh_common_args switches host keys off (no); nestor checks them all the same"}},
		{"no host keys kept", host("ansible_ssh_common_args: -o UserKnownHostsFile=/dev/null"), []string{WarnHostKeys, "hosts.yaml:1: ansible_ssh_common_args keeps no host keys (/dev/null), so that every host is an unknown one; strict checking refuses it"}},
		{"host keys off by variable", host("ansible_host_key_checking: false"), []string{WarnHostKeys, "hosts.yaml:1: ansible_host_key_checking switches host keys off; nestor checks them all the same"}},
		{"a boolean", host("ansible_user: yes"), []string{WarnBoolean, "hosts.yaml:1: ansible_user is the boolean True in YAML 1.1; quote it if a word was meant"}},
		{"a lookalike", host("connection: local"), []string{WarnIgnored, "hosts.yaml:1: connection has no effect on the connection; ansible_connection does"}},
		{"paramiko", host("transport: ssh, ansible_connection: paramiko"), []string{WarnPlugin, "hosts.yaml:1: paramiko runs no ssh in Ansible; nestor does, with ssh's own configuration"}},
		{"a group of the same name", map[string]string{"hosts.yaml": "h: {hosts: {h: }}"}, []string{WarnName, `hosts.yaml: "h" is both a group and a host; patterns take the host`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			x, err := open(t, c.files).Explain("h")
			require.NoError(t, err)
			var got []string
			for _, w := range x.Warnings {
				got = append(got, w.Code, w.String())
			}
			require.Equal(t, c.want, got)
		})
	}
}

// TestSecretsAreNotShown: neither in a field nor in a message.
func TestSecretsAreNotShown(t *testing.T) {
	inv := open(t, map[string]string{"hosts.yaml": "all: {vars: {ansible_ssh_pass: hunter2, ansible_become_pass: hunter3}, hosts: {h: }}"})
	x, err := inv.Explain("h")
	require.NoError(t, err)
	for _, w := range x.Warnings {
		require.NotContains(t, w.Message, "hunter")
	}
	require.Len(t, x.Warnings, 2)
}
