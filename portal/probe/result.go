package probe

import "time"

// Schema names the form of a Report in JSON.
const Schema = "nestor.probe/v1"

// State is what became of a UI at one address.
type State string

// The states.
const (
	Reachable State = "reachable"
	Failed    State = "failed"
	Skipped   State = "skipped" // not expected to answer
	Unknown   State = "unknown" // what there is to try is not known
)

// Kind says why a UI is not reachable. The list is closed.
type Kind string

// The kinds of failure, by how far it got, and then of what was not tried.
const (
	NoSuchName  Kind = "dns"          // the node's name is not known here
	NoRoute     Kind = "no-route"     // this machine, or a router, knows no way
	TimedOut    Kind = "timeout"      // nothing answers: the packets vanish
	Refused     Kind = "refused"      // the address answers that nothing listens
	Reset       Kind = "reset"        // the connection was broken off
	Closed      Kind = "closed"       // it was ended without an answer
	Silent      Kind = "silent"       // it opens, and no answer comes in time
	WrongScheme Kind = "wrong-scheme" // TLS where http is promised, or the reverse
	TLSFailed   Kind = "tls"          // the TLS handshake was refused
	NotHTTP     Kind = "not-http"     // the answer is no HTTP
	BadStatus   Kind = "status"       // an error page: 4xx but 401, 403 and 407, and 5xx
	Local       Kind = "local"        // this machine does not let it out
	Stopped     Kind = "stopped"      // the probe was interrupted

	NotExposed   Kind = "not-exposed"  // deployed, and no node port leads to it
	NotDeployed  Kind = "not-deployed" // there is no such Service
	OtherProfile Kind = "other-profile"
	NoNode       Kind = "no-node"     // the cluster has none
	NotOnNode    Kind = "not-on-node" // externalTrafficPolicy Local, or a hostPort, and no ready pod on this node
	Unread       Kind = "unread"      // the cluster was not read
)

// Unreachable tells whether a failure says that no packet came back: the node,
// or the way to it, is at fault.
func (k Kind) Unreachable() bool { return k == NoSuchName || k == NoRoute || k == TimedOut }

// Result is one UI at one address.
type Result struct {
	Endpoint string `json:"endpoint"`
	URL      string `json:"url,omitempty"`
	Node     string `json:"node,omitempty"`
	State    State  `json:"state"`
	Kind     Kind   `json:"kind,omitempty"`
	Message  string `json:"message,omitempty"`
	// Hints say what is known that may explain it, and what to try.
	Hints []string `json:"hints"`

	Status   int    `json:"status,omitempty"`   // of HTTP
	Redirect string `json:"redirect,omitempty"` // where the answer leads; not followed
	TLS      *TLS   `json:"tls,omitempty"`
	// ConnectMS and TotalMS are the milliseconds until the connection stood,
	// and until the answer's head was there.
	ConnectMS float64 `json:"connect_ms,omitempty"`
	TotalMS   float64 `json:"total_ms,omitempty"`
}

// TLS is what the server's certificate says.
type TLS struct {
	Version  string       `json:"version"`
	Subject  string       `json:"subject"`
	Issuer   string       `json:"issuer"`
	Names    []string     `json:"names"`
	NotAfter time.Time    `json:"not_after"`
	Problems []TLSProblem `json:"problems"` // why a browser would warn
}

// TLSProblem is a reason to distrust a certificate.
type TLSProblem string

// The problems.
const (
	SelfSigned       TLSProblem = "self-signed"
	UnknownAuthority TLSProblem = "unknown-authority" // of this machine's store
	Expired          TLSProblem = "expired"
	NotYetValid      TLSProblem = "not-yet-valid"
	WrongName        TLSProblem = "wrong-name" // it is for other hosts than this one
)

// Summary counts results.
type Summary struct {
	Reachable int `json:"reachable"`
	Failed    int `json:"failed"`
	Skipped   int `json:"skipped"`
	Unknown   int `json:"unknown"`
}

// Report is all results, as JSON has them.
type Report struct {
	Schema     string    `json:"schema"`
	ObservedAt time.Time `json:"observed_at"` // when the cluster was read
	Results    []Result  `json:"results"`
	Summary    Summary   `json:"summary"`
}

// NewReport counts results.
func NewReport(observedAt time.Time, results []Result) Report {
	r := Report{Schema: Schema, ObservedAt: observedAt, Results: results}
	for _, one := range results {
		switch one.State {
		case Reachable:
			r.Summary.Reachable++
		case Failed:
			r.Summary.Failed++
		case Skipped:
			r.Summary.Skipped++
		case Unknown:
			r.Summary.Unknown++
		}
	}
	return r
}
