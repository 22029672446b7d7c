// Package golden runs a parser over its fixtures: each file of testdata
// against the .want file beside it, which holds the value as JSON, or the
// error as one line. "go test -update" writes the .want files anew; the
// difference is then to be read, not only committed.
package golden

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the .want files anew")

// Run parses every fixture of testdata.
func Run[T any](t *testing.T, parse func([]byte) (T, error)) {
	t.Helper()
	for name, input := range Inputs(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			value, err := parse(input)
			got := "error: " + errorText(err) + "\n"
			if err == nil {
				var text bytes.Buffer
				encoder := json.NewEncoder(&text)
				encoder.SetEscapeHTML(false)
				encoder.SetIndent("", "  ")
				require.NoError(t, encoder.Encode(value))
				got = text.String()
			}
			if *update {
				require.NoError(t, os.WriteFile(name+".want", []byte(got), 0o644))
				return
			}
			want, err := os.ReadFile(name + ".want")
			require.NoError(t, err)
			require.Equal(t, string(want), got)
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Inputs gives the fixtures by path. A package without any fails.
func Inputs(t testing.TB) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", "*"))
	require.NoError(t, err)
	inputs := map[string][]byte{}
	for _, name := range names {
		info, err := os.Stat(name)
		require.NoError(t, err)
		if info.IsDir() || strings.HasSuffix(name, ".want") {
			continue
		}
		inputs[name], err = os.ReadFile(name)
		require.NoError(t, err)
	}
	require.NotEmpty(t, inputs, "no fixture in testdata")
	return inputs
}

// Fuzz seeds a fuzz target with the fixtures and asserts that the parser
// neither panics nor returns a value beside an error that check refuses.
func Fuzz[T any](f *testing.F, parse func([]byte) (T, error), check func(t *testing.T, v T)) {
	f.Helper()
	for _, input := range Inputs(f) {
		f.Add(input)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		before := bytes.Clone(b)
		v, err := parse(b)
		require.Equal(t, before, b, "the parser changed its input")
		if err != nil {
			require.NotEmpty(t, err.Error())
			require.NotContains(t, err.Error(), "\n", "an error is one line")
			return
		}
		check(t, v)
	})
}

// File compares got with the file's content.
func File(t testing.TB, name string, got []byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(name, got, 0o644))
		return
	}
	want, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

// Read gives a file's content.
func Read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	return b
}
