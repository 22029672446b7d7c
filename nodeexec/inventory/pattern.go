package inventory

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Select lists the hosts that a pattern of Ansible's selects, in Ansible's
// order: names and groups, "a:b" or "a,b" (both), ":!a" (without), ":&a" (only
// those also in), globs, "~regex", "group[0]" and "group[1:2]". The empty
// pattern is the default selection: the group cloud, else all, without hosts
// of connection local.
//
// Where Ansible warns of a name that it does not know and goes on with the
// rest, or takes "," for all hosts, this is a [*PatternError]; so is an empty
// selection.
func (inv *Inventory) Select(pattern string) ([]string, error) {
	if pattern == "" {
		return inv.selectDefault()
	}
	parts := splitPattern(inv, pattern)
	if len(parts) == 0 {
		return nil, &PatternError{Pattern: pattern, Why: "is empty"}
	}
	var regular, other []string
	for _, part := range parts {
		if part[0] == '&' || part[0] == '!' {
			other = append(other, part)
		} else {
			regular = append(regular, part)
		}
	}
	if len(regular) == 0 {
		regular = []string{"all"}
	}
	// First what adds, then what both must hold ("&"), then what goes ("!").
	slices.SortStableFunc(other, func(a, b string) int { return strings.Compare(b[:1], a[:1]) })
	var selected []*host
	for _, part := range append(regular, other...) {
		matched, err := inv.matchPart(pattern, strings.TrimLeft(part, "&!"))
		if err != nil {
			return nil, err
		}
		in := make(map[*host]bool, len(matched))
		for _, h := range matched {
			in[h] = true
		}
		switch part[0] {
		case '&':
			selected = slices.DeleteFunc(selected, func(h *host) bool { return !in[h] })
		case '!':
			selected = slices.DeleteFunc(selected, func(h *host) bool { return in[h] })
		default:
			selected = append(selected, matched...)
		}
	}
	return inv.chosen(pattern, selected)
}

func (inv *Inventory) selectDefault() ([]string, error) {
	from, name := inv.graph.groups["cloud"], "cloud"
	if from == nil {
		from, name = inv.graph.groups["all"], "all"
	}
	var selected []*host
	for _, h := range from.allHosts() {
		r := &resolver{inv: inv, host: h, target: Target{Origins: map[string]Origin{}}}
		local, err := r.plugin(false)
		if err != nil {
			return nil, err
		}
		if !local {
			selected = append(selected, h)
		}
	}
	return inv.chosen(name, selected)
}

func (inv *Inventory) chosen(pattern string, hosts []*host) ([]string, error) {
	if len(hosts) == 0 {
		return nil, &PatternError{Pattern: pattern, Why: "selects no host of " + inv.Name()}
	}
	seen := make(map[*host]bool, len(hosts))
	return names(slices.DeleteFunc(hosts, func(h *host) bool {
		again := seen[h]
		seen[h] = true
		return again
	})), nil
}

var colonPart = regexp.MustCompile(`(?:[^\s:\[\]]|\[[^\]]*\])+`)

func hasPort(pattern string) bool {
	_, port := splitPort(pattern)
	return port != ""
}

// splitPattern splits at commas, or without any at colons, unless the whole
// is a host's name or address.
func splitPattern(inv *Inventory, pattern string) []string {
	var parts []string
	switch {
	case inv.graph.hosts[pattern] != nil || inv.graph.groups[pattern] != nil:
		return []string{pattern}
	case strings.Contains(pattern, ","):
		parts = strings.Split(pattern, ",")
	case isAddress(strings.TrimLeft(pattern, "!&")) || hasPort(pattern):
		parts = []string{pattern}
	default:
		parts = colonPart.FindAllString(pattern, -1)
	}
	var kept []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" && p != "!" && p != "&" {
			kept = append(kept, p)
		}
	}
	return kept
}

var (
	subscripted = regexp.MustCompile(`^(.+)\[(?:(-?[0-9]+)|([0-9]+):([0-9]*))\]$`)
	dashed      = regexp.MustCompile(`^.+\[[0-9]+-[0-9]*\]$`)
)

