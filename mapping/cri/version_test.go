package cri

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseVersion(t *testing.T) {
	for _, c := range []struct{ answer, raw, number string }{
		{"containerd github.com/containerd/containerd v1.7.24 88bf19b2\n", "v1.7.24", "1.7.24"},
		{"containerd github.com/containerd/containerd/v2 v2.1.5 \n", "v2.1.5", "2.1.5"},
		{"containerd containerd.io 1.7.28 b98a3aac\n", "1.7.28", "1.7.28"},
		{"containerd github.com/containerd/containerd 1.7.23~ds2 1.7.23~ds2-1\n", "1.7.23~ds2", "1.7.23"},
		{"crio version 1.29.1\nVersion:        1.29.1\nGitCommit:      unknown\n", "1.29.1", "1.29.1"},
		{"k3s version v1.28.5+k3s1 (5b2d1271)\ngo version go1.20.12\n", "v1.28.5+k3s1", "1.28.5"},
		{"cri-dockerd 0.3.15 (c1c566e)\n", "0.3.15", "0.3.15"},
		{"Docker version 20.10.3_ce, build 48d30b5\n", "20.10.3_ce", "20.10.3"},
		{"time=\"2026-01-01\" level=warning msg=\"deprecated 9.9\"\ncontainerd x v1.6.8 y\n", "v1.6.8", "1.6.8"},
		{"rke2 version v1.30.2+rke2r1 (abc)\n", "v1.30.2+rke2r1", "1.30.2"},
	} {
		raw, err := ParseVersion([]byte(c.answer))
		require.NoError(t, err, c.answer)
		require.Equal(t, c.raw, raw)
		number, err := Number(raw)
		require.NoError(t, err)
		require.Equal(t, c.number, number)
	}
}

func TestParseVersion_None(t *testing.T) {
	for _, answer := range []string{"", "unknown\n", "containerd is not here\n"} {
		_, err := ParseVersion([]byte(answer))
		require.Error(t, err, answer)
	}
	_, err := Number("unknown")
	require.ErrorContains(t, err, `"unknown" is not a version`)
}

func TestSocketOf(t *testing.T) {
	require.Equal(t, "/run/crio/crio.sock", SocketOf("unix:///var/run/crio/crio.sock"))
	require.Equal(t, "/run/containerd/containerd.sock", SocketOf("/run/containerd/containerd.sock"))
	require.Equal(t, "cri-o", NameOf("/run/crio/crio.sock"))
	require.Equal(t, "containerd", NameOf("/run/k3s/containerd/containerd.sock"))
	require.Equal(t, "cri-dockerd", NameOf("/run/cri-dockerd.sock"))
	require.Empty(t, NameOf("/run/docker.sock"))
}

func TestParseDriver(t *testing.T) {
	driver, err := ParseDriver([]byte("cgroup driver:   SYSTEMD\n"))
	require.NoError(t, err)
	require.Equal(t, "systemd", driver)
	for _, answer := range []string{"", "cgroup driver: OTHER\n", "FATA[0000] unknown method RuntimeConfig\n"} {
		_, err := ParseDriver([]byte(answer))
		require.Error(t, err, answer)
	}
}
