// Package baseline judges a node by a dozen checks.
//
//	checks := baseline.Judge(baseline.Input{SSHD: ..., Units: ..., Sysctl: ...})
//	// H1 fail: sshd has permitrootlogin prohibit-password
//
// Each names its control in CIS Debian 12 v1.1.0, ANSSI-BP-028 v2.0 and
// dev-sec, where it has one. What is effective is judged, never what a file
// says. A check whose source could not be read is unknown, which is never a
// pass; one that any source shows to fail fails, whatever else is unknown.
//
// Controls that would break a Kubernetes node are declared, as n/a, and not
// judged. It refuses nothing: judging nothing gives unknowns.
package baseline

import (
	"slices"

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

// State is a verdict. The list is closed.
type State string

// The verdicts.
const (
	Pass          State = "pass"
	Fail          State = "fail"
	Unknown       State = "unknown"
	NotApplicable State = "n/a"
)

// Check is one check and what became of it.
type Check struct {
	ID       string   `json:"id"`
	Title    string   `json:"title"`
	State    State    `json:"state"`
	Evidence []string `json:"evidence"`
	Controls []string `json:"controls,omitempty"`
}

// Input is what the sources said.
type Input struct {
	SSHD         fact.Observed[sshd.Config]
	Units        fact.Observed[map[string]units.Unit]
	Chains       fact.Observed[[]nft.Chain] // the chains that see what comes in
	UFW          fact.Observed[ufw.Status]
	LegacyPolicy fact.Observed[string] // "-S INPUT" of the old iptables; absent: its tables are not in use
	AppArmor     fact.Observed[apparmor.Profiles]
	SELinux      fact.Observed[bool] // enforcing
	Audit        fact.Observed[audit.Status]
	AuditRules   fact.Observed[int]
	Synchronized fact.Observed[bool] // the clock
	Apt          fact.Observed[map[string]string]
	Dnf          fact.Observed[string] // settings of dnf-automatic; absent: not a system of dnf's
	Sysctl       fact.Observed[sysctl.Settings]
	UIDZero      fact.Observed[[]string] // accounts with user id 0
	NoPassword   fact.Observed[[]string] // accounts with an empty password
	Listeners    fact.Observed[[]listeners.Listener]
	Kubelet      fact.Observed[kubelet.Config] // absent: no kubelet here
	KubeletMode  fact.Observed[string]         // mode and owner of its file: "600 root"
	ControlPlane bool
}

// Judge gives the checks in their order, H1 to H12, and then what is declared
// not to apply.
func Judge(in Input) []Check {
	var checks []Check
	for _, c := range []struct {
		id, title string
		judge     func(Input, *findings)
		controls  []string
	}{
		{"H1", "root cannot log in by ssh", rootLogin, []string{"CIS Debian 12 v1.1.0 5.1.20", "ANSSI-BP-028 v2.0 R33", "dev-sec ssh_permit_root_login"}},
		{"H2", "ssh takes no password", sshPasswords, []string{"dev-sec ssh_server_password_login"}},
		{"H3", "ssh refuses empty passwords and many tries", sshTries, []string{"CIS Debian 12 v1.1.0 5.1.16", "CIS Debian 12 v1.1.0 5.1.19", "dev-sec ssh_max_auth_retries"}},
		{"H4", "one host firewall, closed to what it does not name", firewall, []string{"CIS Debian 12 v1.1.0 4.1.1", "CIS Debian 12 v1.1.0 4.3.8", "CIS Debian 12 v1.1.0 4.2.7", "ANSSI-BP-028 v2.0 R80"}},
		{"H5", "AppArmor or SELinux enforces", mandatoryAccess, []string{"CIS Debian 12 v1.1.0 1.3.1.2", "CIS Debian 12 v1.1.0 1.3.1.3", "ANSSI-BP-028 v2.0 R37", "ANSSI-BP-028 v2.0 R45"}},
		{"H6", "auditd records by rules", auditing, []string{"CIS Debian 12 v1.1.0 6.2.1.2", "ANSSI-BP-028 v2.0 R73", "dev-sec package-08"}},
		{"H7", "one time daemon, synchronised", timekeeping, []string{"CIS Debian 12 v1.1.0 2.3.1.1", "ANSSI-BP-028 v2.0 R71"}},
		{"H8", "security updates install themselves", updates, []string{"CIS Debian 12 v1.1.0 1.2.2.1", "ANSSI-BP-028 v2.0 R61"}},
		{"H9", "kernel settings", kernelSettings, []string{"CIS Debian 12 v1.1.0 1.5.1", "CIS Debian 12 v1.1.0 1.5.2", "CIS Debian 12 v1.1.0 1.5.3", "CIS Debian 12 v1.1.0 3.3.2", "CIS Debian 12 v1.1.0 3.3.5", "CIS Debian 12 v1.1.0 3.3.8", "CIS Debian 12 v1.1.0 3.3.10", "ANSSI-BP-028 v2.0 R9", "ANSSI-BP-028 v2.0 R11", "ANSSI-BP-028 v2.0 R12", "ANSSI-BP-028 v2.0 R14"}},
		{"H10", "only root is user 0, and every account has a password or none can log in", accounts, []string{"CIS Debian 12 v1.1.0 5.4.2.1", "CIS Debian 12 v1.1.0 7.2.2", "ANSSI-BP-028 v2.0 R31", "dev-sec os-02", "dev-sec os-07"}},
		{"H11", "nothing unexpected listens beyond this machine", openPorts, []string{"CIS Debian 12 v1.1.0 2.1.22", "ANSSI-BP-028 v2.0 R62", "ANSSI-BP-028 v2.0 R80"}},
		{"H12", "the kubelet is closed", closedKubelet, []string{"CIS Kubernetes v1.12 4.1.9", "CIS Kubernetes v1.12 4.2.1", "CIS Kubernetes v1.12 4.2.2", "CIS Kubernetes v1.12 4.2.4"}},
	} {
		var f findings
		c.judge(in, &f)
		check := Check{ID: c.id, Title: c.title, Controls: c.controls}
		check.State, check.Evidence = f.verdict()
		checks = append(checks, check)
	}
	return append(checks, notApplicable()...)
}

// notApplicable are controls of the same baselines that a Kubernetes node
// cannot meet.
func notApplicable() []Check {
	var checks []Check
	for _, c := range []struct{ id, title, why, control string }{
		{"N1", "no IP forwarding", "the pods' packets are forwarded by the node", "CIS Debian 12 v1.1.0 3.3.1"},
		{"N2", "no overlay file system", "containers are mounted with it", "CIS Debian 12 v1.1.0 1.1.1.6"},
		{"N3", "iptables flushed beside nftables", "kube-proxy and the CNI write there", "CIS Debian 12 v1.1.0 4.3.3"},
		{"N4", "strict reverse path filtering", "several CNIs need it off or loose", "CIS Debian 12 v1.1.0 3.3.7"},
		{"N5", "no further kernel modules", "kube-proxy, CNI and CSI load theirs late", "ANSSI-BP-028 v2.0 R10"},
	} {
		checks = append(checks, Check{ID: c.id, Title: c.title, State: NotApplicable, Evidence: []string{c.why}, Controls: []string{c.control}})
	}
	return checks
}

// findings are what one check found, by what it shows.
type findings struct {
	good, bad, unclear []string
	notApplicable      string
}

// require notes a condition that was looked at.
func (f *findings) require(ok bool, evidence string) {
	if ok {
		f.good = append(f.good, evidence)
	} else {
		f.bad = append(f.bad, evidence)
	}
}

// known gives a source's value; without one the check cannot pass.
func known[T any](f *findings, o fact.Observed[T], source string) (T, bool) {
	if o.State != fact.IsPresent {
		why := o.Why
		if why == "" {
			why = "not read"
		}
		f.unclear = append(f.unclear, source+": "+why)
	}
	return o.Value, o.State == fact.IsPresent
}

func (f *findings) verdict() (State, []string) {
	for _, list := range []*[]string{&f.good, &f.bad, &f.unclear} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	switch {
	case f.notApplicable != "":
		return NotApplicable, []string{f.notApplicable}
	case len(f.bad) > 0:
		return Fail, f.bad
	case len(f.unclear) > 0:
		return Unknown, f.unclear
	case len(f.good) > 0:
		return Pass, f.good
	}
	return Unknown, []string{"nothing was read"}
}