// matchPart lists the hosts of one part of a pattern.
func (inv *Inventory) matchPart(pattern, part string) ([]*host, error) {
	if h := inv.graph.hosts[part]; h != nil {
		return []*host{h}, nil
	}
	if part == "" || part[0] == '@' {
		return nil, &PatternError{Pattern: pattern, Why: fmt.Sprintf("holds %.60q, which is not understood here", part)}
	}
	if part[0] != '~' && dashed.MatchString(part) {
		return nil, &PatternError{Pattern: pattern, Why: fmt.Sprintf("holds %.60q; positions are [from:to], and this is no set of characters to Ansible", part)}
	}
	name, index := part, []string(nil)
	if part[0] != '~' {
		if m := subscripted.FindStringSubmatch(part); m != nil {
			name, index = m[1], m[2:]
		}
	}
	match, err := nameMatcher(name)
	if err != nil {
		return nil, &PatternError{Pattern: pattern, Why: fmt.Sprintf("holds %.60q, which cannot be read (Python's own regular expressions are not known here)", part)}
	}
	var found []*host
	known := false
	for _, g := range inv.graph.groupOrder {
		if match(g.name) {
			known = true
			found = append(found, g.allHosts()...)
		}
	}
	if !known || name[0] == '~' || strings.ContainsAny(name, ".?*[") {
		for _, h := range inv.graph.hostOrder {
			if match(h.name) {
				known = true
				found = append(found, h)
			}
		}
	}
	if !known && name[0] != '~' && !strings.ContainsAny(name, "?*[") {
		return nil, &PatternError{Pattern: pattern, Why: inv.unknownName(name)}
	}
	if index == nil {
		return found, nil
	}
	return subscript(pattern, part, found, index)
}

func (inv *Inventory) unknownName(name string) string {
	why := fmt.Sprintf("names %.60q, which is neither a host nor a group of %s", name, inv.Name())
	if near := inv.nearest(name); len(near) > 0 {
		why += "; nearest: " + strings.Join(near, ", ")
	}
	return why
}

// subscript takes hosts by position: [i], from the end where i is negative,
// or [from:to], both included.
func subscript(pattern, part string, hosts []*host, index []string) ([]*host, error) {
	if len(hosts) == 0 {
		return nil, nil
	}
	number := func(s string) int { n, _ := strconv.Atoi(s); return n } // digits only; an overflow is past the end
	from, to := number(index[1]), len(hosts)-1
	if index[0] != "" {
		if from = number(index[0]); from < 0 {
			from += len(hosts)
		}
		if from < 0 || from >= len(hosts) {
			return nil, &PatternError{Pattern: pattern, Why: fmt.Sprintf("holds %.60q, past the %d hosts there are", part, len(hosts))}
		}
		return hosts[from : from+1], nil
	}
	if index[2] != "" {
		to = min(to, number(index[2]))
	}
	if from > to {
		return nil, nil
	}
	return hosts[from : to+1], nil
}

// nameMatcher compiles a glob (*, ?, [abc], [!abc]) or, after "~", a regular
// expression that must match from the start.
func nameMatcher(name string) (func(string) bool, error) {
	expr := "^(?:" + strings.TrimPrefix(name, "~") + ")"
	if name[0] != '~' {
		if !strings.ContainsAny(name, "?*[") {
			return func(s string) bool { return s == name }, nil
		}
		expr = "(?s)^" + globExpr(name) + "$"
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, err
	}
	return re.MatchString, nil
}

// globExpr translates a glob as Python's fnmatch does: a "]" right behind the
// bracket is one of the set, a bracket that is not closed is itself.
func globExpr(glob string) string {
	var b strings.Builder
	for glob != "" {
		at := strings.IndexAny(glob, "*?[")
		if at < 0 {
			at = len(glob)
		}
		b.WriteString(regexp.QuoteMeta(glob[:at]))
		if glob = glob[at:]; glob == "" {
			break
		}
		special, rest := glob[0], glob[1:]
		glob = rest
		switch special {
		case '*':
			b.WriteString(".*")
		case '?':
			b.WriteByte('.')
		case '[':
			set, negated := strings.CutPrefix(rest, "!")
			end := -1
			if set != "" {
				end = strings.IndexByte(set[1:], ']') + 1
			}
			if end < 1 {
				b.WriteString(`\[`)
				continue
			}
			glob = set[end+1:]
			b.WriteByte('[')
			if negated {
				b.WriteByte('^')
			}
			b.WriteString(strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `^`, `\^`).Replace(set[:end]))
			b.WriteByte(']')
		}
	}
	return b.String()
}
