// Package cases finds the shared real-world inputs that tests read by walking
// their folder: inventories, manifests and outputs of node tools, each with
// its right answer beside it.
package cases

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Dir returns the folder of one kind of cases: $NESTOR_CASES/kind, else the
// folder shared/cases/kind beside the repository. Without it the test fails
// in CI and is skipped, loudly, elsewhere.
func Dir(t testing.TB, kind string) string {
	t.Helper()
	root, ok := os.LookupEnv("NESTOR_CASES")
	if !ok {
		_, file, _, _ := runtime.Caller(0)
		root = filepath.Join(filepath.Dir(file), "..", "..", "..", "shared", "cases")
	}
	dir := filepath.Join(root, kind)
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("NOT RUN: the %s cases are missing (%v); set NESTOR_CASES", kind, err)
		}
		t.Skipf("NOT RUN: the %s cases are missing (%v); set NESTOR_CASES", kind, err)
	}
	return dir
}
