// Package platform holds a small, complete platform: a contract and the
// manifests that keep it. Nine user interfaces are exposed (one by its own
// Service, most by a NodePort Service beside a vendored one, one whose chart is
// not versioned), four endpoints are reached from inside the cluster only, and
// one hostPort is accepted without being promised. A check of it finds no
// error and no warning; its test breaks it in one place at a time.
package platform

import "embed"

// Files is the tree that `nestor contract check --root` is given; the contract
// is contract/endpoints.yaml in it.
//
//go:embed apps contract policies storage namespaces.yaml
var Files embed.FS
