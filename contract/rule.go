package contract

import (
	"embed"
	"slices"
	"strings"
	"unicode"
)

//go:embed rules/*.md
var pages embed.FS

// rules is every rule; its page is rules/<id>.md.
var rules = []Rule{
	{ID: "accept-expired", Severity: Error, Summary: "an accept entry is past its last day"},
	{ID: "accept-reason", Severity: Warning, Summary: "an accept entry still waits for its reason"},
	{ID: "accept-unused", Severity: Warning, Summary: "an accept entry accepts nothing in the manifests"},
	{ID: "appproject-destination", Severity: Error, Summary: "a namespace of the contract is not a destination of its AppProject"},
	{ID: "appproject-undeclared", Severity: Warning, Summary: "a destination of an AppProject is not in the contract"},
	{ID: "cohabitation", Severity: Info, Summary: "what the contract accepts until a day still runs"},
	{ID: "contract-field", Severity: Error, Summary: "a field of the contract is unknown, missing or of the wrong type"},
	{ID: "contract-note", Severity: Info, Summary: "the contract can be read in two ways"},
	{ID: "contract-syntax", Severity: Error, Summary: "a file of the contract is not YAML that can be read"},
	{ID: "credential-unknown", Severity: Warning, Summary: "the Secret of a credential looks misspelt"},
	{ID: "endpoint-duplicate", Severity: Error, Summary: "two endpoints have the same id"},
	{ID: "exposed-without-nodeport", Severity: Error, Summary: "an endpoint is exposed and no NodePort Service exposes it"},
	{ID: "exposure-ambiguous", Severity: Error, Summary: "several Services could expose an endpoint"},
	{ID: "exposure-by-chart", Severity: Info, Summary: "a Helm release is rendered elsewhere"},
	{ID: "exposure-by-operator", Severity: Warning, Summary: "a custom resource asks for an exposure"},
	{ID: "exposure-by-patch", Severity: Warning, Summary: "a patch decides an exposure"},
	{ID: "exposure-by-values", Severity: Info, Summary: "values of a chart, or another file that is no manifest, decide an exposure"},
	{ID: "exposure-port", Severity: Error, Summary: "the exposing Service has no port that leads where the endpoint's port does"},
	{ID: "exposure-selector", Severity: Error, Summary: "the exposing Service selects other pods than the endpoint's Service"},
	{ID: "fqdn-mismatch", Severity: Error, Summary: "fqdn is not service.namespace.svc.cluster.local"},
	{ID: "generator-unknown", Severity: Warning, Summary: "a custom resource may create the Service, and its kind is not known"},
	{ID: "l4-cilium", Severity: Error, Summary: "Cilium's configuration is not that of plain node ports"},
	{ID: "l4-residue", Severity: Error, Summary: "the cluster holds an object of exposure through a gateway or a load balancer"},
	{ID: "l7-leftover", Severity: Warning, Summary: "an object of exposure through a gateway or a load balancer is left"},
	{ID: "legacy-field", Severity: Warning, Summary: "a field of exposure through a gateway is left in the contract"},
	{ID: "manifest-chart", Severity: Error, Summary: "a chart is versioned and not rendered: what it exposes cannot be evaluated"},
	{ID: "manifest-duplicate-key", Severity: Error, Summary: "a mapping holds one key twice"},
	{ID: "manifest-field", Severity: Error, Summary: "a field that decides an exposure is refused or ignored by the API server"},
	{ID: "manifest-syntax", Severity: Error, Summary: "a document is not YAML that can be read"},
	{ID: "manifest-template", Severity: Error, Summary: "a manifest is still a template: what it exposes cannot be evaluated"},
	{ID: "manifest-unread", Severity: Error, Summary: "a file or a document is beyond the limits, or cannot be opened"},
	{ID: "namespace-mismatch", Severity: Error, Summary: "the Service is in another namespace than the endpoint"},
	{ID: "namespace-undeclared", Severity: Warning, Summary: "a namespace is not in namespaces-secrets.yaml"},
	{ID: "namespace-unset", Severity: Warning, Summary: "the Service's manifest names no namespace"},
	{ID: "network-access", Severity: Warning, Summary: "a network_access entry names no endpoint, or no file"},
	{ID: "nodeport-collision", Severity: Warning, Summary: "two Services pin the same nodePort"},
	{ID: "nodeport-on-clusterip", Severity: Error, Summary: "a nodePort on a Service of type ClusterIP"},
	{ID: "nodeport-pinned", Severity: Warning, Summary: "the nodePort of an endpoint is pinned"},
	{ID: "nodeport-range", Severity: Warning, Summary: "a nodePort is out of the default range"},
	{ID: "policy-may-block", Severity: Warning, Summary: "a NetworkPolicy may block what comes in through the node port"},
	{ID: "port-mismatch", Severity: Error, Summary: "the Service has no such port"},
	{ID: "port-twice", Severity: Warning, Summary: "a Service has the same port for two protocols"},
	{ID: "portal-reads-secrets", Severity: Error, Summary: "the portal's ServiceAccount may read Secrets"},
	{ID: "s3-endpoint", Severity: Error, Summary: "the S3 endpoint of a storage profile is not that of the contract"},
	{ID: "scheme-mismatch", Severity: Warning, Summary: "the endpoint's scheme is not what the Service says of its port"},
	{ID: "secret-example", Severity: Error, Summary: "the example file of a Secret does not exist, or does not hold it"},
	{ID: "secret-key", Severity: Error, Summary: "the example of a Secret lacks a key that is promised"},
	{ID: "secret-role", Severity: Error, Summary: "a database role's Secret is used by no database cluster"},
	{ID: "selector-unmatched", Severity: Warning, Summary: "a Service selects no workload of the manifests"},
	{ID: "service-missing", Severity: Error, Summary: "no manifest has the endpoint's Service, and nothing creates it"},
	{ID: "service-not-provable", Severity: Info, Summary: "the endpoint's Service comes from a chart that is not versioned here"},
	{ID: "source-mismatch", Severity: Warning, Summary: "the Service is not in the endpoint's source, but in another file"},
	{ID: "source-missing", Severity: Error, Summary: "the endpoint's source does not exist"},
	{ID: "state-unread", Severity: Error, Summary: "a part of the cluster was not read"},
	{ID: "storageclass-default", Severity: Warning, Summary: "the default storage class is not marked as such"},
	{ID: "storageclass-missing", Severity: Error, Summary: "a promised storage class is not in its source"},
	{ID: "storageclass-provisioner", Severity: Error, Summary: "a storage class has another provisioner than promised"},
	{ID: "system-exposure", Severity: Info, Summary: "the machinery of the cluster is reachable from outside"},
	{ID: "targetport-undeclared", Severity: Warning, Summary: "no container declares the port that a Service leads to"},
	{ID: "targetport-unresolved", Severity: Error, Summary: "no container has the named port that a Service leads to"},
	{ID: "unpromised-externalip", Severity: Error, Summary: "a Service has external addresses that nobody promised"},
	{ID: "unpromised-hostnetwork", Severity: Error, Summary: "pods are on the network of the host, and nobody promised it"},
	{ID: "unpromised-hostport", Severity: Error, Summary: "pods hold a port of the node that nobody promised"},
	{ID: "unpromised-loadbalancer", Severity: Error, Summary: "a LoadBalancer that nobody promised"},
	{ID: "unpromised-nodeport", Severity: Error, Summary: "a NodePort that nobody promised"},
}

// Unevaluated tells whether the findings say that a part of the world could
// not be judged: their absence elsewhere then proves nothing.
func Unevaluated(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool {
		switch f.Rule {
		case "contract-syntax", "manifest-syntax", "manifest-template", "manifest-duplicate-key", "manifest-unread", "manifest-chart", "state-unread":
			return f.Severity == Error
		}
		return false
	})
}

// NewFinding gives a finding of a rule, which decides its severity; that of an
// unknown rule is Error. What it says is made one line.
func NewFinding(rule, endpoint string, at Position, message, remedy string, related ...Position) Finding {
	severity := Error
	if i := slices.IndexFunc(rules, func(r Rule) bool { return r.ID == rule }); i >= 0 {
		severity = rules[i].Severity
	}
	return Finding{Rule: rule, Severity: severity, Endpoint: endpoint, Message: oneLine(message), Remedy: oneLine(remedy),
		Position: at, Related: append([]Position{}, related...)}
}

// oneLine folds blanks, control characters and those that turn text round: a
// message may quote a hostile file.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r <= ' ' || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }), " ")
}
