package discover

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/nestor-tools/nestor/mapping"
	"github.com/nestor-tools/nestor/mapping/cluster"
	"github.com/nestor-tools/nestor/mapping/fact"
	"github.com/nestor-tools/nestor/nodeexec"
)

// APIAnswer is what became of the API: what it said, or why it did not.
type APIAnswer struct {
	// Snapshot is nil where the API was not read.
	Snapshot *cluster.Snapshot `json:"snapshot,omitempty"`

	// State says why, then. Absent: there is none.
	State fact.State `json:"state,omitempty"`
	Why   string     `json:"why,omitempty"` // one line

	// Kind is set where the API should have been read and could not: a kind
	// of nodeexec's errors.
	Kind nodeexec.Kind `json:"kind,omitempty"`

	// Alone tells that no node was asked: the API's are not one-sided then.
	Alone bool `json:"alone,omitempty"`

	// Others are nodes of the inventory that were not asked, by name and
	// address: the API's of them are left out. Where the caller chose the
	// nodes, so are all that may be one of them.
	Others []Other `json:"others,omitempty"`
	Chosen bool    `json:"chosen,omitempty"`
}

// Other is a node that the inventory has, and that was not asked.
type Other struct {
	Name    string `json:"name"`
	Address string `json:"address,omitempty"`
}

// AddTo gives the topology its API half.
func (a APIAnswer) AddTo(t mapping.Topology) mapping.Topology {
	if a.Snapshot == nil {
		return t.WithoutAPI(mapping.Observed[cluster.API]{State: a.State, Why: a.Why})
	}
	o := mapping.JoinOptions{Alone: a.Alone, Chosen: a.Chosen}
	for _, other := range a.Others {
		o.Others = append(o.Others, mapping.Node{Name: other.Name, Address: other.Address})
	}
	return t.WithAPI(*a.Snapshot, o)
}

// APIFailure is the Node of a Failure that is the API's.
const APIFailure = "kubernetes API"

// Failures says that the API could not be read, and which of its resources did
// not answer. That one may not be read is no failure: the topology says so.
func (a APIAnswer) Failures() []Failure {
	failed := func(kind nodeexec.Kind, message string) Failure {
		return Failure{APIFailure, replayed{&mapping.Failure{Kind: string(kind), Message: message}}}
	}
	if a.Snapshot == nil {
		if a.Kind == "" {
			return nil
		}
		return []Failure{failed(a.Kind, a.Why)}
	}
	var list []Failure
	for _, u := range cluster.About(*a.Snapshot).Unread {
		if u.State == fact.IsUnknown {
			list = append(list, failed(nodeexec.KindProtocol, APIFailure+": "+u.Resource+": "+u.Why))
		}
	}
	return list
}

// APIName is the file of a folder of raw answers that holds the API's.
const APIName = "api.json"

// rawAPI is the content of that file.
type rawAPI struct {
	Schema string `json:"schema"`
	APIAnswer
}

const rawAPISchema = "nestor.raw-api/v1"

// Raw is the answer as it is kept beside those of the nodes, for Replay. It
// holds what the mapping needs of the API's objects, and nothing else of them.
func (a APIAnswer) Raw() ([]byte, error) {
	text, err := json.MarshalIndent(rawAPI{rawAPISchema, a}, "", " ")
	return append(text, '\n'), err
}

// readRawAPI reads it; nil where there is none.
func readRawAPI(folder fs.FS) (*APIAnswer, error) {
	text, err := fs.ReadFile(folder, APIName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var raw rawAPI
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, fmt.Errorf("%s: %w", APIName, err)
	}
	if raw.Schema != rawAPISchema {
		return nil, fmt.Errorf("%s: schema %q is not %s", APIName, raw.Schema, rawAPISchema)
	}
	return &raw.APIAnswer, nil
}
