package guard

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

type check struct {
	target    inventory.Target
	effective Effective
	intent    Intent
	env       func(string) (string, bool)
}

var rules = []func(*check) *Refusal{
	usable, declared, bench, intended, sameStack, namedLiterally, notLocal, disposable, ownAddress, notShared, noTunnel,
}

func (c *check) refuse(rule Rule, value, variable, format string, args ...any) *Refusal {
	return &Refusal{Rule: rule, Value: value, Origin: c.target.Origins[variable], Why: fmt.Sprintf(format, args...)}
}

func usable(c *check) *Refusal {
	if err := c.target.Check(); err != nil {
		return c.refuse(RuleTarget, c.target.Node, "", "%v", err)
	}
	return nil
}

// declared asks for the declaration itself, not only for the kind: a target
// that was put together by hand has no place in a file.
func declared(c *check) *Refusal {
	if c.target.Kind == "" || c.target.Origins["target_kind"].File == "" {
		return c.refuse(RuleUndeclared, string(c.target.Kind), "target_kind", "is no declared kind; add \"target_kind: lima\" to the inventory if this node may be wiped")
	}
	return nil
}

func bench(c *check) *Refusal {
	if c.target.Kind != inventory.Lima {
		return c.refuse(RuleKind, string(c.target.Kind), "target_kind", "is not the bench; production is never changed by nestor")
	}
	return nil
}

func intended(c *check) *Refusal {
	switch {
	case c.intent.Kind == "":
		return c.refuse(RuleIntent, "", "target_kind", "is no stated kind; say --target-kind %s if that is meant", c.target.Kind)
	case c.intent.Kind != c.target.Kind:
		return c.refuse(RuleIntent, string(c.intent.Kind), "target_kind", "was stated, and the inventory declares %s", c.target.Kind)
	}
	return nil
}

func sameStack(c *check) *Refusal {
	if c.intent.StackID != c.target.StackID {
		return c.refuse(RuleStack, c.intent.StackID, "stack_id", "was stated as the stack, and the inventory says %q; both must name the same", c.target.StackID)
	}
	return nil
}

func namedLiterally(c *check) *Refusal {
	if c.intent.Node != c.target.Node {
		return c.refuse(RuleName, c.intent.Node, "", "was asked for; write the node's own name, no group and no pattern")
	}
	return nil
}

func notLocal(c *check) *Refusal {
	if c.target.Transport == inventory.TransportLocal {
		return c.refuse(RuleTransport, string(c.target.Transport), "ansible_connection", "is this machine, which is never wiped")
	}
	return nil
}

func disposable(c *check) *Refusal {
	if !c.intent.Apply {
		return nil
	}
	if v, _ := c.env("BANC_JETABLE"); v != "1" {
		return c.refuse(RuleDisposable, v, "", "is BANC_JETABLE; set BANC_JETABLE=1 to say that this bench may be lost")
	}
	return nil
}

func ownAddress(c *check) *Refusal {
	if c.target.Transport == inventory.TransportLima {
		return nil
	}
	host := c.effective.SSH.Hostname
	if host == "" {
		return c.refuse(RuleAddress, host, "ansible_host", "is what ssh makes of the address; without its answer nothing is changed")
	}
	if port := c.target.Port; port != 0 && port != c.effective.SSH.port() {
		return c.refuse(RuleAddress, strconv.Itoa(c.effective.SSH.port()), "ansible_port", "is the port in ssh's answer, and the target's is %d: the answer is another node's", port)
	}
	const variable = "ansible_host"
	if why := badHost(host); why != "" {
		return c.refuse(RuleAddress, host, variable, "%s", why)
	}
	if localName(host) && !c.target.LocalBench {
		return c.refuse(RuleAddress, host, variable, "is this machine; declare local_bench: true beside target_kind: lima if a bench runs on it")
	}
	addresses := c.effective.addresses()
	if len(addresses) == 0 {
		return c.refuse(RuleAddress, host, variable, "resolves to no address here, so it is not known which machine it is; write its IP address")
	}
	if i := slices.IndexFunc(c.effective.Addresses, func(a netip.Addr) bool { return a.Zone() != "" }); i >= 0 {
		return c.refuse(RuleAddress, c.effective.Addresses[i].String(), variable, "is an address with a zone, which is another machine on every link; write one without")
	}
	here := 0
	for _, a := range addresses {
		switch {
		case noMachine(a):
			return c.refuse(RuleAddress, a.String(), variable, "is no machine's address")
		case c.effective.isLocal(a) && !c.target.LocalBench:
			return c.refuse(RuleAddress, a.String(), variable, "is this machine; declare local_bench: true beside target_kind: lima if a bench runs on it")
		case c.effective.isLocal(a):
			here++
		}
	}
	if here == 0 {
		return nil
	}
	if here < len(addresses) {
		return c.refuse(RuleAddress, host, variable, "is this machine and another one; write the address that is meant")
	}
	// What listens on a port of this machine is known to whoever writes the
	// port down; 22 is this machine's own sshd.
	if c.target.Port == 0 || c.target.Port == 22 {
		return c.refuse(RuleAddress, strconv.Itoa(c.effective.SSH.port()), "ansible_port", "is a port of this machine, whose own sshd answers at 22; a bench on it needs another ansible_port in the inventory")
	}
	return nil
}

// notShared refuses an address that another node has too. Benches on this
// machine share its addresses, and differ by port.
func notShared(c *check) *Refusal {
	if c.target.Transport == inventory.TransportLima {
		return nil
	}
	for _, other := range c.effective.Others {
		if other.Node == c.target.Node {
			continue
		}
		for _, a := range c.effective.addresses() {
			for _, b := range other.Addresses {
				if plain(b) != a {
					continue
				}
				if c.effective.isLocal(a) && c.target.LocalBench && other.port() != c.effective.SSH.port() {
					continue
				}
				return c.refuse(RuleShared, a.String(), "ansible_host", "is also the address of node %q; which of them would be wiped?", other.Node)
			}
		}
	}
	return nil
}
