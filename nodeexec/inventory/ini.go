package inventory

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/nestor-tools/nestor/nodeexec/inventory/internal/shlex"
)

var (
	iniSection = regexp.MustCompile(`^\[([^:\]\s]+)(?::([\pL\pN_]+))?\]\s*(?:#.*)?$`)
	iniGroup   = regexp.MustCompile(`^([^:\]\s]+)\s*(?:#.*)?$`)
)

// iniReader reads Ansible's INI format: [group] with one host and its
// variables a line, [group:vars], [group:children]. Lines before the first
// section belong to the group "ungrouped".
type iniReader struct {
	*loader
	origin Origin // of the current line
	// Groups that were named before they were declared: by a parent, or by
	// their variables. One that stays undeclared is an error.
	pending map[string]*pendingGroup
	order   []string
}

type pendingGroup struct {
	origin  Origin
	parents []*group // empty: only [name:vars] was seen
}

func (l *loader) addINI(shown string, b []byte) error {
	r := &iniReader{loader: l, origin: Origin{File: shown}, pending: map[string]*pendingGroup{}}
	current, section := l.graph.groups["ungrouped"], "hosts"
	for line := range strings.Lines(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(b))) {
		r.origin.Line++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if !utf8.ValidString(line) || strings.ContainsFunc(line, breaksLine) {
			return r.fail("this line holds a control character or is not UTF-8")
		}
		var err error
		switch m := iniSection.FindStringSubmatch(line); {
		case m != nil:
			if section = m[2]; section == "" {
				section = "hosts"
			}
			current, err = r.section(m[1], section)
		case strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]"):
			err = r.fail("%.60q is no section; a section is [name], [name:vars] or [name:children], without blanks", line)
		default:
			err = r.entry(current, section, line)
		}
		if err != nil {
			return err
		}
	}
	for _, name := range r.order {
		if p := r.pending[name]; p != nil {
			r.origin = p.origin
			return r.fail("group %.60q is used here and declared nowhere", name)
		}
	}
	return nil
}

// breaksLine is true of NUL and of what Python takes for the end of a line
// and Go does not.
func breaksLine(c rune) bool {
	return c < ' ' && c != '\t' || c == 0x85 || c == 0x2028 || c == 0x2029
}

func (r *iniReader) fail(format string, args ...any) error {
	return &ReadError{Origin: r.origin, Why: fmt.Sprintf(format, args...)}
}

func (r *iniReader) section(name, section string) (*group, error) {
	if section != "hosts" && section != "vars" && section != "children" {
		return nil, r.fail("section [%.60s:%.20s] is none of hosts, vars and children", name, section)
	}
	if err := r.spend(1, r.origin); err != nil {
		return nil, err
	}
	known := r.graph.groups[name] != nil
	g := r.graph.addGroup(name)
	if section == "vars" {
		if !known && r.pending[name] == nil {
			r.wait(name, nil)
		}
		return g, nil
	}
	if p := r.pending[name]; p != nil {
		delete(r.pending, name)
		for _, parent := range p.parents {
			addChild(parent, g, p.origin)
		}
	}
	return g, nil
}

func (r *iniReader) wait(name string, parent *group) {
	p := r.pending[name]
	if p == nil {
		p = &pendingGroup{origin: r.origin}
		r.pending[name] = p
		r.order = append(r.order, name)
	}
	if parent != nil {
		p.parents = append(p.parents, parent)
	}
}

func (r *iniReader) entry(g *group, section, line string) error {
	switch section {
	case "vars":
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			return r.fail("expected name=value")
		}
		return g.set(strings.TrimSpace(name), iniValue(strings.TrimSpace(value), r.origin))
	case "children":
		m := iniGroup.FindStringSubmatch(line)
		if m == nil {
			return r.fail("expected the name of a group")
		}
		child := r.graph.groups[m[1]]
		if child == nil || r.pending[m[1]] != nil && len(r.pending[m[1]].parents) > 0 {
			r.wait(m[1], g)
			return nil
		}
		addChild(g, child, r.origin)
		return nil
	}
	return r.hostLine(g, line)
}

// hostLine reads "name key=value ...", split into words as a shell would.
func (r *iniReader) hostLine(g *group, line string) error {
	words, err := shlex.SplitComments(line)
	if err != nil {
		return r.fail("the words of this line: %v", err)
	}
	if len(words) == 0 {
		return r.fail("no host on this line")
	}
	if _, port := splitPort(words[0]); strings.HasSuffix(words[0], ":") && port == "" {
		return r.fail("%.60q ends in a colon, which is kept for a port", words[0])
	}
	if words[0] == "---" {
		return r.fail("\"---\" starts a YAML file, and this is read as INI")
	}
	var vars []entry
	for _, w := range words[1:] {
		name, value, ok := strings.Cut(w, "=")
		if !ok {
			return r.fail("expected name=value behind the host, not %.60q", w)
		}
		vars = append(vars, entry{stringValue(name, r.origin), iniValue(value, r.origin)})
	}
	return r.addHosts(g, words[0], vars, r.origin)
}
