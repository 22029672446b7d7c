package inventory

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type files = map[string]string

func hosts(text string) files { return files{"hosts.yaml": text} }

// traps are what people write, and what Ansible makes of it.
var traps = []struct {
	name  string
	files files
	node  string
	want  Target // compared: Host, Port, User, IdentityFile, SSHArgs, Kind, Transport
}{
	{"the name is the address", hosts("all: {hosts: {192.0.2.1: }}"), "192.0.2.1", Target{Host: "192.0.2.1"}},
	{"an IPv6 address", hosts("all: {hosts: {h: {ansible_host: 2001:db8::1}}}"), "h", Target{Host: "2001:db8::1"}},
	{"a port behind the name", hosts("all: {hosts: {'h:2222': }}"), "h", Target{Host: "h", Port: 2222}},
	{"a port behind a bracketed address", hosts("all: {hosts: {'[2001:db8::1]:2222': }}"), "2001:db8::1", Target{Host: "2001:db8::1", Port: 2222}},
	{"a port counts only where the name first stands", hosts("all: {hosts: {h: }, children: {g: {hosts: {'h:2222': }}}}"), "h", Target{Host: "h"}},
	{"a string where a mapping may stand", hosts("all: {hosts: h}"), "h", Target{Host: "h"}},
	{"null groups and hosts", hosts("all:\n  children:\n    a:\n    b: {hosts: {h: }}\n"), "h", Target{Host: "h"}},
	{"octal port", hosts("all: {hosts: {h: {ansible_port: 022}}}"), "h", Target{Host: "h", Port: 18}},
	{"base 60 port", hosts("all: {hosts: {h: {ansible_port: 22:22}}}"), "h", Target{Host: "h", Port: 1342}},
	{"a boolean user", hosts("all: {hosts: {h: {ansible_user: yes}}}"), "h", Target{Host: "h", User: "True"}},
	{"a quoted port", hosts("all: {hosts: {h: {ansible_port: '22'}}}"), "h", Target{Host: "h", Port: 22}},
	{"an empty user", hosts("all: {hosts: {h: {ansible_user: ''}}}"), "h", Target{Host: "h"}},
	{"the legacy name wins, wherever it stands", hosts("all: {vars: {ansible_ssh_user: old}, hosts: {h: {ansible_user: new}}}"), "h", Target{Host: "h", User: "old"}},
	{"a null legacy name does not", hosts("all: {vars: {ansible_ssh_user: ~}, hosts: {h: {ansible_user: new}}}"), "h", Target{Host: "h", User: "new"}},
	{"the longer name of the key wins", hosts("all: {hosts: {h: {ansible_private_key_file: a, ansible_ssh_private_key_file: b}}}"), "h", Target{Host: "h", IdentityFile: "b"}},
	{"home of the key", hosts("all: {hosts: {h: {ansible_ssh_private_key_file: ~/.ssh/id}}}"), "h", Target{Host: "h", IdentityFile: "/home/me/.ssh/id"}},
	{"arguments in Ansible's order", hosts("all: {hosts: {h: {ansible_ssh_extra_args: -x, ansible_ssh_common_args: -y, ansible_ssh_args: '-4'}}}"), "h", Target{Host: "h", SSHArgs: []string{"-4", "-y", "-x"}}},
	{"ansible_ssh_args come before port and user", hosts("all: {hosts: {h: {ansible_ssh_args: -o Port=1 -l joe, ansible_port: 2, ansible_user: jim}}}"), "h", Target{Host: "h", SSHArgs: []string{"-o", "Port=1", "-l", "joe"}}},
	{"a key of ansible_ssh_args comes before", hosts("all: {hosts: {h: {ansible_ssh_args: -i first, ansible_private_key_file: second}}}"), "h", Target{Host: "h", SSHArgs: []string{"-i", "first", "-o", `IdentityFile="second"`}}},
	{"a key of the common arguments comes after", hosts("all: {hosts: {h: {ansible_ssh_common_args: -i second, ansible_private_key_file: first}}}"), "h", Target{Host: "h", IdentityFile: "first", SSHArgs: []string{"-i", "second"}}},
	{"common arguments come after", hosts("all: {hosts: {h: {ansible_ssh_common_args: -p 1, ansible_port: 2}}}"), "h", Target{Host: "h", Port: 2, SSHArgs: []string{"-p", "1"}}},
	{"a quoted argument", hosts(`all: {hosts: {h: {ansible_ssh_common_args: '-o ProxyCommand="ssh -W %h:%p ''j 1''"'}}}`), "h", Target{Host: "h", SSHArgs: []string{"-o", "ProxyCommand=ssh -W %h:%p 'j 1'"}}},
	{"depth beats name", hosts("z: {vars: {ansible_user: top}, hosts: {h: }}\nm: {children: {a: {vars: {ansible_user: deep}, hosts: {h: }}}}"), "h", Target{Host: "h", User: "deep"}},
	{"the name decides at equal depth", hosts("z: {vars: {ansible_user: z}, hosts: {h: }}\na: {vars: {ansible_user: a}, hosts: {h: }}"), "h", Target{Host: "h", User: "z"}},
	{"priority decides before the name", hosts("z: {vars: {ansible_user: z}, hosts: {h: }}\na: {vars: {ansible_user: a, ansible_group_priority: 2}, hosts: {h: }}"), "h", Target{Host: "h", User: "a"}},
	{"priority does not beat depth", hosts("a: {vars: {ansible_user: a, ansible_group_priority: 9}, children: {b: {vars: {ansible_user: b}, hosts: {h: }}}}"), "h", Target{Host: "h", User: "b"}},
	{"the deepest way to a group is its depth", hosts("a: {children: {d: {vars: {ansible_user: d}, hosts: {h: }}, b: {children: {c: {children: {d: }}}}}}\nz: {children: {y: {children: {x: {vars: {ansible_user: x}, hosts: {h: }}}}}}"), "h", Target{Host: "h", User: "d"}},
	{"a file for all beats an inline group", files{"hosts.yaml": "g: {vars: {ansible_user: inline}, hosts: {h: }}", "group_vars/all.yml": "ansible_user: file"}, "h", Target{Host: "h", User: "file"}},
	{"an inline host beats every group's file", files{"hosts.yaml": "g: {hosts: {h: {ansible_user: host}}}", "group_vars/g": "ansible_user: file"}, "h", Target{Host: "h", User: "host"}},
	{"a host's file beats the inline host", files{"hosts.yaml": "g: {hosts: {h: {ansible_user: host}}}", "host_vars/h.json": `{"ansible_user": "file"}`}, "h", Target{Host: "h", User: "file"}},
	{"a priority in a file counts nothing", files{"hosts.yaml": "z: {hosts: {h: }}\na: {hosts: {h: }}", "group_vars/a": "ansible_group_priority: 9\nansible_user: a", "group_vars/z": "ansible_user: z"}, "h", Target{Host: "h", User: "z"}},
	{"a folder of files hides the file", files{"hosts.yaml": "g: {hosts: {h: }}", "group_vars/g/x": "ansible_port: 1", "group_vars/g.yml": "ansible_user: hidden"}, "h", Target{Host: "h", Port: 1}},
	{"files of a folder by name", files{"hosts.yaml": "g: {hosts: {h: }}", "group_vars/g/b.yml": "ansible_user: b", "group_vars/g/a.yml": "ansible_user: a", "group_vars/g/z.txt": "ansible_user: z", "group_vars/g/.c.yml": "ansible_user: c"}, "h", Target{Host: "h", User: "b"}},
	{"the last mention of a host counts", hosts("a: {hosts: {h: {ansible_user: one}}}\nb: {hosts: {h: {ansible_user: two}}}"), "h", Target{Host: "h", User: "two"}},
	{"the last of two equal keys counts", hosts("a: {hosts: {h: {ansible_user: one, ansible_port: 1}, h: {ansible_user: two}}}"), "h", Target{Host: "h", User: "two"}},
	{"merged keys give way", hosts("all:\n  vars: &v {ansible_user: base, ansible_port: 1}\n  hosts:\n    h: {<<: *v, ansible_user: own}\n"), "h", Target{Host: "h", User: "own", Port: 1}},
	{"the first of a merged list counts", hosts("x: {vars: &a {ansible_user: a}}\ny: {vars: &b {ansible_user: b, ansible_port: 2}}\nall: {hosts: {h: {<<: [*a, *b]}}}"), "h", Target{Host: "h", User: "a", Port: 2}},
	{"CRLF", hosts("all:\r\n  hosts:\r\n    h:\r\n      ansible_user: u\r\n"), "h", Target{Host: "h", User: "u"}},
	{"a reference to another host", hosts("all: {hosts: {a: {ansible_host: 192.0.2.1}, h: {ansible_host: \"{{ hostvars['a'].ansible_host }}\"}}}"), "h", Target{Host: "192.0.2.1"}},
	{"the environment", hosts("all: {hosts: {h: {ansible_host: \"{{ lookup('env', 'NODE_IP') }}\", ansible_user: \"{{ lookup('env', 'NONE') | default('me', true) }}\"}}}"), "h", Target{Host: "192.0.2.9", User: "me"}},
	{"an unsafe value is no template", hosts("all: {hosts: {h: {ansible_user: !unsafe u}}}"), "h", Target{Host: "h", User: "u"}},
	{"unused nonsense fails nothing", hosts("all: {hosts: {h: {a: '{{ b }}', c: '{% x %}', d: '{{ d }}'}}}"), "h", Target{Host: "h"}},
	{"a kind", hosts("all: {vars: {target_kind: prod}, hosts: {h: }}"), "h", Target{Host: "h", Kind: Prod}},
	{"the bench is reached by lima, under the node's name", hosts("all: {vars: {target_kind: lima}, hosts: {h: {ansible_host: 127.0.0.1, ansible_port: 60022}}}"), "h", Target{Host: "h", Kind: Lima, Transport: TransportLima}},
	{"a bench by ssh", hosts("all: {vars: {target_kind: lima, transport: ssh}, hosts: {h: {ansible_host: 192.0.2.1}}}"), "h", Target{Host: "192.0.2.1", Kind: Lima}},
	{"lima declares no kind", hosts("all: {vars: {transport: lima}, hosts: {h: }}"), "h", Target{Host: "h", Transport: TransportLima}},
	{"this machine", hosts("all: {hosts: {h: {ansible_connection: local}}}"), "h", Target{Transport: TransportLocal}},
	{"connection is not ansible_connection", hosts("all: {hosts: {localhost: {connection: local}}}"), "localhost", Target{Host: "localhost"}},
	{"INI: a comment behind a value is Python's", files{"hosts": "h\n[all:vars]\nansible_port=22 # the port\nansible_user='u' # the user\n"}, "h", Target{Host: "h", Port: 22, User: "u"}},
	{"INI: octal is a string", files{"hosts": "h ansible_port=022\n"}, "h", Target{Host: "h", Port: 22}},
	{"INI: quotes are the shell's", files{"hosts": `h ansible_ssh_common_args='-o ProxyCommand="ssh -W %h:%p j"'` + "\n"}, "h", Target{Host: "h", SSHArgs: []string{"-o", "ProxyCommand=ssh -W %h:%p j"}}},
	{"INI: groups used before they are declared", files{"hosts": "[a:children]\nb\n[a:vars]\nansible_user=u\n[b]\nh\n"}, "h", Target{Host: "h", User: "u"}},
	{"a directory, in the order of names", files{"20.yaml": "all: {hosts: {h: {ansible_user: two}}}", "10": "h ansible_user=one\n", "x.ini": "h ansible_user=ini\n", "README.md": "no"}, "h", Target{Host: "h", User: "two"}},
	{"a list saved from ansible-inventory", files{"hosts.json": `{"_meta": {"hostvars": {"h": {"ansible_user": "u"}}}, "all": {"children": ["g"]}, "g": {"hosts": ["h"]}}`}, "h", Target{Host: "h", User: "u"}},
}

