package baseline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nestor-tools/nestor/mapping/fact"
	"github.com/nestor-tools/nestor/mapping/units"
)

func rootLogin(in Input, f *findings) {
	if c, ok := known(f, in.SSHD, "sshd"); ok {
		f.require(c.Get("permitrootlogin") == "no", "sshd has permitrootlogin "+c.Get("permitrootlogin"))
	}
}

func sshPasswords(in Input, f *findings) {
	c, ok := known(f, in.SSHD, "sshd")
	if !ok {
		return
	}
	f.require(c.Get("passwordauthentication") == "no", "sshd has passwordauthentication "+c.Get("passwordauthentication"))
	keyboard := "kbdinteractiveauthentication"
	if c.Get(keyboard) == "" {
		keyboard = "challengeresponseauthentication" // its name before OpenSSH 8.7
	}
	f.require(c.Get(keyboard) == "no", "sshd has "+keyboard+" "+c.Get(keyboard))
}

// maxAuthTries is CIS's bound.
const maxAuthTries = 4

func sshTries(in Input, f *findings) {
	c, ok := known(f, in.SSHD, "sshd")
	if !ok {
		return
	}
	f.require(c.Get("permitemptypasswords") == "no", "sshd has permitemptypasswords "+c.Get("permitemptypasswords"))
	tries, err := strconv.Atoi(c.Get("maxauthtries"))
	f.require(err == nil && tries <= maxAuthTries, "sshd has maxauthtries "+c.Get("maxauthtries"))
}

// active lists those of the units that run. A second name of a unit counts
// with the first.
func active(all map[string]units.Unit, names ...string) []string {
	var found []string
	for _, name := range names {
		if all[name].IsActive() {
			found = append(found, name)
		}
	}
	return found
}

// firewall wants one front-end to be responsible, and a packet that no rule
// takes to be refused, over IPv4 and IPv6. That a module is loaded, or a
// package installed, says nothing.
func firewall(in Input, f *findings) {
	if all, ok := known(f, in.Units, "systemd"); ok {
		front := active(all, "firewalld.service", "nftables.service", "netfilter-persistent.service", "iptables.service")
		// ufw's unit is active while ufw is off, and inactive until the next
		// boot after "ufw enable".
		if status, told := in.UFW.Get(); told && status.Active || !told && all["ufw.service"].IsActive() {
			front = append(front, "ufw")
		}
		switch len(front) {
		case 0:
			f.require(false, "no host firewall is active")
		case 1:
			f.require(true, front[0]+" is active")
		default:
			f.require(false, "several are active: "+strings.Join(front, ", "))
		}
	}
	if status, ok := in.UFW.Get(); ok && status.Closed() {
		f.require(true, "ufw refuses what comes in: "+status.Incoming)
		return
	}
	if in.LegacyPolicy.State == fact.IsPresent && strings.Contains(in.LegacyPolicy.Value, "-P INPUT DROP") {
		f.require(true, "iptables-legacy drops what comes in")
		return
	}
	chains, ok := known(f, in.Chains, "nft")
	if !ok {
		return
	}
	four, six := false, false
	for _, c := range chains {
		if c.Hook == "input" && c.Closed() {
			four = four || c.Family == "inet" || c.Family == "ip"
			six = six || c.Family == "inet" || c.Family == "ip6"
		}
	}
	f.require(four, "nft: input over IPv4 is "+openOrClosed(four))
	f.require(six, "nft: input over IPv6 is "+openOrClosed(six))
}

func openOrClosed(closed bool) string {
	if closed {
		return "closed by default"
	}
	return "open by default"
}

func mandatoryAccess(in Input, f *findings) {
	if enforcing, ok := in.SELinux.Get(); ok {
		f.require(enforcing, fmt.Sprintf("SELinux enforcing: %t", enforcing))
		return
	}
	if in.AppArmor.State == fact.IsAbsent {
		f.require(false, "neither AppArmor nor SELinux is on")
		return
	}
	if profiles, ok := known(f, in.AppArmor, "AppArmor"); ok {
		f.require(profiles["enforce"]+profiles["kill"] > 0, fmt.Sprintf("AppArmor has %d profiles that enforce", profiles["enforce"]+profiles["kill"]))
	}
}

func auditing(in Input, f *findings) {
	if all, ok := known(f, in.Units, "systemd"); ok {
		f.require(all["auditd.service"].IsActive(), "auditd.service is "+unitState(all["auditd.service"]))
		if !all["auditd.service"].Exists() {
			return
		}
	}
	if status, ok := known(f, in.Audit, "auditctl"); ok {
		f.require(status.Enabled >= 1, fmt.Sprintf("auditctl has enabled %d", status.Enabled))
	}
	if rules, ok := known(f, in.AuditRules, "auditctl"); ok {
		f.require(rules > 0, fmt.Sprintf("auditctl lists rules: %t", rules > 0))
	}
}

