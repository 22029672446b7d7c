package portal_test

import (
	"io/fs"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/golden"
	"github.com/nestor-tools/nestor/bench/platform"
	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/portal"
)

// observed is when the dumps of testdata say that they were made.
var observed = time.Date(2026, 11, 30, 18, 0, 0, 0, time.UTC)

// platformContract is what the sample platform promises.
func platformContract(t testing.TB) *contract.Contract {
	t.Helper()
	dir, err := fs.Sub(platform.Files, "contract")
	require.NoError(t, err)
	set, findings, err := contract.Load(dir, ".", "")
	require.NoError(t, err)
	require.Empty(t, findings)
	return set.Contract
}

// judgeDump judges a dump of testdata by that contract.
func judgeDump(t testing.TB, name string, o portal.Options, change ...func(*portal.Snapshot)) portal.View {
	t.Helper()
	s, err := portal.ReadDump(observed, portal.File{Name: name, Text: golden.Read(t, "testdata/"+name)})
	require.NoError(t, err)
	for _, f := range change {
		f(s)
	}
	return portal.Judge(platformContract(t), s, o)
}

// staleSince makes every source stale.
func staleSince(at time.Time) func(*portal.Snapshot) {
	return func(s *portal.Snapshot) {
		for r, source := range s.Sources {
			source.State, source.Since = portal.Stale, at
			s.Sources[r] = source
		}
	}
}