func TestTraps(t *testing.T) {
	for _, c := range traps {
		t.Run(c.name, func(t *testing.T) {
			got, err := open(t, c.files).Target(c.node, "")
			require.NoError(t, err)
			if c.want.Transport == "" {
				c.want.Transport = TransportSSH
			}
			c.want.Node = c.node
			got.Origins = nil
			require.Equal(t, c.want, got)
		})
	}
}

// TestTrapsInAnsible shows that Ansible falls into the same traps: it runs the
// same ssh, or none where the node is this machine. What only nestor knows of
// (kinds, transports, saved lists) is left out.
func TestTrapsInAnsible(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var q question
	var asked []int
	for i, c := range traps {
		if c.want.Kind != "" || c.want.Transport == TransportLima || c.files["hosts.json"] != "" {
			continue
		}
		dir := filepath.Join(root, strconv.Itoa(i))
		path := dir
		for name, text := range c.files {
			if name == "hosts.yaml" || name == "hosts" {
				path = filepath.Join(dir, name)
			}
			name = filepath.Join(dir, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
			require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
		}
		q.Inventories = append(q.Inventories, inventoryQuestion{Path: path, Argv: true, NoList: true})
		asked = append(asked, i)
	}
	for i, a := range ask(t, q, "NODE_IP=192.0.2.9").Inventories {
		c := traps[asked[i]]
		t.Run(c.name, func(t *testing.T) {
			argv, ran := a.Argv[c.node]
			if c.want.Transport == TransportLocal {
				require.False(t, ran, argv)
				return
			}
			require.True(t, ran, a.RunOut)
			want := c.want
			want.Node = c.node
			want.IdentityFile = strings.Replace(want.IdentityFile, "/home/me", "<HOME>", 1)
			requireSameSSH(t, argv, want)
		})
	}
}

// TestRefused: each message names file and line, the value, and what to do
// where that is known.
func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		// Where Ansible warns and goes on with half an inventory.
		"all: {hosts: {h: }}\ntypo: text\n":           `hosts.yaml:2: group "typo" is a string, not a mapping with hosts, vars or children; Ansible would leave it out`,
		"all: {hosts: {h: }, vasr: {a: 1}}":           `hosts.yaml:1: "vasr" in group "all" is none of hosts, vars and children; Ansible would leave it out`,
		"all: {hosts: {h: }, h2: }":                   `hosts.yaml:1: "h2" in group "all" is none of hosts, vars and children; Ansible would leave it out`,
		"all: {hosts: [h]}":                           `hosts.yaml:1: hosts of group "all" is a list; it needs a mapping`,
		"all: {hosts: {10: }}":                        `hosts.yaml:1: a host's name is a string, not an integer ("10"); quote it`,
		"yes: {hosts: {h: }}":                         `hosts.yaml:1: a group's name is a string, not a boolean ("True"); quote it`,
		"all: {hosts: {h: [a]}}":                      `hosts.yaml:1: the variables of host "h" are a list, not a mapping`,
		"- h\n":                                       `hosts.yaml:1: an inventory is a mapping of groups; this is a list`,
		"all: {hosts: {'h[3:1]': }}":                  `hosts.yaml:1: the range [3:1] in "h[3:1]": it is empty: the first bound is above the last`,
		"all: {hosts: {'h[01:100]': }}":               `hosts.yaml:1: the range [01:100] in "h[01:100]": with leading zeros both bounds need the same length`,
		"a: {children: {b: {children: {a: }}}}":       `hosts.yaml:1: group "a" is a child of "b", which is below it: a loop`,
		"a: {children: {a: }}":                        `hosts.yaml:1: group "a" is a child of "a", which is below it: a loop`,
		"all: {vars: {ansible_group_priority: high}}": `hosts.yaml:1: ansible_group_priority of group "all" is "high", not a number`,
		"all:\n  hosts:\n\th:\n":                      `hosts.yaml:3: found character that cannot start any token`,
		// Values that a call needs.
		"all: {hosts: {h: {ansible_port: 0}}}":                                                      `hosts.yaml:1: node "h": ansible_port is "0", not a port (1 to 65535)`,
		"all: {hosts: {h: {ansible_port: ssh}}}":                                                    `hosts.yaml:1: node "h": ansible_port is "ssh", not a port (1 to 65535)`,
		"all: {hosts: {h: {ansible_port: yes}}}":                                                    `hosts.yaml:1: node "h": ansible_port is "True", not a port (1 to 65535)`,
		"all: {hosts: {h: {ansible_ssh_args: -4}}}":                                                 `hosts.yaml:1: node "h": ansible_ssh_args is an integer, not a string`,
		"all: {hosts: {h: {ansible_user: [a]}}}":                                                    `hosts.yaml:1: node "h": ansible_user is a list, not a string`,
		"all: {hosts: {h: {ansible_host: ''}}}":                                                     `hosts.yaml:1: node "h": ansible_host "" is empty: unsafe target`,
		"all: {hosts: {h: {ansible_user: '{{ ansible_user }}'}}}":                                   `hosts.yaml:1: node "h": ansible_user has the template "{{ ansible_user }}": ansible_user leads back to itself, which cannot be resolved without Ansible`,
		"all: {hosts: {h: {ansible_host: '{{ x }}', x: '{{ y }}', y: '{{ z }}'}}}":                  `hosts.yaml:1: node "h": ansible_host has the template "{{ z }}": z is not defined in the inventory`,
		"all: {hosts: {h: {ansible_ssh_common_args: '-o A=b host'}}}":                               `hosts.yaml:1: node "h": ansible_ssh_common_args "host" is no option of ssh, which would read it as the host: unsafe target`,
		"all: {hosts: {h: {ansible_ssh_extra_args: '-o'}}}":                                         `hosts.yaml:1: node "h": ansible_ssh_extra_args "-o" lacks its value: unsafe target`,
		"all: {hosts: {h: {ansible_ssh_private_key_file: ~joe/id}}}":                                `hosts.yaml:1: node "h": ansible_ssh_private_key_file is "~joe/id": the home of another user is not looked up; write the path`,
		"all: {hosts: {h: {ansible_connection: docker}}}":                                           `hosts.yaml:1: node "h": ansible_connection is "docker"; nestor reaches nodes by ssh, local and lima (write transport: ssh beside it if ssh reaches this one too)`,
		"all: {hosts: {h: {ansible_host: no}}}":                                                     `hosts.yaml:1: node "h": ansible_host is False, which is no host; quote it if a name was meant`,
		"all: {hosts: {h: {ansible_host: '{{ z }}', z: 0}}}":                                        `hosts.yaml:1: node "h": ansible_host is 0, which is no host; quote it if a name was meant`,
		"all: {hosts: {h: {ansible_connection: paramiko}}}":                                         `hosts.yaml:1: node "h": ansible_connection is "paramiko"; nestor reaches nodes by ssh, local and lima (write transport: ssh beside it if ssh reaches this one too)`,
		"all: {hosts: {h: {ansible_connection: ansible.builtin.paramiko_ssh}}}":                     `hosts.yaml:1: node "h": ansible_connection is "ansible.builtin.paramiko_ssh"; nestor reaches nodes by ssh, local and lima (write transport: ssh beside it if ssh reaches this one too)`,
		`all: {hosts: {h: {ansible_host: "a\u202eb"}}}`:                                             `hosts.yaml:1: node "h": ansible_host "a\u202eb" holds an invisible character: unsafe target`,
		`all: {hosts: {h: {ansible_user: "a\u2028b"}}}`:                                             `hosts.yaml:1: node "h": ansible_user "a\u2028b" holds an invisible character: unsafe target`,
		`all: {hosts: {h: {ansible_ssh_private_key_file: "a\u200bb"}}}`:                             `hosts.yaml:1: node "h": ansible_ssh_private_key_file "a\u200bb" holds an invisible character: unsafe target`,
		"all: {hosts: {h: {target_kind: staging}}}":                                                 `hosts.yaml:1: node "h": target_kind is "staging", not lima or prod`,
		"all: {hosts: {h: {target_kind: \"{{ lookup('env', 'KIND') | default('lima', true) }}\"}}}": `hosts.yaml:1: node "h": target_kind depends on the environment; a declaration is written in the inventory`,
		"all: {hosts: {h: {local_bench: \"{{ k }}\", k: \"{{ lookup('env', 'LOCAL') }}\"}}}":        `hosts.yaml:1: node "h": local_bench depends on the environment; a declaration is written in the inventory`,
		"all: {hosts: {h: {transport: local}}}":                                                     `hosts.yaml:1: node "h": transport is "local", not lima or ssh (for this machine write ansible_connection: local)`,
		"all: {hosts: {h: {transport: ssh, ansible_connection: local}}}":                            `hosts.yaml:1: node "h": transport is ssh while ansible_connection is local (hosts.yaml:1); keep one`,
		"all: {hosts: {h: {target_kind: lima, local_bench: 'yes'}}}":                                `hosts.yaml:1: node "h": local_bench is "yes", not true or false`,
	} {
		t.Run(want, func(t *testing.T) {
			inv, err := tryOpen(map[string]string{"hosts.yaml": text})
			if err == nil {
				_, err = inv.Target("h", "")
			} else {
				require.ErrorIs(t, err, ErrUnreadable)
			}
			require.EqualError(t, err, want)
		})
	}
}

func TestRefusedINI(t *testing.T) {
	for text, want := range map[string]string{
		"[a b]\nh\n":              `hosts:1: "[a b]" is no section; a section is [name], [name:vars] or [name:children], without blanks`,
		"[a:hostz]\nh\n":          `hosts:1: section [a:hostz] is none of hosts, vars and children`,
		"[a]\nh user=x y\n":       `hosts:2: expected name=value behind the host, not "y"`,
		"[a:vars]\nx\n":           `hosts:2: expected name=value`,
		"[a:vars]\nx=1\n":         `hosts:1: group "a" is used here and declared nowhere`,
		"[a:children]\nb\n":       `hosts:2: group "b" is used here and declared nowhere`,
		"[a:children]\nb:c\n":     `hosts:2: expected the name of a group`,
		"[a]\nh x='\n":            `hosts:2: the words of this line: a quote is not closed`,
		"[a]\nh:\n":               `hosts:2: "h:" ends in a colon, which is kept for a port`,
		"[a:children]\na\n[a]\nh": `hosts:2: group "a" is a child of "a", which is below it: a loop`,
	} {
		_, err := tryOpen(map[string]string{"hosts": text})
		require.EqualError(t, err, want)
	}
}
