package inventory

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// generator makes inventories that Ansible reads whole: groups above groups,
// hosts in several of them, priorities, ranges, aliases, templates, and files
// beside the inventory. The same seed makes the same inventory.
type generator struct {
	*rand.Rand
	groups   []string
	children map[string][]string
	members  map[string][]string
	hosts    []string
	shown    map[string]bool
	ini      bool
}

// Values by variable, as YAML writes them. Every one of them is legal.
var generated = map[string][]string{
	"ansible_user":    {"debian", "'yes'", "yes", "1000", "022", "~", "''", `"{{ v1 }}"`, `"{{ v2 | default('root') }}"`, `"{{ lookup('env', 'DIFF_USER') | default('dflt', true) }}"`, `"u-{{ inventory_hostname }}"`, "1.50", "0x1F", "12:30:45", "2001-02-03", "!unsafe plain", "!!str 7", `"{{ hostvars['h1'].v1 }}"`, `"{{ v4.user }}"`, `"{{ v5[0] ~ '-' ~ v1 }}"`, ".5", "on", "no", "0", "-0", "-0.0", "'0'", `"{{ lookup('env','NONE', default='d') }}"`},
	"ansible_port":    {"22", "2222", "'2022'", "0x50", "022", `"{{ 2000 }}"`, `"{{ v3 | default(2300) }}"`, "1:30", "~", `"{{ v3 }}"`, `"{{ '22' | int }}"`, `" 77 "`},
	"ansible_host":    {"192.0.2.1", "192.0.2.2", "2001:db8::1", "::1", `"{{ inventory_hostname }}.example.test"`, `"{{ inventory_hostname_short }}"`, `"{{ hostvars['h2']['v1'] }}"`, "1:22", "~", "host.example.test", "10.1", `"{{ hostvars.h1.inventory_hostname }}"`, `"{{ v1 }}"`},
	"identity":        {"~/.ssh/id", "/keys/a b", "keys/id", "~", `"~/{{ v1 }}"`, "''", "'~'"},
	"args":            {`"-o ProxyJump=a@b"`, `'-o ProxyCommand="ssh -W %h:%p j"'`, "-J x,y", "''", "-p 2200 -4", "-l other -4", "-o Port=99 -C", `"-o 'ForwardAgent yes' -v"`, `"-i /k/{{ v1 }} -4"`, "~", `" -4 '' -C "`},
	"v":               {"a", "b1", "'x y'", "7", "0o17", "1e3", "yes", "~", "[1, b, {c: 022}]", "{user: joe, k: v}", "!unsafe '{{ no }}'", "1_000", "''", "3.10", `"é ü"`, `"{{ nothing }}"`},
	"ansible_ssh_any": {"~", "''", "alias"},
}

var aliasOf = map[string]string{
	"ansible_ssh_private_key_file": "identity", "ansible_private_key_file": "identity",
	"ansible_ssh_common_args": "args", "ansible_ssh_extra_args": "args", "ansible_ssh_args": "args",
	"v1": "v", "v2": "v", "v3": "v", "v4": "v", "v5": "v",
	"ansible_ssh_user": "ansible_ssh_any", "ansible_ssh_host": "ansible_ssh_any", "ansible_ssh_port": "ansible_port",
}

func newGenerator(seed uint64) *generator {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 7)), children: map[string][]string{}, members: map[string][]string{}, shown: map[string]bool{}}
	for i := range 3 + g.IntN(6) {
		name := fmt.Sprintf("%c_g%d", 'a'+rune(g.IntN(26)), i)
		for j := range g.groups { // an edge from any earlier group keeps it free of loops
			if g.IntN(4) == 0 {
				g.children[g.groups[j]] = append(g.children[g.groups[j]], name)
			}
		}
		g.groups = append(g.groups, name)
	}
	for i := range 2 + g.IntN(4) {
		g.hosts = append(g.hosts, fmt.Sprintf("h%d", i+1))
	}
	for _, h := range g.hosts {
		for range g.IntN(4) {
			in := g.pick(g.groups)
			if !slices.Contains(g.members[in], h) {
				g.members[in] = append(g.members[in], h)
			}
		}
	}
	return g
}

