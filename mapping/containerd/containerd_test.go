package containerd

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/golden"
)

func TestParse(t *testing.T) { golden.Run(t, Parse) }

func FuzzParse(f *testing.F) {
	golden.Fuzz(f, Parse, func(t *testing.T, v Config) {
		require.Contains(t, []int{0, 1, 2, 3, 4}, v.Version)
	})
}

func TestParseHosts(t *testing.T) {
	urls, err := ParseHosts([]byte("server = \"https://docker.io\"\n[host.\"https://z.example.org\"]\n[host.\"https://a.example.org\"]\n"))
	require.NoError(t, err)
	require.Equal(t, []string{"https://z.example.org", "https://a.example.org"}, urls)
	urls, err = ParseHosts(nil)
	require.NoError(t, err)
	require.Empty(t, urls)
	_, err = ParseHosts([]byte("[host"))
	require.Error(t, err)
}
