package main

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// clusterConfig is the way to the API server: of a kubeconfig file and one of
// its contexts; without a file of $KUBECONFIG, else of a pod's own
// ServiceAccount, else of ~/.kube/config.
func (c *cli) clusterConfig(kubeconfig, context string) (*rest.Config, error) {
	_, named := c.env("KUBECONFIG")
	if _, inPod := c.env("KUBERNETES_SERVICE_HOST"); inPod && !named && kubeconfig == "" && context == "" {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("use the ServiceAccount of this pod: %w", err)
		}
		return config, nil
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("find the API server: %w; name a file with --kubeconfig", err)
	}
	return config, nil
}
