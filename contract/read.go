package contract

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nestor-tools/nestor/contract/yamldoc"
)

// Parse reads one endpoints.yaml; name is what its positions say. The
// findings are what is wrong or ambiguous in it; the contract is nil where
// the file is not YAML at all.
func Parse(name string, b []byte) (*Contract, []Finding) {
	r := &fileReader{file: name}
	root, ok := r.document(b)
	if !ok {
		return nil, r.findings
	}
	c := &Contract{File: name}
	r.fields(root, "the contract", map[string]func(yamldoc.Node){
		"$schema":          func(yamldoc.Node) {},
		"contract_version": func(n yamldoc.Node) { c.Version = r.version(n) },
		"endpoints":        func(n yamldoc.Node) { c.Endpoints = r.endpoints(n) },
		"accept":           func(n yamldoc.Node) { c.Accept = r.accepts(n) },
		"network_access":   func(n yamldoc.Node) { c.NetworkAccess = r.networkAccess(n) },
	})
	for key, n := range root.Pairs() {
		if key.Text() == "accept" {
			c.AcceptList = AcceptList{At: r.at(key), Empty: n.Kind() == yamldoc.Null || (n.Kind() == yamldoc.Sequence && len(c.Accept) == 0)}
			if n.Kind() == yamldoc.Sequence && !n.Flow() {
				c.AcceptList.Block, c.AcceptList.Indent = true, n.Column()-1
			}
		}
	}
	if root.Get("contract_version").Kind() == yamldoc.Missing {
		r.report("contract-field", r.at(root), "", "contract_version is missing", `add contract_version: "1.0"`)
	}
	return c, r.findings
}

// fileReader reads the contract's own files.
type fileReader struct {
	file     string
	findings []Finding
	endpoint string // being read
}

func (r *fileReader) at(n yamldoc.Node) Position {
	return Position{File: r.file, Line: n.Line(), Column: n.Column()}
}

func (r *fileReader) report(rule string, at Position, endpoint, message, remedy string, related ...Position) {
	r.findings = append(r.findings, NewFinding(rule, endpoint, at, message, remedy, related...))
}

// document gives the only document of a file.
func (r *fileReader) document(b []byte) (yamldoc.Node, bool) {
	chunks := yamldoc.Split(b)
	if len(chunks) != 1 {
		r.report("contract-syntax", Position{r.file, 1, 1}, "", fmt.Sprintf("%d YAML documents where one is wanted", len(chunks)), "keep one document in the file")
		return yamldoc.Node{}, false
	}
	root, problems := chunks[0].Parse()
	for _, p := range problems {
		r.report("contract-syntax", Position{r.file, p.Line, p.Column}, "", p.Message, "mend the YAML")
	}
	if len(problems) == 0 && root.Kind() != yamldoc.Mapping {
		r.report("contract-syntax", r.at(root), "", "the document is a "+string(root.Kind())+" where a mapping is wanted", "start it with contract_version:")
		return yamldoc.Node{}, false
	}
	return root, len(problems) == 0
}

// fields hands each field of a mapping to its reader, and reports those that
// have none.
func (r *fileReader) fields(n yamldoc.Node, what string, readers map[string]func(yamldoc.Node)) {
	for key, value := range n.Pairs() {
		if read := readers[key.Text()]; read != nil {
			read(value)
			continue
		}
		remedy := "remove it, or write one of: " + strings.Join(knownFields(readers), ", ")
		if name := closest(key.Text(), readers); name != "" {
			remedy = "write " + name
		}
		r.report("contract-field", r.at(key), r.endpoint, fmt.Sprintf("field %q of %s is unknown", key.Text(), what), remedy)
	}
}

