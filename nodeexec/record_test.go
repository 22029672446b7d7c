package nodeexec

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// split feeds a stream in pieces of the given size.
func split(t testing.TB, stream string, size int) (noise, output string, r *report) {
	var noiseBuf, outBuf bytes.Buffer
	r = newReport()
	s := &splitter{marker: []byte("nestor:N:"), report: r, noise: &noiseBuf, output: &outBuf}
	for len(stream) > 0 {
		n := min(size, len(stream))
		written, err := s.Write([]byte(stream[:n]))
		require.NoError(t, err)
		require.Equal(t, n, written)
		stream = stream[n:]
	}
	require.NoError(t, s.flush())
	return noiseBuf.String(), outBuf.String(), r
}

func TestSplitter(t *testing.T) {
	for _, tc := range []struct {
		name, stream, noise, output string
		started, ended              bool
		code                        int
	}{
		{"plain", "nestor:N:start:7\nhello\nnestor:N:end:0\n", "", "hello\n", true, true, 0},
		{"noise without a newline", "Welcome!nestor:N:start:7\nxnestor:N:end:3\n", "Welcome!", "x", true, true, 3},
		{"nothing ran", "Welcome\n", "Welcome\n", "", false, false, 0},
		{"died in the middle", "nestor:N:start:7\nhalf", "", "half", true, false, 0},
		{"late output", "nestor:N:start:7\na\nnestor:N:end:0\nb\n", "", "a\nb\n", true, true, 0},
		{"the marker in the output", "nestor:N:start:7\nnestor:N:\nnestor:N:foo\nnestor:N:end:300\nnestor:N:end:1\n", "", "nestor:N:\nnestor:N:foo\nnestor:N:end:300\n", true, true, 1},
		{"the marker and no newline", "nestor:N:start:7\nnestor:N:" + strings.Repeat("z", 100), "", "nestor:N:" + strings.Repeat("z", 100), true, false, 0},
		{"cut inside a record", "nestor:N:start:7\nxnestor:N:en", "", "xnestor:N:en", true, false, 0},
		{"another call's record", "nestor:M:start:7\n", "nestor:M:start:7\n", "", false, false, 0},
	} {
		for _, size := range []int{1, 3, 10, 1000} {
			t.Run(fmt.Sprint(tc.name, size), func(t *testing.T) {
				noise, output, r := split(t, tc.stream, size)
				assert.Equal(t, tc.noise, noise)
				assert.Equal(t, tc.output, output)
				assert.Equal(t, tc.started, r.state().started)
				assert.Equal(t, tc.ended, r.state().ended)
				assert.Equal(t, tc.code, r.state().code)
			})
		}
	}
}

func FuzzSplitter(f *testing.F) {
	f.Add("noise", "output\x00nestor:N:", uint8(3))
	f.Add("", "nestor:N:end:", uint8(1))
	f.Fuzz(func(t *testing.T, noise, output string, size uint8) {
		if strings.Contains(noise, "nestor:N:") || strings.Contains(output, "nestor:N:") {
			return // not what another process could have written: it does not know the nonce
		}
		gotNoise, gotOutput, r := split(t, noise+"nestor:N:start:1\n"+output+"nestor:N:end:9\n", int(size)+1)
		assert.Equal(t, noise, gotNoise)
		assert.Equal(t, output, gotOutput)
		assert.True(t, r.state().ended)
		assert.Equal(t, 9, r.state().code)
	})
}

func TestCapture(t *testing.T) {
	whole := func(limit int, pieces ...string) Output {
		c := newCapture(limit)
		for _, p := range pieces {
			n, err := c.Write([]byte(p))
			require.NoError(t, err)
			require.Equal(t, len(p), n)
		}
		return c.output()
	}
	assert.Equal(t, "abcdef", whole(6, "abc", "def").String())
	assert.Equal(t, "abc\n[... 1 bytes dropped ...]\nefg", whole(6, "abcdefg").String())
	assert.Equal(t, "abc\n[... 20 bytes dropped ...]\nxyz", whole(6, "ab", "c", strings.Repeat("-", 20), "x", "y", "z").String())
	assert.Equal(t, "", whole(6).String())

	big := newTail(10)
	for range 1000 {
		_, _ = big.Write([]byte("0123456789abcdef"))
	}
	assert.LessOrEqual(t, cap(big.tail), 100, "memory stays bounded")
	out := big.output()
	assert.Equal(t, "6789abcdef", string(out.Tail))
	assert.EqualValues(t, 16*1000-10, out.Dropped)
}
