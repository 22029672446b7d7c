package cptest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Seed puts the objects of a Kubernetes YAML stream on the server, with their
// status; see bench/controlplane/seed for what it accepts.
func (c *Cluster) Seed(t testing.TB, yaml string) {
	t.Helper()
	c.seed(t, yaml, "-")
}

// SeedFiles is Seed for files.
func (c *Cluster) SeedFiles(t testing.TB, files ...string) {
	t.Helper()
	c.seed(t, "", files...)
}

func (c *Cluster) seed(t testing.TB, stdin string, files ...string) {
	t.Helper()
	cmd := exec.Command(c.binary, append([]string{"seed", "--kubeconfig", c.Kubeconfig}, files...)...)
	cmd.Stdin = strings.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cptest: seed: %v: %s", err, bytes.TrimSpace(out))
	}
}

// Kubectl runs the kubectl that was built beside the server, as the
// administrator, and returns its output; a failure ends the test.
func (c *Cluster) Kubectl(t testing.TB, args ...string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(filepath.Dir(c.binary), "kubectl"), append([]string{"--kubeconfig", c.Kubeconfig}, args...)...)
	// Leave the user's cache and preferences alone.
	cmd.Env = append(os.Environ(), "KUBECACHEDIR="+filepath.Join(c.Dir, "kubectl-cache"), "KUBERC=off")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("cptest: kubectl %s: %v: %s", strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.String()
}
