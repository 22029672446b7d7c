package baseline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/mapping/apparmor"
	"github.com/nestor-tools/nestor/mapping/audit"
	"github.com/nestor-tools/nestor/mapping/fact"
	"github.com/nestor-tools/nestor/mapping/kubelet"
	"github.com/nestor-tools/nestor/mapping/listeners"
	"github.com/nestor-tools/nestor/mapping/nft"
	"github.com/nestor-tools/nestor/mapping/sshd"
	"github.com/nestor-tools/nestor/mapping/sysctl"
	"github.com/nestor-tools/nestor/mapping/ufw"
	"github.com/nestor-tools/nestor/mapping/units"
)

var running = units.Unit{Load: "loaded", Active: "active", Enabled: "enabled"}

// hardened is a node that passes every check.
func hardened() Input {
	settings, err := sysctl.Parse([]byte(`kernel.randomize_va_space = 2
kernel.yama.ptrace_scope = 1
fs.suid_dumpable = 0
net.ipv4.tcp_syncookies = 1
net.ipv4.conf.all.send_redirects = 0
net.ipv4.conf.default.send_redirects = 0
net.ipv4.conf.all.accept_redirects = 0
net.ipv4.conf.default.accept_redirects = 0
net.ipv4.conf.all.accept_source_route = 0
net.ipv4.conf.default.accept_source_route = 0
net.ipv6.conf.all.accept_redirects = 0
net.ipv6.conf.default.accept_redirects = 0
net.ipv6.conf.all.accept_source_route = 0
net.ipv6.conf.default.accept_source_route = 0
`))
	if err != nil {
		panic(err)
	}
	return Input{
		SSHD: fact.Present(sshd.Config{"port": {"22"}, "permitrootlogin": {"no"}, "passwordauthentication": {"no"}, "kbdinteractiveauthentication": {"no"}, "permitemptypasswords": {"no"}, "maxauthtries": {"4"}}),
		Units: fact.Present(map[string]units.Unit{
			"nftables.service": running, "auditd.service": running, "chrony.service": running, "apt-daily-upgrade.timer": running, "unattended-upgrades.service": running,
		}),
		Chains:       fact.Present([]nft.Chain{{Family: "inet", Hook: "input", Policy: "drop"}, {Family: "ip", Hook: "input", Policy: "accept"}}),
		UFW:          fact.Unknown[ufw.Status]("ufw is not installed"),
		LegacyPolicy: fact.Absent[string]("no tables"),
		AppArmor:     fact.Present(apparmor.Profiles{"enforce": 3}),
		SELinux:      fact.Absent[bool]("no SELinux"),
		Audit:        fact.Present(audit.Status{Enabled: 1, PID: 5}),
		AuditRules:   fact.Present(10),
		Synchronized: fact.Present(true),
		Apt:          fact.Present(map[string]string{"APT::Periodic::Unattended-Upgrade": "1"}),
		Dnf:          fact.Absent[string]("no dnf"),
		Sysctl:       fact.Present(settings),
		UIDZero:      fact.Present([]string{"root"}),
		NoPassword:   fact.Present([]string{}),
		Listeners:    fact.Present([]listeners.Listener{{Protocol: "tcp", Address: "*", Port: 22}, {Protocol: "tcp", Address: "*", Port: 10250}}),
		Kubelet:      fact.Present(kubelet.Config{AuthorizationMode: "Webhook", CgroupDriver: "systemd"}),
		KubeletMode:  fact.Present("600 root"),
	}
}

func verdicts(in Input) map[string]Check {
	all := map[string]Check{}
	for _, c := range Judge(in) {
		all[c.ID] = c
	}
	return all
}

func TestJudge_HardenedPassesAll(t *testing.T) {
	for id, c := range verdicts(hardened()) {
		want := Pass
		if strings.HasPrefix(id, "N") {
			want = NotApplicable
		}
		require.Equal(t, want, c.State, "%s: %v", id, c.Evidence)
		require.NotEmpty(t, c.Evidence, id)
		require.NotEmpty(t, c.Title, id)
		require.NotEmpty(t, c.Controls, id)
	}
	require.Len(t, Judge(hardened()), 17)
}

// Nothing read is nothing passed.
func TestJudge_NothingRead(t *testing.T) {
	for id, c := range verdicts(Input{}) {
		want := Unknown
		if strings.HasPrefix(id, "N") {
			want = NotApplicable
		}
		require.Equal(t, want, c.State, "%s: %v", id, c.Evidence)
	}
}

