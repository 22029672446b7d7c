package fact_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/nestor-tools/nestor/mapping/fact"
)

func ExampleObserved() {
	for _, o := range []fact.Observed[[]string]{
		fact.Present([]string{}),
		fact.Absent[[]string]("no such folder"),
		fact.Denied[[]string]("not readable by debian"),
		{},
	} {
		text, _ := json.Marshal(o)
		fmt.Println(string(text))
	}
	// Output:
	// {"state":"present","value":[]}
	// {"state":"absent","why":"no such folder"}
	// {"state":"denied","why":"not readable by debian"}
	// {"state":"unknown"}
}

func TestThen(t *testing.T) {
	length := func(s string) (int, error) {
		if s == "" {
			return 0, errors.New("nothing to count")
		}
		return len(s), nil
	}
	require.Equal(t, fact.Present(3), fact.Then(fact.Present("abc"), length))
	require.Equal(t, fact.Unknown[int]("nothing to count"), fact.Then(fact.Present(""), length))
	require.Equal(t, fact.Denied[int]("no right"), fact.Then(fact.Denied[string]("no right"), length))
	require.Equal(t, fact.Absent[int]("gone"), fact.Then(fact.Absent[string]("gone"), length))
	require.Equal(t, fact.IsUnknown, fact.Then(fact.Observed[string]{}, length).State)
}

func TestJSON_RoundTrip(t *testing.T) {
	for _, o := range []fact.Observed[map[string]int]{
		fact.Present(map[string]int{"a": 1}), fact.Present(map[string]int{}),
		fact.Absent[map[string]int]("x"), fact.Denied[map[string]int]("y"), fact.Unknown[map[string]int]("z"),
	} {
		text, err := json.Marshal(o)
		require.NoError(t, err)
		var back fact.Observed[map[string]int]
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, o, back)
	}
}

func TestJSON_Refused(t *testing.T) {
	for _, text := range []string{`{"state":"present"}`, `{"state":"maybe"}`, `{}`, `3`} {
		var o fact.Observed[int]
		require.Error(t, json.Unmarshal([]byte(text), &o), text)
	}
}

func TestText(t *testing.T) {
	require.Equal(t, "/mnt/été", fact.Text("/mnt/été"))
	require.Equal(t, `/mnt/\351t\351`, fact.Text("/mnt/\xe9t\xe9"))
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		text, err := json.Marshal(fact.Text(string(b)))
		require.NoError(t, err)
		require.NotContains(t, string(text), `\ufffd`, "no byte is lost")
	})
}
