//go:build linux

package probe_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/portal/probe"
)

// inside is set in the process that has a network of its own.
const inside = "NESTOR_TEST_PROBE_INSIDE"

// What goes wrong before a packet leaves this machine: names, and its own
// rules. It is made in a process with a network of its own, which leads nowhere
// and whose resolver is the test's.
func TestRun_OnThisMachine(t *testing.T) {
	if os.Getenv(inside) == "" {
		if _, err := exec.LookPath("ip"); err != nil || os.Geteuid() != 0 {
			const left = "NOT RUN: a network of its own needs root and the program ip"
			if os.Getenv("CI") != "" {
				t.Fatal(left)
			}
			t.Skip(left)
		}
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRun_OnThisMachine$", "-test.v")
		child.Env = append(os.Environ(), inside+"=1")
		child.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
		out, err := child.CombinedOutput()
		require.NoError(t, err, "%s", out)
		assert.Contains(t, string(out), "--- PASS: TestRun_OnThisMachine/not_let_out", "it ran")
		return
	}
	for _, argv := range [][]string{{"link", "set", "lo", "up"}, {"route", "add", "prohibit", "192.0.2.1"}} {
		out, err := exec.Command("ip", argv...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	resolver, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	defer resolver.Close()
	var asked, code atomic.Int32 // code is that of its answers; negative: none
	go func() {
		b := make([]byte, 1500)
		for {
			size, from, err := resolver.ReadFrom(b)
			if err != nil {
				return
			}
			asked.Add(1)
			if answer := code.Load(); answer >= 0 && size > 4 { // the question, made an answer (RFC 1035, 4.1.1)
				b[2], b[3] = b[2]|0x80, 0x80|byte(answer)
				_, _ = resolver.WriteTo(b[:size], from)
			}
		}
	}()
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", resolver.LocalAddr().String())
	}}
	for _, c := range []struct {
		name, url string
		answer    int32
		kind      probe.Kind
		says      string
	}{
		{"no such name", "http://ui.invalid:30080/", 3, probe.NoSuchName, "does not know the name ui.invalid"},
		{"a resolver that fails", "http://ui.invalid:30080/", 2, probe.NoSuchName, "does not answer for the name ui.invalid"},
		{"a resolver that is silent", "http://ui.invalid:30080/", -1, probe.NoSuchName, "does not answer for the name ui.invalid"},
		{"no way out", "http://192.0.2.9:30080/", 3, probe.NoRoute, "no route"},
		{"not let out", "http://192.0.2.1:30080/", 3, probe.Local, "permission denied"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code.Store(c.answer)
			before := asked.Load()
			r := probe.Run(t.Context(), []probe.Target{{URL: c.url}}, probe.Options{Timeout: 5 * time.Second})[0]
			assert.Equal(t, probe.Failed, r.State)
			assert.Equal(t, c.kind, r.Kind, "%+v", r)
			assert.Contains(t, r.Message, c.says)
			assert.Equal(t, c.kind == probe.NoSuchName, asked.Load() > before, "the resolver of the test is asked")
			assert.Equal(t, c.kind != probe.Local, r.Kind.Unreachable())
		})
	}
}
