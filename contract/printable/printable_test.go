package printable_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/nestor-tools/nestor/contract/printable"
)

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"":               "",
		"nœud 1":         "nœud 1",
		"a\x1b[2Jb":      `a\x1b[2Jb`,
		"a\nb\tc\r":      `a\nb\tc\r`,
		"m\u202ex\u2028": `m\u202ex\u2028`,
		"\xff":           `�`,
	} {
		assert.Equal(t, want, printable.Line(text))
	}
	assert.Equal(t, "a\nb\\x1b", printable.Lines("a\nb\x1b"))
}

func ExampleLine() {
	fmt.Println(printable.Line("web\x1b[31m"))
	// Output: web\x1b[31m
}