func (g *generator) pick(from []string) string { return from[g.IntN(len(from))] }

// vars makes up to n variables as YAML lines.
func (g *generator) vars(n int, indent string, host bool) string {
	var b strings.Builder
	used := map[string]bool{}
	for range g.IntN(n + 1) {
		name := g.pick([]string{"ansible_user", "ansible_user", "ansible_port", "ansible_port", "ansible_host", "ansible_ssh_private_key_file", "ansible_private_key_file", "ansible_ssh_common_args", "ansible_ssh_extra_args", "ansible_ssh_args", "ansible_ssh_user", "ansible_ssh_host", "ansible_ssh_port", "v1", "v1", "v2", "v3", "v4", "v5", "ansible_connection"})
		if used[name] || name == "ansible_host" && !host && g.IntN(4) > 0 {
			continue
		}
		used[name] = true
		list := generated[name]
		if aliasOf[name] != "" {
			list = generated[aliasOf[name]]
		}
		switch name {
		case "ansible_connection":
			list = []string{"ssh", "smart", "~", "ansible.builtin.ssh", "local"}
		case "v1":
			list = []string{"one", "two", "'3'", `"{{ v2 }}"`, "h1"}
		case "v3":
			list = []string{"2100", "'2101'", "2102"}
		case "v4":
			list = []string{"{user: joe}", `{user: "{{ v1 }}"}`}
		case "v5":
			if list = []string{"[five]", "[5, 6]"}; g.ini {
				list = []string{"(5,6)"}
			}
		}
		value := g.pick(list)
		if g.ini && (strings.Contains(value, "{{ 2000") || strings.HasPrefix(value, "!") || strings.HasPrefix(value, "[") || strings.HasPrefix(value, "{")) {
			value = "plain"
		}
		if g.ini && value == "~" {
			value = "None"
		}
		if g.ini {
			fmt.Fprintf(&b, "%s%s=%s\n", indent, name, value)
		} else {
			fmt.Fprintf(&b, "%s%s: %s\n", indent, name, value)
		}
	}
	return b.String()
}

func (g *generator) group(b *strings.Builder, name, indent string) {
	if g.shown[name] {
		fmt.Fprintf(b, "%s%s:\n", indent, name)
		return
	}
	g.shown[name] = true
	fmt.Fprintf(b, "%s%s:\n", indent, name)
	vars := g.vars(4, indent+"    ", false)
	if g.IntN(3) == 0 {
		vars += fmt.Sprintf("%s    ansible_group_priority: %s\n", indent, g.pick([]string{"1", "5", "10", "'7'", "-2", "0"}))
	}
	if vars != "" {
		fmt.Fprintf(b, "%s  vars:\n%s", indent, vars)
	}
	if len(g.members[name]) > 0 {
		fmt.Fprintf(b, "%s  hosts:\n", indent)
		for _, h := range g.members[name] {
			g.host(b, h, indent+"    ")
		}
	}
	if len(g.children[name]) > 0 {
		fmt.Fprintf(b, "%s  children:\n", indent)
		for _, child := range g.children[name] {
			g.group(b, child, indent+"    ")
		}
	}
}

func (g *generator) host(b *strings.Builder, name, indent string) {
	switch g.IntN(8) {
	case 0:
		name += ":2024"
	case 1:
		name = "h[1:2]"
	case 2:
		name = "r[01:03:2]x[a:b].example.test"
	}
	fmt.Fprintf(b, "%s%q:\n%s", indent, name, g.vars(4, indent+"  ", true))
}

func (g *generator) yaml() string {
	clear(g.shown)
	var b strings.Builder
	b.WriteString("all:\n  vars:\n    known: yes\n" + g.vars(5, "    ", false))
	if g.IntN(4) > 0 { // what templates name exists, mostly
		b.WriteString("    v1: one\n    v2: two\n    v3: 2100\n    v4: {user: joe}\n    v5: [5]\n")
	}
	b.WriteString("  hosts:\n")
	for _, h := range g.hosts {
		g.host(&b, h, "    ")
	}
	for _, name := range g.hosts[:2] { // those that templates name exist
		fmt.Fprintf(&b, "    %s:\n", name)
	}
	for _, name := range g.groups {
		if !g.shown[name] {
			g.group(&b, name, "")
		}
	}
	return b.String()
}

