package probe_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/nestor-tools/nestor/mapping/fact"
	"github.com/nestor-tools/nestor/mapping/probe"
)

func ExampleParse() {
	out, err := probe.Parse([]byte("5f3a nestor-probe 1\n" +
		"5f3a begin kernel\nLinux 6.1.0 x86_64\n\n5f3a end 0\n" +
		"5f3a begin disks\n\n5f3a err\nsh: 3: lsblk: not found\n\n5f3a end 127\n" +
		"5f3a done 2\n"))
	fmt.Println(out.Complete, err)
	fmt.Printf("%q\n", out.Bytes("kernel").Value)
	fmt.Println(out.Bytes("disks").State, out.Bytes("disks").Why)
	// Output:
	// true <nil>
	// "Linux 6.1.0 x86_64\n"
	// unknown lsblk is not installed
}

func parse(t *testing.T, lines ...string) probe.Output {
	t.Helper()
	out, err := probe.Parse([]byte(strings.Join(lines, "\n")))
	require.NoError(t, err)
	return out
}

func TestParse_Refused(t *testing.T) {
	for _, text := range []string{"", "hello\n", "\n", " nestor-probe 1\n", "Last login: today\nN nestor-probe 1\n"} {
		_, err := probe.Parse([]byte(text))
		require.ErrorIs(t, err, probe.ErrNotProbe, "%q", text)
	}
	_, err := probe.Parse([]byte("N nestor-probe 2\n"))
	require.ErrorContains(t, err, `format is "2"`)
}

func TestBytes_States(t *testing.T) {
	out := parse(t, "N nestor-probe 1",
		"N begin s:/here", "content", "N end 0",
		"N begin s:/empty", "", "N end 0",
		"N begin s:/gone", "", "N end absent",
		"N begin s:/secret", "", "N end denied",
		"N begin s:/odd", "", "N err", "cat: /odd: Permission denied", "N end 1",
		"N begin s:dev", "", "N err", "wipefs: error: /dev/vda: probing initialization failed: Operation not permitted", "N end 1",
		"N begin s:broken", "", "N err", "broken: something else", "and more", "N end 4",
		"N begin s:quiet", "", "N end 3",
		"N begin s", "", "N end 0",
		"N begin hung", "half of it", "N end cut",
		"N begin tool", "", "N err", "sh: line 7: crictl: command not found", "N end 127",
		"N begin items", "", "N err", "ash: wipefs: not found", "N end 127",
		"N done 4", "")
	require.True(t, out.Complete)
	for name, want := range map[string]fact.Observed[[]byte]{
		"s:/here":   fact.Present([]byte("content")),
		"s:/gone":   fact.Absent[[]byte]("/gone does not exist"),
		"s:/secret": fact.Denied[[]byte]("/secret may not be read by this user"),
		"s:/odd":    fact.Denied[[]byte]("cat: /odd: Permission denied"),
		"s:dev":     fact.Denied[[]byte]("wipefs: error: /dev/vda: probing initialization failed: Operation not permitted"),
		"s:broken":  fact.Unknown[[]byte]("broken: something else (exit code 4)"),
		"s:quiet":   fact.Unknown[[]byte]("quiet (exit code 3)"),
		"s:nobody":  fact.Unknown[[]byte]("the probe did not look for it"),
		"hung":      fact.Unknown[[]byte]("hung did not answer in time"),
		"tool":      fact.Unknown[[]byte]("crictl is not installed"),
		"items:any": fact.Unknown[[]byte]("wipefs is not installed"),
	} {
		require.Equal(t, want, out.Bytes(name), name)
	}
	empty := out.Bytes("s:/empty")
	require.Equal(t, fact.IsPresent, empty.State, "an empty file is there")
	require.Empty(t, empty.Value)
}

// A stream that ends early keeps what arrived, and says of the rest that it
// was cut, not that it is absent.
func TestParse_Cut(t *testing.T) {
	whole := "N nestor-probe 1\nN begin a\nfirst\nN end 0\nN begin b:x\nsecond\nN end 0\nN begin b\n\nN end 0\nN done 2\n"
	for n := strings.Index(whole, "\n") + 1; n < len(whole); n++ {
		out, err := probe.Parse([]byte(whole[:n]))
		require.NoError(t, err)
		require.False(t, out.Complete, "cut at %d", n)
		a := out.Bytes("a")
		if n >= strings.Index(whole, "N begin b:x") {
			require.Equal(t, fact.Present([]byte("first")), a)
		} else {
			require.Equal(t, fact.IsUnknown, a.State, "cut at %d", n)
			require.Contains(t, a.Why, "cut")
		}
		require.NotEqual(t, fact.IsAbsent, out.Bytes("b:x").State)
	}
	out, err := probe.Parse([]byte(whole))
	require.NoError(t, err)
	require.True(t, out.Complete)
}

// A section that was killed leaves an item without an end; the next frame
// starts right behind it.
func TestParse_ItemCutWithin(t *testing.T) {
	out := parse(t, "N nestor-probe 1", "N begin s:vda", "{}", "N end 0", "N begin s:vdb", "{ \"sig", "N begin s", "", "N end cut", "N done 1", "")
	require.True(t, out.Complete)
	require.Equal(t, fact.IsPresent, out.Bytes("s:vda").State)
	require.Equal(t, fact.Unknown[[]byte]("vdb was cut"), out.Bytes("s:vdb"))
	require.Equal(t, fact.Unknown[[]byte]("s did not answer in time"), out.Bytes("s:vdc"))
}

// Whatever bytes a section prints arrive as they are, also lines that look
// like the probe's with another nonce.
func TestParse_AnyBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.OneOf(
			rapid.Just([]byte("\n")), rapid.Just([]byte("M end 0\n")), rapid.Just([]byte("Nx begin a\n")), rapid.Just([]byte("N")),
			rapid.SliceOf(rapid.Byte()))
		gen := rapid.Map(rapid.SliceOf(piece), func(p [][]byte) []byte { return bytes.ReplaceAll(bytes.Join(p, nil), []byte("N "), []byte("N_")) })
		stdout, stderr := gen.Draw(t, "stdout"), gen.Draw(t, "stderr")
		var b bytes.Buffer
		b.WriteString("N nestor-probe 1\nN begin s:odd name\n")
		b.Write(stdout)
		if len(stderr) > 0 {
			b.WriteString("\nN err\n")
			b.Write(stderr)
		}
		b.WriteString("\nN end 3\nN begin s\n\nN end 0\nN done 1\n")
		out, err := probe.Parse(b.Bytes())
		require.NoError(t, err)
		require.True(t, out.Complete)
		items := out.Items("s")
		require.Len(t, items, 1)
		require.Equal(t, "odd name", items[0].Name)
		require.Equal(t, "3", items[0].Status)
		require.Equal(t, string(stdout), string(items[0].Stdout))
		require.Equal(t, string(stderr), string(items[0].Stderr))
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("N nestor-probe 1\nN begin a\nfirst\n\nN err\nx\nN end 0\nN done 1\n"))
	f.Add([]byte("N nestor-probe 1\nN end 0\nN begin \nN begin a:b\nN done 0\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		out, err := probe.Parse(b)
		if err != nil {
			return
		}
		total := 0
		for _, frame := range out.Frames {
			total += len(frame.Stdout) + len(frame.Stderr)
			_ = frame.Bytes()
		}
		require.LessOrEqual(t, total, len(b), "nothing is counted twice")
	})
}
