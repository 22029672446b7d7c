// Package contract compares what is promised, what is written and what is
// exposed, both ways, and says where on both sides.
//
//	contract_version: "1.0"
//	endpoints:
//	  - id: grafana-ui
//	    service: grafana
//	    namespace: monitoring
//	    fqdn: grafana.monitoring.svc.cluster.local
//	    port: 80
//	    protocol: http
//	    auth: secret-admin
//	    exposed: true
//	    source: platform/grafana/nodeport.yaml
//	accept:
//	  - {kind: HostPort, namespace: mail, name: mailpit, port: 1025, reason: relay of the nodes}
//
// [Load] reads the contract strictly, [Check] compares it with a tree of
// manifests and gives [Finding]s, each of a [Rule] with a page of its own.
// [Match] is the one matcher of promises and exposures, for files and for a
// live cluster alike.
//
// It refuses nothing in silence: an unknown field, a text where a truth value
// belongs, a document that cannot be read are findings with their place. It
// proves nothing about a running cluster.
package contract
