// Package serve shows over HTTP what the portal makes of a cluster:
//
//	contract, err := serve.OpenContract("contract/endpoints.yaml")
//	server, err := serve.New(serve.Options{Cluster: observer, Contract: contract})
//	err = server.Run(ctx, listener) // until ctx is over
//
// It serves / (the page), /go/ID (to where an endpoint is at present),
// /api/v1/view (JSON, nestor.view/v1), /assets/, /metrics (Prometheus),
// /readyz, /livez and /healthz.
//
// It answers only to Host headers that no other site can make a browser send:
// literal addresses, localhost, the names of nodes, and the names that it is
// given. It takes no request body, knows no user, and stores nothing. Clients
// choose the language and the host of its links from closed lists, so that
// they cannot make it render what it was not going to.
package serve
