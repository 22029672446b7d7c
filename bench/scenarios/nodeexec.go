package scenarios

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

// hard are arguments that some quoting on the way has changed, one day.
var hard = []string{"", " ", "a  b", "'", `"`, `\`, `\\`, `\'`, "$HOME", "$(id)", "`id`", "*", "~", "!", "#", ";", "new\nline", "\t", "-n", "--", "K=V", "K=a b", "é", "\xff\xfe"}

func nodeExec(l *Log, b *Bench) {
	for _, n := range b.Nodes {
		host, err := b.node(n.Name, "hostname").text()
		l.Must(err, "hostname of "+n.Name)
		l.Check(host == "lima-"+n.Name+"\n", "shim: node_exec %s -- hostname: %s", n.Name, host)

		out, err := b.nestor("exec", n.Name, "--", "hostname").text()
		l.Must(err, "hostname of "+n.Name)
		l.Check(out == host, "nestor exec %s -- hostname: %s", n.Name, out)

		// cat's output is what the node got: NUL, which no argument holds, ends each.
		got, err := b.node(n.Name, append([]string{"sh", "-c", `printf '%s\0' "$@"`, "sh"}, hard...)...).text()
		l.Must(err, "arguments to "+n.Name)
		l.Check(got == strings.Join(hard, "\x00")+"\x00", "%d hard arguments on %s: %q", len(hard), n.Name, strings.Split(got, "\x00"))

		code, _, _, err := b.node(n.Name, "sh", "-c", "exit 42").code()
		l.Must(err, "exit code of "+n.Name)
		l.Check(code == 42, "sh -c 'exit 42' on %s: exit code %d", n.Name, code)
	}

	code, out, stderr, err := b.nestor("exec", "cloud", "--output", "json", "--", "hostname").code()
	l.Must(err, "nestor exec cloud")
	l.Check(code == 0, "nestor exec cloud --output json -- hostname: exit code %d\n%s", code, stderr)
	seen := map[string]bool{}
	for line := range strings.Lines(out) {
		var r struct{ Node, Stdout string }
		l.Must(json.Unmarshal([]byte(line), &r), "a line of nestor exec")
		seen[r.Node] = true
		l.Check(r.Stdout == "lima-"+r.Node+"\n", "%s says %s", r.Node, r.Stdout)
	}
	l.Check(len(seen) == len(b.Nodes), "%d of %d nodes answered", len(seen), len(b.Nodes))

	code, _, stderr, err = b.nestor("exec", "no-such-node", "--", "hostname").code()
	l.Must(err, "nestor exec no-such-node")
	l.Check(code == 125 && strings.Contains(stderr, "no-such-node"), "a node that the inventory lacks: exit code %d: %s", code, stderr)
}

func runCNI(l *Log, b *Bench) {
	cp := b.Control(l)
	file := filepath.Join(b.Root, "bench", "lima", "examples", "cni.sh")
	content, err := os.ReadFile(file)
	l.Must(err, "the example")
	// Longer than a pipe holds at once, so that what is lost on the way is seen.
	const more = 20_000
	long := string(content) + strings.Repeat("sum=$((sum + 1))\n", more) + "echo \"cni: $sum lines later\"\n"
	for _, script := range []string{string(content), long} {
		c := b.node(cp, "env", "CILIUM_POD_CIDR=10.245.0.0/16", "sum=0", "bash", "-s")
		c.stdin = script
		out, err := c.text()
		l.Must(err, "cni.sh")
		l.See("node_exec %s env CILIUM_POD_CIDR=10.245.0.0/16 bash -s < cni.sh (%d bytes):\n%s", cp, len(script), out)
		l.Check(strings.Contains(out, "cni: on lima-"+cp) && strings.Contains(out, "pod CIDR 10.245.0.0/16\n"), "it ran there, and had its environment")
		if script == long {
			l.Check(strings.Contains(out, "20000 lines later"), "its last line ran")
		}
	}
	c := b.node(cp, "env", "CILIUM_POD_CIDR=nonsense", "bash", "-s")
	c.stdin = string(content)
	code, _, stderr, err := c.code()
	l.Must(err, "cni.sh")
	l.Check(code == 2, "with a CIDR that is none, its own exit code comes back: %d: %s", code, stderr)
}
