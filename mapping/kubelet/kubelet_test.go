package kubelet

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/golden"
)

func TestParse(t *testing.T) { golden.Run(t, Parse) }

func FuzzParse(f *testing.F) {
	golden.Fuzz(f, Parse, func(t *testing.T, v File) {
		require.Equal(t, "KubeletConfiguration", v["kind"])
		_ = Merge([]File{v, v}, Flags{})
	})
}

func TestParseFlags(t *testing.T) {
	require.Equal(t, Flags{
		"config": "/var/lib/kubelet/config.yaml", "anonymous-auth": "true", "read-only-port": "0", "v": "2", "cgroup-driver": "systemd",
	}, ParseFlags([]byte("/usr/bin/kubelet\n--config\n/var/lib/kubelet/config.yaml\n--anonymous-auth\n--read-only-port=10255\n--v=2\n--read-only-port=0\n--cgroup_driver=systemd\n")))
	require.Empty(t, ParseFlags(nil))
	require.Equal(t, Flags{"container-runtime-endpoint": "unix:///run/crio/crio.sock", "pod-infra-container-image": "x"},
		ParseEnv([]byte("# by kubeadm\nKUBELET_KUBEADM_ARGS=\"--container-runtime-endpoint=unix:///run/crio/crio.sock --pod-infra-container-image=x\"\n")))
	require.Empty(t, ParseEnv([]byte("OTHER=1\n")))
}

func TestMerge(t *testing.T) {
	file := func(text string) File {
		f, err := Parse([]byte("kind: KubeletConfiguration\n" + text))
		require.NoError(t, err)
		return f
	}
	open := Config{AnonymousAuth: true, AuthorizationMode: "AlwaysAllow", ReadOnlyPort: 10255, CgroupDriver: "cgroupfs"}
	closed := Config{AuthorizationMode: "Webhook", CgroupDriver: "cgroupfs"}
	with := func(c Config, change func(*Config)) Config { change(&c); return c }
	for name, c := range map[string]struct {
		files []File
		flags Flags
		want  Config
	}{
		"flags only: the old defaults": {nil, Flags{}, open},
		"a file: the new defaults":     {[]File{file("")}, Flags{}, closed},
		"a file that opens":            {[]File{file("authentication: {anonymous: {enabled: true}}\nauthorization: {mode: AlwaysAllow}\nreadOnlyPort: 10255\n")}, Flags{}, open},
		"a flag over the file":         {[]File{file("cgroupDriver: cgroupfs\n")}, Flags{"cgroup-driver": "systemd", "anonymous-auth": "true", "read-only-port": "1"}, with(closed, func(c *Config) { c.CgroupDriver, c.AnonymousAuth, c.ReadOnlyPort = "systemd", true, 1 })},
		"a flag that is no number":     {[]File{file("")}, Flags{"read-only-port": "x", "anonymous-auth": "perhaps"}, closed},
		"the last drop-in wins":        {[]File{file("cgroupDriver: a\n"), file("cgroupDriver: b\n"), file("cgroupDriver: c\n")}, Flags{}, with(closed, func(c *Config) { c.CgroupDriver = "c" })},
		"a drop-in keeps its siblings": {[]File{file("authentication: {anonymous: {enabled: true}, webhook: {enabled: true}}\n"), file("authentication: {webhook: {enabled: false}}\n")}, Flags{}, with(closed, func(c *Config) { c.AnonymousAuth = true })},
		"null takes away":              {[]File{file("cgroupDriver: systemd\nstaticPodPath: /x\n"), file("cgroupDriver: null\n")}, Flags{}, with(closed, func(c *Config) { c.StaticPodPath = "/x" })},
		"a value of another type":      {[]File{file("readOnlyPort: many\nauthentication: [1]\ncgroupDriver: 3\n")}, Flags{}, closed},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, Merge(c.files, c.flags)) })
	}
}
