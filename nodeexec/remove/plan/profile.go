package plan

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// Profile says which disks of which node may be wiped. There is no default:
// what is not listed is left alone.
type Profile struct {
	Nodes map[string][]Entry // by node
	Every []Entry            // for the nodes that have no entries of their own
	FSIDs []Stated           // the clusters whose OSDs may be wiped
}

// Entry is one disk, or the pattern of a device's path.
type Entry struct {
	Device string // a path, with * ? [] in it where Glob is set
	ByID   string // a name in /dev/disk/by-id
	Role   string // data or metadata
	Glob   bool
	Origin inventory.Origin
}

// Stated is a value and where it was stated.
type Stated struct {
	Value  string
	Origin inventory.Origin
}

func (e Entry) String() string {
	if e.ByID != "" {
		return e.ByID
	}
	return e.Device
}

// ErrGenerated is matched where the profile is what discover wrote.
var ErrGenerated = errors.New("it was written by nestor discover, and would authorise itself; write a profile by hand")

// ParseProfile reads a profile, or the part of a topology that declares one:
//
//	ceph: {fsid: UUID, data_device_glob: "/dev/sd[b-d]", nvme_block_device: /dev/nvme0n1}
//	nodes:
//	  - name: node1
//	    disks:
//	      - {by_id: ata-QEMU_HARDDISK_QM00003, role: data}
//	      - {device: /dev/vdc, role: metadata}
//
// Other keys, as a topology has them, are left alone; within ceph and disks
// none are. name is how the file is named in errors.
func ParseProfile(b []byte, name string) (Profile, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		return Profile{}, fmt.Errorf("%s: %w", name, err)
	}
	r := reader{file: name}
	p := Profile{Nodes: map[string][]Entry{}}
	if len(doc.Content) == 0 {
		return p, fmt.Errorf("%s: it is empty, and lists no disk", name)
	}
	r.each(doc.Content[0], func(key string, value *yaml.Node) {
		switch key {
		case "generated_by":
			r.fail(value, "%w", ErrGenerated)
		case "ceph":
			r.ceph(value, &p)
		case "nodes":
			if value.Kind != yaml.SequenceNode {
				r.fail(value, "nodes is no list")
			}
			for _, n := range value.Content {
				r.node(n, &p)
			}
		}
	})
	if r.err == nil && len(p.Nodes) == 0 && len(p.Every) == 0 {
		r.err = fmt.Errorf("%s: it lists no disk: neither nodes[].disks nor ceph.data_device_glob or nvme_block_device", name)
	}
	return p, r.err
}

// EnvProfile is the profile that the variables of the environment declare;
// ok is false where they declare none.
func EnvProfile(env func(string) (string, bool)) (p Profile, ok bool) {
	data, _ := env("DATA_DEVICE_GLOB")
	metadata, _ := env("NVME_BLOCK_DEVICE")
	for _, glob := range strings.Fields(data) {
		p.Every = append(p.Every, entryOf(glob, "data", inventory.Origin{File: "DATA_DEVICE_GLOB"}))
	}
	for _, glob := range strings.Fields(metadata) {
		p.Every = append(p.Every, entryOf(glob, "metadata", inventory.Origin{File: "NVME_BLOCK_DEVICE"}))
	}
	return p, len(p.Every) > 0
}

const byIDFolder = "/dev/disk/by-id/"

