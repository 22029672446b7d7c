package guard

import (
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// bench1 is a bench node that may be changed: the start of every case.
func bench1() (inventory.Target, Effective, Intent, map[string]string) {
	t := inventory.Target{
		Node: "node1", Kind: inventory.Lima, Transport: inventory.TransportSSH, Host: "bench1", StackID: "s1", Inventory: "/i/hosts.yaml",
		Origins: map[string]inventory.Origin{
			"target_kind": {File: "hosts.yaml", Line: 3}, "ansible_host": {File: "hosts.yaml", Line: 7},
			"stack_id": {File: "hosts.yaml", Line: 4}, "ansible_ssh_common_args": {File: "hosts.yaml", Line: 8},
		},
	}
	e := Effective{
		SSH:       SSH{Hostname: "192.0.2.11"},
		Local:     []netip.Addr{netip.MustParseAddr("198.51.100.7")},
		Others:    []Other{{Node: "node2", Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.12")}}, {Node: "node1", Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.11")}}},
		Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.11")},
	}
	return t, e, Intent{Node: "node1", Kind: inventory.Lima, StackID: "s1", Apply: true}, map[string]string{"BANC_JETABLE": "1"}
}

func authorize(t inventory.Target, e Effective, i Intent, env map[string]string) (Permit, error) {
	return Authorize(t, e, i, func(k string) (string, bool) { v, ok := env[k]; return v, ok })
}

