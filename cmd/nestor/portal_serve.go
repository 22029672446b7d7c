package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"

	"github.com/spf13/cobra"

	"github.com/nestor-tools/nestor/portal/observe"
	"github.com/nestor-tools/nestor/portal/serve"
)

// portalServeFlags are the flags of "nestor portal serve".
type portalServeFlags struct {
	clusterFlags
	contract    string
	listen      string
	accessHosts []string
	allowHosts  []string
	profile     string
	pods        bool
}

func newPortalServeCmd(c *cli) *cobra.Command {
	var f portalServeFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve a page of links that are always right",
		Long: `Serve a page that shows for each endpoint of the contract where it really is:
http://<a node that answers>:<the present nodePort>, with a verdict, its reason
and the command that would mend it. It follows the cluster and the contract's
file while it runs; /go/ID leads to where the endpoint is at present.

It reads Services, EndpointSlices and Nodes, with --pods the Pods that hold
ports of their node, and never Secrets. It ends on SIGTERM or SIGINT.`,
		Example: `  nestor portal serve --contract contract/endpoints.yaml --kubeconfig ~/.kube/config
  nestor portal serve --access-host node1.tail1234.ts.net --profile prod --pods`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.portalServe(cmd.Context(), f) },
	}
	f.clusterFlags.add(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.contract, "contract", "contract/endpoints.yaml", "the contract, a file or the folder that holds it")
	fl.StringVar(&f.listen, "listen", ":8080", "the address and port to listen on")
	fl.StringArrayVar(&f.accessHosts, "access-host", nil, "the host of all links, or ID=HOST for one endpoint; may be repeated ($PORTAL_ACCESS_HOST)")
	fl.StringArrayVar(&f.allowHosts, "allow-host", nil, "a name that browsers reach the portal by, beside addresses and names of nodes; may be repeated")
	fl.StringVar(&f.profile, "profile", "", "the profile that runs here; endpoints of another are not expected ($PORTAL_PROFILE)")
	fl.BoolVar(&f.pods, "pods", false, "also read the Pods that hold ports of their node (hostPorts)")
	return cmd
}

func (c *cli) portalServe(ctx context.Context, f portalServeFlags) error {
	if f.profile == "" {
		f.profile, _ = c.env("PORTAL_PROFILE")
	}
	hosts, err := c.hosts(f.accessHosts)
	if err != nil {
		return err
	}
	contract, err := serve.OpenContract(f.contract)
	if err != nil {
		return fmt.Errorf("%w; name it with --contract", err)
	}
	config, err := c.clusterConfig(f.clusterFlags)
	if err != nil {
		return err
	}
	observer, err := observe.New(config, observe.Options{Pods: f.pods})
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(c.err, nil))
	if _, problem := contract.Present(); problem != "" {
		log.Error("the contract is faulty", "problem", problem)
	}
	server, err := serve.New(serve.Options{
		Cluster: observer, Contract: contract, AccessHosts: hosts, Profile: f.profile, AllowHosts: f.allowHosts, Logger: log,
	})
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.listen)
	if err != nil {
		return err
	}
	log.Info("serving", "address", listener.Addr().String(), "contract", f.contract, "server", config.Host)

	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() { observer.Run(ctx) })
	err = server.Run(ctx, listener)
	cancel()
	all.Wait()
	return err
}
