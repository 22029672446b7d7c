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
	StaleSince *time.Time `json:"stale_since"` // the earliest of the stale sources
	// SecretsReadable is true where the portal could read Secrets: an alarm.
	SecretsReadable bool `json:"secrets_readable,omitempty"`
	// ContractProblem says what is wrong with the contract's file, where an
	// earlier contract or only a part of it is shown.
	ContractProblem string `json:"contract_problem,omitempty"`
	// Sources are those that cannot be believed in full, in the order of their
	// names; Pods are among them, as NotAsked, where nobody looked at hostPorts.
	Sources []SourceProblem `json:"sources,omitempty"`
	Layers  []Layer         `json:"layers"`
}

// SourceProblem is a resource that was not read as it should be.
type SourceProblem struct {
	Resource Resource `json:"resource"`
	Source
}

// Layer is a group of entries.
type Layer struct {
	Name    string  `json:"name"` // of the contract, or one of the names below
	Entries []Entry `json:"entries"`
}

// The layers that are not of the contract. OtherLayer is for endpoints that
// name none. ExtraLayer and SystemLayer hold what no endpoint promises: what
// nobody wants, and what is the cluster's own.
const (
	OtherLayer  = "other"
	ExtraLayer  = "extra"
	SystemLayer = "system"
)

// Verdict is what became of a promise.
type Verdict string

// The verdicts. An entry of the system layer has none of its own: it is a
// MATCH, with the reason System.
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

// The reasons, by the verdict that they come with.
const (
	// MATCH, with a doubt
	PolicyMayBlock Reason = "POLICY_MAY_BLOCK"
	System         Reason = "SYSTEM" // the cluster's own way in

	// MISSING
	NoService  Reason = "NO_SERVICE" // DRIFT where something else exposes it all the same
	NoHostPort Reason = "NO_HOSTPORT"

	// DRIFT
	NoNodePort               Reason = "NO_NODEPORT"
	TypeChanged              Reason = "TYPE_CHANGED"
	PortAmbiguous            Reason = "PORT_AMBIGUOUS"
	PortMismatch             Reason = "PORT_MISMATCH"
	NoReadyEndpoint          Reason = "NO_READY_ENDPOINT"
	ExposureSelectorMismatch Reason = "EXPOSURE_SELECTOR_MISMATCH"
	NoReachableNode          Reason = "NO_REACHABLE_NODE"
	ETPLocalEmpty            Reason = "ETP_LOCAL_EMPTY"

	// EXTRA
	UndeclaredPort         Reason = "UNDECLARED_PORT" // beside the promised port of one Service
	UnpromisedNodePort     Reason = "UNPROMISED_NODEPORT"
	UnpromisedLoadBalancer Reason = "UNPROMISED_LOADBALANCER"
	UnpromisedExternalIP   Reason = "UNPROMISED_EXTERNALIP"
	UnpromisedHostPort     Reason = "UNPROMISED_HOSTPORT"
	UnpromisedHostNetwork  Reason = "UNPROMISED_HOSTNETWORK"

	// UNKNOWN
	SourceDenied   Reason = "SOURCE_DENIED"
	SourceUnsynced Reason = "SOURCE_UNSYNCED"
	SourceStale    Reason = "SOURCE_STALE"
	SourceNotAsked Reason = "SOURCE_NOT_ASKED"
	OutOfCluster   Reason = "OUT_OF_CLUSTER" // an ExternalName: its readiness is nowhere to be read

	// NOT-EXPECTED
	OtherProfile Reason = "OTHER_PROFILE"
)

// Entry is one line of the page.
type Entry struct {
	ID        string   `json:"id"`
	Verdict   Verdict  `json:"verdict"`
	Reason    Reason   `json:"reason,omitempty"`
	URL       string   `json:"url,omitempty"`    // only where it was observed
	Others    []string `json:"others,omitempty"` // further URLs that should lead to the same place
	Node      string   `json:"node,omitempty"`   // that the URL leads to, for the next Judge
	Namespace string   `json:"namespace,omitempty"`
	Name      string   `json:"name,omitempty"` // of the Service; of the workload for ports of the host
	Note      string   `json:"note,omitempty"` // of the contract
	Auth      string   `json:"auth,omitempty"` // none, token, secret-...
	Login     string   `json:"login,omitempty"`
	Command   string   `json:"command,omitempty"` // shows the password, for whoever may read it
	Evidence  []Text   `json:"evidence"`
	Remedy    string   `json:"remedy,omitempty"` // a command that mends it, or shows what is to be mended
}
