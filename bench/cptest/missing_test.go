package cptest_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/nestor-tools/nestor/bench/cptest"
)

// verdict is a testing.TB that remembers how the test ended.
type verdict struct {
	testing.TB
	skipped, failed string
}

func (v *verdict) Helper() {}

func (v *verdict) Skipf(format string, args ...any) {
	v.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (v *verdict) Fatalf(format string, args ...any) {
	v.failed = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestStart_WithoutTheBinary(t *testing.T) {
	t.Setenv("NESTOR_CONTROLPLANE", t.TempDir()+"/absent")
	start := func(begin func(testing.TB)) *verdict {
		v := &verdict{TB: t}
		done := make(chan struct{})
		go func() {
			defer close(done)
			begin(v)
		}()
		<-done
		return v
	}
	for name, begin := range map[string]func(testing.TB){
		"Start":  func(tb testing.TB) { cptest.Start(tb) },
		"Shared": func(tb testing.TB) { new(cptest.Shared).Get(tb) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("CI", "")
			v := start(begin)
			assert.Contains(t, v.skipped, "NOT RUN")
			assert.Contains(t, v.skipped, "make controlplane-build")
			assert.Empty(t, v.failed)

			t.Setenv("CI", "true")
			v = start(begin)
			assert.Contains(t, v.failed, "make controlplane-build", "in CI it must not pass unseen")
			assert.Empty(t, v.skipped)
		})
	}
}