func TestRules(t *testing.T) {
	type world struct {
		*inventory.Target
		e   *Effective
		i   *Intent
		env map[string]string
	}
	host := func(name string) func(world) {
		return func(w world) { w.e.SSH.Hostname = name; w.e.Addresses = nil }
	}
	resolves := func(addresses ...string) func(world) {
		return func(w world) {
			w.e.SSH.Hostname, w.e.Addresses = "bench1.example.test", nil
			for _, a := range addresses {
				w.e.Addresses = append(w.e.Addresses, netip.MustParseAddr(a))
			}
		}
	}
	lima := func(w world) { w.Transport = inventory.TransportLima; *w.e = Effective{} }
	localBench := func(change func(world)) func(world) {
		return func(w world) { w.LocalBench = true; change(w) }
	}
	cases := []struct {
		name   string
		change func(world)
		rule   Rule   // "" is a permit
		says   string // the value and its origin
	}{
		{"all is well", func(world) {}, "", ""},
		{"a name that resolves", resolves("192.0.2.11", "2001:db8::11"), "", ""},

		{"a target that became an option", func(w world) { w.Host = "-oProxyCommand=x" }, RuleTarget, "starts with a dash"},
		{"the zero target", func(w world) { *w.Target = inventory.Target{} }, RuleTarget, ""},

		{"undeclared", func(w world) { w.Kind = ""; delete(w.Origins, "target_kind") }, RuleUndeclared, `add "target_kind: lima"`},
		{"declared by hand, in no file", func(w world) { delete(w.Origins, "target_kind") }, RuleUndeclared, `"lima"`},
		{"production", func(w world) { w.Kind = inventory.Prod; w.i.Kind = inventory.Prod }, RuleKind, `hosts.yaml:3: refused (rule kind): node "node1": "prod"`},
		{"production, bench stated", func(w world) { w.Kind = inventory.Prod }, RuleKind, "hosts.yaml:3"},
		{"production, a plan only", func(w world) { w.Kind = inventory.Prod; w.i.Apply = false }, RuleKind, "hosts.yaml:3"},
		{"a kind of another program", func(w world) { w.Kind = "staging"; w.i.Kind = "staging" }, RuleKind, `"staging"`},
		{"no intent", func(w world) { w.i.Kind = "" }, RuleIntent, "--target-kind lima"},
		{"another intent", func(w world) { w.i.Kind = inventory.Prod }, RuleIntent, `hosts.yaml:3: refused (rule intent): node "node1": "prod" was stated`},

		{"another stack", func(w world) { w.i.StackID = "s2" }, RuleStack, `hosts.yaml:4: refused (rule stack): node "node1": "s2"`},
		{"no stack stated", func(w world) { w.i.StackID = "" }, RuleStack, `"s1"`},
		{"no stack declared", func(w world) { w.StackID = "" }, RuleStack, `"s1"`},
		{"no stack at all", func(w world) { w.StackID = ""; w.i.StackID = "" }, "", ""},

		{"a pattern", func(w world) { w.i.Node = "node*" }, RuleName, `"node*"`},
		{"a group", func(w world) { w.i.Node = "cloud" }, RuleName, `"cloud"`},
		{"no name", func(w world) { w.i.Node = "" }, RuleName, ""},

		{"this machine", func(w world) { w.Transport = inventory.TransportLocal }, RuleTransport, `"local"`},
		{"this machine, declared a bench", localBench(func(w world) { w.Transport = inventory.TransportLocal }), RuleTransport, `"local"`},

		{"not disposable", func(w world) { delete(w.env, "BANC_JETABLE") }, RuleDisposable, "BANC_JETABLE=1"},
		{"disposable by another word", func(w world) { w.env["BANC_JETABLE"] = "true" }, RuleDisposable, `"true"`},
		{"a plan needs no word", func(w world) { delete(w.env, "BANC_JETABLE"); w.i.Apply = false }, "", ""},

		{"ssh was not asked", func(w world) { *w.e = Effective{} }, RuleAddress, "ssh"},
		{"ssh was asked of another node", func(w world) { w.Port = 2222 }, RuleAddress, `"22" is the port in ssh's answer`},
		{"the port that was asked for", func(w world) { w.Port = 2222; w.e.SSH.Port = 2222 }, "", ""},
		{"loopback", host("127.0.0.1"), RuleAddress, `hosts.yaml:7: refused (rule address): node "node1": "127.0.0.1" is this machine`},
		{"loopback, another", host("127.8.9.1"), RuleAddress, "127.8.9.1"},
		{"loopback, IPv6", host("::1"), RuleAddress, "::1"},
		{"loopback, IPv4 in IPv6", host("::ffff:127.0.0.1"), RuleAddress, "127.0.0.1"},
		{"localhost", host("LocalHost."), RuleAddress, "LocalHost"},
		{"below localhost", host("x.localhost"), RuleAddress, "x.localhost"},
		{"resolves to loopback", resolves("127.0.1.1"), RuleAddress, "127.0.1.1"},
		{"resolves to loopback as well", resolves("192.0.2.11", "::1"), RuleAddress, "::1"},
		{"any address", host("0.0.0.0"), RuleAddress, "0.0.0.0"},
		{"any address, IPv6", host("::"), RuleAddress, "::"},
		{"network zero", host("0.1.2.3"), RuleAddress, "no machine's"},
		{"any address on a declared local bench", localBench(host("0.0.0.0")), RuleAddress, "0.0.0.0"},
		{"multicast", host("224.0.0.1"), RuleAddress, "224.0.0.1"},
		{"broadcast", host("255.255.255.255"), RuleAddress, "255.255.255.255"},
		{"this machine's own address", host("198.51.100.7"), RuleAddress, "198.51.100.7"},
		{"old notation", host("127.1"), RuleAddress, "127.1"},
		{"old notation, one number", host("2130706433"), RuleAddress, "2130706433"},
		{"old notation, hexadecimal", host("0x7f000001"), RuleAddress, "0x7f000001"},
		{"old notation, octal", host("0177.0.0.1"), RuleAddress, "0177.0.0.1"},
		{"resolves to nothing", resolves(), RuleAddress, "no address"},
		{"loopback on a declared local bench", localBench(host("127.0.0.1")), "", ""},
		{"loopback by lima", lima, "", ""},
		{"local_bench declared for production", localBench(func(w world) { w.Kind = inventory.Prod }), RuleKind, ""},

		{"another node's address", host("192.0.2.12"), RuleShared, `hosts.yaml:7: refused (rule shared): node "node1": "192.0.2.12" is also the address of node "node2"`},
		{"resolves to another node's", resolves("192.0.2.12"), RuleShared, "node2"},
		{"another port of another node", func(w world) { host("192.0.2.12")(w); w.e.SSH.Port = 2222 }, RuleShared, "node2"},
		{"local benches by port", localBench(func(w world) {
			host("127.0.0.1")(w)
			w.e.SSH.Port, w.e.Others = 2221, []Other{{Node: "node2", Port: 2222, Addresses: []netip.Addr{netip.MustParseAddr("127.0.0.1")}}}
		}), "", ""},
		{"local benches with one port", localBench(func(w world) {
			host("127.0.0.1")(w)
			w.e.SSH.Port, w.e.Others = 22, []Other{{Node: "node2", Addresses: []netip.Addr{netip.MustParseAddr("127.0.0.1")}}}
		}), RuleShared, "node2"},

		{"an honest jump", func(w world) { w.e.SSH.ProxyJump = "me@jump.example.test:2222,ssh://you@[2001:db8::5]:22" }, "", ""},
		{"a jump through localhost", func(w world) { w.e.SSH.ProxyJump = "me@localhost:2222" }, RuleTunnel, `hosts.yaml:8: refused (rule tunnel): node "node1": "localhost"`},
		{"a later jump through loopback", func(w world) { w.e.SSH.ProxyJump = "a,[::1]:22" }, RuleTunnel, "::1"},
		{"a jump in old notation", func(w world) { w.e.SSH.ProxyJump = "127.1" }, RuleTunnel, "127.1"},
		{"a jump that resolves to this machine", func(w world) {
			w.e.SSH.ProxyJump = "jump"
			w.e.Jumps = map[string][]netip.Addr{"jump": {netip.MustParseAddr("198.51.100.7")}}
		}, RuleTunnel, "jump"},
		{"an honest proxy command", func(w world) { w.e.SSH.ProxyCommand = "ssh -W %h:%p -q me@jump.example.test" }, "", ""},
		{"a proxy command that goes elsewhere", func(w world) { w.e.SSH.ProxyCommand = "ssh -W 10.0.0.1:22 jump" }, RuleTunnel, "10.0.0.1"},
		{"a proxy command through localhost", func(w world) { w.e.SSH.ProxyCommand = "ssh -p 2222 me@localhost -W %h:%p" }, RuleTunnel, "localhost"},
		{"a proxy command to a local port", func(w world) { w.e.SSH.ProxyCommand = "sh -c 'nc 127.0.0.1 2222 # %h'" }, RuleTunnel, "127.0.0.1"},
		{"a proxy command on this machine's address", func(w world) { w.e.SSH.ProxyCommand = "nc -x 198.51.100.7:1080 %h %p" }, RuleTunnel, "198.51.100.7"},
		{"a tunnel on a declared local bench", localBench(func(w world) { w.e.SSH.ProxyJump = "localhost" }), "", ""},
	}
	covered := map[Rule]bool{}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			target, e, i, env := bench1()
			c.change(world{&target, &e, &i, env})
			permit, err := authorize(target, e, i, env)
			covered[c.rule] = true
			if c.rule == "" {
				require.NoError(t, err)
				require.Equal(t, "node1", permit.Node())
				require.Equal(t, Digest(target), permit.Digest())
				require.Equal(t, i.Apply, permit.Apply())
				opened, err := permit.Target()
				require.NoError(t, err)
				require.Equal(t, target.Host, opened.Host)
				return
			}
			var refusal *Refusal
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, c.rule, refusal.Rule, err)
			require.Contains(t, err.Error(), c.says)
			require.NotContains(t, err.Error(), "\n")
			require.Empty(t, permit)
		})
	}
	for _, rule := range []Rule{RuleTarget, RuleUndeclared, RuleKind, RuleIntent, RuleStack, RuleName, RuleTransport, RuleDisposable, RuleAddress, RuleShared, RuleTunnel} {
		require.True(t, covered[rule], "no case for the rule %s", rule)
	}
}

