// Package kubeconfig fetches the kubeconfig that a control plane holds, makes
// it work from here, and writes it without ever spoiling a file that worked.
//
//	names, err := kubeconfig.Candidates(inv, "")        // ["cp1"]
//	holder, err := kubeconfig.Locate(ctx, nodes, kubeconfig.Options{Parallel: 32})
//	fetched, err := kubeconfig.Fetch(ctx, holder.Node, kubeconfig.Options{})
//	servers, err := fetched.Servers(kubeconfig.Place{Host: "192.0.2.11"})
//	config, err := kubeconfig.Reach(ctx, fetched.Config, servers)
//	rest := config.REST()
//
// Only what a kubeconfig must hold to be carried elsewhere is taken: one
// cluster with its certificate authority inline, and one user with a client
// certificate and key, or a token. A file that names other files, runs
// programs, is cut short or has expired is refused, with what is wrong with it
// and never with what it holds. A [Config] prints as its names and its server.
package kubeconfig
