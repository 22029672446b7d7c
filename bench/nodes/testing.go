package nodes

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Start starts namespaced nodes for a test and takes them down when it ends.
// Without root, or with a program missing, the test fails in CI (where CI is
// set) and is skipped, loudly, elsewhere.
func Start(t testing.TB, spec Spec) *Bench {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	return begin(t, func(dir string) (*Bench, error) { return up(ctx, dir, spec, true) })
}

// begin gives a test a bench in a temporary folder.
func begin(t testing.TB, up func(dir string) (*Bench, error)) *Bench {
	t.Helper()
	b, err := up(filepath.Join(os.TempDir(), "nestor-bench-"+randomHex(6)))
	var missing *MissingError
	if errors.As(err, &missing) || errors.Is(err, ErrNeedsRoot) {
		if os.Getenv("CI") != "" {
			t.Fatalf("NOT RUN: %v", err)
		}
		t.Skipf("NOT RUN: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, n := range b.Nodes {
				log := strings.Split(strings.TrimSpace(b.Log(n.Name)), "\n")
				t.Logf("sshd of %s: %s", n.Name, strings.Join(log[max(0, len(log)-5):], " | "))
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := b.Down(ctx); err != nil {
			t.Errorf("taking the bench down: %v", err)
		}
	})
	return b
}
