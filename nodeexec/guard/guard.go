// Package guard decides whether a node may be changed for good. Whatever
// mutates a node asks for a [Permit], and gets one only for a disposable
// bench that the inventory declares and the caller named:
//
//	permit, err := guard.Authorize(target, effective, guard.Intent{
//		Node: "node1", Kind: inventory.Lima, Apply: true,
//	}, os.LookupEnv)
//
// It refuses production always; a kind that is undeclared, or another than
// the one stated; another stack; a node that was not named literally; the
// local transport; an address that is this machine's, nobody's or another
// node's; and tunnels that lead elsewhere than their name says, or of which
// that is not known. The rules are listed at [Rule].
//
// The package is pure: what ssh makes of the target and what names resolve to
// is handed in.
package guard

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// Intent is what the caller said that they mean.
type Intent struct {
	Node    string         // the node's name as the caller wrote it
	Kind    inventory.Kind // --target-kind or EXPECTED_TARGET_KIND
	StackID string         // --stack-id or STACK_ID, "" for none
	Apply   bool           // the node will be changed; else only a plan is made
}

// Rule names what a refusal rests on. The list is closed.
type Rule string

// The rules, in the order in which they are asked.
const (
	RuleTarget     Rule = "target"     // the target cannot be used at all
	RuleUndeclared Rule = "undeclared" // the inventory declares no target_kind
	RuleKind       Rule = "kind"       // the declared kind is not the bench
	RuleIntent     Rule = "intent"     // the stated kind is not the declared one, or none is stated
	RuleStack      Rule = "stack"      // stack_id and the stated stack differ
	RuleName       Rule = "name"       // the node was not named literally
	RuleTransport  Rule = "transport"  // the transport is local
	RuleDisposable Rule = "disposable" // BANC_JETABLE is not 1
	RuleAddress    Rule = "address"    // the address is this machine's, nobody's, or unknown
	RuleShared     Rule = "shared"     // the address is another node's
	RuleTunnel     Rule = "tunnel"     // a jump or proxy command is not known to lead to the node, or leads through this machine
)

// Refusal says why there is no permit.
type Refusal struct {
	Node   string
	Rule   Rule
	Value  string           // what was found
	Origin inventory.Origin // where it is written, zero where it is in no file
	Why    string           // with what to do about it
}

func (r *Refusal) Error() string {
	at := ""
	if r.Origin.File != "" {
		at = r.Origin.String() + ": "
	}
	return fmt.Sprintf("%srefused (rule %s): node %q: %q %s", at, r.Rule, r.Node, r.Value, r.Why)
}

// ErrNoPermit is the error of a zero Permit.
var ErrNoPermit = errors.New("refused: no permit")

// Permit allows to change one node, reached by the very target that was
// looked at. Only Authorize makes one; the zero Permit allows nothing.
type Permit struct {
	target inventory.Target
	digest string
	apply  bool
}

// Target returns the target to open the node from.
func (p Permit) Target() (inventory.Target, error) {
	if p.digest == "" || Digest(p.target) != p.digest {
		return inventory.Target{}, ErrNoPermit
	}
	t := p.target
	t.SSHArgs = slices.Clone(t.SSHArgs)
	return t, nil
}

// Node is the name of the node that may be changed, "" for the zero Permit.
func (p Permit) Node() string { return p.target.Node }

// Digest identifies the target that the permit was given for.
func (p Permit) Digest() string { return p.digest }

// Apply says whether the permit is for a change, not only for a plan.
func (p Permit) Apply() bool { return p.apply }

// Digest identifies a target: two targets with the same digest are the same
// node, reached the same way, from the same inventory, under the same
// declarations.
func Digest(t inventory.Target) string {
	t.Origins = nil // where it is written may move
	b, err := json.Marshal(t)
	if err != nil { // cannot happen: a target is made of strings, numbers and booleans
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Authorize gives a permit for a target, or the [*Refusal] of the first rule
// that is broken. env looks up environment variables (only BANC_JETABLE).
func Authorize(t inventory.Target, effective Effective, intent Intent, env func(string) (string, bool)) (Permit, error) {
	c := &check{target: t, effective: effective, intent: intent, env: env}
	for _, rule := range rules {
		if refusal := rule(c); refusal != nil {
			refusal.Node = t.Node
			return Permit{}, refusal
		}
	}
	t.SSHArgs = slices.Clone(t.SSHArgs)
	return Permit{target: t, digest: Digest(t), apply: intent.Apply}, nil
}