func TestJudge_EachThing(t *testing.T) {
	ssh := func(key, value string) func(*Input) {
		return func(in *Input) { in.SSHD.Value[key] = []string{value} }
	}
	unit := func(name string, u units.Unit) func(*Input) {
		return func(in *Input) { in.Units.Value[name] = u }
	}
	set := func(key, value string) func(*Input) {
		return func(in *Input) { in.Sysctl.Value[key] = fact.Present(value) }
	}
	port := func(l listeners.Listener) func(*Input) {
		return func(in *Input) { in.Listeners.Value = append(in.Listeners.Value, l) }
	}
	for name, c := range map[string]struct {
		id       string
		change   func(*Input)
		state    State
		evidence string
	}{
		"root by key": {"H1", ssh("permitrootlogin", "without-password"), Fail, "permitrootlogin prohibit-password"},
		"sshd denied": {"H1", func(in *Input) { in.SSHD = fact.Denied[sshd.Config]("no host keys") }, Unknown, "sshd: no host keys"},
		"passwords":   {"H2", ssh("passwordauthentication", "yes"), Fail, "passwordauthentication yes"},
		"keyboard":    {"H2", ssh("kbdinteractiveauthentication", "yes"), Fail, "kbdinteractiveauthentication yes"},
		"the old name of it": {"H2", func(in *Input) {
			delete(in.SSHD.Value, "kbdinteractiveauthentication")
			ssh("challengeresponseauthentication", "no")(in)
		}, Pass, "challengeresponseauthentication no"},
		"empty passwords":             {"H3", ssh("permitemptypasswords", "yes"), Fail, "permitemptypasswords yes"},
		"many tries":                  {"H3", ssh("maxauthtries", "6"), Fail, "maxauthtries 6"},
		"no firewall":                 {"H4", unit("nftables.service", units.Unit{Load: "loaded", Active: "inactive"}), Fail, "no host firewall is active"},
		"two firewalls":               {"H4", unit("firewalld.service", running), Fail, "several are active: firewalld.service, nftables.service"},
		"ufw's unit while ufw is off": {"H4", func(in *Input) { unit("ufw.service", running)(in); in.UFW = fact.Present(ufw.Status{}) }, Pass, "nftables.service is active"},
		"ufw enabled beside another, its unit not yet": {"H4", func(in *Input) { in.UFW = fact.Present(ufw.Status{Active: true, Incoming: "deny"}) }, Fail, "several are active: nftables.service, ufw"},
		"ufw not told, its unit active": {"H4", func(in *Input) {
			unit("ufw.service", running)(in)
			in.UFW = fact.Denied[ufw.Status]("no")
		}, Fail, "several are active: nftables.service, ufw"},
		"ufw alone": {"H4", func(in *Input) {
			in.Units.Value["nftables.service"] = units.Unit{}
			unit("ufw.service", running)(in)
			in.UFW, in.Chains = fact.Present(ufw.Status{Active: true, Incoming: "deny"}), fact.Denied[[]nft.Chain]("no")
		}, Pass, "ufw refuses what comes in: deny"},
		"open by policy":            {"H4", func(in *Input) { in.Chains.Value[0].Policy = "accept" }, Fail, "nft: input over IPv4 is open"},
		"kube-proxy's chains alone": {"H4", func(in *Input) { in.Chains.Value = in.Chains.Value[1:] }, Fail, "open by default"},
		"IPv6 forgotten":            {"H4", func(in *Input) { in.Chains.Value[0].Family = "ip" }, Fail, "nft: input over IPv6 is open"},
		"closed by its last rule":   {"H4", func(in *Input) { in.Chains.Value[0].Policy, in.Chains.Value[0].Final = "accept", "reject" }, Pass, "closed by default"},
		"a chain for what goes out": {"H4", func(in *Input) { in.Chains.Value[0].Hook = "output" }, Fail, "open by default"},
		"nft not installed":         {"H4", func(in *Input) { in.Chains = fact.Unknown[[]nft.Chain]("nft is not installed") }, Unknown, "nft is not installed"},
		"old iptables": {"H4", func(in *Input) {
			in.Chains = fact.Unknown[[]nft.Chain]("x")
			in.LegacyPolicy = fact.Present("-P INPUT DROP\n")
		}, Pass, "iptables-legacy drops"},
		"profiles that only complain": {"H5", func(in *Input) { in.AppArmor.Value = apparmor.Profiles{"complain": 9} }, Fail, "0 profiles that enforce"},
		"AppArmor off":                {"H5", func(in *Input) { in.AppArmor = fact.Absent[apparmor.Profiles]("off") }, Fail, "neither"},
		"profiles not readable":       {"H5", func(in *Input) { in.AppArmor = fact.Denied[apparmor.Profiles]("no") }, Unknown, "AppArmor: no"},
		"SELinux":                     {"H5", func(in *Input) { in.SELinux, in.AppArmor = fact.Present(true), fact.Absent[apparmor.Profiles]("x") }, Pass, "SELinux enforcing: true"},
		"SELinux permissive":          {"H5", func(in *Input) { in.SELinux = fact.Present(false) }, Fail, "SELinux enforcing: false"},
		"no auditd": {"H6", func(in *Input) {
			delete(in.Units.Value, "auditd.service")
			in.Audit = fact.Unknown[audit.Status]("not installed")
		}, Fail, "auditd.service is not there"},
		"audit off":                  {"H6", func(in *Input) { in.Audit.Value.Enabled = 0 }, Fail, "enabled 0"},
		"no audit rules":             {"H6", func(in *Input) { in.AuditRules = fact.Present(0) }, Fail, "rules: false"},
		"two time daemons":           {"H7", unit("systemd-timesyncd.service", running), Fail, "chrony.service, systemd-timesyncd.service"},
		"no time daemon":             {"H7", unit("chrony.service", units.Unit{}), Fail, "active: none"},
		"not synchronised":           {"H7", func(in *Input) { in.Synchronized = fact.Present(false) }, Fail, "synchronised: false"},
		"clock not told":             {"H7", func(in *Input) { in.Synchronized = fact.Unknown[bool]("x") }, Unknown, "clock: x"},
		"installed and set to 0":     {"H8", func(in *Input) { in.Apt.Value["APT::Periodic::Unattended-Upgrade"] = "0" }, Fail, `Unattended-Upgrade "0"`},
		"not set":                    {"H8", func(in *Input) { in.Apt.Value = map[string]string{} }, Fail, `Unattended-Upgrade ""`},
		"set, without the package":   {"H8", unit("unattended-upgrades.service", units.Unit{Load: "not-found"}), Fail, "is not there"},
		"set, with the timer masked": {"H8", unit("apt-daily-upgrade.timer", units.Unit{Load: "masked", Active: "inactive"}), Fail, "timer is inactive"},
		"dnf downloads only": {"H8", func(in *Input) {
			in.Dnf = fact.Present("apply_updates = no\n")
			unit("dnf-automatic.timer", running)(in)
		}, Fail, "installs what it finds: false"},
		"dnf installs": {"H8", func(in *Input) {
			in.Dnf = fact.Present("apply_updates = yes\n")
			unit("dnf-automatic.timer", running)(in)
		}, Pass, "dnf-automatic.timer"},
		"dnf's installing timer":    {"H8", func(in *Input) { in.Dnf = fact.Present(""); unit("dnf-automatic-install.timer", running)(in) }, Pass, "installs what it finds: true"},
		"a setting":                 {"H9", set("fs.suid_dumpable", "2"), Fail, "fs.suid_dumpable = 2"},
		"default counts too":        {"H9", set("net.ipv4.conf.default.accept_redirects", "1"), Fail, "conf.default.accept_redirects = 1"},
		"a kernel without yama":     {"H9", func(in *Input) { delete(in.Sysctl.Value, "kernel.yama.ptrace_scope") }, Fail, "has no kernel.yama.ptrace_scope"},
		"a kernel without IPv6":     {"H9", func(in *Input) { delete(in.Sysctl.Value, "net.ipv6.conf.all.accept_redirects") }, Pass, "= 0"},
		"a setting denied":          {"H9", func(in *Input) { in.Sysctl.Value["fs.suid_dumpable"] = fact.Denied[string]("no") }, Unknown, "sysctl: no"},
		"two users 0":               {"H10", func(in *Input) { in.UIDZero.Value = []string{"root", "toor"} }, Fail, "user id 0: root, toor"},
		"an empty password":         {"H10", func(in *Input) { in.NoPassword.Value = []string{"guest"} }, Fail, "guest"},
		"shadow denied":             {"H10", func(in *Input) { in.NoPassword = fact.Denied[[]string]("no") }, Unknown, "/etc/shadow: no"},
		"a port":                    {"H11", port(listeners.Listener{Protocol: "tcp", Address: "0.0.0.0", Port: 9100, Process: "node_exporter"}), Fail, "tcp port 9100 is open, by node_exporter"},
		"a port for itself":         {"H11", port(listeners.Listener{Protocol: "tcp", Address: "127.0.0.1", Port: 9100}), Pass, "only expected"},
		"an API server on a worker": {"H11", port(listeners.Listener{Protocol: "tcp", Address: "*", Port: 6443}), Fail, "6443"},
		"an API server": {"H11", func(in *Input) {
			in.ControlPlane = true
			port(listeners.Listener{Protocol: "tcp", Address: "*", Port: 6443})(in)
		}, Pass, "only expected"},
		"ssh elsewhere": {"H11", func(in *Input) {
			ssh("port", "2222")(in)
			port(listeners.Listener{Protocol: "tcp", Address: "*", Port: 2222})(in)
			in.Listeners.Value = in.Listeners.Value[1:]
		}, Pass, "only expected"},
		"a client's port":      {"H11", port(listeners.Listener{Protocol: "udp", Address: "*", Port: 45123}), Pass, "only expected"},
		"ss missing":           {"H11", func(in *Input) { in.Listeners = fact.Unknown[[]listeners.Listener]("ss is not installed") }, Unknown, "ss is not installed"},
		"no kubelet":           {"H12", func(in *Input) { in.Kubelet = fact.Absent[kubelet.Config]("no kubelet") }, NotApplicable, "no kubelet"},
		"anonymous":            {"H12", func(in *Input) { in.Kubelet.Value.AnonymousAuth = true }, Fail, "let in: true"},
		"AlwaysAllow":          {"H12", func(in *Input) { in.Kubelet.Value.AuthorizationMode = "AlwaysAllow" }, Fail, "AlwaysAllow"},
		"read-only port":       {"H12", func(in *Input) { in.Kubelet.Value.ReadOnlyPort = 10255 }, Fail, "10255"},
		"readable by all":      {"H12", func(in *Input) { in.KubeletMode = fact.Present("644 root") }, Fail, "644 root"},
		"another's file":       {"H12", func(in *Input) { in.KubeletMode = fact.Present("600 debian") }, Fail, "600 debian"},
		"stricter than asked":  {"H12", func(in *Input) { in.KubeletMode = fact.Present("400 root") }, Pass, "400 root"},
		"flags alone":          {"H12", func(in *Input) { in.KubeletMode = fact.Absent[string]("no file") }, Pass, "Webhook"},
		"configuration denied": {"H12", func(in *Input) { in.Kubelet = fact.Denied[kubelet.Config]("no") }, Unknown, "kubelet: no"},
		"a failure beside something unknown": {"H12", func(in *Input) {
			in.Kubelet = fact.Denied[kubelet.Config]("no")
			in.KubeletMode = fact.Present("644 root")
		}, Fail, "644 root"},
	} {
		t.Run(name, func(t *testing.T) {
			in := hardened()
			c.change(&in)
			all := verdicts(in)
			require.Equal(t, c.state, all[c.id].State, "%v", all[c.id].Evidence)
			require.Contains(t, strings.Join(all[c.id].Evidence, "\n"), c.evidence)
			for id, other := range all { // each change is one check's business
				if id != c.id && !strings.HasPrefix(id, "N") && !shared(c.id, id) {
					require.Equal(t, Pass, other.State, "%s: %v", id, other.Evidence)
				}
			}
		})
	}
}

// shared are checks that read one source.
func shared(a, b string) bool {
	ssh := "H1 H2 H3 H11 "
	return strings.Contains(ssh, a+" ") && strings.Contains(ssh, b+" ")
}

func ExampleJudge() {
	for _, c := range Judge(Input{SSHD: fact.Present(sshd.Config{"permitrootlogin": {"prohibit-password"}})})[:1] {
		fmt.Println(c.ID, c.State, c.Evidence)
	}
	// Output:
	// H1 fail [sshd has permitrootlogin prohibit-password]
}
