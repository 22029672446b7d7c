package portal

import "time"

// ViewSchema names the form of a view in JSON.
const ViewSchema = "nestor.view/v1"

// View is what is shown: each endpoint of the contract with its verdict, and
// what is exposed without a promise, in the order in which people read it.
type View struct {
	Schema     string     `json:"schema"`
	ObservedAt time.Time  `json:"observed_at"`
	Stale      bool       `json:"stale"`
	StaleSince *time.Time `json:"stale_since"`
	// SecretsReadable is true where the portal could read Secrets: an alarm.
	SecretsReadable bool    `json:"secrets_readable,omitempty"`
	Layers          []Layer `json:"layers"`
}

// Layer is a group of entries.
type Layer struct {
	Name    string  `json:"name"` // of the contract; Extra for what nobody promised
	Entries []Entry `json:"entries"`
}

// ExtraLayer and SystemLayer hold what no endpoint promises: what nobody
// wants, and what is the cluster's own.
const (
	ExtraLayer  = "extra"
	SystemLayer = "system"
)

// Verdict is what became of a promise.
type Verdict string

// The verdicts.
const (
	Match       Verdict = "MATCH"
	Missing     Verdict = "MISSING"
	Drift       Verdict = "DRIFT"
	Extra       Verdict = "EXTRA"
	Unknown     Verdict = "UNKNOWN"      // denied, not read yet, or too old
	NotExpected Verdict = "NOT-EXPECTED" // of another profile than the stated one
)

// Reason says why, for programs.
type Reason string

// Entry is one line of the page.
type Entry struct {
	ID       string   `json:"id"`
	Verdict  Verdict  `json:"verdict"`
	Reason   Reason   `json:"reason,omitempty"`
	URL      string   `json:"url,omitempty"`    // only where it was observed
	Others   []string `json:"others,omitempty"` // further URLs that should lead to the same place
	Login    string   `json:"login,omitempty"`
	Command  string   `json:"command,omitempty"` // shows the password, for whoever may read it
	Evidence []string `json:"evidence"`
	Remedy   string   `json:"remedy,omitempty"`
}
