package contract

import (
	"strings"
	"time"

	"github.com/nestor-tools/nestor/contract/kube"
)

// Contract is what endpoints.yaml promises.
type Contract struct {
	Version       string
	Endpoints     []Endpoint
	Accept        []Accept
	AcceptList    AcceptList
	NetworkAccess []NetworkAccess
	File          string
}

// Endpoint is one promised service.
type Endpoint struct {
	ID        string
	Service   string // the Service's name
	Namespace string
	FQDN      string
	Port      int    // of the Service
	Protocol  string // tcp, udp, http, https, grpc
	Auth      string // none, secret-..., token
	Layer     string // where the portal shows it
	Exposed   bool   // a web UI on a node port
	Scheme    string // http, https, or "" to derive it
	Path      string // below the root, "" for none
	Profil    string // the profile that has it, "" for all
	Login     string

	Credential Credential
	Exposure   Exposing
	Source     string // the file or folder that anchors it
	Note       string
	Role       string
	ProbeFrom  string // a namespace that may reach it
	ShortRef   string

	fields map[string]Position
}

// Credential says which Secret opens an endpoint. Its value is never read.
type Credential struct {
	Secret   string
	Key      string
	LoginKey string
}

// Exposing says what makes an endpoint reachable, where the usual search is
// not wanted: the name of a Service, or a port of the node that the
// endpoint's own pods hold. The zero value leaves it to the search.
type Exposing struct {
	Service  string
	HostPort int
}

// Accept is an exposure, or a leftover, that is known and wanted.
type Accept struct {
	Kind      string // an exposure's, an object's, or File
	Namespace string
	Name      string // or a path with * for File
	Port      int    // of the Service, or of the node for a HostPort; 0: every port
	Reason    string
	Until     time.Time // the last day; zero: for good
	At        Position
	UntilAt   Position
}

// AcceptList is how a contract writes accept:, for whoever adds an entry. The
// zero value is of a contract that has no such field.
type AcceptList struct {
	At     Position // of the key
	Block  bool     // it holds entries, each after a dash
	Empty  bool     // it holds none, be it written as [] or as nothing
	Indent int      // the blanks before a dash; for Block alone
}

// NetworkAccess says who may reach an endpoint.
type NetworkAccess struct {
	Endpoint    string
	IngressFrom []string
	Source      string
	Note        string
	At          Position
}

// At is the place of one field of the endpoint, by its name in the file; of
// the endpoint where it has no such field.
func (e Endpoint) At(field string) Position {
	if p, ok := e.fields[field]; ok {
		return p
	}
	return e.fields[""]
}

// URLScheme is the scheme of the endpoint's UI: the one that is stated, else
// https for protocol https, else what the port's appProtocol or its name
// says, else http. from says which of them decided.
func (e Endpoint) URLScheme(appProtocol, portName string) (scheme, from string) {
	if e.Scheme != "" {
		return e.Scheme, "scheme"
	}
	if e.Protocol == "https" {
		return "https", "protocol"
	}
	if s := schemeOf(appProtocol); s != "" {
		return s, "appProtocol"
	}
	if s := schemeOf(portName); s != "" {
		return s, "port name"
	}
	return "http", "default"
}

// schemeOf reads a scheme in an appProtocol ("kubernetes.io/ws", "https") or
// in the name of a port ("https-web"); "" where there is none.
func schemeOf(name string) string {
	first, _, _ := strings.Cut(strings.ToLower(name), "-")
	switch first {
	case "https", "kubernetes.io/wss", "tls":
		return "https"
	case "http", "kubernetes.io/h2c", "kubernetes.io/ws":
		return "http"
	}
	return ""
}

// Covers tells whether the entry accepts the exposure on that day. Kinds are
// compared without regard to case; the kind of the object is as good as that
// of the exposure, and a HostNetwork entry covers the pod's ports as well. An
// entry without a namespace covers what names none either.
func (a Accept) Covers(e kube.Exposure, today time.Time) bool {
	return !a.Expired(today) && a.speaksOf(e)
}

func (a Accept) speaksOf(e kube.Exposure) bool {
	if a.Name != e.Name || !a.inNamespace(e.Namespace) {
		return false
	}
	port := e.Port
	if e.Kind == kube.HostPort {
		port = e.NodePort
	}
	if a.Port != 0 && a.Port != port {
		return false
	}
	return strings.EqualFold(a.Kind, string(e.Kind)) || strings.EqualFold(a.Kind, e.Object) ||
		(strings.EqualFold(a.Kind, string(kube.HostNetwork)) && e.Kind == kube.HostPort)
}

// inNamespace lets an entry stand for what is yet to be given a namespace,
// and never the other way round: an entry must not accept more than it says.
func (a Accept) inNamespace(namespace string) bool {
	return a.Namespace == namespace || namespace == ""
}

// Expired tells whether the entry's last day is over, where today's clock is.
// A zero today expires nothing.
func (a Accept) Expired(today time.Time) bool {
	year, month, day := today.Date()
	return !a.Until.IsZero() && !today.IsZero() && time.Date(year, month, day, 0, 0, 0, 0, time.UTC).After(a.Until)
}