func TestZeroPermit(t *testing.T) {
	var p Permit
	_, err := p.Target()
	require.ErrorIs(t, err, ErrNoPermit)
	require.Empty(t, p.Node())
	require.False(t, p.Apply())
}

// TestPermitKeepsItsTarget: what the caller does to their target afterwards
// changes nothing.
func TestPermitKeepsItsTarget(t *testing.T) {
	target, e, i, env := bench1()
	target.SSHArgs = []string{"-4"}
	p, err := authorize(target, e, i, env)
	require.NoError(t, err)
	target.SSHArgs[0] = "-6"
	got, err := p.Target()
	require.NoError(t, err)
	require.Equal(t, []string{"-4"}, got.SSHArgs)
	got.SSHArgs[0] = "-6"
	got, err = p.Target()
	require.NoError(t, err)
	require.Equal(t, []string{"-4"}, got.SSHArgs)

	digest := Digest(target)
	for name, change := range map[string]func(*inventory.Target){
		"node": func(t *inventory.Target) { t.Node = "x" }, "kind": func(t *inventory.Target) { t.Kind = "prod" },
		"host": func(t *inventory.Target) { t.Host = "x" }, "port": func(t *inventory.Target) { t.Port = 1 },
		"args": func(t *inventory.Target) { t.SSHArgs = []string{"-", "6"} }, "inventory": func(t *inventory.Target) { t.Inventory = "x" },
		"transport": func(t *inventory.Target) { t.Transport = "lima" }, "stack": func(t *inventory.Target) { t.StackID = "x" },
		"user": func(t *inventory.Target) { t.User = "x" }, "identity": func(t *inventory.Target) { t.IdentityFile = "x" },
		"local": func(t *inventory.Target) { t.LocalBench = true },
	} {
		other := target
		change(&other)
		require.NotEqual(t, digest, Digest(other), name)
	}
}

