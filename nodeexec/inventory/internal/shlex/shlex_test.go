package shlex

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func ExampleSplit() {
	words, err := Split(`-o ProxyCommand="ssh -W %h:%p gate" -4`)
	fmt.Printf("%q %v", words, err)
	// Output: ["-o" "ProxyCommand=ssh -W %h:%p gate" "-4"] <nil>
}

func FuzzSplit(f *testing.F) {
	for _, s := range []string{`a "b c" 'd' e\ f`, `"\"`, `'`, "#x", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		words, err := Split(s)
		if err != nil {
			return
		}
		// Quoted again, the words split to themselves.
		quoted := make([]string, len(words))
		for i, w := range words {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		again, err := Split(strings.Join(quoted, " "))
		require.NoError(t, err)
		require.Equal(t, words, again)
	})
}
