package inventory

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// iniValue reads a value of an INI inventory. Ansible takes it as a Python
// literal (a number, a quoted string, True, a list, a dictionary, with a
// comment behind it even) and where it is none as the text itself.
func iniValue(text string, o Origin) Value {
	if len(text) > maxResult {
		return Value{typ: Opaque, text: "text of that length", origin: o}
	}
	p := &literal{s: strings.TrimLeft(text, " \t"), origin: o}
	v, ok := p.tuple()
	if p.space(); !ok || p.s != "" {
		return stringValue(text, o)
	}
	return v
}

// tuple reads one value, or several between commas, which are a tuple without
// parentheses: the list [1, 2] may be written "1, 2".
func (p *literal) tuple() (Value, bool) {
	v, ok := p.value(0)
	if !ok || !p.accept(",") {
		return v, ok
	}
	items := []Value{v}
	for p.space(); p.s != ""; p.space() {
		if v, ok = p.value(0); !ok {
			return v, false
		}
		if items = append(items, v); !p.accept(",") {
			break
		}
	}
	return Value{typ: List, nest: &nested{items: items}, origin: p.origin}, true
}

// literal is a reader of Python's literal expressions.
type literal struct {
	s      string // what is left
	origin Origin
}

// space skips blanks and a comment. A comment ends the expression.
func (p *literal) space() {
	p.s = strings.TrimLeft(p.s, " \t\f")
	if strings.HasPrefix(p.s, "#") {
		p.s = ""
	}
}

func (p *literal) accept(token string) bool {
	p.space()
	rest, ok := strings.CutPrefix(p.s, token)
	if ok {
		p.s = rest
	}
	return ok
}

var (
	pyNumber = regexp.MustCompile(`^(?:0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+|(?:[0-9](?:_?[0-9])*)?\.[0-9](?:_?[0-9])*(?:[eE][-+]?[0-9](?:_?[0-9])*)?|[0-9](?:_?[0-9])*\.?(?:[eE][-+]?[0-9](?:_?[0-9])*)|[0-9](?:_?[0-9])*\.|[0-9](?:_?[0-9])*)`)
	pyWord   = regexp.MustCompile(`^[\pL_][\pL\pN_]*`)
	pyString = regexp.MustCompile(`^(?i:[bruf]|br|rb|fr|rf)?["']`)
)

func (p *literal) value(depth int) (Value, bool) {
	if depth > maxDepth {
		return Value{}, false
	}
	p.space()
	switch {
	case p.s == "":
		return Value{}, false
	case p.s[0] == '-' || p.s[0] == '+':
		return p.signed()
	case p.s[0] == '[':
		return p.sequence("[", "]", depth)
	case p.s[0] == '(':
		return p.sequence("(", ")", depth)
	case p.s[0] == '{':
		return p.braces(depth)
	case pyString.MatchString(p.s):
		return p.strings()
	case pyNumber.MatchString(p.s):
		return p.number("")
	}
	word := pyWord.FindString(p.s)
	p.s = p.s[len(word):]
	switch word {
	case "True", "False":
		return boolValue(word == "True", p.origin), true
	case "None":
		return Value{origin: p.origin}, true
	}
	return Value{}, false
}

func (p *literal) signed() (Value, bool) {
	sign := p.s[:1]
	p.s = p.s[1:]
	p.space()
	if !pyNumber.MatchString(p.s) {
		return Value{}, false
	}
	if sign == "+" {
		sign = ""
	}
	return p.number(sign)
}

func (p *literal) number(sign string) (Value, bool) {
	text := pyNumber.FindString(p.s)
	p.s = p.s[len(text):]
	if next, _ := utf8.DecodeRuneInString(p.s); p.s != "" && (next == '_' || next == '.' || pyWord.MatchString(p.s)) {
		return Value{}, false // 1.2.3, 10abc, and 2j, which nobody writes
	}
	plain := strings.ReplaceAll(text, "_", "")
	if n, ok := new(big.Int).SetString(plain, 0); ok {
		if len(plain) > 1 && plain[0] == '0' && strings.Trim(plain, "0") != "" && plain[1] >= '0' && plain[1] <= '9' {
			return Value{}, false // 022 is an error in Python 3
		}
		out := n.String()
		if out != "0" {
			out = sign + out
		}
		return Value{typ: Int, text: out, origin: p.origin}, true
	}
	if strings.Trim(plain, "0123456789") == "" {
		return Value{}, false // 089
	}
	f, err := strconv.ParseFloat(plain, 64)
	if err != nil && f == 0 {
		return Value{}, false
	}
	if sign == "-" {
		f = -f
	}
	return floatValue(f, p.origin), true
}

