// Package manifest reads a tree of Kubernetes manifests and keeps what
// decides, or explains, who is reachable from outside: Services, workloads,
// network policies, routes, what operators will create, and what cannot be
// told from the files.
//
//	platform/grafana/grafana.yaml      vendored, with a ClusterIP Service
//	platform/grafana/nodeport.yaml     the Service that exposes it
//	platform/loki/values.yaml          for a chart that is not versioned here
//
// Lists are entered; comments, CRLF, byte order marks, anchors and JSON are
// read as kubectl reads them. Files are read in parallel, one document at a
// time in memory for each of them.
//
// It refuses to guess. What does not parse, holds a key twice, or is still a
// template becomes a [Problem] with its place, and the other documents are
// read all the same. Patches, values of charts and custom resources that
// expose something become an [Elsewhere]. Dot-folders, node_modules and
// symbolic links are not entered; a link that leaves the tree is a Problem.
package manifest
