package inventory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Type is what a [Value] is.
type Type uint8

// The types of values. Opaque is a value that Ansible reads and this package
// does not model (a set, bytes, a time of day): it may stand in an inventory,
// and using it for a connection is refused.
const (
	Null Type = iota
	Bool
	Int
	Float
	String
	Date
	List
	Map
	Vault
	Opaque
)

var typeNames = [...]string{"nothing", "a boolean", "an integer", "a float", "a string", "a date", "a list", "a mapping", "a vaulted value", "a value not read here"}

// String names the type with its article: "a list".
func (t Type) String() string { return typeNames[t] }

// Value is the value of a variable as Ansible reads it, and where it stands.
// The zero Value is null.
type Value struct {
	typ    Type
	unsafe bool    // tagged !unsafe: never a template
	text   string  // a scalar as Python's str() shows it; the envelope of a vault
	nest   *nested // of a list or mapping
	origin Origin
}

type nested struct {
	items   []Value
	entries []entry // in file order, keys unique
}

type entry struct{ key, value Value }

// Type says what v is.
func (v Value) Type() Type { return v.typ }

// Origin says where v was written.
func (v Value) Origin() Origin { return v.origin }

// String is the value as Ansible would put it into a command line: True for a
// boolean, 18 for 022. A vaulted value shows as "(vaulted)", a list or mapping
// as JSON.
func (v Value) String() string {
	switch v.typ {
	case Null:
		return ""
	case Vault:
		return "(vaulted)"
	case List, Map:
		b, err := json.Marshal(v)
		if err != nil {
			return "(" + err.Error() + ")"
		}
		return string(b)
	}
	return v.text
}

func (v Value) items() []Value {
	if v.nest == nil {
		return nil
	}
	return v.nest.items
}

func (v Value) entries() []entry {
	if v.nest == nil {
		return nil
	}
	return v.nest.entries
}

// get returns the entry of a mapping under a string key.
func (v Value) get(key string) (Value, bool) {
	for _, e := range v.entries() {
		if e.key.text == key && e.key.typ == String {
			return e.value, true
		}
	}
	return Value{}, false
}

// falsy is Python's idea of it, which decides whether a host has variables
// and whether default(x, true) applies.
func (v Value) falsy() bool {
	switch v.typ {
	case Null:
		return true
	case Bool:
		return v.text == "False"
	case Int:
		return v.text == "0"
	case Float:
		return v.text == "0.0" || v.text == "-0.0"
	case String:
		return v.text == ""
	case List:
		return len(v.items()) == 0
	case Map:
		return len(v.entries()) == 0
	}
	return false
}

// maxJSON bounds what MarshalJSON writes: aliases make a small file into a
// large value.
const maxJSON = 16 << 20

// MarshalJSON writes what ansible-inventory --list shows for the value.
func (v Value) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	if err := v.writeJSON(&b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func (v Value) writeJSON(b *bytes.Buffer) error {
	if b.Len() > maxJSON {
		return fmt.Errorf("%s: value larger than %d bytes", v.origin, maxJSON)
	}
	switch v.typ {
	case Null:
		b.WriteString("null")
	case Bool:
		b.WriteString(strings.ToLower(v.text))
	case Int:
		b.WriteString(v.text)
	case Float:
		switch v.text {
		case "inf":
			b.WriteString("1e999") // JSON has no infinity; Python reads this as one
		case "-inf":
			b.WriteString("-1e999")
		case "nan":
			b.WriteString("null")
		default:
			b.WriteString(v.text)
		}
	case Vault:
		fmt.Fprintf(b, `{"__ansible_vault":%s}`, quoteJSON(v.text))
	case List:
		b.WriteByte('[')
		for i, item := range v.items() {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := item.writeJSON(b); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case Map:
		b.WriteByte('{')
		for i, e := range v.entries() {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(quoteJSON(e.key.jsonKey()))
			b.WriteByte(':')
			if err := e.value.writeJSON(b); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	case String:
		if v.unsafe {
			fmt.Fprintf(b, `{"__ansible_unsafe":%s}`, quoteJSON(v.text))
			return nil
		}
		b.WriteString(quoteJSON(v.text))
	default:
		b.WriteString(quoteJSON(v.text))
	}
	return nil
}

// jsonKey is Python's json.dumps of a key that is no string.
func (v Value) jsonKey() string {
	switch v.typ {
	case Null:
		return "null"
	case Bool:
		return strings.ToLower(v.text)
	}
	return v.text
}

func quoteJSON(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil { // cannot happen: every string has a JSON form
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func stringValue(s string, o Origin) Value { return Value{typ: String, text: s, origin: o} }

func boolValue(b bool, o Origin) Value {
	if b {
		return Value{typ: Bool, text: "True", origin: o}
	}
	return Value{typ: Bool, text: "False", origin: o}
}

func floatValue(f float64, o Origin) Value { return Value{typ: Float, text: pyFloat(f), origin: o} }

// pyFloat writes a float as Python's repr does: the shortest digits, an
// exponent outside 1e-4 to 1e16, and always a sign that it is a float.
func pyFloat(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f):
		return "nan"
	}
	sci := strconv.FormatFloat(f, 'e', -1, 64)
	exp, _ := strconv.Atoi(sci[strings.IndexByte(sci, 'e')+1:])
	if f != 0 && (exp < -4 || exp >= 16) {
		return sci
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
