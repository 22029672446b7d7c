package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// clusterFlags say where the cluster is.
type clusterFlags struct {
	kubeconfig string
	context    string
}

func (f *clusterFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "the kubeconfig file (default: $KUBECONFIG, else this pod's ServiceAccount, else ~/.kube/config)")
	cmd.Flags().StringVar(&f.context, "context", "", "the context of the kubeconfig (default: its current one)")
}

// exclude refuses the flags of a cluster beside one that does without it.
func (f *clusterFlags) exclude(cmd *cobra.Command, flag string) {
	cmd.MarkFlagsMutuallyExclusive(flag, "kubeconfig")
	cmd.MarkFlagsMutuallyExclusive(flag, "context")
}

// clusterConfig is the way to the API server: of a kubeconfig file and one of
// its contexts; without a file of $KUBECONFIG, else of a pod's own
// ServiceAccount, else of ~/.kube/config.
func (c *cli) clusterConfig(f clusterFlags) (*rest.Config, error) {
	_, named := c.env("KUBECONFIG")
	if _, inPod := c.env("KUBERNETES_SERVICE_HOST"); inPod && !named && f == (clusterFlags{}) {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("use the ServiceAccount of this pod: %w", err)
		}
		return config, nil
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.context}).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("no kubeconfig: $KUBECONFIG names none, and there is no ~/.kube/config; name one with --kubeconfig")
	}
	if err != nil {
		return nil, fmt.Errorf("find the API server: %w; name a file with --kubeconfig", err)
	}
	return config, nil
}
