package guard

import (
	"fmt"
	"net/netip"
	"os/exec"
	"slices"
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

// jumps makes Effective.Jumps of names, each followed by its addresses.
func jumps(entries ...any) map[string][]netip.Addr {
	m := map[string][]netip.Addr{}
	name := ""
	for _, e := range entries {
		if a, err := netip.ParseAddr(e.(string)); err == nil && name != "" {
			m[name] = append(m[name], a)
			continue
		}
		name = e.(string)
		m[name] = nil
	}
	return m
}

// gate and gate.example.test are known jump hosts, in both lists.
var honestCommands = []string{
	"none",
	"ssh -W %h:%p gate",
	"ssh gate -W %h:%p",
	"ssh -W %h:%p -q me@gate.example.test",
	"ssh -q -p 2222 me@gate -W %h:%p -i ~/.ssh/id",
	"/usr/bin/ssh -4q -l me -o StrictHostKeyChecking=yes -oBatchMode=yes -W '[%h]:%p' gate",
	`ssh -W "[%h]:%p" 203.0.113.9`,
	"ssh -W %h:%p 2001:db8::5",
	"nc %h %p",
	"nc -4 -w 5 %h %p",
	"/bin/nc -6 %h\t%p",
}

var dishonestCommands = []string{
	"nc 192.0.2.12 22 # %h %p", "nc 192.0.2.12 22 #%h:%p", "sh -c 'nc 127.0.0.1 2222 # %h'", "nc %h.evil 22", "nc %%h %p", "nc %h 22", "nc %p %h",
	"nc -U /run/x # %h %p", "nc -U %h", "nc -x 198.51.100.7:1080 %h %p", "nc -X 5 -x proxy:1080 %h %p", "nc -w %h %p", "nc %h %p; true", "nc %h %p | cat",
	"nc %h %p %h %p", "nc -46 %h %p", "ncat %h %p", "socat - TCP:%h:%p", "bash -c nc %h %p", "bash -c 'nc %h %p'", "sh -c $0 %h", "`nc %h %p`", "$(nc %h %p)",
	"exec nc %h %p", "env nc %h %p", "X=1 nc %h %p", "nc %h %p &", "nc %h %p > x", "nc %h %p\nnc 192.0.2.12 22", "nc\r%h %p", "nc \\%h %p", "nc {%h,a} %p", "nc %h %p ~",
	"./nc %h %p", "/tmp/ssh -W %h:%p gate", "nc", "ssh", "ssh %h", "%h", `nc "%h" %p`,
	"ssh -W 10.0.0.1:22 jump", "ssh -W 10.0.0.1:22 gate # %h:%p", "ssh gate nc %h %p", "ssh gate -W %h:%p true", "ssh -W %h:22 gate", "ssh -W %h:%p", "ssh -W [%h]:%p gate",
	"ssh -W %%h:%p gate", "ssh -W %h:%p %h", "ssh -W %h:%p %r@gate", "ssh -W %h:%p -- gate", "ssh gate", "ssh -W %h:%p -W %h:%p gate", "ssh -W %h:%p -W 10.0.0.1:22 gate",
	"ssh -W %h:%p unknown", "ssh -W %h:%p gate:2222", "ssh -W %h:%p ssh://gate", "ssh -W %h:%p ssh://localhost", "ssh -W %h:%p [::1]", "ssh -W %h:%p a@b@gate", "ssh -W %h:%p ~/x@gate",
	"ssh -p 2222 me@localhost -W %h:%p", "ssh -W %h:%p LOCALHOST6", "ssh -W %h:%p 127.0.0.1", "ssh -W %h:%p ::1", "ssh -W %h:%p ::ffff:127.0.0.1", "ssh -W %h:%p 127.1",
	"ssh -W %h:%p 198.51.100.7", "ssh -W %h:%p 192.0.2.11", "ssh -W %h:%p fe80::1%lo", "ssh -W %h:%p -Jlocalhost gate", "ssh -J gate -W %h:%p gate",
	"ssh -F x -W %h:%p gate", "ssh -S x -W %h:%p gate", "ssh -o ControlPath=x -W %h:%p gate", "ssh -o Hostname=127.0.0.1 -W %h:%p gate", "ssh -oProxyCommand=x -W %h:%p gate",
	"ssh -o ProxyJump=localhost -W %h:%p gate", "ssh -L 1:a:2 -W %h:%p gate", "ssh -o LocalCommand=x -W %h:%p gate", "ssh -f -W %h:%p gate", "ssh -i %h -W %h:%p gate", "ssh -W %h:%p gate # x",
	`ssh -o "User x" -W %h:%p gate`, "ssh -W %h:%p gate 'unclosed",
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
	resolvesAs := func(name, address string) func(world) {
		return func(w world) { resolves(address)(w); w.e.SSH.Hostname = name }
	}
	at := func(port int, change func(world)) func(world) {
		return func(w world) { change(w); w.Port, w.e.SSH.Port = port, port }
	}
	jump := func(written string, entries ...any) func(world) {
		return func(w world) { w.e.SSH.ProxyJump, w.e.Jumps = written, jumps(entries...) }
	}
	command := func(written string) func(world) {
		return func(w world) {
			w.e.SSH.ProxyCommand, w.e.Jumps = written, jumps("gate", "203.0.113.9", "gate.example.test", "203.0.113.9")
		}
	}
	lima := func(w world) { w.Transport = inventory.TransportLima; *w.e = Effective{} }
	localBench := func(change func(world)) func(world) {
		return func(w world) { w.LocalBench = true; change(w) }
	}
	type ruleCase struct {
		name   string
		change func(world)
		rule   Rule   // "" is a permit
		says   string // the value and its origin
	}
	cases := []ruleCase{
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
		{"loopback, IPv4-compatible", host("::127.0.0.1"), RuleAddress, "127.0.0.1"},
		{"loopback, NAT64", host("64:ff9b::7f00:1"), RuleAddress, "127.0.0.1"},
		{"loopback, NAT64 of the site", host("64:ff9b:1::7f00:1"), RuleAddress, "127.0.0.1"},
		{"loopback, 6to4", host("2002:7f00:1::1"), RuleAddress, "127.0.0.1"},
		{"loopback, translated", host("::ffff:0:127.0.0.1"), RuleAddress, "127.0.0.1"},
		{"this machine's own address, NAT64", host("64:ff9b::198.51.100.7"), RuleAddress, "198.51.100.7"},
		{"resolves to this machine, 6to4", resolves("2002:c633:6407::1"), RuleAddress, "198.51.100.7"},
		{"a zone", host("fe80::1%lo"), RuleAddress, "zone"},
		{"resolves to a zone", resolves("fe80::1%eth0"), RuleAddress, "zone"},
		{"localhost6", host("localhost6"), RuleAddress, "localhost6"},
		{"localhost4 in its domain", host("localhost4.localdomain4"), RuleAddress, "localhost4"},
		{"ip6-loopback", host("ip6-loopback"), RuleAddress, "ip6-loopback"},
		{"a leading plus", resolvesAs("+127.1", "192.0.2.11"), RuleAddress, "no host name"},
		{"a leading blank", resolvesAs(" 127.0.0.1", "192.0.2.11"), RuleAddress, "no host name"},
		{"a name of another script", resolvesAs("b\u0435nch1", "192.0.2.11"), RuleAddress, "no host name"},
		{"a percent sign", resolvesAs("%h", "192.0.2.11"), RuleAddress, "no host name"},
		{"an octal that is none", resolvesAs("08.1", "192.0.2.11"), RuleAddress, "08.1"},
		{"a number too long", resolvesAs("0xfffffffffffffffffff", "192.0.2.11"), RuleAddress, "0xfff"},
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
		{"loopback on a declared local bench", localBench(at(2221, host("127.0.0.1"))), "", ""},
		{"localhost on a declared local bench", localBench(at(2221, resolvesAs("localhost", "127.0.0.1"))), "", ""},
		{"a local bench at this machine's sshd", localBench(host("127.0.0.1")), RuleAddress, "own sshd"},
		{"a local bench at this machine's sshd, written", localBench(at(22, host("127.0.0.1"))), RuleAddress, "own sshd"},
		{"a local bench at a port of ssh's configuration", localBench(func(w world) { host("127.0.0.1")(w); w.e.SSH.Port = 2221 }), RuleAddress, "ansible_port"},
		{"a local bench at this machine's address", localBench(host("198.51.100.7")), RuleAddress, "own sshd"},
		{"a local bench that may be elsewhere", localBench(at(2221, resolves("127.0.0.1", "192.0.2.11"))), RuleAddress, "another one"},
		{"a local bench in a namespace", localBench(func(world) {}), "", ""},
		{"loopback by lima", lima, "", ""},
		{"local_bench declared for production", localBench(func(w world) { w.Kind = inventory.Prod }), RuleKind, ""},

		{"another node's address", host("192.0.2.12"), RuleShared, `hosts.yaml:7: refused (rule shared): node "node1": "192.0.2.12" is also the address of node "node2"`},
		{"resolves to another node's", resolves("192.0.2.12"), RuleShared, "node2"},
		{"another port of another node", func(w world) { host("192.0.2.12")(w); w.e.SSH.Port = 2222 }, RuleShared, "node2"},
		{"another node's address, NAT64", host("64:ff9b::192.0.2.12"), RuleShared, "node2"},
		{"another node's, written as 6to4", func(w world) { w.e.Others[0].Addresses = []netip.Addr{netip.MustParseAddr("2002:c000:20b::1")} }, RuleShared, "node2"},
		{"local benches by port", localBench(func(w world) {
			at(2221, host("127.0.0.1"))(w)
			w.e.Others = []Other{{Node: "node2", Port: 2222, Addresses: []netip.Addr{netip.MustParseAddr("127.0.0.1")}}}
		}), "", ""},
		{"local benches with one port", localBench(func(w world) {
			at(2221, host("127.0.0.1"))(w)
			w.e.Others = []Other{{Node: "node2", Port: 2221, Addresses: []netip.Addr{netip.MustParseAddr("127.0.0.1")}}}
		}), RuleShared, "node2"},

		{"an honest jump", jump("me@jump.example.test:2222,ssh://you@[2001:db8::5]:22", "jump.example.test", "203.0.113.9"), "", ""},
		{"a jump known by all that is written", jump("me@Jump:2222", "you@jUMP:22", "203.0.113.9"), "", ""},
		{"jumps by address", jump("203.0.113.9,2001:db8::5"), "", ""},
		{"a jump that nobody resolved", jump("gate"), RuleTunnel, `hosts.yaml:8: refused (rule tunnel): node "node1": "gate" is a jump that leads to no known address`},
		{"a jump that resolves to nothing", jump("gate", "gate"), RuleTunnel, "no known address"},
		{"an address that is refused by its entry", jump("203.0.113.9", "203.0.113.9"), RuleTunnel, "no known address"},
		{"an address that ssh's configuration renames", jump("203.0.113.9", "203.0.113.9", "127.0.0.1"), RuleTunnel, "this machine"},
		{"a later jump that nobody resolved", jump("203.0.113.9,gate"), RuleTunnel, `"gate"`},
		{"a jump to the node itself", jump("192.0.2.11"), RuleTunnel, "the node itself"},
		{"a jump to the node itself, IPv4 in IPv6", jump("[::ffff:192.0.2.11]:22"), RuleTunnel, "the node itself"},
		{"a jump that resolves to the node itself", jump("gate", "gate", "192.0.2.11"), RuleTunnel, "the node itself"},
		{"a jump through localhost", jump("me@localhost:2222", "localhost", "203.0.113.9"), RuleTunnel, `hosts.yaml:8: refused (rule tunnel): node "node1": "localhost"`},
		{"a jump through localhost6", jump("localhost6", "localhost6", "203.0.113.9"), RuleTunnel, "this machine"},
		{"a jump through localhost4 in its domain", jump("localhost4.localdomain4", "localhost4.localdomain4", "203.0.113.9"), RuleTunnel, "this machine"},
		{"a later jump through loopback", jump("203.0.113.9,[::1]:22"), RuleTunnel, "::1"},
		{"a jump through loopback, IPv4 in IPv6", jump("::ffff:127.0.0.1"), RuleTunnel, "this machine"},
		{"a jump through loopback, NAT64", jump("64:ff9b::127.0.0.1"), RuleTunnel, "this machine"},
		{"a jump through the any address", jump("0.0.0.0"), RuleTunnel, "this machine"},
		{"a jump through this machine's address", jump("198.51.100.7"), RuleTunnel, "this machine"},
		{"a jump in old notation", jump("127.1", "127.1", "203.0.113.9"), RuleTunnel, "127.1"},
		{"a jump with a zone", jump("fe80::1%lo"), RuleTunnel, "%lo"},
		{"a jump that resolves to a zone", jump("gate", "gate", "fe80::1%eth0"), RuleTunnel, "zone"},
		{"a jump to what is typed", jump("%h", "%h", "203.0.113.9"), RuleTunnel, "%h"},
		{"a jump that is an option", jump("-oProxyCommand=x"), RuleTunnel, "not [user@]host"},
		{"an empty jump", jump("203.0.113.9,"), RuleTunnel, "not [user@]host"},
		{"a jump with a path", jump("ssh://203.0.113.9/x"), RuleTunnel, "not [user@]host"},
		{"a jump that resolves to this machine", jump("jump", "jump", "198.51.100.7"), RuleTunnel, "jump"},
		{"a jump that resolves to this machine as well", jump("jump", "jump", "203.0.113.9", "me@jump:22", "::1"), RuleTunnel, "this machine"},
		{"a name behind a jump", func(w world) { resolves("192.0.2.11")(w); jump("203.0.113.9")(w) }, RuleTunnel, `"bench1.example.test" is a name that the jump host resolves`},
		{"no jump", jump("none"), "", ""},
		{"a jump of the inventory that ssh was not asked for", func(w world) { w.SSHArgs = []string{"-Jgate"} }, RuleTunnel, `"gate" is on the way in the inventory`},
		{"a jump and a proxy command", func(w world) { jump("203.0.113.9")(w); w.e.SSH.ProxyCommand = "nc %h %p" }, RuleTunnel, "keep one"},
		{"a tunnel on a declared local bench", localBench(at(2221, func(w world) { host("127.0.0.1")(w); jump("localhost")(w) })), RuleTunnel, "local_bench"},
		{"a jump elsewhere on a declared local bench", localBench(at(2221, func(w world) { host("127.0.0.1")(w); jump("203.0.113.9")(w) })), RuleTunnel, "local_bench"},
		{"a jump to a bench that is declared to be here", localBench(jump("203.0.113.9")), RuleTunnel, "local_bench"},
		{"a proxy command on a declared local bench", localBench(at(2221, func(w world) { host("127.0.0.1")(w); command("nc %h %p")(w) })), RuleTunnel, "local_bench"},
		{"where the jump is written", func(w world) {
			jump("gate")(w)
			delete(w.Origins, "ansible_ssh_common_args")
			w.Origins["ansible_ssh_extra_args"] = inventory.Origin{File: "hosts.yaml", Line: 9}
		}, RuleTunnel, "hosts.yaml:9: "},
	}
	for _, written := range honestCommands {
		cases = append(cases, ruleCase{"honest: " + written, command(written), "", ""})
	}
	for _, written := range dishonestCommands {
		cases = append(cases, ruleCase{"dishonest: " + written, command(written), RuleTunnel, "hosts.yaml:8: refused (rule tunnel): node \"node1\": "})
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
			if v := pick(where+" rest", "", "local_bench: true", "local_bench: true, ansible_port: 2221", "stack_id: s", "ansible_host: 127.0.0.1", "ansible_host: 192.0.2.12"); v != "" {
				fmt.Fprintf(&b, "%s%s\n", indent, strings.ReplaceAll(v, ", ", "\n"+indent))
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
		e := Effective{SSH: SSH{Hostname: pick("hostname", "192.0.2.11", "", target.Host, "127.0.0.1", "node1"), ProxyJump: pick("jump", "", "localhost", "gate", "203.0.113.9", "me@GATE:2222", "gate,127.0.0.1", "192.0.2.11", "%h"),
			ProxyCommand: pick("command", append([]string{"", "nc %h %p", "ssh -W %h:%p gate"}, dishonestCommands...)...)}}
		e.SSH.Port = target.Port
		if j := pick("resolved jump", "203.0.113.9", "", "127.0.0.1", "::1", "198.51.100.7", "192.0.2.11", "::ffff:127.0.0.1", "2002:7f00:1::"); j != "" {
			e.Jumps = jumps(pick("as", "gate", "Gate", "me@gate:22", "gates"), j)
		}
		if l := pick("local", "198.51.100.7", "", "192.0.2.11", "203.0.113.9", "64:ff9b::192.0.2.11"); l != "" {
			e.Local = []netip.Addr{netip.MustParseAddr(l)}
		}
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
		if target.Transport == inventory.TransportSSH {
			requireKnownWay(t, target, e)
		}
	})
}

// requireKnownWay says once more, from the few values that are drawn, where a
// permit may lead.
func requireKnownWay(t require.TestingT, target inventory.Target, e Effective) {
	here := func(a netip.Addr) bool {
		return strings.Contains(" 127.0.0.1 ::1 ::ffff:127.0.0.1 2002:7f00:1:: ", " "+a.String()+" ") || len(e.Local) > 0 && (a == e.Local[0] || a.String() == "192.0.2.11" && e.Local[0].String() == "64:ff9b::c000:20b")
	}
	gate := func() {
		require.Len(t, e.Jumps, 1)
		for name, list := range e.Jumps {
			require.Contains(t, []string{"gate", "Gate", "me@gate:22"}, name)
			require.False(t, here(list[0]), "%v", e)
			require.NotEqual(t, "192.0.2.11", list[0].String())
		}
	}
	switch e.SSH.ProxyJump {
	case "":
	case "203.0.113.9":
		require.False(t, here(netip.MustParseAddr("203.0.113.9")))
	default:
		require.Contains(t, []string{"gate", "me@GATE:2222"}, e.SSH.ProxyJump)
		gate()
	}
	switch e.SSH.ProxyCommand {
	case "", "nc %h %p":
	default:
		require.Equal(t, "ssh -W %h:%p gate", e.SSH.ProxyCommand)
		gate()
	}
	between := e.SSH.ProxyJump + e.SSH.ProxyCommand
	require.True(t, e.SSH.ProxyJump == "" || e.SSH.ProxyCommand == "")
	require.True(t, !target.LocalBench || between == "", "%q", between)
	all := e.Addresses
	if a, err := netip.ParseAddr(e.SSH.Hostname); err == nil {
		all = append(all, a)
	}
	for _, a := range all {
		require.NotEqual(t, "192.0.2.12", a.String())
		require.True(t, !here(a) || target.LocalBench && target.Port == 2221, "%v", a)
	}
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
	s, err := ParseSSH("host node1\nuser root\nhostname 192.0.2.11\nport 2222\nProxyJump a@b:22,c\nproxycommand none\nidentityfile ~/.ssh/id\nidentityfile x\nhostname\t 192.0.2.11\n")
	require.NoError(t, err)
	require.Equal(t, SSH{Hostname: "192.0.2.11", Port: 2222, ProxyJump: "a@b:22,c"}, s)
	_, err = ParseSSH("port 22\n")
	require.ErrorContains(t, err, "no hostname")
	_, err = ParseSSH("hostname a\nport x\n")
	require.ErrorContains(t, err, "not a port")
	for _, line := range []string{"hostname other", "HostName\tother", "port 23", "proxyjump none", "proxyjump\tlocalhost", "proxycommand x"} {
		_, err = ParseSSH("hostname a\nport 22\nproxyjump gate\nproxycommand none\n" + line + "\n")
		require.ErrorContains(t, err, "is both", line)
	}
	s, err = ParseSSH("hostname\ta\nproxycommand\tnc 127.0.0.1 22\n")
	require.NoError(t, err)
	require.Equal(t, SSH{Hostname: "a", ProxyCommand: "nc 127.0.0.1 22"}, s)
}

// TestParseRealSSH reads what the ssh of this machine prints.
func TestParseRealSSH(t *testing.T) {
	out, err := exec.Command("ssh", "-F", "none", "-G", "-p", "2222", "-o", "ProxyCommand=ssh -W %h:%p jump", "--", "node1").Output()
	require.NoError(t, err, "this test needs OpenSSH")
	s, err := ParseSSH(string(out))
	require.NoError(t, err)
	require.Equal(t, SSH{Hostname: "node1", Port: 2222, ProxyCommand: "ssh -W %h:%p jump"}, s)
}

// FuzzProxied: a shell finds nothing to do in what is let through, and ssh
// nothing to put in but the node's own host and port.
func FuzzProxied(f *testing.F) {
	for _, command := range append(slices.Clone(honestCommands), dishonestCommands...) {
		f.Add(command)
	}
	quoted := strings.NewReplacer(`"[%h]:%p"`, "", `'[%h]:%p'`, "", `"%h:%p"`, "", `'%h:%p'`, "", "%h:%p", "", "%h %p", "", "%h\t%p", "")
	f.Fuzz(func(t *testing.T, command string) {
		jump, why := proxied(command)
		if why != "" {
			require.Empty(t, jump)
			return
		}
		left := strings.Join(strings.Fields(command), " ")
		require.Regexp(t, `^[A-Za-z0-9_./:@=,~+ -]*$`, quoted.Replace(left))
		require.Regexp(t, `^(/usr/bin/|/bin/)?(ssh|nc) `, left)
		require.Equal(t, strings.HasSuffix(strings.Fields(left)[0], "nc"), jump == "")
		require.Equal(t, 1, strings.Count(left, "%h"))
		require.Equal(t, 1, strings.Count(left, "%p"))
	})
}

func FuzzParseSSH(f *testing.F) {
	f.Add("hostname a\nport 22\nproxyjump none\n")
	f.Add("hostname \n port 1\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := ParseSSH(text); err == nil {
			require.NotEmpty(t, s.Hostname)
			require.GreaterOrEqual(t, s.Port, 0)
			s.jumps()
			badHost(s.Hostname)
			if jump, why := proxied(s.ProxyCommand); why == "" && jump != "" {
				require.Empty(t, badHost(jump))
			}
		}
	})
}
