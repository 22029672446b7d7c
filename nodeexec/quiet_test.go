package nodeexec

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// On a busy machine the readers may get no processor for as long as drain
// after the transport has exited: what it left must be read all the same.
func TestQuietWaitsForReadersThatAreLate(t *testing.T) {
	outR, outW, err := os.Pipe()
	require.NoError(t, err)
	errR, errW, err := os.Pipe()
	require.NoError(t, err)
	for _, f := range []*os.File{outR, outW, errR, errW} { // held by something else until the end
		t.Cleanup(func() { _ = f.Close() })
	}
	_, err = outW.WriteString("the last words")
	require.NoError(t, err)

	cl := &call{proc: &process{stdout: outR, stderr: errR}, drained: make(chan struct{}), broken: make(chan error, 3)}
	quiet := make(chan struct{})
	go func() {
		cl.quiet(context.Background())
		close(quiet)
	}()
	time.Sleep(3 * drain)
	select {
	case <-quiet:
		t.Fatal("something is still in the pipe")
	default:
	}
	var got bytes.Buffer
	slow := writerFunc(func(p []byte) (int, error) {
		time.Sleep(3 * drain)
		return got.Write(p)
	})
	go func() { _ = cl.copyOut(slow, outR) }()
	go func() { _ = cl.copyOut(&bytes.Buffer{}, errR) }()
	<-quiet
	assert.Equal(t, "the last words", got.String())
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
