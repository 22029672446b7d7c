//go:build integration && guest

package scenarios_test

func init() {
	onGuests = []string{"node-exec", "run-cni", "kubeconfig", "node-side", "portal", "remove"}
}
