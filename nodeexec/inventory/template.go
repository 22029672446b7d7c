package inventory

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/nestor-tools/nestor/nodeexec/inventory/internal/vault"
)

// The part of Jinja that connections use: {{ variable }}, attributes and
// indexes, hostvars and groups, lookup('env', ...), the filters default, int,
// string, trim, lower, upper, first and mandatory, "~", "+" between strings,
// and "or". Everything else is an error: a guess would reach another machine.

const (
	maxSteps  = 10_000  // evaluated variables of one value
	maxResult = 1 << 16 // bytes of one value
)

var (
	errNeedsAnsible = errors.New("cannot be resolved without Ansible")
	errUndefined    = errors.New("is not defined in the inventory")
)

// templateError names the template that failed, the innermost one where
// templates hold others.
type templateError struct {
	template string
	err      error
}

func (e *templateError) Error() string {
	return fmt.Sprintf("has the template %.80q: %v", e.template, e.err)
}

func (e *templateError) Unwrap() error { return e.err }

// evaluation resolves one value of one host.
type evaluation struct {
	inv   *Inventory
	open  []step // the variables being resolved, to find those that hold themselves
	steps int
	env   bool // something came from the environment
}

type step struct {
	host *host
	name string
}

// operand is an intermediate result: a value, nothing, or one of the names
// that are no variables.
type operand struct {
	value     Value
	undefined string // what is undefined; "" means that value counts
	why       error  // it is set, and its template holds something undefined
	host      *host  // hostvars[x]
	magic     string // "hostvars" or "groups"
}

// variable resolves a variable, or one of Ansible's own names, for a host.
func (e *evaluation) variable(h *host, name string) (operand, error) {
	switch name {
	case "inventory_hostname":
		return operand{value: stringValue(h.name, Origin{})}, nil
	case "inventory_hostname_short":
		short := h.name
		if !isAddress(short) {
			short, _, _ = strings.Cut(short, ".")
		}
		return operand{value: stringValue(short, Origin{})}, nil
	case "group_names":
		groups := []string{}
		for _, g := range h.groupsOf() {
			groups = append(groups, g.name)
		}
		slices.Sort(groups)
		return operand{value: listOf(groups)}, nil
	case "hostvars", "groups":
		return operand{magic: name}, nil
	case "inventory_dir", "inventory_file":
		if e.inv.opts.Dir == "" {
			return operand{}, fmt.Errorf("%s is not known here", name)
		}
		file := path.Join(e.inv.opts.Dir, h.source)
		if name == "inventory_dir" {
			file = path.Dir(file)
		}
		return operand{value: stringValue(file, Origin{})}, nil
	case "omit", "playbook_dir", "vars", "environment", "ansible_facts", "ansible_env":
		return operand{}, fmt.Errorf("%q %w", name, errNeedsAnsible)
	}
	if slices.Contains(e.open, step{h, name}) {
		return operand{}, fmt.Errorf("%s leads back to itself, which %w", name, errNeedsAnsible)
	}
	if e.steps++; e.steps > maxSteps {
		return operand{}, fmt.Errorf("more than %d references", maxSteps)
	}
	found, err := e.inv.lookup(h, name)
	if err != nil {
		return operand{}, err
	}
	if len(found) == 0 {
		return operand{undefined: name}, nil
	}
	e.open = append(e.open, step{h, name})
	defer func() { e.open = e.open[:len(e.open)-1] }()
	v, err := e.settle(h, found[0])
	if errors.Is(err, errUndefined) {
		return operand{undefined: name, why: err}, nil // the filter default mends it
	}
	return operand{value: v}, err
}

// settle resolves the template in a value, and opens a vault.
func (e *evaluation) settle(h *host, v Value) (Value, error) {
	switch {
	case v.typ == Vault:
		plain, err := vault.Decrypt([]byte(v.text), e.inv.opts.VaultPassword)
		return Value{typ: String, text: string(plain), unsafe: true, origin: v.origin}, err
	case v.typ == String && !v.unsafe && isTemplate(v.text):
		text, err := e.render(h, v.text)
		if err != nil {
			return Value{}, err
		}
		text.origin = v.origin
		return text, nil
	}
	return v, nil
}

