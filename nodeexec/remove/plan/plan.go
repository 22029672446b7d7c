// Package plan decides what a wipe would do to a node, and whether it may.
//
//	profile, err := plan.ParseProfile(text, "disks.yaml")
//	choices, refusals := plan.Choose("node1", facts, profile)        // by what discover found
//	inspection, err := plan.ParseInspection(printed)                 // "wipe.sh inspect" of them
//	node, refusals := plan.Make(plan.Input{Node: "node1", ...})
//	text, err := plan.Encode(plan.Plan{Nodes: []plan.Node{node}})    // nestor.plan/v1
//
// A plan is bound to machines and disks: it holds the node's machine-id and
// host keys, each disk's identity and everything that sits on it, and the
// lines that the node must print again before the first step is taken. Its
// hash is that of its bytes.
//
// It refuses every disk that is not known to be safe to wipe; the rules are
// listed at [Rule]. One refusal, and there is no plan. The package is pure.
package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/nestor-tools/nestor/mapping/disks"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// Schema names the format of a plan.
const Schema = "nestor.plan/v1"

// Plan is what a wipe will do, node by node.
type Plan struct {
	Schema     string   `json:"schema"`
	TargetKind string   `json:"target_kind"`
	StackID    string   `json:"stack_id,omitempty"`
	CephFSIDs  []string `json:"ceph_fsids,omitempty"` // the clusters whose OSDs may be wiped
	Reboot     bool     `json:"reboot,omitempty"`     // restart each node afterwards
	Nodes      []Node   `json:"nodes"`
}

// Node is the part of one node.
type Node struct {
	Node      string   `json:"node"`
	Identity  Identity `json:"identity"`
	Disks     []Disk   `json:"disks"`
	Rook      Rook     `json:"rook"`
	Steps     []Step   `json:"steps"`
	LeftAlone []Left   `json:"left_alone"`

	// State is what the node printed, and must print again.
	State []string `json:"state"`
}

// Identity is what tells a node from any other.
type Identity struct {
	MachineID    string   `json:"machine_id"`
	HostKeys     []string `json:"host_keys"` // "ssh-ed25519 HEX", the SHA-256 of the key
	BootID       string   `json:"boot_id,omitempty"`
	Address      string   `json:"address"`
	TargetDigest string   `json:"target_digest"` // of the target that the guard looked at
}

// Disk is a disk that will be wiped.
type Disk struct {
	Path      string   `json:"path"`
	Name      string   `json:"name"`
	ByID      []string `json:"by_id,omitempty"`
	WWN       string   `json:"wwn,omitempty"`
	Serial    string   `json:"serial,omitempty"`
	SizeBytes int64    `json:"size_bytes"`
	LoopFile  string   `json:"loop_file,omitempty"`
	LoopInode string   `json:"loop_inode,omitempty"`
	Ends      string   `json:"ends,omitempty"` // SHA-256 of both ends, good for this boot
	Role      string   `json:"role"`
	Why       string   `json:"why"`            // it may be wiped
	OnIt      []string `json:"on_it"`          // what sits on it
	OSDs      []OSD    `json:"osds,omitempty"` //
}

// OSD is a Ceph OSD whose label is on a disk.
type OSD struct {
	Device string `json:"device"`
	UUID   string `json:"osd_uuid"`
	FSID   string `json:"ceph_fsid"`
}

// Left is a disk or folder that is left alone.
type Left struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// Verb is what a step does. The list is closed; shims/wipe.sh knows them.
type Verb string

// The verbs.
const (
	ClearInner   Verb = "clear-inner"   // NAME: signatures, both ends and labels of a volume
	ClearDisk    Verb = "clear-disk"    // NAME: the same of a disk, 100 MiB of it
	Discard      Verb = "discard"       // NAME: tell the disk that nothing on it is needed
	RemoveVG     Verb = "remove-vg"     // VG UUID: deactivate and remove a volume group
	RemovePV     Verb = "remove-pv"     // NAME
	CloseLUKS    Verb = "close-luks"    // NAME
	StopMD       Verb = "stop-md"       // NAME
	RemoveDM     Verb = "remove-dm"     // NAME
	Reread       Verb = "reread"        // NAME: the kernel forgets the partitions
	RemoveFolder Verb = "remove-folder" // /var/lib/rook
)

// Step is one step, taken in order. The first that fails is the last.
type Step struct {
	ID   int      `json:"id"`
	Verb Verb     `json:"verb"`
	Args []string `json:"args,omitempty"`
}

func (s Step) String() string {
	text := fmt.Sprintf("%d %s", s.ID, s.Verb)
	for _, a := range s.Args {
		text += " " + a
	}
	return text
}

