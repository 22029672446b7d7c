package discover

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"strings"

	"github.com/nestor-tools/nestor/mapping"
	"github.com/nestor-tools/nestor/mapping/probe"
	"github.com/nestor-tools/nestor/nodeexec"
)

// IndexName is the file of a folder of raw answers that lists them.
const IndexName = "nodes.json"

// index is the content of that file.
type index struct {
	Schema string       `json:"schema"`
	Loops  bool         `json:"loops,omitempty"`
	Nodes  []indexEntry `json:"nodes"`
}

type indexEntry struct {
	Name    string           `json:"name"`
	Roles   []string         `json:"roles"`
	Address string           `json:"address,omitempty"`
	File    string           `json:"file,omitempty"` // empty: the node gave no answer
	Error   *mapping.Failure `json:"error,omitempty"`
}

const indexSchema = "nestor.raw/v1"

// RawName is the file of a node's raw answer: the name, with what may not
// stand in a file's name as in a URL.
func RawName(node string) string { return url.PathEscape(node) + ".probe" }

// Index lists the raw answers of a topology that Run made, for Replay.
func Index(t mapping.Topology, loops bool) []byte {
	in := index{Schema: indexSchema, Loops: loops, Nodes: []indexEntry{}}
	for _, n := range t.Nodes {
		entry := indexEntry{Name: n.Name, Roles: n.Roles, Address: n.Address, Error: n.Error}
		if n.Facts != nil {
			entry.File = RawName(n.Name)
		}
		in.Nodes = append(in.Nodes, entry)
	}
	text, _ := json.MarshalIndent(in, "", "  ") // strings only
	return append(text, '\n')
}

// Replay makes the topology of a folder of raw answers, as the nodes' own
// were made. Without an index every *.probe file is a node without roles.
func Replay(folder fs.FS) (mapping.Topology, []Failure, error) {
	in, err := readIndex(folder)
	if err != nil {
		return mapping.Topology{}, nil, err
	}
	var nodes []mapping.Node
	var failures []Failure
	for _, entry := range in.Nodes {
		var n mapping.Node
		if entry.File != "" {
			b, err := fs.ReadFile(folder, entry.File)
			if err != nil {
				return mapping.Topology{}, nil, err
			}
			answer, err := probe.Parse(b)
			if err != nil {
				return mapping.Topology{}, nil, fmt.Errorf("%s: %w", entry.File, err)
			}
			if !answer.Complete && entry.Error == nil {
				entry.Error = &mapping.Failure{Kind: string(nodeexec.KindProtocol), Message: errCut(entry.Name).Error()}
			}
			n = mapping.FromProbe(answer, mapping.Options{Loops: in.Loops})
		}
		n.Name, n.Roles, n.Address, n.Error = entry.Name, entry.Roles, entry.Address, entry.Error
		nodes = append(nodes, n)
		if e := entry.Error; e != nil {
			failures = append(failures, Failure{entry.Name, replayed{e}})
		}
	}
	topology := mapping.NewTopology(nodes)
	api, err := readRawAPI(folder)
	if err != nil {
		return mapping.Topology{}, nil, err
	}
	if api != nil {
		topology, failures = api.AddTo(topology), append(failures, api.Failures()...)
	}
	return topology, failures, nil
}

func readIndex(folder fs.FS) (index, error) {
	text, err := fs.ReadFile(folder, IndexName)
	if errors.Is(err, fs.ErrNotExist) {
		return indexOfFiles(folder)
	}
	if err != nil {
		return index{}, err
	}
	var in index
	if err := json.Unmarshal(text, &in); err != nil {
		return index{}, fmt.Errorf("%s: %w", IndexName, err)
	}
	if in.Schema != indexSchema {
		return index{}, fmt.Errorf("%s: schema %q is not %s", IndexName, in.Schema, indexSchema)
	}
	for _, entry := range in.Nodes {
		if entry.File != "" && path.Base(entry.File) != entry.File {
			return index{}, fmt.Errorf("%s: file %q is not in the folder", IndexName, entry.File)
		}
	}
	return in, nil
}

func indexOfFiles(folder fs.FS) (index, error) {
	if _, err := fs.Stat(folder, "."); err != nil {
		return index{}, err
	}
	files, err := fs.Glob(folder, "*.probe")
	if err != nil {
		return index{}, err
	}
	if len(files) == 0 {
		return index{}, errors.New("no raw answer (*.probe) in the folder")
	}
	var in index
	for _, f := range files {
		name, err := url.PathUnescape(strings.TrimSuffix(f, ".probe"))
		if err != nil {
			return index{}, err
		}
		in.Nodes = append(in.Nodes, indexEntry{Name: name, File: f})
	}
	return in, nil
}

// replayed is a failure as it was recorded, with its kind.
type replayed struct{ *mapping.Failure }

func (r replayed) Error() string { return r.Message }

func (r replayed) Unwrap() error {
	return &nodeexec.Error{Kind: nodeexec.Kind(r.Kind), Remote: nodeexec.RemoteNone, Detail: r.Message}
}