func (g *generator) iniText() string {
	g.ini = true
	defer func() { g.ini = false }()
	var b strings.Builder
	for _, h := range g.hosts {
		fmt.Fprintf(&b, "%s %s\n", h, g.iniVars())
	}
	for _, name := range g.groups {
		fmt.Fprintf(&b, "\n[%s]  # a comment\n", name)
		for _, h := range g.members[name] {
			fmt.Fprintf(&b, "%s%s %s\n", h, g.pick([]string{"", "", "", ":2025"}), g.iniVars())
		}
		if vars := g.vars(3, "", false); vars != "" {
			fmt.Fprintf(&b, "[%s:vars]\n%s", name, vars)
			if g.IntN(3) == 0 {
				fmt.Fprintf(&b, "ansible_group_priority=%d\n", g.IntN(9))
			}
		}
		if len(g.children[name]) > 0 {
			fmt.Fprintf(&b, "[%s:children]\n%s\n", name, strings.Join(g.children[name], "\n"))
		}
	}
	fmt.Fprintf(&b, "[all:vars]\n%s", g.vars(4, "", false))
	if g.IntN(4) > 0 {
		b.WriteString("v1=one\nv2='two'\nv3=2100\nv4={'user': 'joe'}\nv5=[5]\n")
	}
	return b.String()
}

// iniVars puts variables behind a host. Quotes are the shell's there.
func (g *generator) iniVars() string {
	var parts []string
	for line := range strings.Lines(g.vars(3, "", true)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if strings.ContainsAny(value, " {") && !strings.ContainsAny(value[:1], `'"`) {
			value = `"` + value + `"`
		}
		parts = append(parts, name+"="+value)
	}
	return strings.Join(parts, " ")
}

// write puts an inventory into dir and returns its path.
func (g *generator) write(t testing.TB, dir string) string {
	t.Helper()
	put := func(name, text string) {
		name = filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
	path := ""
	switch g.IntN(4) {
	case 0:
		path = filepath.Join(dir, "hosts")
		put("hosts", g.iniText())
	case 1: // a directory
		path = dir
		put("10-a.yaml", g.yaml())
		put("20-b", g.iniText())
		put("sub/30-c.yml", "late:\n  hosts:\n    h1:\n      v1: late\n")
		put("notes.md", "not an inventory\n")
		put(".hidden", "neither\n")
		put("old.ini", "[[nor this\n")
	default:
		path = filepath.Join(dir, "hosts.yaml")
		put("hosts.yaml", g.yaml())
	}
	for _, name := range append([]string{"all", "ungrouped"}, g.groups...) {
		g.beside(put, "group_vars", name)
	}
	for _, name := range g.hosts {
		g.beside(put, "host_vars", name)
	}
	return path
}

func (g *generator) beside(put func(name, text string), folder, name string) {
	if g.IntN(3) > 0 {
		return
	}
	ext := g.pick([]string{"", ".yml", ".yaml", ".json"})
	text := g.vars(3, "", folder == "host_vars")
	if g.IntN(4) == 0 {
		put(folder+"/"+name+"/b.yml", text)
		put(folder+"/"+name+"/a", g.vars(2, "", false))
		put(folder+"/"+name+"/deep/c.json", `{"v1": "deep", "v3": 2103}`)
		put(folder+"/"+name+"/skipped.txt", "- no\n")
		if ext == "" {
			return
		}
	}
	put(folder+"/"+name+ext, text)
	if ext == ".yml" && g.IntN(2) == 0 {
		put(folder+"/"+name+".yaml", "v1: shadowed\n")
	}
}

func (g *generator) patterns() []string {
	a, b, h := g.pick(g.groups), g.pick(g.groups), g.pick(g.hosts)
	return []string{"all", "*", a, a + ":" + b, a + ",!" + h, "all:!" + a, a + ":&" + b, "h*", "?1", "~h[12]", "!" + h, "ungrouped", "h[12]", "all:!h[!1]", a + "[0]", "all[-1]", "all[1:2]", "all[0:]", h + "," + a}
}