func isTemplate(s string) bool {
	return strings.Contains(s, "{{") || strings.Contains(s, "{%") || strings.Contains(s, "{#")
}

// render resolves a string. A boolean or number that stands alone keeps its
// type, as in Ansible; everything else becomes a string.
func (e *evaluation) render(h *host, s string) (Value, error) {
	if strings.Contains(s, "{%") || strings.Contains(s, "{#") {
		return Value{}, &templateError{s, fmt.Errorf("it %w", errNeedsAnsible)}
	}
	whole := s
	var out strings.Builder
	for {
		text, rest, ok := strings.Cut(s, "{{")
		out.WriteString(text)
		if !ok {
			return stringValue(out.String(), Origin{}), nil
		}
		p := &expression{e: e, host: h, s: rest}
		result, err := p.parse()
		if err != nil {
			if _, inner := errors.AsType[*templateError](err); !inner {
				err = &templateError{whole, err}
			}
			return Value{}, err
		}
		s = p.s
		switch {
		case result.undefined != "":
			if result.why != nil {
				return Value{}, result.why
			}
			return Value{}, &templateError{whole, fmt.Errorf("%s %w", result.undefined, errUndefined)}
		case result.magic != "" || result.host != nil || result.value.typ == List || result.value.typ == Map || result.value.typ == Opaque:
			return Value{}, &templateError{whole, fmt.Errorf("it gives no plain value and %w", errNeedsAnsible)}
		}
		if out.Len() == 0 && s == "" && result.value.typ != String && result.value.typ != Null {
			return result.value, nil
		}
		if out.Len()+len(result.value.text) > maxResult {
			return Value{}, &templateError{whole, fmt.Errorf("the result is longer than %d bytes", maxResult)}
		}
		out.WriteString(result.value.text)
	}
}

// expression parses and evaluates what stands between {{ and }}.
type expression struct {
	e     *evaluation
	host  *host
	s     string // what is left
	depth int
}

func (p *expression) parse() (operand, error) {
	v, err := p.or()
	if err != nil {
		return operand{}, err
	}
	if !p.accept("}}") {
		return operand{}, p.unknown()
	}
	return v, nil
}

func (p *expression) unknown() error {
	near := strings.TrimSpace(p.s)
	if near == "" {
		return errors.New("it is not closed")
	}
	return fmt.Errorf("%.20q %w", near, errNeedsAnsible)
}

func (p *expression) space() { p.s = strings.TrimLeft(p.s, " \t\r\n") }

func (p *expression) accept(token string) bool {
	p.space()
	if !strings.HasPrefix(p.s, token) {
		return false
	}
	p.s = p.s[len(token):]
	return true
}