func unitState(u units.Unit) string {
	if !u.Exists() {
		return "not there"
	}
	return u.Active
}

func timekeeping(in Input, f *findings) {
	if all, ok := known(f, in.Units, "systemd"); ok {
		daemons := active(all, TimeDaemons...)
		f.require(len(daemons) == 1, fmt.Sprintf("time daemons active: %s", orNone(daemons)))
	}
	if on, ok := known(f, in.Synchronized, "clock"); ok {
		f.require(on, fmt.Sprintf("the clock is synchronised: %t", on))
	}
}

// TimeDaemons are the units that keep a node's time.
var TimeDaemons = []string{"chrony.service", "chronyd.service", "systemd-timesyncd.service", "ntp.service", "ntpd.service", "ntpsec.service", "openntpd.service"}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// updates wants all of what makes updates happen: a timer that runs, and a
// setting that tells it to install. A package alone does nothing.
func updates(in Input, f *findings) {
	all, ok := known(f, in.Units, "systemd")
	if !ok {
		return
	}
	if in.Dnf.State == fact.IsPresent {
		timers := active(all, "dnf-automatic.timer", "dnf-automatic-install.timer")
		f.require(len(timers) > 0, "dnf's timers active: "+orNone(timers))
		installs := slices.Contains(timers, "dnf-automatic-install.timer") || strings.Contains(strings.ReplaceAll(in.Dnf.Value, " ", ""), "apply_updates=yes")
		f.require(installs, fmt.Sprintf("dnf-automatic installs what it finds: %t", installs))
		return
	}
	if values, ok := known(f, in.Apt, "apt"); ok {
		every := values["APT::Periodic::Unattended-Upgrade"]
		f.require(every != "" && every != "0", fmt.Sprintf("apt has APT::Periodic::Unattended-Upgrade %q", every))
		timer := all["apt-daily-upgrade.timer"]
		f.require(timer.IsActive(), "apt-daily-upgrade.timer is "+unitState(timer))
		f.require(all["unattended-upgrades.service"].Exists(), "unattended-upgrades.service is "+unitState(all["unattended-upgrades.service"]))
	}
}

// kernelSettings has the values that the baselines agree on. A key of IPv6
// that the kernel lacks is no risk; any other missing one is.
func kernelSettings(in Input, f *findings) {
	settings, ok := known(f, in.Sysctl, "sysctl")
	if !ok {
		return
	}
	want := func(key string, good ...string) {
		v := settings.Get(key)
		switch {
		case v.State == fact.IsAbsent && strings.HasPrefix(key, "net.ipv6."):
		case v.State == fact.IsAbsent:
			f.require(false, v.Why)
		default:
			if value, ok := known(f, v, "sysctl"); ok {
				f.require(slices.Contains(good, value), key+" = "+value)
			}
		}
	}
	want("kernel.randomize_va_space", "2")
	want("kernel.yama.ptrace_scope", "1", "2", "3")
	want("fs.suid_dumpable", "0")
	want("net.ipv4.tcp_syncookies", "1", "2")
	for _, conf := range []string{"all", "default"} {
		want("net.ipv4.conf."+conf+".send_redirects", "0")
		for _, family := range []string{"net.ipv4", "net.ipv6"} {
			want(family+".conf."+conf+".accept_redirects", "0")
			want(family+".conf."+conf+".accept_source_route", "0")
		}
	}
}

func accounts(in Input, f *findings) {
	if names, ok := known(f, in.UIDZero, "/etc/passwd"); ok {
		f.require(slices.Equal(names, []string{"root"}), "user id 0: "+orNone(names))
	}
	if names, ok := known(f, in.NoPassword, "/etc/shadow"); ok {
		f.require(len(names) == 0, "accounts with an empty password: "+orNone(names))
	}
}

// closedKubelet follows the CIS Kubernetes benchmark's checks of a node.
func closedKubelet(in Input, f *findings) {
	if in.Kubelet.State == fact.IsAbsent {
		f.notApplicable = in.Kubelet.Why
		return
	}
	if c, ok := known(f, in.Kubelet, "kubelet"); ok {
		f.require(!c.AnonymousAuth, fmt.Sprintf("anonymous requests are let in: %t", c.AnonymousAuth))
		f.require(c.AuthorizationMode == "Webhook", "authorization mode "+c.AuthorizationMode)
		f.require(c.ReadOnlyPort == 0, fmt.Sprintf("read-only port %d", c.ReadOnlyPort))
	}
	if in.KubeletMode.State == fact.IsAbsent { // flags alone: no file to protect
		return
	}
	if mode, ok := known(f, in.KubeletMode, "kubelet"); ok {
		bits, owner, _ := strings.Cut(mode, " ")
		n, err := strconv.ParseUint(bits, 8, 16)
		f.require(err == nil && n&0o177 == 0 && owner == "root", "configuration has mode and owner "+mode)
	}
}