// sequence reads a list or a tuple. One value in parentheses is that value.
func (p *literal) sequence(open, end string, depth int) (Value, bool) {
	p.accept(open)
	list := Value{typ: List, nest: &nested{}, origin: p.origin}
	comma := false
	for !p.accept(end) {
		if len(list.nest.items) > 0 && !comma {
			return Value{}, false
		}
		item, ok := p.value(depth + 1)
		if !ok {
			return Value{}, false
		}
		list.nest.items = append(list.nest.items, item)
		comma = p.accept(",")
	}
	if open == "(" && len(list.nest.items) == 1 && !comma {
		return list.nest.items[0], true
	}
	return list, true
}

// braces reads a dictionary, or a set, which is of no use in an inventory.
func (p *literal) braces(depth int) (Value, bool) {
	p.accept("{")
	dict := Value{typ: Map, nest: &nested{}, origin: p.origin}
	comma, set := false, false
	for !p.accept("}") {
		if len(dict.nest.entries) > 0 && !comma {
			return Value{}, false
		}
		key, ok := p.value(depth + 1)
		if !ok || key.typ == List || key.typ == Map {
			return Value{}, false
		}
		var v Value
		if first := len(dict.nest.entries) == 0; p.accept(":") {
			if set && !first {
				return Value{}, false
			}
			if v, ok = p.value(depth + 1); !ok {
				return Value{}, false
			}
		} else if set = true; !first && dict.nest.entries[0].value.typ != Opaque {
			return Value{}, false
		} else {
			v = Value{typ: Opaque}
		}
		dict.put(key, v)
		comma = p.accept(",")
	}
	if set {
		return Value{typ: Opaque, text: "set", origin: p.origin}, true
	}
	return dict, true
}

// put sets an entry of a mapping; the last one of a key counts.
func (v *Value) put(key, value Value) {
	for i, e := range v.nest.entries {
		if e.key.typ == key.typ && e.key.text == key.text {
			v.nest.entries[i].value = value
			return
		}
	}
	v.nest.entries = append(v.nest.entries, entry{key, value})
}

// strings reads one or more string literals, which Python joins.
func (p *literal) strings() (Value, bool) {
	var b strings.Builder
	opaque := false
	for p.space(); pyString.MatchString(p.s); p.space() {
		at := strings.IndexAny(p.s, `"'`)
		prefix := strings.ToLower(p.s[:at])
		p.s = p.s[at:]
		if strings.Contains(prefix, "f") {
			return Value{}, false // f'' is no literal
		}
		opaque = opaque || strings.Contains(prefix, "b")
		if !p.quoted(&b, strings.Contains(prefix, "r")) {
			return Value{}, false
		}
	}
	if opaque {
		return Value{typ: Opaque, text: "bytes", origin: p.origin}, true
	}
	return stringValue(b.String(), p.origin), true
}

func (p *literal) quoted(b *strings.Builder, raw bool) bool {
	quote := p.s[:1]
	if strings.HasPrefix(p.s, strings.Repeat(quote, 3)) {
		quote = p.s[:3]
	}
	p.s = p.s[len(quote):]
	for p.s != "" {
		switch {
		case strings.HasPrefix(p.s, quote):
			p.s = p.s[len(quote):]
			return true
		case p.s[0] == '\\' && raw && len(p.s) > 1:
			b.WriteString(p.s[:2])
			p.s = p.s[2:]
		case p.s[0] == '\\':
			if !p.escape(b) {
				return false
			}
		default:
			b.WriteByte(p.s[0])
			p.s = p.s[1:]
		}
	}
	return false
}

var simpleEscapes = map[byte]string{'\\': `\`, '\'': `'`, '"': `"`, 'a': "\a", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v"}

func (p *literal) escape(b *strings.Builder) bool {
	if len(p.s) < 2 {
		return false
	}
	c := p.s[1]
	if text, ok := simpleEscapes[c]; ok {
		b.WriteString(text)
		p.s = p.s[2:]
		return true
	}
	digits, base, skip := 0, 16, 2
	switch {
	case c == 'x':
		digits = 2
	case c == 'u':
		digits = 4
	case c == 'U':
		digits = 8
	case c == 'N':
		return false
	case c >= '0' && c <= '7':
		base, skip = 8, 1
		for digits < 3 && 1+digits < len(p.s) && p.s[1+digits] >= '0' && p.s[1+digits] <= '7' {
			digits++
		}
	default: // Python keeps an escape that it does not know
		b.WriteString(p.s[:2])
		p.s = p.s[2:]
		return true
	}
	if len(p.s) < skip+digits {
		return false
	}
	n, err := strconv.ParseUint(p.s[skip:skip+digits], base, 32)
	if err != nil || n > utf8.MaxRune {
		return false
	}
	b.WriteRune(rune(n))
	p.s = p.s[skip+digits:]
	return true
}
