package kubeconfig_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/pki"
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
	ca := pki.New(t, "kubernetes")
	node := holder("cp1", "/etc/kubernetes/admin.conf", ca.AdminConf(t, "https://192.0.2.1:6443", pki.NextYear()))
	got, err := kubeconfig.Fetch(t.Context(), node, kubeconfig.Options{})
	require.NoError(t, err)
	assert.Equal(t, "cp1", got.Node)
	assert.Equal(t, "/etc/kubernetes/admin.conf", got.File)
	assert.Equal(t, "https://192.0.2.1:6443", got.Config.Server())
	assert.Equal(t, ca.PEM, got.Config.CA())
	for _, call := range node.Calls() {
		assert.True(t, call.Sudo)
	}
}

func TestLocateRefusesToChooseBetweenClusters(t *testing.T) {
	a := holder("a1", "/etc/kubernetes/admin.conf", pki.New(t, "a").AdminConf(t, "https://192.0.2.1:6443", pki.NextYear()))
	b := holder("b1", "/etc/rancher/k3s/k3s.yaml", pki.New(t, "b").AdminConf(t, "https://127.0.0.1:6443", pki.NextYear()))
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

// sudo is missing or refuses; the login user may be root all the same.
func TestRootNeedsNoSudo(t *testing.T) {
	conf := pki.New(t, "kubernetes").AdminConf(t, "https://192.0.2.1:6443", pki.NextYear())
	node := func(uid string) *nodeexectest.Node {
		return &nodeexectest.Node{NodeName: "cp1", Answer: func(c nodeexectest.Call) nodeexectest.Reply {
			switch {
			case c.Sudo:
				return nodeexectest.Reply{Err: &nodeexec.Error{Node: "cp1", Kind: nodeexec.KindSudo, Detail: "sudo is not installed there"}}
			case c.Argv[0] == "cat":
				return nodeexectest.Reply{Stdout: conf}
			case uid != "0":
				return nodeexectest.Reply{ExitCode: 77}
			}
			return nodeexectest.Reply{Stdout: "sum /etc/kubernetes/admin.conf\n"}
		}}
	}
	_, err := kubeconfig.Fetch(t.Context(), node("0"), kubeconfig.Options{})
	require.NoError(t, err)
	_, err = kubeconfig.Fetch(t.Context(), node("1000"), kubeconfig.Options{})
	assert.EqualError(t, err, "cp1: sudo is not installed there")
	assert.Equal(t, nodeexec.KindSudo, nodeexec.KindOf(err))
}

func TestFetchSaysWhyAFileCannotBeRead(t *testing.T) {
	for stderr, says := range map[string]string{
		"cat: /etc/kubernetes/admin.conf: Input/output error\n": "cp1: /etc/kubernetes/admin.conf: cannot be read: Input/output error",
		"client-key-data: SECRET\n":                             "cp1: /etc/kubernetes/admin.conf: cannot be read",
	} {
		node := &nodeexectest.Node{NodeName: "cp1", Answer: func(c nodeexectest.Call) nodeexectest.Reply {
			if c.Argv[0] == "cat" {
				return nodeexectest.Reply{Stderr: stderr, ExitCode: 1}
			}
			return nodeexectest.Reply{Stdout: "sum /etc/kubernetes/admin.conf\n"}
		}}
		_, err := kubeconfig.Fetch(t.Context(), node, kubeconfig.Options{})
		assert.EqualError(t, err, says)
	}
	broken := &nodeexectest.Node{NodeName: "cp1", Answer: func(nodeexectest.Call) nodeexectest.Reply { return nodeexectest.Reply{ExitCode: 2} }}
	_, err := kubeconfig.Fetch(t.Context(), broken, kubeconfig.Options{})
	assert.EqualError(t, err, "cp1: the search for a kubeconfig ended with exit code 2")
}