var (
	wordToken   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*`)
	numberToken = regexp.MustCompile(`^[0-9]+`)
)

func (p *expression) word() string {
	p.space()
	w := wordToken.FindString(p.s)
	p.s = p.s[len(w):]
	return w
}

// or: concat ("or" concat)*
func (p *expression) or() (operand, error) {
	if p.depth++; p.depth > maxDepth {
		return operand{}, fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	defer func() { p.depth-- }()
	left, err := p.concat()
	for err == nil {
		p.space()
		if wordToken.FindString(p.s) != "or" {
			return left, nil
		}
		p.word()
		var right operand
		if right, err = p.concat(); err == nil && (left.undefined != "" || left.value.falsy() && left.magic == "" && left.host == nil) {
			left = right
		}
	}
	return operand{}, err
}

// concat: filtered (("~" | "+") filtered)*
func (p *expression) concat() (operand, error) {
	left, err := p.filtered()
	for err == nil {
		plus := false
		switch {
		case p.accept("~"):
		case p.accept("+"):
			plus = true
		default:
			return left, nil
		}
		var right operand
		if right, err = p.filtered(); err != nil {
			break
		}
		if left.undefined != "" || right.undefined != "" {
			if left.undefined == "" {
				left = right
			}
			continue
		}
		if plus && (left.value.typ != String || right.value.typ != String) {
			return operand{}, fmt.Errorf("\"+\" between %s and %s %w", left.value.typ, right.value.typ, errNeedsAnsible)
		}
		left = operand{value: stringValue(left.value.text+right.value.text, Origin{})}
	}
	return operand{}, err
}

// filtered: postfix ("|" name ["(" arguments ")"])*
func (p *expression) filtered() (operand, error) {
	v, err := p.postfix()
	for err == nil {
		if !p.accept("|") {
			return v, nil
		}
		name := p.word()
		var args []operand
		if p.accept("(") {
			if args, err = p.arguments(); err != nil {
				break
			}
		}
		v, err = filter(name, v, args)
	}
	return operand{}, err
}

// arguments up to the closing parenthesis. Of named ones only "default_value",
// "boolean" and "default" are known, at the places where they belong.
func (p *expression) arguments() ([]operand, error) {
	var args []operand
	for !p.accept(")") {
		if len(args) > 0 && !p.accept(",") {
			return nil, p.unknown()
		}
		for _, known := range []string{"default_value", "boolean", "default"} {
			if rest, ok := strings.CutPrefix(strings.TrimLeft(p.s, " "), known); ok && strings.HasPrefix(strings.TrimLeft(rest, " "), "=") && !strings.HasPrefix(strings.TrimLeft(rest, " "), "==") {
				p.s = strings.TrimLeft(rest, " ")[1:]
			}
		}
		v, err := p.or()
		if err != nil {
			return nil, err
		}
		args = append(args, v)
	}
	return args, nil
}

// postfix: primary ("." name | "[" or "]")*
func (p *expression) postfix() (operand, error) {
	v, err := p.primary()
	for err == nil {
		var index operand
		switch {
		case p.accept("."):
			name := p.word()
			if name == "" {
				return operand{}, p.unknown()
			}
			index = operand{value: stringValue(name, Origin{})}
		case p.accept("["):
			if index, err = p.or(); err != nil {
				return operand{}, err
			}
			if !p.accept("]") {
				return operand{}, p.unknown()
			}
		default:
			return v, nil
		}
		v, err = p.index(v, index)
	}
	return operand{}, err
}

func (p *expression) index(v, by operand) (operand, error) {
	switch {
	case v.undefined != "":
		return v, nil
	case by.undefined != "":
		return by, nil
	}
	key := by.value.text
	switch {
	case v.magic == "hostvars":
		if h := p.e.inv.graph.hosts[key]; h != nil {
			return operand{host: h}, nil
		}
		return operand{undefined: fmt.Sprintf("hostvars[%q]", key)}, nil
	case v.magic == "groups":
		if g := p.e.inv.graph.groups[key]; g != nil {
			return operand{value: listOf(names(g.allHosts()))}, nil
		}
		return operand{undefined: fmt.Sprintf("groups[%q]", key)}, nil
	case v.host != nil:
		return p.e.variable(v.host, key)
	case v.value.typ == List && by.value.typ == Int:
		i, err := strconv.Atoi(key)
		items := v.value.items()
		if err != nil || i >= len(items) {
			return operand{undefined: fmt.Sprintf("item %s", key)}, nil
		}
		item, err := p.e.settle(p.host, items[i])
		return operand{value: item}, err
	case v.value.typ == Map:
		item, ok := v.value.get(key)
		if !ok {
			return operand{undefined: fmt.Sprintf("key %q", key)}, nil
		}
		item, err := p.e.settle(p.host, item)
		return operand{value: item}, err
	}
	return operand{}, fmt.Errorf("index %q of %s %w", key, v.value.typ, errNeedsAnsible)
}

func (p *expression) primary() (operand, error) {
	p.space()
	if p.s == "" {
		return operand{}, errors.New("it is not closed")
	}
	switch c := p.s[0]; {
	case c == '\'' || c == '"':
		return p.quoted(c)
	case c >= '0' && c <= '9':
		digits := numberToken.FindString(p.s)
		p.s = p.s[len(digits):]
		return operand{value: Value{typ: Int, text: strings.TrimLeft(digits[:len(digits)-1], "0") + digits[len(digits)-1:]}}, nil
	case c == '(':
		p.s = p.s[1:]
		v, err := p.or()
		if err == nil && !p.accept(")") {
			err = p.unknown()
		}
		return v, err
	}
	before := p.s
	switch name := p.word(); name {
	case "":
		return operand{}, p.unknown()
	case "true", "True", "false", "False":
		return operand{value: boolValue(strings.EqualFold(name, "true"), Origin{})}, nil
	case "none", "None":
		return operand{}, nil
	case "not", "if", "else", "is", "in", "and", "or", "query", "q":
		p.s = before
		return operand{}, p.unknown()
	case "lookup":
		if !p.accept("(") {
			return operand{}, p.unknown()
		}
		args, err := p.arguments()
		if err != nil {
			return operand{}, err
		}
		return p.lookupEnv(args)
	default:
		p.space()
		if strings.HasPrefix(p.s, "(") {
			p.s = before
			return operand{}, p.unknown()
		}
		return p.e.variable(p.host, name)
	}
}

// quoted reads a string literal. Escapes other than of the quote and the
// backslash are left to Ansible.
func (p *expression) quoted(quote byte) (operand, error) {
	var b strings.Builder
	for i := 1; i < len(p.s); i++ {
		switch c := p.s[i]; c {
		case quote:
			p.s = p.s[i+1:]
			return operand{value: stringValue(b.String(), Origin{})}, nil
		case '\\':
			if i++; i == len(p.s) || p.s[i] != quote && p.s[i] != '\\' {
				return operand{}, fmt.Errorf("the escape in %q %w", p.s[:i], errNeedsAnsible)
			}
			b.WriteByte(p.s[i])
		default:
			b.WriteByte(c)
		}
	}
	return operand{}, errors.New("a quote is not closed")
}

func (p *expression) lookupEnv(args []operand) (operand, error) {
	for _, a := range args {
		if a.undefined != "" {
			return a, nil
		}
	}
	if len(args) == 0 || args[0].value.text != "env" && args[0].value.text != "ansible.builtin.env" {
		return operand{}, fmt.Errorf("this lookup %w", errNeedsAnsible)
	}
	if len(args) < 2 || len(args) > 3 || len(strings.Fields(args[1].value.text)) == 0 {
		return operand{}, fmt.Errorf("lookup('env', ...) with these arguments %w", errNeedsAnsible)
	}
	p.e.env = true
	if s, ok := p.e.inv.opts.Env(strings.Fields(args[1].value.text)[0]); ok {
		return operand{value: stringValue(s, Origin{})}, nil
	}
	if len(args) == 3 {
		return args[2], nil
	}
	return operand{value: stringValue("", Origin{})}, nil
}

func filter(name string, v operand, args []operand) (operand, error) {
	if name == "default" || name == "d" {
		if len(args) > 2 {
			return operand{}, fmt.Errorf("the filter default with %d arguments %w", len(args), errNeedsAnsible)
		}
		if v.undefined != "" || len(args) == 2 && !args[1].value.falsy() && v.value.falsy() && v.magic == "" && v.host == nil {
			if len(args) == 0 {
				return operand{value: stringValue("", Origin{})}, nil
			}
			return args[0], nil
		}
		return v, nil
	}
	if v.undefined != "" {
		return v, nil
	}
	if len(args) > 0 && name != "int" || v.magic != "" || v.host != nil {
		return operand{}, fmt.Errorf("the filter %s, used like this, %w", name, errNeedsAnsible)
	}
	text := func(s string) (operand, error) { return operand{value: stringValue(s, Origin{})}, nil }
	switch name {
	case "mandatory":
		return v, nil
	case "string":
		return text(v.value.text)
	case "trim":
		return text(strings.TrimSpace(v.value.text))
	case "lower":
		return text(strings.ToLower(v.value.text))
	case "upper":
		return text(strings.ToUpper(v.value.text))
	case "first":
		if items := v.value.items(); v.value.typ == List && len(items) > 0 {
			return operand{value: items[0]}, nil
		}
	case "int":
		if n, err := strconv.ParseInt(strings.TrimSpace(v.value.text), 10, 64); err == nil {
			return operand{value: Value{typ: Int, text: strconv.FormatInt(n, 10)}}, nil
		}
		return operand{}, fmt.Errorf("%q is no number, so the filter int %w", v.value, errNeedsAnsible)
	}
	return operand{}, fmt.Errorf("the filter %q %w", name, errNeedsAnsible)
}

func listOf(words []string) Value {
	items := make([]Value, len(words))
	for i, w := range words {
		items[i] = stringValue(w, Origin{})
	}
	return Value{typ: List, nest: &nested{items: items}}
}