// Encode gives the canonical bytes of a plan: the same plan is always the same
// file.
func Encode(p Plan) ([]byte, error) {
	p.Schema = Schema
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(p); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Hash is the hash of a plan's file, as sha256sum prints it.
func Hash(file []byte) string {
	sum := sha256.Sum256(file)
	return hex.EncodeToString(sum[:])
}

// ErrChanged is matched by the error of a plan that is not as it was written.
var ErrChanged = errors.New("it is not as nestor wrote it; plan again")

// Decode reads a plan's file. Bytes that are not canonical, and so have been
// edited, are refused, unknown fields included.
func Decode(file []byte) (Plan, error) {
	var p Plan
	d := json.NewDecoder(bytes.NewReader(file))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return Plan{}, fmt.Errorf("this is no plan: %w", err)
	}
	if p.Schema != Schema {
		return Plan{}, fmt.Errorf("its schema is %q, this nestor reads %s", p.Schema, Schema)
	}
	again, err := Encode(p)
	if err != nil {
		return Plan{}, err
	}
	if !bytes.Equal(again, file) {
		return Plan{}, ErrChanged
	}
	return p, p.check()
}

// check refuses a plan that no Make has made: what it would do must be what it
// says that it does.
func (p Plan) check() error {
	if len(p.Nodes) == 0 {
		return errors.New("the plan has no node")
	}
	if p.TargetKind != string(inventory.Lima) {
		return fmt.Errorf("its target_kind is %q, and only %s is ever wiped", p.TargetKind, inventory.Lima)
	}
	for _, n := range p.Nodes {
		if err := n.checkWords(); err != nil {
			return fmt.Errorf("node %q: %w", n.Node, err)
		}
		in, err := ParseInspection([]byte(header + joinLines(n.State)))
		if err != nil {
			return fmt.Errorf("node %q: %w", n.Node, err)
		}
		if in.MachineID != n.Identity.MachineID || len(in.Asked) != len(n.Disks) {
			return fmt.Errorf("node %q: its state and its identity differ", n.Node)
		}
		for i, d := range n.Disks {
			if in.Asked[i].Path != d.Path || in.Asked[i].Name != d.Name {
				return fmt.Errorf("node %q: its state and its disk %s differ", n.Node, d.Path)
			}
		}
		if err := p.again(n, in); err != nil {
			return err
		}
	}
	return nil
}

// again makes a node's part anew from the state that it holds: it must be
// allowed, and come to the same. Whoever edits a plan has its hash, and gets no
// further than whoever made it.
func (p Plan) again(n Node, in Inspection) error {
	input := Input{Node: n.Node, Inspection: in, Kind: inventory.Kind(p.TargetKind)}
	for _, fsid := range p.CephFSIDs {
		input.Profile.FSIDs = append(input.Profile.FSIDs, Stated{Value: fsid})
	}
	for _, s := range n.Steps {
		input.Discard = input.Discard || s.Verb == Discard
	}
	for _, d := range n.Disks {
		if d.Role != "data" && d.Role != "metadata" {
			return fmt.Errorf("node %q: %q is no role of a disk that may be wiped", n.Node, d.Role)
		}
		input.Choices = append(input.Choices, Choice{
			Entry: entryOf(d.Path, d.Role, inventory.Origin{}), Path: d.Path,
			Disk: disks.Disk{Name: d.Name, SizeBytes: d.SizeBytes, Serial: d.Serial, Role: disks.DataInUse},
		})
	}
	made, refusals := Make(input)
	if len(refusals) > 0 {
		return &refusals[0]
	}
	// What the state does not tell.
	made.LeftAlone, made.Identity.Address, made.Identity.TargetDigest = n.LeftAlone, n.Identity.Address, n.Identity.TargetDigest
	for i := range made.Disks {
		made.Disks[i].Why = n.Disks[i].Why
	}
	want, err := json.Marshal(made)
	if err != nil {
		return err
	}
	got, err := json.Marshal(n)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("node %q: its steps or its disks are not those that follow from its state: %w", n.Node, ErrChanged)
	}
	return nil
}

// checkWords refuses what would be something else once it stands between the
// tabs of a request's lines.
func (n Node) checkWords() error {
	control := func(r rune) bool { return r < ' ' }
	for _, line := range n.State {
		if strings.ContainsFunc(strings.ReplaceAll(line, "\t", ""), control) {
			return fmt.Errorf("the state holds a control character: %.80q", line)
		}
	}
	for i, s := range n.Steps {
		want, known := arguments[s.Verb]
		if !known || len(s.Args) != want || s.ID != i+1 {
			return fmt.Errorf("step %q is not known", s)
		}
		for _, a := range s.Args {
			if a == "" || strings.ContainsFunc(a, control) {
				return fmt.Errorf("step %q holds an argument that is none", s)
			}
		}
	}
	return nil
}

// arguments is how many each verb takes.
var arguments = map[Verb]int{
	ClearInner: 1, ClearDisk: 1, Discard: 1, RemoveVG: 2, RemovePV: 1, CloseLUKS: 1, StopMD: 1, RemoveDM: 1, Reread: 1, RemoveFolder: 0,
}

const header = "nestor-wipe\t1\n"

func joinLines(lines []string) string {
	var b bytes.Buffer
	for _, l := range lines {
		b.WriteString(l + "\n")
	}
	return b.String()
}
