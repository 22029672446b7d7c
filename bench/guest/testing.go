package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// startTimeout has room for the image to be built and booted first, on a
// machine that does other things too.
const startTimeout = 15 * time.Minute

// Start starts a guest for a test and takes it down when the test ends. What
// is missing on this machine fails the test where CI is set, and elsewhere
// skips it, loudly.
func Start(t testing.TB, spec Spec) *Guest {
	t.Helper()
	g, err := start(spec)
	must(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the guest's console: %s", lastLines(g.Console(), 10))
		}
		if err := stop(g); err != nil {
			t.Errorf("taking the guest down: %v", err)
		}
	})
	return g
}

// Shared is one guest for all tests of a package, started at first use; the
// zero value is one without disks. Each test attaches what it needs, or calls
// Reset.
type Shared struct {
	Spec Spec

	once  sync.Once
	guest *Guest
	err   error
}

// Get returns the guest, started by the first call.
func (s *Shared) Get(t testing.TB) *Guest {
	t.Helper()
	s.once.Do(func() { s.guest, s.err = start(s.Spec) })
	must(t, s.err)
	return s.guest
}

// Main runs the tests and ends the guest; it returns the code for os.Exit.
func (s *Shared) Main(m *testing.M) int {
	code := m.Run()
	if s.guest == nil {
		return code
	}
	if err := stop(s.guest); err != nil {
		fmt.Fprintln(os.Stderr, "guest:", err)
		return max(code, 1)
	}
	return code
}

// MustRun is Run, trimmed, for a test that cannot go on without it.
func (g *Guest) MustRun(t testing.TB, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	out, err := g.Run(ctx, script)
	if err != nil {
		t.Fatalf("%v\nscript: %s\nstdout: %s", err, script, out)
	}
	return strings.TrimSpace(string(out))
}

// MustDevice is Device, for a test that cannot go on without it.
func (g *Guest) MustDevice(t testing.TB, disk string) string {
	t.Helper()
	device := g.MustDevices(t)[disk]
	if device == "" {
		t.Fatalf("no disk %s is attached", disk)
	}
	return device
}

// MustDevices is Devices, for a test that cannot go on without it.
func (g *Guest) MustDevices(t testing.TB) map[string]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	devices, err := g.Devices(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return devices
}

func start(spec Spec) (*Guest, error) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return nil, &MissingError{Program: "Linux on amd64", Package: "it on another machine"}
	}
	dir, err := os.MkdirTemp("", "nestor-guest-")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	g, err := up(ctx, dir, spec, true)
	if err != nil {
		// Up has removed what it made; an empty folder may be left.
		os.Remove(filepath.Clean(dir))
	}
	return g, err
}

func stop(g *Guest) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return g.Down(ctx)
}

func must(t testing.TB, err error) {
	t.Helper()
	var missing *MissingError
	switch {
	case err == nil:
	case !errors.As(err, &missing) && !errors.Is(err, ErrNeedsRoot):
		t.Fatal(err)
	case os.Getenv("CI") != "":
		t.Fatalf("NOT RUN: %v", err)
	default:
		t.Skipf("NOT RUN: %v", err)
	}
}
