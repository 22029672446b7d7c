package plan

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/mapping"
	"github.com/nestor-tools/nestor/mapping/disks"
	"github.com/nestor-tools/nestor/mapping/fact"
)

// Choice is a disk of a node that the profile lists.
type Choice struct {
	Entry Entry
	Path  string // as the node is asked for it
	Disk  disks.Disk
}

// Choose finds the disks that the profile lists for a node among those that
// discover found, and judges them by what discover found out. There are either
// choices or refusals.
func Choose(node string, facts mapping.NodeFacts, p Profile) ([]Choice, []Refusal) {
	return (&chooser{node: node, all: facts.Disks.Value}).run(facts, p)
}

// Find finds the disks without judging them, for whoever changes nothing.
func Find(node string, facts mapping.NodeFacts, p Profile) ([]Choice, []Refusal) {
	return (&chooser{node: node, all: facts.Disks.Value, readOnly: true}).run(facts, p)
}

func (c *chooser) run(facts mapping.NodeFacts, p Profile) ([]Choice, []Refusal) {
	node := c.node
	entries := p.entries(node)
	if facts.Disks.State != fact.IsPresent {
		return nil, []Refusal{c.refuse(Entry{}, "", RuleUnknown, string(facts.Disks.State), "is what is known of its disks: %s", facts.Disks.Why)}
	}
	if len(entries) == 0 {
		return nil, []Refusal{c.refuse(Entry{}, "", RuleProfile, node, "has no disk in the profile; list those that may be wiped")}
	}
	if why := systemUnknown(facts); why != "" && !c.readOnly {
		return nil, []Refusal{c.refuse(Entry{}, "", RuleNoSystem, "/", "%s, so any disk may be the system's", why)}
	}
	for _, e := range entries {
		c.take(e)
	}
	if len(c.refusals) > 0 {
		return nil, c.refusals
	}
	return c.choices, nil
}

type chooser struct {
	node     string
	all      []disks.Disk
	readOnly bool
	choices  []Choice
	refusals []Refusal
}

func (c *chooser) refuse(e Entry, disk string, rule Rule, value, format string, args ...any) Refusal {
	return Refusal{Node: c.node, Disk: disk, Rule: rule, Value: value, Origin: e.Origin, Why: fmt.Sprintf(format, args...)}
}

// systemUnknown says why it is not known which disk carries the system.
func systemUnknown(facts mapping.NodeFacts) string {
	mounts, ok := facts.Mounts.Get()
	if !ok {
		return "what is mounted is not known (" + facts.Mounts.Why + ")"
	}
	for _, d := range facts.Disks.Value {
		if d.Role == disks.System && slices.Contains(mountsOf(d), "/") {
			return ""
		}
	}
	for _, m := range mounts {
		if m.Target == "/" && slices.Contains([]string{"nfs", "nfs4"}, m.FSType) {
			return "" // it is on no disk
		}
	}
	return "no disk was found to carry it"
}

// mountsOf gives the mounts of a disk and of all that is on it.
func mountsOf(d disks.Disk) []string {
	mounts := slices.Clone(d.Mounts)
	eachVolume(d.Volumes, func(v disks.Volume) { mounts = append(mounts, v.Mounts...) })
	return mounts
}

func eachVolume(volumes []disks.Volume, visit func(disks.Volume)) {
	for _, v := range volumes {
		visit(v)
		eachVolume(v.Volumes, visit)
	}
}

// take adds the disks of an entry, or says why not.
func (c *chooser) take(e Entry) {
	if e.Role != "data" && e.Role != "metadata" {
		c.refusals = append(c.refusals, c.refuse(e, e.String(), RuleProfile, e.Role, "is no role of a disk that may be wiped; write role: data or role: metadata"))
		return
	}
	found := 0
	for _, d := range c.all {
		at, ok := e.names(d)
		if !ok {
			continue
		}
		found++
		if slices.ContainsFunc(c.choices, func(o Choice) bool { return o.Disk.Name == d.Name }) {
			c.refusals = append(c.refusals, c.refuse(e, d.Name, RuleProfile, e.String(), "lists a disk that another entry lists too; keep one"))
			continue
		}
		if r, bad := c.judge(e, d); bad && !c.readOnly {
			c.refusals = append(c.refusals, r)
			continue
		}
		c.choices = append(c.choices, Choice{Entry: e, Path: at, Disk: d})
	}
	if found == 0 {
		c.refusals = append(c.refusals, c.missing(e))
	}
}

// missing says what an entry that names no whole disk may have meant.
func (c *chooser) missing(e Entry) Refusal {
	for _, d := range c.all {
		for _, p := range d.Paths {
			if "/dev/"+p == e.Device {
				return c.refuse(e, p, RuleMultipath, e.String(), "is one path of a multipath device; list /dev/mapper/%s", d.Name)
			}
		}
	}
	return c.refuse(e, "", RuleMissing, e.String(), "is no whole disk of this node (nestor discover lists them)")
}

