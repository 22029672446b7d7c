package discover_test

import (
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/mapping"
	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/nodeexec/discover"
)

const answer = "NONCE nestor-probe 1\nNONCE begin kernel\nLinux 6.1 x86_64\n\nNONCE end 0\nNONCE done 1\n"

func TestReplay_GivesWhatRunGave(t *testing.T) {
	var mu sync.Mutex
	folder := fstest.MapFS{}
	topology, failures := discover.Run(t.Context(), nodes(prints("b", answer), unreachable("c"), prints("../a", answer), prints("d", answer[:70])), discover.Options{
		Raw: func(node string, b []byte) error {
			mu.Lock()
			defer mu.Unlock()
			folder[discover.RawName(node)] = &fstest.MapFile{Data: append([]byte(nil), b...)}
			return nil
		},
	})
	require.Len(t, failures, 2)
	folder[discover.IndexName] = &fstest.MapFile{Data: discover.Index(topology, false)}
	again, missing, err := discover.Replay(folder)
	require.NoError(t, err)
	require.Equal(t, topology, again)
	require.Len(t, missing, 2)
	require.Equal(t, nodeexec.KindUnreachable, nodeexec.KindOf(missing[0]))
	require.Equal(t, failures[0].Error(), missing[0].Error())
}

func TestReplay_WithoutIndex(t *testing.T) {
	topology, failures, err := discover.Replay(fstest.MapFS{"n1.probe": {Data: []byte(answer)}, "notes.txt": {Data: []byte("x")}, "n2.probe": {Data: []byte(answer[:70])}})
	require.NoError(t, err)
	require.Len(t, topology.Nodes, 2)
	require.Equal(t, "6.1", topology.Nodes[0].Facts.Kernel.Value.Release)
	require.Len(t, failures, 1)
	require.ErrorContains(t, failures[0], "n2: the probe's output was cut")
}

func TestReplay_Refused(t *testing.T) {
	for why, folder := range map[string]fstest.MapFS{
		"no raw answer":        {"x.txt": {Data: []byte("x")}},
		"not the output":       {"n.probe": {Data: []byte("hello")}},
		"is not nestor.raw/v1": {"nodes.json": {Data: []byte(`{"schema":"x"}`)}},
		"invalid character":    {"nodes.json": {Data: []byte(`nodes`)}},
		"is not in the folder": {"nodes.json": {Data: []byte(`{"schema":"nestor.raw/v1","nodes":[{"name":"a","file":"../../etc/passwd"}]}`)}},
		"does not exist":       {"nodes.json": {Data: []byte(`{"schema":"nestor.raw/v1","nodes":[{"name":"a","file":"a.probe"}]}`)}},
	} {
		_, _, err := discover.Replay(folder)
		require.ErrorContains(t, err, why)
	}
}

func TestRawName(t *testing.T) {
	for name, want := range map[string]string{
		"node1": "node1.probe", "../../etc/x": "..%2F..%2Fetc%2Fx.probe", "a/b": "a%2Fb.probe", "..": "...probe", "nœud": "n%C5%93ud.probe",
	} {
		require.Equal(t, want, discover.RawName(name))
	}
	require.Contains(t, string(discover.Index(mapping.NewTopology(nil), true)), `"loops": true`)
}
