package mapping

import (
	"cmp"
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/mapping/apparmor"
	"github.com/nestor-tools/nestor/mapping/aptconf"
	"github.com/nestor-tools/nestor/mapping/audit"
	"github.com/nestor-tools/nestor/mapping/baseline"
	"github.com/nestor-tools/nestor/mapping/fact"
	"github.com/nestor-tools/nestor/mapping/kubelet"
	"github.com/nestor-tools/nestor/mapping/listeners"
	"github.com/nestor-tools/nestor/mapping/nft"
	"github.com/nestor-tools/nestor/mapping/probe"
	"github.com/nestor-tools/nestor/mapping/sshd"
	"github.com/nestor-tools/nestor/mapping/sysctl"
	"github.com/nestor-tools/nestor/mapping/timesync"
	"github.com/nestor-tools/nestor/mapping/ufw"
	"github.com/nestor-tools/nestor/mapping/units"
)

// TimeSync is what keeps the node's clock.
type TimeSync struct {
	Daemons      []string       `json:"daemons"` // the units that are active
	Synchronized Observed[bool] `json:"synchronized"`
}

func timeSync(out probe.Output, services Observed[map[string]units.Unit]) Observed[TimeSync] {
	return fact.Then(services, func(all map[string]units.Unit) (TimeSync, error) {
		t := TimeSync{Daemons: []string{}, Synchronized: synchronized(out)}
		for _, name := range baseline.TimeDaemons {
			if all[name].IsActive() {
				t.Daemons = append(t.Daemons, name)
			}
		}
		return t, nil
	})
}

// synchronized is the kernel's word through timedatectl, else chrony's.
func synchronized(out probe.Output) Observed[bool] {
	kernel := fact.Then(out.Bytes("time:timedatectl"), timesync.Parse)
	if kernel.State == fact.IsPresent {
		return kernel
	}
	if chrony := fact.Then(out.Bytes("time:chronyc"), timesync.ParseChrony); chrony.State == fact.IsPresent {
		return chrony
	}
	return kernel
}

// hardening is the short signal of Node.Hardening.
func hardening(services Observed[map[string]units.Unit]) string {
	all, ok := services.Get()
	if !ok {
		return "unknown"
	}
	switch auditd, fail2ban := all["auditd.service"].IsActive(), all["fail2ban.service"].IsActive(); {
	case auditd && fail2ban:
		return "hardened"
	case auditd || fail2ban:
		return "partial"
	}
	return "plain"
}

func judge(out probe.Output, services Observed[map[string]units.Unit], kube kubeletAnswer) []baseline.Check {
	in := baseline.Input{
		SSHD:         fact.Then(out.Bytes("sshd"), sshd.Parse),
		Units:        services,
		Chains:       chains(out),
		UFW:          fact.Then(out.Bytes("firewall:ufw"), ufw.Parse),
		LegacyPolicy: legacyPolicy(out),
		AppArmor:     profiles(out),
		SELinux:      fact.Then(out.Bytes("security:/sys/fs/selinux/enforce"), func(b []byte) (bool, error) { return strings.TrimSpace(string(b)) == "1", nil }),
		Audit:        fact.Then(out.Bytes("security:auditctl"), audit.Parse),
		AuditRules:   fact.Then(out.Bytes("security:audit rules"), func(b []byte) (int, error) { return audit.CountRules(b), nil }),
		Synchronized: synchronized(out),
		Apt:          fact.Then(out.Bytes("updates:apt"), aptconf.Parse),
		Dnf:          fact.Then(out.Bytes("updates:/etc/dnf/automatic.conf"), func(b []byte) (string, error) { return string(b), nil }),
		Sysctl:       fact.Then(out.Bytes("sysctl"), sysctl.Parse),
		UIDZero:      fact.Then(out.Bytes("accounts:/etc/passwd"), lines),
		NoPassword:   fact.Then(out.Bytes("accounts:/etc/shadow"), lines),
		Listeners:    fact.Then(out.Bytes("listeners"), listeners.Parse),
		KubeletMode:  kube.facts.Value.ConfigMode,
		ControlPlane: kube.controlPlane.Value,
	}
	in.Kubelet = kube.facts.Value.Config
	if kube.facts.State != fact.IsPresent {
		in.Kubelet = fact.Observed[kubelet.Config]{State: cmp.Or(kube.facts.State, fact.IsUnknown), Why: kube.facts.Why}
	}
	return baseline.Judge(in)
}

// chains are the nftables chains that see what comes in. A node without any
// has none; one chain that could not be read makes them unknown.
func chains(out probe.Output) Observed[[]nft.Chain] {
	section := out.Bytes("firewall")
	if section.State != fact.IsPresent {
		return Observed[[]nft.Chain]{State: section.State, Why: section.Why}
	}
	list := []nft.Chain{}
	for _, f := range out.Items("firewall") {
		if !strings.HasPrefix(f.Name, "nft ") {
			continue
		}
		chain := fact.Then(f.Bytes(), nft.Parse)
		if chain.State != fact.IsPresent {
			return Observed[[]nft.Chain]{State: chain.State, Why: chain.Why}
		}
		list = append(list, chain.Value)
	}
	slices.SortFunc(list, func(a, b nft.Chain) int { return strings.Compare(a.Family+a.Table+a.Name, b.Family+b.Table+b.Name) })
	return fact.Present(list)
}

// legacyPolicy counts only where the old iptables' tables are in the kernel.
func legacyPolicy(out probe.Output) Observed[string] {
	tables := out.Bytes("firewall:/proc/net/ip_tables_names")
	if tables.State == fact.IsAbsent || tables.State == fact.IsPresent && !strings.Contains(string(tables.Value), "filter") {
		return fact.Absent[string]("the kernel has no iptables-legacy table")
	}
	return fact.Then(out.Bytes("firewall:iptables-legacy"), func(b []byte) (string, error) { return string(b), nil })
}

// profiles are absent where the kernel has no AppArmor or has it off.
func profiles(out probe.Output) Observed[apparmor.Profiles] {
	enabled := out.Bytes("security:/sys/module/apparmor/parameters/enabled")
	switch {
	case enabled.State == fact.IsAbsent || enabled.State == fact.IsPresent && strings.TrimSpace(string(enabled.Value)) != "Y":
		return fact.Absent[apparmor.Profiles]("AppArmor is not enabled")
	case enabled.State != fact.IsPresent:
		return Observed[apparmor.Profiles]{State: enabled.State, Why: enabled.Why}
	}
	return fact.Then(out.Bytes("security:/sys/kernel/security/apparmor/profiles"), apparmor.Parse)
}
