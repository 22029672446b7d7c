package inventory

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/nodeexec/inventory/internal/shlex"
)

// words makes words of the alphabet, the same ones each time.
func words(n, longest int, alphabet string, seed uint64) []string {
	r := rand.New(rand.NewPCG(seed, 1))
	letters := []rune(alphabet)
	out := make([]string, n)
	for i := range out {
		for range 1 + r.IntN(longest) {
			out[i] += string(letters[r.IntN(len(letters))])
		}
	}
	return out
}

// requireSameValue compares with what Python made of the same text.
func requireSameValue(t *testing.T, text string, want scalarAnswer, got Value) {
	t.Helper()
	if want.Type == "opaque" || want.Type == "datetime" {
		require.Equal(t, Opaque, got.Type(), "%q", text)
		return
	}
	if want.Type == "date" {
		require.Equal(t, Date, got.Type(), "%q", text)
		require.Equal(t, want.Text, got.String(), "%q", text)
		return
	}
	b, err := json.Marshal(got)
	require.NoError(t, err, "%q", text)
	// Python writes NaN and Infinity, which are no JSON.
	python := strings.NewReplacer("-Infinity", "-1e999", "Infinity", "1e999", "NaN", "null").Replace(want.Value)
	require.Equal(t, compact(t, python), compact(t, string(b)), "%q as %s", text, got.Type())
	if want.Text != "" && got.Type() != Map && got.Type() != List && got.Type() != Null {
		require.Equal(t, want.Text, got.String(), "%q", text)
	}
}

// compact takes the blanks out of JSON and leaves its numbers as they are.
func compact(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, json.Compact(&b, []byte(text)), text)
	var v any
	dec := json.NewDecoder(&b)
	dec.UseNumber()
	require.NoError(t, dec.Decode(&v))
	out, err := json.Marshal(v) // one way to escape
	require.NoError(t, err)
	return string(out)
}

func TestYAMLScalars(t *testing.T) {
	texts := []string{
		"022", "22:22", "1:30:00", "-1:30", "yes", "No", "ON", "y", "n", "~", "null", "Null", "nULL", "", "=", "<<",
		"1e3", "1.e3", "1.5e3", "1.5e+3", ".5", "-.5", "+.5", "5.", "1_000", "1_0.5", "0b101", "0x1F", "0o17", "08", "0_7", "0_",
		".inf", "-.INF", ".nan", "1:20.5", "2001-02-03", "2001-2-3", "2001-12-14t21:59:43.10-05:00", "2001-13-40", "2001-02-03 10:11:12",
		"1.10", "1e16", "123456789012345678901234567890", "1234567890123456.0", "12345678901234567.0", "0.0001", "0.00001", "-0", "-0.0", "+1", "0b", "0x", "-", "+", ".", "1__0",
		"192.0.2.1", "2001:db8::1", "::1", "fe80::1%eth0", "02:aa:00:00:00:11", "190:20:30:10",
	}
	texts = append(texts, words(3000, 7, "0011289abfxo_+-..::eE~", 1)...)
	texts = append(texts, words(500, 5, "yesnotruflYNTFON01", 2)...)
	for i, want := range ask(t, question{YAML: texts}).YAML {
		l := &loader{}
		got, err := l.parseYAML("f", []byte(texts[i]))
		if want.Error {
			require.Error(t, err, "%q is %v", texts[i], got)
			continue
		}
		require.NoError(t, err, "%q", texts[i])
		requireSameValue(t, texts[i], want, got)
	}
}

func TestINIValues(t *testing.T) {
	texts := []string{
		"22", "022", "0", "00", "1_0", "1.10", "1e3", "-5", "- 5", "+5", "--5", "True", "true", "None", "null", "'a'", `"a b"`, `'a' 'b'`, `r'\n'`, `u'x'`, `'\x41\101é'`, `'\q'`,
		"[1, 2,]", "[]", "()", "(1)", "(1,)", "{'a': 1}", "{}", "{1}", "{1: 2, 1: 3}", "[1 2]", "{'a': [1, {'b': None}]}", "{'a'}", "{[]: 1}",
		"22 # port", "a # b", "'a' # b", "# b", "10.0.0.1", "1.", ".5", "1.5.", "0x1F", "0o17", "0b11", "0B11", "1__0", "1_", "5a", "a5", "/dev/sda", "-o ProxyCommand=\"x\"", "'unclosed", "[1", `'''a'''`, "'a'b", "[,]", "f'x'", "0xg", "09", "1e400", "-0", "-0.0", "é", "a=b", "[1,\t2]", "123456789012345678901234567890",
	}
	texts = append(texts, words(2000, 6, `0122.eE_+-xX,[](){}:'"#a `, 3)...)
	for i, want := range ask(t, question{Literal: texts}).Literal {
		got := iniValue(texts[i], Origin{})
		if want.Error {
			continue // Ansible drops the whole file; there is nothing to compare
		}
		requireSameValue(t, texts[i], want, got)
	}
}

func TestSplitShell(t *testing.T) {
	texts := []string{
		"", " ", "a b", `-o ProxyCommand="ssh -W %h:%p x"`, `"a\"b" 'c\d' e\ f`, `'' ""`, `a''b`, `"a\nb"`, `\`, `"`, `'`, `a\`, "a\\\nb", "a#b c", "# x", `"#"`, "a\u00a0b", "a\vb", "é è", `"\`, `x"\`,
	}
	texts = append(texts, words(3000, 10, "ab '\"\\#\n\t-=", 4)...)
	for i, want := range ask(t, question{Shlex: texts}).Shlex {
		got, err := shlex.Split(texts[i])
		requireWords(t, texts[i], want.Words, got, err)
		got, err = shlex.SplitComments(texts[i])
		requireWords(t, texts[i], want.Commented, got, err)
	}
}

func requireWords(t *testing.T, text string, want *[]string, got []string, err error) {
	t.Helper()
	if want == nil {
		require.Error(t, err, "%q", text)
		return
	}
	require.NoError(t, err, "%q", text)
	require.Equal(t, *want, append([]string{}, got...), "%q", text)
}
