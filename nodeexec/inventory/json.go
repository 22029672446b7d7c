package inventory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// parse reads a file as Ansible does: as JSON where the whole of it is JSON,
// else as YAML 1.1. JSON keeps its own types, and its last key of a name wins
// without a remark.
func (l *loader) parse(shown string, b []byte) (Value, error) {
	if !json.Valid(b) {
		return l.parseYAML(shown, b)
	}
	p := &jsonReader{file: shown, dec: json.NewDecoder(bytes.NewReader(b))}
	p.dec.UseNumber()
	for i, c := range b {
		if c == '\n' {
			p.newlines = append(p.newlines, i)
		}
	}
	v, err := p.value(0)
	if err != nil && !errors.Is(err, ErrUnreadable) {
		err = &ReadError{Origin: Origin{File: shown}, Why: err.Error(), Err: err}
	}
	return v, err
}

type jsonReader struct {
	file     string
	dec      *json.Decoder
	newlines []int // offsets
}

// origin of the token that was read last.
func (p *jsonReader) origin() Origin {
	line, _ := slices.BinarySearch(p.newlines, int(p.dec.InputOffset()))
	return Origin{File: p.file, Line: line + 1}
}

func (p *jsonReader) value(depth int) (Value, error) {
	token, err := p.dec.Token()
	if err != nil {
		return Value{}, err
	}
	o := p.origin()
	if depth > maxDepth {
		return Value{}, &ReadError{Origin: o, Why: fmt.Sprintf("nested deeper than %d levels", maxDepth)}
	}
	switch t := token.(type) {
	case string:
		return stringValue(t, o), nil
	case bool:
		return boolValue(t, o), nil
	case json.Number:
		return jsonNumber(t, o)
	case json.Delim:
		if t == '[' {
			return p.list(o, depth)
		}
		return p.object(o, depth)
	}
	return Value{origin: o}, nil
}

func jsonNumber(n json.Number, o Origin) (Value, error) {
	if strings.ContainsAny(n.String(), ".eE") {
		f, err := n.Float64()
		if err != nil && f == 0 {
			return Value{}, err
		}
		return floatValue(f, o), nil // out of range: infinity, as in Python
	}
	text := n.String()
	if text == "-0" {
		text = "0"
	}
	return Value{typ: Int, text: text, origin: o}, nil
}

func (p *jsonReader) list(o Origin, depth int) (Value, error) {
	list := Value{typ: List, nest: &nested{}, origin: o}
	for p.dec.More() {
		item, err := p.value(depth + 1)
		if err != nil {
			return Value{}, err
		}
		list.nest.items = append(list.nest.items, item)
	}
	_, err := p.dec.Token()
	return list, err
}

// object reads an object; one that is only {"__ansible_vault": ...} or
// {"__ansible_unsafe": ...} is how Ansible writes the tags !vault and !unsafe.
func (p *jsonReader) object(o Origin, depth int) (Value, error) {
	object := Value{typ: Map, nest: &nested{}, origin: o}
	index := map[string]int{}
	for p.dec.More() {
		key, err := p.value(depth + 1)
		if err != nil {
			return Value{}, err
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return Value{}, err
		}
		if at, again := index[key.text]; again {
			object.nest.entries[at].value = v
			continue
		}
		index[key.text] = len(object.nest.entries)
		object.nest.entries = append(object.nest.entries, entry{key, v})
	}
	if _, err := p.dec.Token(); err != nil && !errors.Is(err, io.EOF) {
		return Value{}, err
	}
	if v, ok := object.get("__ansible_vault"); ok && v.typ == String {
		v.typ = Vault
		return v, nil
	}
	if v, ok := object.get("__ansible_unsafe"); ok {
		v.unsafe = true
		return v, nil
	}
	return object, nil
}
