package guard

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/nodeexec/internal/sshargs"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// noTunnel looks at what lies between here and the node: every jump host must
// be known and be another machine, and a proxy command one of the few that
// are known to lead where the address says.
func noTunnel(c *check) *Refusal {
	if c.target.Transport == inventory.TransportLima {
		return nil
	}
	ssh := c.effective.SSH
	command := orNone(ssh.ProxyCommand)
	jumps, why := ssh.jumps()
	if why != "" {
		return c.refuseTunnel(ssh.ProxyJump, "%s", why)
	}
	if command != "" {
		if len(jumps) > 0 {
			return c.refuseTunnel(command, "is a proxy command beside the jump %s; keep one", ssh.ProxyJump)
		}
		jump, why := proxied(command)
		if why != "" {
			return c.refuseTunnel(command, "%s", why)
		}
		if jump != "" {
			jumps = []string{jump}
		}
	}
	if command == "" && len(jumps) == 0 {
		if jump := c.target.Jump(); jump != "" {
			return c.refuseTunnel(jump, "is on the way in the inventory and not in ssh's answer: the answer is another node's")
		}
		return nil
	}
	if c.target.LocalBench {
		return c.refuseTunnel(orElse(command, ssh.ProxyJump), "is a way through elsewhere, and local_bench: true says that the bench is on this machine; keep one")
	}
	for _, jump := range jumps {
		if why := c.effective.badJump(jump); why != "" {
			return c.refuseTunnel(jump, "%s", why)
		}
	}
	if _, err := netip.ParseAddr(ssh.Hostname); err != nil && len(jumps) > 0 {
		return c.refuseTunnel(ssh.Hostname, "is a name that the jump host resolves in its own way; write the node's IP address")
	}
	return nil
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// refuseTunnel gives the place of the first variable of arguments that is set;
// which of them holds the words, the target does not say.
func (c *check) refuseTunnel(value, format string, args ...any) *Refusal {
	variable := "ansible_ssh_common_args"
	for _, name := range []string{variable, "ansible_ssh_args", "ansible_ssh_extra_args"} {
		if _, set := c.target.Origins[name]; set {
			variable = name
			break
		}
	}
	return c.refuse(RuleTunnel, value, variable, format, args...)
}

// jumps lists the hosts of ProxyJump, or says why it cannot.
func (s SSH) jumps() (hosts []string, why string) {
	if orNone(s.ProxyJump) == "" {
		return nil, ""
	}
	for jump := range strings.SplitSeq(s.ProxyJump, ",") {
		host := sshargs.Host(jump)
		if !jumpShape.MatchString(jump) || badHost(host) != "" {
			return nil, fmt.Sprintf("holds the jump %q, which is not [user@]host[:port]", jump)
		}
		hosts = append(hosts, host)
	}
	return hosts, ""
}

// jumpShape is the frame of a jump; badHost looks at the host within.
var jumpShape = regexp.MustCompile(`^(ssh://)?([A-Za-z0-9_][A-Za-z0-9._-]*@)?([A-Za-z0-9_][A-Za-z0-9._:-]*|::[A-Fa-f0-9.:]*|\[[A-Fa-f0-9.:]+\](:[0-9]+)?)$`)

// badJump says why a jump host is not known to be another machine.
func (e Effective) badJump(host string) string {
	if why := badHost(host); why != "" {
		return why
	}
	if localName(host) {
		return "is a jump through this machine, so the address says nothing of where it leads"
	}
	var addresses []netip.Addr
	if a, err := netip.ParseAddr(host); err == nil {
		addresses = append(addresses, a)
	}
	for name, resolved := range e.Jumps {
		if !strings.EqualFold(sshargs.Host(name), host) {
			continue
		}
		if len(resolved) == 0 {
			addresses = nil
			break
		}
		addresses = append(addresses, resolved...)
	}
	if len(addresses) == 0 {
		return "is a jump that leads to no known address, so it may be this machine; write its IP address"
	}
	own := e.addresses()
	for _, a := range addresses {
		switch {
		case a.Zone() != "":
			return fmt.Sprintf("is a jump through %s, an address with a zone; write one without", a)
		case e.isLocal(a):
			return fmt.Sprintf("is a jump through this machine (%s), so the address says nothing of where it leads", a)
		case slices.Contains(own, plain(a)):
			return fmt.Sprintf("is a jump through the node itself (%s)", a)
		}
	}
	return ""
}

const knownCommands = `is a proxy command that is not known to lead where the address says; known are "ssh [options] -W %h:%p [user@]host", "nc %h %p" and none`

// proxied reads a ProxyCommand of a known shape and gives the host that it
// jumps through, "" where there is none. ssh hands the text to a shell: only
// words in which a shell finds nothing to do are read at all.
func proxied(command string) (jump, why string) {
	words := strings.Fields(command)
	for i, word := range words {
		switch word {
		case `"%h:%p"`, `'%h:%p'`, `"[%h]:%p"`, `'[%h]:%p'`:
			words[i] = "%h:%p"
		case "%h:%p", "%h", "%p":
		default:
			if !shellProof.MatchString(word) {
				return "", knownCommands
			}
		}
	}
	switch {
	case strings.ContainsFunc(command, func(r rune) bool { return r < ' ' && r != '\t' }) || len(words) == 0:
	case words[0] == "ssh" || words[0] == "/usr/bin/ssh":
		if host, ok := sshShape(words[1:]); ok {
			return host, ""
		}
	case words[0] == "nc" || words[0] == "/usr/bin/nc" || words[0] == "/bin/nc":
		if ncShape.MatchString(strings.Join(words[1:], " ")) {
			return "", ""
		}
	}
	return "", knownCommands
}

var (
	shellProof = regexp.MustCompile(`^[A-Za-z0-9_./:@=,~+-]+$`)
	ncShape    = regexp.MustCompile(`^(-4 |-6 |-w [0-9]+ )*%h %p$`)
	sshHost    = regexp.MustCompile(`^([A-Za-z0-9_][A-Za-z0-9._-]*@)?([^@]+)$`)
)

// harmless are the options of an ssh in a proxy command that do not change
// where it goes. -F is not among them, nor is ControlPath: the way would be
// that of a file, or of a connection, that nobody looked at.
var harmless = []string{
	"-4", "-6", "-a", "-C", "-k", "-q", "-T", "-v", "-x", "port", "user", "identityfile",
	"addressfamily", "batchmode", "checkhostip", "compression", "connectionattempts", "connecttimeout", "globalknownhostsfile",
	"identitiesonly", "kbdinteractiveauthentication", "loglevel", "passwordauthentication", "preferredauthentications",
	"pubkeyauthentication", "serveralivecountmax", "serveraliveinterval", "stricthostkeychecking", "tcpkeepalive", "userknownhostsfile",
}

// sshShape reads "[options] -W %h:%p [user@]host", in any order.
func sshShape(args []string) (host string, ok bool) {
	forwards := 0
	for o := range sshargs.Options(args) {
		switch {
		case o.Problem != "":
			m := sshHost.FindStringSubmatch(o.Word)
			if host != "" || m == nil || badHost(m[2]) != "" {
				return "", false
			}
			host = m[2]
		case o.Name == "-W" && o.Value == "%h:%p":
			forwards++
		case !slices.Contains(harmless, o.Name) || strings.Contains(o.Value, "%"):
			return "", false
		}
	}
	return host, host != "" && forwards == 1
}

// Jumps are the targets of which the caller asks "ssh -G" to fill
// [Effective].Jumps, keyed by their Host: the machines on the way to a target,
// as ssh makes of it. A way that cannot be read has none, and is refused.
func Jumps(t inventory.Target, s SSH) []inventory.Target {
	var words []string
	if jump := orNone(s.ProxyJump); jump != "" {
		words = strings.Split(jump, ",")
	} else if command := orNone(s.ProxyCommand); command != "" {
		if jump, _ := proxied(command); jump != "" {
			words = []string{jump}
		}
	}
	var args []string
	for o := range sshargs.Options(t.SSHArgs) {
		if o.Name == "-F" && orNone(s.ProxyJump) != "" { // ssh hands it on to the jump
			args = []string{"-F", o.Value}
		}
	}
	var jumps []inventory.Target
	for _, word := range words {
		jump := inventory.Target{Node: t.Node, Kind: t.Kind, Transport: inventory.TransportSSH, Host: sshargs.Host(word), SSHArgs: args}
		if user, _, ok := strings.Cut(strings.TrimPrefix(word, "ssh://"), "@"); ok {
			jump.User = user
		}
		jumps = append(jumps, jump)
	}
	return jumps
}
