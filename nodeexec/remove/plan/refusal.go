package plan

import (
	"fmt"

	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// Rule names what a refusal rests on. The list is closed.
type Rule string

// The rules.
const (
	RuleProfile    Rule = "profile"        // the declared profile cannot be used: no role, a pattern for a loop device, ...
	RuleGenerated  Rule = "generated"      // the profile is a topology that discover wrote
	RuleMissing    Rule = "missing"        // there is no such disk
	RuleSystem     Rule = "system-disk"    // the disk carries the system
	RuleNoSystem   Rule = "system-unknown" // the disk that carries "/" was not found
	RuleMounted    Rule = "mounted"        // it, or what is built on it, is mounted
	RuleSwap       Rule = "swap"           // it, or what is built on it, is swapped on
	RuleReadOnly   Rule = "read-only"      // it cannot be written to
	RuleForeign    Rule = "foreign-ceph"   // Ceph of another cluster than the expected one, or of none that is told
	RuleRunning    Rule = "ceph-running"   // daemons of Ceph run on the node
	RuleNetwork    Rule = "network-volume" // it looks like a local disk and is a volume of another machine
	RuleCloudInit  Rule = "cloud-init"     // cloud-init's configuration disk
	RuleRemovable  Rule = "removable"      // removable, and not named by id
	RuleDuplicate  Rule = "same-identity"  // another disk of the node has the same identity
	RuleIdentity   Rule = "no-identity"    // nothing tells it apart
	RuleLoop       Rule = "loop-device"    // a loop device that is not named by its literal path
	RuleMultipath  Rule = "multipath"      // one path of a multipath device
	RuleUnknown    Rule = "unknown"        // something could not be read, so nobody can tell
	RuleBusy       Rule = "in-use"         // something holds it open
	RuleSpans      Rule = "spans"          // what is built on it is built on another disk too, that is not listed
	RuleTool       Rule = "tool"           // a layer is there whose tool is not installed
	RuleRook       Rule = "rook-folder"    // something is mounted at or below /var/lib/rook, or it is a link
	RuleNode       Rule = "node-identity"  // the node cannot be told from another
	RuleHostChange Rule = "changed"        // node or disk is not what was planned, or seen a moment ago
)

// Refusal says why nothing is planned.
type Refusal struct {
	Node   string           `json:"node"`
	Disk   string           `json:"disk,omitempty"`
	Rule   Rule             `json:"rule"`
	Value  string           `json:"value"`
	Origin inventory.Origin `json:"origin"` // where the disk is listed
	Why    string           `json:"why"`    // with what to do about it
}

func (r Refusal) Error() string {
	at, disk := "", ""
	if o := r.Origin.String(); o != "" {
		at = o + ": "
	}
	if r.Disk != "" {
		disk = " " + r.Disk
	}
	return fmt.Sprintf("%srefused (rule %s): node %q%s: %q %s", at, r.Rule, r.Node, disk, r.Value, r.Why)
}
