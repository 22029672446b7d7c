// Package kube holds the few facts of Kubernetes objects that decide what is
// reachable from outside a cluster, whether they come from files or from a
// live API, and turns them into one model, [Exposure].
//
//	kind: Service
//	metadata: {name: grafana-nodeport, namespace: monitoring}
//	spec: {type: NodePort, ports: [{port: 80, targetPort: http}]}
//
// becomes Exposure{Kind: NodePort, Namespace: "monitoring", Name:
// "grafana-nodeport", Port: 80, Protocol: "TCP", NodePort: 0}, nodePort 0
// meaning that the cluster assigns one.
//
// It refuses nothing: fields that do not parse are the readers' business. An
// address on loopback is not an exposure.
package kube