// names says whether an entry means a disk, and by which path.
func (e Entry) names(d disks.Disk) (at string, ok bool) {
	if e.ByID != "" {
		return byIDFolder + e.ByID, slices.Contains(d.ByID, e.ByID)
	}
	at = "/dev/" + strings.ReplaceAll(d.Name, "!", "/")
	if d.Type == "mpath" {
		at = "/dev/mapper/" + d.Name
	}
	if !e.Glob {
		return at, e.Device == at
	}
	match, err := path.Match(e.Device, at)
	return at, match && err == nil
}

// judge weighs what discover found of a disk. The order is that of the harm.
func (c *chooser) judge(e Entry, d disks.Disk) (Refusal, bool) {
	no := func(rule Rule, value, format string, args ...any) (Refusal, bool) {
		return c.refuse(e, d.Name, rule, value, format, args...), true
	}
	evidence := strings.Join(d.Evidence, ", ")
	if d.Role == disks.System {
		return no(RuleSystem, evidence, "says that it carries the system, which is never wiped")
	}
	if at := mountsOf(d); len(at) > 0 {
		return no(RuleMounted, at[0], "is where it is mounted; unmount it")
	}
	if strings.Contains(evidence, " is mounted ") {
		return no(RuleMounted, evidence, "says that it is mounted; end what uses it")
	}
	if d.Type == "loop" && (e.Glob || e.ByID != "") {
		return no(RuleLoop, e.String(), "meets a loop device, which is named by its path only")
	}
	if what := networkVolume(d.Name, d.Transport, d.Model, d.BackingFile); what != "" {
		return no(RuleNetwork, what, "is another machine's volume, not a disk of this node")
	}
	if label := cloudInit(d); label != "" {
		return no(RuleCloudInit, label, "is the label of cloud-init's configuration, without which the node does not come back")
	}
	if d.FileSystem == "mpath_member" {
		return no(RuleMultipath, d.FileSystem, "says that it is one path of a multipath device that is not assembled; list the whole")
	}
	if (d.Removable || d.Transport == "usb") && e.ByID == "" {
		return no(RuleRemovable, e.String(), "is removable; if it is meant, name it by_id")
	}
	if d.ReadOnly {
		return no(RuleReadOnly, d.Name, "is read-only")
	}
	if twin, what := c.twin(d); twin != "" {
		return no(RuleDuplicate, what, "is also the identity of %s; nobody can tell them apart", twin)
	}
	if d.Role == disks.Unknown || d.Role == "" || len(d.Evidence) == 0 {
		return no(RuleUnknown, evidence, "is why nobody can tell what is on it")
	}
	return Refusal{}, false
}

// networkVolume says what makes a disk another machine's. Longhorn's targets
// give themselves the vendor IET and the model VIRTUAL-DISK.
func networkVolume(name, transport, model, backing string) string {
	kind := strings.TrimRight(name, "0123456789")
	switch {
	case slices.Contains([]string{"rbd", "nbd", "drbd", "ublkb", "zd", "dasd"}, kind):
		return kind
	case slices.Contains([]string{"iscsi", "fcoe", "tcp", "rdma", "loop", "fc"}, transport):
		return transport
	case strings.EqualFold(strings.ReplaceAll(model, "_", "-"), "virtual-disk"):
		return model
	case strings.Contains(backing, "/longhorn"):
		return backing
	}
	return ""
}

// cloudInit gives the label of cloud-init's data sources NoCloud and
// ConfigDrive.
func cloudInit(d disks.Disk) string {
	labels := []string{}
	for _, s := range d.Signatures {
		labels = append(labels, s.Label)
	}
	eachVolume(d.Volumes, func(v disks.Volume) {
		labels = append(labels, v.Label)
		for _, s := range v.Signatures {
			labels = append(labels, s.Label)
		}
	})
	for _, l := range labels {
		if isCloudInit(l) {
			return l
		}
	}
	return ""
}

func isCloudInit(label string) bool {
	return strings.EqualFold(label, "cidata") || strings.EqualFold(label, "config-2")
}

// twin finds another disk with the same WWN, or the same serial number and
// size.
func (c *chooser) twin(d disks.Disk) (name, what string) {
	for _, o := range c.all {
		switch {
		case o.Name == d.Name:
		case usableWWN(d.WWN) && strings.EqualFold(d.WWN, o.WWN):
			return o.Name, d.WWN
		case d.Serial != "" && d.Serial == o.Serial && d.SizeBytes == o.SizeBytes:
			return o.Name, d.Serial
		}
		for _, id := range o.ByID {
			if o.Name != d.Name && slices.Contains(d.ByID, id) {
				return o.Name, id
			}
		}
	}
	return "", ""
}

// usableWWN says whether a WWN tells anything: bridges give every disk zeros.
func usableWWN(wwn string) bool {
	return strings.Trim(strings.TrimPrefix(strings.ToLower(wwn), "0x"), "0 ") != ""
}

// LeftAlone are the disks that no entry means, and why.
func LeftAlone(facts mapping.NodeFacts, choices []Choice) []Left {
	left := []Left{}
	for _, d := range facts.Disks.Value {
		if !slices.ContainsFunc(choices, func(o Choice) bool { return o.Disk.Name == d.Name }) {
			left = append(left, Left{Name: d.Name, Why: "the profile does not list it; " + string(d.Role) + ": " + strings.Join(d.Evidence, ", ")})
		}
	}
	return left
}