// TestNoPermitWithoutDeclaration: over generated inventories, intents,
// environments and answers of ssh, a permit comes out only for a node that
// its inventory declares to be the bench.
func TestNoPermitWithoutDeclaration(t *testing.T) {
	permits := 0
	defer func() {
		t.Logf("%d permits", permits)
		require.Positive(t, permits, "no permit came out at all, so nothing was shown")
	}()
	rapid.Check(t, func(t *rapid.T) {
		// Mostly the first, which is harmless, so that permits do come out.
		pick := func(name string, from ...string) string {
			if rapid.IntRange(0, 3).Draw(t, name+"?") > 0 {
				return from[0]
			}
			return rapid.SampledFrom(from).Draw(t, name)
		}
		var b strings.Builder
		vars := func(indent, where string) {
			if v := pick(where+" kind", map[string]string{"all": "lima"}[where], "", "lima", "prod", "LIMA", "'lima '", "~", `"{{ k }}"`, "yes"); v != "" {
				fmt.Fprintf(&b, "%starget_kind: %s\n", indent, v)
			}
			if v := pick(where+" k", "", "lima", "prod"); v != "" {
				fmt.Fprintf(&b, "%sk: %s\n", indent, v)
			}
			if v := pick(where+" transport", "", "", "transport: ssh", "transport: lima", "ansible_connection: local"); v != "" {
				fmt.Fprintf(&b, "%s%s\n", indent, v)
			}
			if v := pick(where+" rest", "", "local_bench: true", "stack_id: s", "ansible_host: 127.0.0.1", "ansible_host: 192.0.2.12"); v != "" {
				fmt.Fprintf(&b, "%s%s\n", indent, v)
			}
		}
		b.WriteString("all:\n  vars:\n    a: b\n")
		vars("    ", "all")
		b.WriteString("cloud:\n  vars:\n    a: b\n")
		vars("    ", "group")
		b.WriteString("  hosts:\n    node1:\n      a: b\n")
		vars("      ", "host")
		b.WriteString("    node2:\n")
		inv, err := inventory.Load(fstest.MapFS{"hosts.yaml": {Data: []byte(b.String())}}, "hosts.yaml", nil)
		require.NoError(t, err)
		target, targetErr := inv.Target("node1", "")
		if targetErr != nil {
			return
		}
		e := Effective{SSH: SSH{Hostname: pick("hostname", "192.0.2.11", "", target.Host, "127.0.0.1", "node1"), ProxyJump: pick("jump", "", "localhost", "jump")}}
		if a := pick("address", "192.0.2.11", "", "192.0.2.12", "127.0.0.1"); a != "" {
			e.Addresses = []netip.Addr{netip.MustParseAddr(a)}
		}
		e.Others = []Other{{Node: "node2", Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.12")}}}
		i := Intent{
			Node: pick("named", "node1", "node*", "cloud"), Kind: inventory.Kind(pick("intent", "lima", "prod", "")),
			StackID: pick("stack", "", "s", "other"), Apply: rapid.Bool().Draw(t, "apply"),
		}
		env := map[string]string{"BANC_JETABLE": pick("disposable", "1", "", "0")}
		permit, err := authorize(target, e, i, env)
		if err != nil {
			require.Empty(t, permit)
			return
		}
		permits++
		declared, ok := declaredKind(t, inv)
		require.True(t, ok && declared == "lima", "declared %q\n%s", declared, b.String())
		require.Equal(t, inventory.Lima, i.Kind)
		require.Equal(t, "node1", i.Node)
		require.NotEqual(t, inventory.TransportLocal, target.Transport)
		require.True(t, !i.Apply || env["BANC_JETABLE"] == "1")
	})
}

// declaredKind reads the declaration in another way than the target does.
func declaredKind(t require.TestingT, inv *inventory.Inventory) (string, bool) {
	vars, err := inv.Vars("node1")
	require.NoError(t, err)
	values := map[string]string{}
	for _, v := range vars {
		values[v.Name] = v.Value.String()
	}
	kind, ok := values["target_kind"]
	if kind == "{{ k }}" {
		kind, ok = values["k"]
	}
	return kind, ok
}

func TestParseSSH(t *testing.T) {
	s, err := ParseSSH("host node1\nuser root\nhostname 192.0.2.11\nport 2222\nProxyJump a@b:22,c\nproxycommand none\nidentityfile ~/.ssh/id\nhostname other\n")
	require.NoError(t, err)
	require.Equal(t, SSH{Hostname: "192.0.2.11", Port: 2222, ProxyJump: "a@b:22,c"}, s)
	_, err = ParseSSH("port 22\n")
	require.ErrorContains(t, err, "no hostname")
	_, err = ParseSSH("hostname a\nport x\n")
	require.ErrorContains(t, err, "not a port")
}

// TestParseRealSSH reads what the ssh of this machine prints.
func TestParseRealSSH(t *testing.T) {
	out, err := exec.Command("ssh", "-F", "none", "-G", "-p", "2222", "-o", "ProxyCommand=ssh -W %h:%p jump", "--", "node1").Output()
	require.NoError(t, err, "this test needs OpenSSH")
	s, err := ParseSSH(string(out))
	require.NoError(t, err)
	require.Equal(t, SSH{Hostname: "node1", Port: 2222, ProxyCommand: "ssh -W %h:%p jump"}, s)
}

func FuzzParseSSH(f *testing.F) {
	f.Add("hostname a\nport 22\nproxyjump none\n")
	f.Add("hostname \n port 1\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := ParseSSH(text); err == nil {
			require.NotEmpty(t, s.Hostname)
			require.GreaterOrEqual(t, s.Port, 0)
			s.jumps()
			oldNotation(s.Hostname)
		}
	})
}
