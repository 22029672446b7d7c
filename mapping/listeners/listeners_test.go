package listeners

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/golden"
)

func TestParse(t *testing.T) { golden.Run(t, Parse) }

func FuzzParse(f *testing.F) {
	golden.Fuzz(f, Parse, func(t *testing.T, v []Listener) {
		for _, l := range v {
			_ = l.IsLocal()
		}
		require.IsNonDecreasing(t, ports(v))
	})
}

func ports(list []Listener) []int {
	ports := []int{0, 0}
	for _, l := range list {
		ports = append(ports, l.Port)
	}
	return ports
}

func TestIsLocal(t *testing.T) {
	for address, local := range map[string]bool{
		"127.0.0.1": true, "127.0.0.53%lo": true, "::1": true, "::ffff:127.0.0.1": true, "0.0.0.0": false, "*": false, "::": false, "10.0.0.1": false, "fe80::1%eth0": false, "*%lo": true,
	} {
		require.Equal(t, local, Listener{Address: address}.IsLocal(), address)
	}
}