func entryOf(device, role string, origin inventory.Origin) Entry {
	if id, ok := strings.CutPrefix(device, byIDFolder); ok {
		return Entry{ByID: id, Role: role, Origin: origin}
	}
	return Entry{Device: device, Role: role, Glob: strings.ContainsAny(device, `*?[\`), Origin: origin}
}

// reader walks a YAML document and keeps its first error.
type reader struct {
	file string
	err  error
}

func (r *reader) fail(n *yaml.Node, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%s: %w", r.at(n), fmt.Errorf(format, args...))
	}
}

func (r *reader) at(n *yaml.Node) inventory.Origin {
	return inventory.Origin{File: r.file, Line: n.Line}
}

// each visits the pairs of a mapping.
func (r *reader) each(n *yaml.Node, visit func(key string, value *yaml.Node)) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode {
		r.fail(n, "this is no mapping of keys to values")
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i].Value
		if seen[key] {
			r.fail(n.Content[i], "%s stands here twice", key)
		}
		seen[key] = true
		visit(key, n.Content[i+1])
	}
}

// word gives a scalar's text.
func (r *reader) word(n *yaml.Node, what string) string {
	if n.Kind != yaml.ScalarNode || n.Value == "" || n.Tag == "!!null" {
		r.fail(n, "%s has no value", what)
		return ""
	}
	return n.Value
}

func (r *reader) ceph(n *yaml.Node, p *Profile) {
	r.each(n, func(key string, value *yaml.Node) {
		text := r.word(value, "ceph."+key)
		switch key {
		case "fsid":
			p.FSIDs = append(p.FSIDs, Stated{text, r.at(value)})
		case "data_device_glob", "nvme_block_device":
			role := map[string]string{"data_device_glob": "data", "nvme_block_device": "metadata"}[key]
			for _, glob := range strings.Fields(text) {
				p.Every = append(p.Every, r.entry(value, glob, role))
			}
		default:
			r.fail(value, "ceph.%s is not known; known are fsid, data_device_glob and nvme_block_device", key)
		}
	})
}

// entry makes an entry of a path, which must be one of a device.
func (r *reader) entry(n *yaml.Node, device, role string) Entry {
	e := entryOf(device, role, r.at(n))
	if _, err := path.Match(e.Device, ""); err != nil {
		r.fail(n, "%q is no pattern: %w", device, err)
	}
	return e
}

func (r *reader) node(n *yaml.Node, p *Profile) {
	name := ""
	var list *yaml.Node
	r.each(n, func(key string, value *yaml.Node) {
		switch key {
		case "name":
			name = r.word(value, "name")
		case "disks":
			list = value
		}
	})
	switch {
	case list == nil:
		return
	case name == "":
		r.fail(n, "a node without a name has disks")
	case list.Kind != yaml.SequenceNode:
		r.fail(list, "disks is no list")
	case p.Nodes[name] != nil:
		r.fail(n, "node %q stands here twice", name)
	default:
		p.Nodes[name] = []Entry{}
		for _, disk := range list.Content {
			p.Nodes[name] = append(p.Nodes[name], r.disk(disk))
		}
	}
}

func (r *reader) disk(n *yaml.Node) Entry {
	var device, id, role string
	r.each(n, func(key string, value *yaml.Node) {
		switch key {
		case "device":
			device = r.word(value, key)
		case "by_id":
			id = strings.TrimPrefix(r.word(value, key), byIDFolder)
		case "role":
			role = r.word(value, key)
		default:
			r.fail(value, "a disk's %s is not known; known are device, by_id and role", key)
		}
	})
	switch {
	case (device == "") == (id == ""):
		r.fail(n, "a disk is named by device or by by_id, one of them")
	case strings.ContainsAny(device+id, `*?[\`):
		r.fail(n, "%q is a pattern; a disk is named in full", device+id)
	}
	e := Entry{ByID: id, Role: role, Origin: r.at(n)}
	if id == "" {
		e = r.entry(n, device, role)
	}
	return e
}

// entries are those for a node.
func (p Profile) entries(node string) []Entry {
	if own := p.Nodes[node]; own != nil {
		return own
	}
	return p.Every
}

// expects says whether OSDs of that cluster may be wiped.
func (p Profile) expects(fsid string) bool {
	return fsid != "" && slices.ContainsFunc(p.FSIDs, func(s Stated) bool { return strings.EqualFold(s.Value, fsid) })
}
