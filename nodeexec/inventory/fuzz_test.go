package inventory

import (
	"strings"
	"testing"
	"testing/fstest"
	"unicode"

	"github.com/stretchr/testify/require"
)

// requireSafe: whatever comes out of an inventory is a target that passes its
// own check, or an error of one line.
func requireSafe(t *testing.T, inv *Inventory) {
	t.Helper()
	for i, node := range inv.Hosts() {
		if i == 20 {
			return
		}
		target, err := inv.Target(node, "")
		if err != nil {
			requireOneLine(t, err)
			continue
		}
		require.NoError(t, target.Check())
		for _, word := range append([]string{target.Host, target.User, target.IdentityFile}, target.SSHArgs...) {
			require.False(t, strings.ContainsFunc(word, unicode.IsControl), "%q", word)
			require.NotContains(t, word, "{{")
		}
		require.False(t, strings.HasPrefix(target.Host, "-") || strings.HasPrefix(target.User, "-"))
		_, err = inv.Explain(node)
		require.NoError(t, err)
	}
}

func requireOneLine(t *testing.T, err error) {
	t.Helper()
	require.False(t, strings.ContainsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' || r == 0x1b }), "%q", err)
	require.NotEmpty(t, err.Error())
}

func fuzzFile(f *testing.F, name string, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return
		}
		inv, err := Load(fstest.MapFS{name: {Data: b}}, name, func(string) (string, bool) { return "v", true })
		if err != nil {
			require.ErrorIs(t, err, ErrUnreadable)
			requireOneLine(t, err)
			return
		}
		requireSafe(t, inv)
	})
}

func FuzzYAML(f *testing.F) {
	fuzzFile(f, "hosts.yaml",
		"all: {vars: {a: 1}, hosts: {'n[1:3]': {ansible_host: 192.0.2.1}}, children: {b: {hosts: h}}}",
		"all:\n  vars: &v {x: 022}\n  hosts:\n    h: {<<: *v, ansible_user: !unsafe '{{'}\n",
		"all: {hosts: {h: {ansible_user: '{{ lookup(\"env\", \"A\") | default(b, true) }}'}}}",
		"a: {hosts: {h: {ansible_ssh_common_args: \"-o ProxyCommand='ssh -W %h:%p j'\"}}}",
		"a: {hosts: {h: {p: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  3031}}}",
	)
}

func FuzzINI(f *testing.F) {
	fuzzFile(f, "hosts",
		"a\n[g]\nb:22 x=1 y='a b' # c\nn[01:03] z={'a': [1, 2]}\n[g:vars]\nv = 1, 2\n[h:children]\ng\n",
		"[x:vars]\na=b\n[x]\n",
		"h ansible_user=\"{{ x }}\" ansible_port=022\n",
	)
}

func FuzzList(f *testing.F) {
	fuzzFile(f, "hosts.json",
		`{"_meta": {"hostvars": {"h": {"ansible_port": 22, "v": {"__ansible_vault": "x"}}}}, "all": {"children": ["g"]}, "g": {"hosts": ["h"]}}`,
		`{"_meta": {}, "g": ["a", "b"]}`,
	)
}

func FuzzTemplate(f *testing.F) {
	for _, s := range []string{"{{ a }}", "{{ hostvars['h'].b | default('x', true) | int }}", "x{{ groups['g'][0] ~ \"y\" }}z", "{{ lookup('env', 'A') or b }}", "{{ a.b[c] | first + 'x' }}"} {
		f.Add(s)
	}
	inv, err := Load(fstest.MapFS{"hosts.yaml": {Data: []byte("g: {hosts: {h: {a: 1, b: '{{ c }}', c: [x, {y: z}], d: {b: '{{ a }}'}}}}")}}, "hosts.yaml", nil)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, s string) {
		e := &evaluation{inv: inv}
		v, err := e.render(inv.graph.hosts["h"], s)
		if err == nil && !isTemplate(s) {
			require.Equal(t, s, v.String(), "what is no template stays as it is")
		}
	})
}

func FuzzPattern(f *testing.F) {
	for _, s := range []string{"", "all", "g:&h", "h,!g", "~h[12]", "h[!1]", "g[0:1]", "g[-1]", "::1", "[", "!", "@f", "~(", "g[99999999999999999999]", "n\xe9[\xff*", "é*[à]"} {
		f.Add(s)
	}
	inv, err := Load(fstest.MapFS{"hosts.yaml": {Data: []byte("g: {hosts: {h1: , h2: }, children: {k: {hosts: {'::1': , a.b: }}}}")}}, "hosts.yaml", nil)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, pattern string) {
		got, err := inv.Select(pattern)
		if err != nil {
			requireOneLine(t, err)
			return
		}
		require.NotEmpty(t, got, "an empty selection is an error")
		require.Subset(t, inv.Hosts(), got)
	})
}

func FuzzHostPattern(f *testing.F) {
	for _, s := range []string{"a", "a[1:3]", "[::1]:22", "a[01:10:2]b[a:c]:22", "[", "a[", "x[1:2", "[[]]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		host, _ := splitPort(s)
		names, err := expandHost(host)
		if err == nil {
			require.NotEmpty(t, names)
			require.LessOrEqual(t, len(names), maxRange)
		}
	})
}