func knownFields(readers map[string]func(yamldoc.Node)) []string {
	names := make([]string, 0, len(readers))
	for name := range readers {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// closest finds a field that differs only in case, dashes or underscores.
func closest(name string, readers map[string]func(yamldoc.Node)) string {
	plain := func(s string) string {
		return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(s))
	}
	for _, known := range knownFields(readers) {
		if plain(known) == plain(name) {
			return known
		}
	}
	return ""
}

func (r *fileReader) wrong(n yamldoc.Node, field, want string) {
	got := string(n.Kind())
	if n.Kind() == yamldoc.Scalar {
		got = fmt.Sprintf("%q", n.Text())
		if _, isBool := n.Bool(); n.IsString() && (isBool || n.Text() == "true" || n.Text() == "false") {
			got += " in quotes, a text"
		}
	}
	r.report("contract-field", r.at(n), r.endpoint, fmt.Sprintf("%s must be %s, not %s", field, want, got), "write "+field+" as "+want)
}

// text reads a text. A number that is not quoted is taken as it is written.
func (r *fileReader) text(n yamldoc.Node, field string) string {
	if n.Kind() != yamldoc.Scalar {
		r.wrong(n, field, "a text")
	}
	return strings.TrimSpace(n.Text())
}

func (r *fileReader) version(n yamldoc.Node) string {
	v := r.text(n, "contract_version")
	if v != "" && v != "1" && !strings.HasPrefix(v, "1.") {
		r.report("contract-field", r.at(n), "", fmt.Sprintf("contract_version %q is not known", v), `write contract_version: "1.0"`)
	}
	return v
}

var (
	dnsLabel     = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	hostPortText = regexp.MustCompile(`^hostPort: *([0-9]{1,5})$`)
	secretRef    = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]{0,251}[A-Za-z0-9])?$`)
)

func (r *fileReader) name(n yamldoc.Node, field string) string {
	s := r.text(n, field)
	if s != "" && !dnsLabel.MatchString(s) {
		r.wrong(n, field, "a DNS label (a-z, 0-9 and dashes)")
	}
	return s
}

func (r *fileReader) port(n yamldoc.Node, field string) int {
	port, ok := n.Int()
	if !ok || port < 1 || port > 65535 {
		r.wrong(n, field, "a number from 1 to 65535")
		return 0
	}
	return port
}

func (r *fileReader) oneOf(n yamldoc.Node, field string, values ...string) string {
	s := r.text(n, field)
	if n.Kind() == yamldoc.Scalar && !slices.Contains(values, s) {
		r.wrong(n, field, "one of "+strings.Join(values, ", "))
		return ""
	}
	return s
}

func (r *fileReader) bool(n yamldoc.Node, field string) bool {
	value, ok := n.Bool()
	if !ok {
		r.wrong(n, field, "true or false, without quotes")
		return false
	}
	if t := n.Text(); t != "true" && t != "false" {
		r.report("contract-note", r.at(n), r.endpoint, fmt.Sprintf("%s is %s, which not every YAML reader takes for %v", field, t, value), fmt.Sprintf("write %s: %v", field, value))
	}
	return value
}

func (r *fileReader) list(n yamldoc.Node, field string, each func(yamldoc.Node)) {
	if n.Kind() != yamldoc.Sequence && n.Kind() != yamldoc.Null {
		r.wrong(n, field, "a list")
		return
	}
	for item := range n.Items() {
		each(item)
	}
}

func (r *fileReader) endpoints(n yamldoc.Node) []Endpoint {
	var all []Endpoint
	seen := map[string]Position{}
	r.list(n, "endpoints", func(item yamldoc.Node) {
		if item.Kind() != yamldoc.Mapping {
			r.wrong(item, "an endpoint", "a mapping")
			return
		}
		e := r.readEndpoint(item)
		at := e.At("id")
		if first, ok := seen[e.ID]; ok && e.ID != "" {
			r.report("endpoint-duplicate", at, e.ID, fmt.Sprintf("id %q is given twice", e.ID), "give each endpoint an id of its own", first)
		} else {
			seen[e.ID] = at
		}
		all = append(all, e)
	})
	return all
}

func (r *fileReader) readEndpoint(n yamldoc.Node) Endpoint {
	e := Endpoint{fields: map[string]Position{"": r.at(n)}}
	r.endpoint = n.Get("id").Text()
	defer func() { r.endpoint = "" }()
	for key, value := range n.Pairs() {
		e.fields[key.Text()] = r.at(value)
	}
	text := func(to *string, field string) func(yamldoc.Node) {
		return func(n yamldoc.Node) { *to = r.text(n, field) }
	}
	r.fields(n, "an endpoint", map[string]func(yamldoc.Node){
		"id":         text(&e.ID, "id"),
		"service":    func(n yamldoc.Node) { e.Service = r.name(n, "service") },
		"namespace":  func(n yamldoc.Node) { e.Namespace = r.name(n, "namespace") },
		"fqdn":       text(&e.FQDN, "fqdn"),
		"port":       func(n yamldoc.Node) { e.Port = r.port(n, "port") },
		"protocol":   func(n yamldoc.Node) { e.Protocol = r.oneOf(n, "protocol", "tcp", "udp", "http", "https", "grpc") },
		"auth":       text(&e.Auth, "auth"),
		"layer":      text(&e.Layer, "layer"),
		"exposed":    func(n yamldoc.Node) { e.Exposed = r.bool(n, "exposed") },
		"scheme":     func(n yamldoc.Node) { e.Scheme = r.oneOf(n, "scheme", "http", "https") },
		"path":       func(n yamldoc.Node) { e.Path = r.path(n) },
		"profil":     text(&e.Profil, "profil"),
		"login":      text(&e.Login, "login"),
		"credential": func(n yamldoc.Node) { e.Credential = r.credential(n) },
		"exposure":   func(n yamldoc.Node) { e.Exposure = r.exposing(n) },
		"source":     text(&e.Source, "source"),
		"note":       text(&e.Note, "note"),
		"role":       func(n yamldoc.Node) { e.Role = r.role(n) },
		"probe_from": func(n yamldoc.Node) { e.ProbeFrom = r.name(n, "probe_from") },
		"short_ref":  text(&e.ShortRef, "short_ref"),
		// of the way through a gateway
		"ui_hostname": func(n yamldoc.Node) { r.legacy(n, "ui_hostname") },
		"ui_nodeport": func(n yamldoc.Node) { r.legacy(n, "ui_nodeport") },
	})
	for _, field := range []string{"id", "service", "namespace", "port"} {
		if n.Get(field).Kind() == yamldoc.Missing {
			r.report("contract-field", e.At(""), e.ID, fmt.Sprintf("%s is missing", field), "add "+field+":")
		}
	}
	if strings.HasSuffix(e.Service, "-nodeport") {
		r.report("contract-note", e.At("service"), e.ID, fmt.Sprintf("service %s is named as what exposes it", e.Service), "name the ClusterIP Service, and this one under exposure:")
	}
	return e
}

func (r *fileReader) legacy(n yamldoc.Node, field string) {
	r.report("legacy-field", r.at(n), r.endpoint, field+" belongs to exposure through a gateway, and is not read", "write exposed: true; the port is observed, not promised")
}

// role reads the name of a database role; prose, as older contracts have it,
// is noted and not used.
func (r *fileReader) role(n yamldoc.Node) string {
	role := r.text(n, "role")
	if strings.ContainsAny(role, " \t") {
		r.report("contract-note", r.at(n), r.endpoint, fmt.Sprintf("role %q is prose, not the name of a role", role), "move it to note:")
		return ""
	}
	return role
}

func (r *fileReader) path(n yamldoc.Node) string {
	p := r.text(n, "path")
	if p != "" && (!strings.HasPrefix(p, "/") || strings.HasPrefix(p, "//") || strings.ContainsAny(p, " \\")) {
		r.wrong(n, "path", "a path that starts with one /")
		return ""
	}
	return p
}

func (r *fileReader) credential(n yamldoc.Node) Credential {
	var c Credential
	if n.Kind() != yamldoc.Mapping {
		r.wrong(n, "credential", "a mapping of secret, key and login_key")
		return c
	}
	ref := func(to *string, field string) func(yamldoc.Node) {
		return func(n yamldoc.Node) {
			if *to = r.text(n, field); !secretRef.MatchString(*to) {
				r.wrong(n, "credential."+field, "the name of a Secret or of a key in it")
				*to = ""
			}
		}
	}
	r.fields(n, "credential", map[string]func(yamldoc.Node){
		"secret": ref(&c.Secret, "secret"), "key": ref(&c.Key, "key"), "login_key": ref(&c.LoginKey, "login_key"),
	})
	if n.Get("secret").Kind() == yamldoc.Missing {
		r.report("contract-field", r.at(n), r.endpoint, "credential.secret is missing", "add secret:")
	}
	return c
}

// exposing reads the name of a Service, or "hostPort: N" as a mapping or as
// a text.
func (r *fileReader) exposing(n yamldoc.Node) Exposing {
	const want = "the name of a Service, or hostPort: N"
	switch n.Kind() {
	case yamldoc.Mapping:
		var e Exposing
		r.fields(n, "exposure", map[string]func(yamldoc.Node){
			"hostPort": func(n yamldoc.Node) { e.HostPort = r.port(n, "exposure.hostPort") },
			"service":  func(n yamldoc.Node) { e.Service = r.name(n, "exposure.service") },
		})
		return e
	case yamldoc.Scalar:
		if m := hostPortText.FindStringSubmatch(n.Text()); m != nil {
			port, err := strconv.Atoi(m[1])
			if err != nil || port < 1 || port > 65535 {
				r.wrong(n, "exposure", want)
				return Exposing{}
			}
			return Exposing{HostPort: port}
		}
		return Exposing{Service: r.name(n, "exposure")}
	}
	r.wrong(n, "exposure", want)
	return Exposing{}
}

func (r *fileReader) accepts(n yamldoc.Node) []Accept {
	var all []Accept
	r.list(n, "accept", func(item yamldoc.Node) {
		if item.Kind() != yamldoc.Mapping {
			r.wrong(item, "an accept entry", "a mapping")
			return
		}
		a := Accept{At: r.at(item)}
		text := func(to *string, field string) func(yamldoc.Node) {
			return func(n yamldoc.Node) {
				// scripts read the allowlist line by line
				if *to = r.text(n, field); *to != oneLine(*to) && field != "reason" {
					r.wrong(n, field, "a text of one line, without control characters")
					*to = ""
				}
			}
		}
		r.fields(item, "an accept entry", map[string]func(yamldoc.Node){
			"kind": text(&a.Kind, "kind"), "namespace": text(&a.Namespace, "namespace"), "name": text(&a.Name, "name"),
			"port": func(n yamldoc.Node) { a.Port = r.port(n, "port") }, "reason": text(&a.Reason, "reason"),
			"until": func(n yamldoc.Node) { a.Until, a.UntilAt = r.date(n), r.at(n) },
		})
		for _, field := range []string{"kind", "name", "reason"} {
			if strings.TrimSpace(item.Get(field).Text()) == "" {
				r.report("contract-field", a.At, "", fmt.Sprintf("%s of an accept entry is missing", field), "add "+field+":")
			}
		}
		if strings.EqualFold(a.Reason, "todo") {
			r.report("accept-reason", r.at(item.Get("reason")), "", fmt.Sprintf("the reason for accepting %s %s is still to be written", a.Kind, qualified(a.Namespace, a.Name)), "say why it is exposed, or stop exposing it")
		}
		all = append(all, a)
	})
	return all
}

func (r *fileReader) date(n yamldoc.Node) time.Time {
	t, err := time.Parse(time.DateOnly, n.Text())
	if err != nil {
		r.wrong(n, "until", "a date such as 2027-01-31")
	}
	return t
}

func (r *fileReader) networkAccess(n yamldoc.Node) []NetworkAccess {
	var all []NetworkAccess
	r.list(n, "network_access", func(item yamldoc.Node) {
		a := NetworkAccess{At: r.at(item)}
		r.fields(item, "a network_access entry", map[string]func(yamldoc.Node){
			"endpoint": func(n yamldoc.Node) { a.Endpoint, a.At = r.text(n, "endpoint"), r.at(n) },
			"source":   func(n yamldoc.Node) { a.Source = r.text(n, "source") },
			"note":     func(n yamldoc.Node) { a.Note = r.text(n, "note") },
			"ingress_from": func(n yamldoc.Node) {
				r.list(n, "ingress_from", func(n yamldoc.Node) { a.IngressFrom = append(a.IngressFrom, r.name(n, "ingress_from")) })
			},
		})
		all = append(all, a)
	})
	return all
}

func qualified(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}
