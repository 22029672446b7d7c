package kubeconfig_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/nodeexec/kubeconfig"
	"github.com/nestor-tools/nestor/nodeexec/nodeexectest"
)

// holder is a fake node that holds a file.
func holder(name, file, content string) *nodeexectest.Node {
	return &nodeexectest.Node{NodeName: name, Answer: func(c nodeexectest.Call) nodeexectest.Reply {
		switch {
		case c.Argv[0] == "cat":
			return nodeexectest.Reply{Stdout: content}
		case file == "":
			return nodeexectest.Reply{}
		}
		sum := "none"
		if _, rest, ok := strings.Cut(content, "certificate-authority-data: "); ok {
			sum, _, _ = strings.Cut(rest, "\n")
		}
		return nodeexectest.Reply{Stdout: sum + " " + file + "\n"}
	}}
}

func TestFetchTakesTheAdministratorsFile(t *testing.T) {
	ca := newAuthority(t, "kubernetes")
	node := holder("cp1", "/etc/kubernetes/admin.conf", ca.adminConf(t, "https://192.0.2.1:6443", nextYear()))
	got, err := kubeconfig.Fetch(t.Context(), node, kubeconfig.Options{})
	require.NoError(t, err)
	assert.Equal(t, "cp1", got.Node)
	assert.Equal(t, "/etc/kubernetes/admin.conf", got.File)
	assert.Equal(t, "https://192.0.2.1:6443", got.Config.Server())
	assert.Equal(t, ca.pem, got.Config.CA())
	for _, call := range node.Calls() {
		assert.True(t, call.Sudo)
	}
}

func TestLocateRefusesToChooseBetweenClusters(t *testing.T) {
	a := holder("a1", "/etc/kubernetes/admin.conf", newAuthority(t, "a").adminConf(t, "https://192.0.2.1:6443", nextYear()))
	b := holder("b1", "/etc/rancher/k3s/k3s.yaml", newAuthority(t, "b").adminConf(t, "https://127.0.0.1:6443", nextYear()))
	none := holder("node1", "", "")
	_, err := kubeconfig.Locate(t.Context(), []nodeexec.Runner{none, a, b}, kubeconfig.Options{})
	require.ErrorIs(t, err, kubeconfig.ErrSeveral)
	assert.ErrorContains(t, err, "a1 and b1")
	got, err := kubeconfig.Locate(t.Context(), []nodeexec.Runner{none, b}, kubeconfig.Options{})
	require.NoError(t, err)
	assert.Equal(t, "b1", got.Node.Name())
	_, err = kubeconfig.Locate(t.Context(), []nodeexec.Runner{none}, kubeconfig.Options{})
	require.ErrorIs(t, err, kubeconfig.ErrNone)
}
