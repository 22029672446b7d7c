package inventory

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/nestor-tools/nestor/nodeexec/inventory/internal/vault"
)

// Bounds on what is read: far above real inventories, far below what hurts.
const (
	maxFile    = 32 << 20  // bytes of one file
	maxYAML    = 8 << 20   // bytes of one file of YAML, which needs a hundred times as much memory
	maxFiles   = 10_000    // files of a directory
	maxDirs    = 16        // directories within directories
	maxEntries = 4_000_000 // hosts, groups and their variables, each time they are named
)

// Options is what an inventory is read from.
type Options struct {
	FS   fs.FS  // required
	Name string // the inventory in FS, a file or a directory

	// Shown stands before the names of files in messages and origins, so
	// that they can be opened from where the caller is.
	Shown string
	// Dir is the absolute path of FS's root. Without it inventory_dir and
	// inventory_file cannot be used in templates, and Target.Inventory is
	// empty.
	Dir string

	// Env looks up environment variables, for lookup('env', ...) and "~".
	// nil: there are none.
	Env func(string) (string, bool)

	// VaultPassword opens vaulted values and files. Without it they stay
	// closed, and only a call that needs one fails.
	VaultPassword []byte
}

// Inventory is an inventory that was read whole. It is safe for use by
// several goroutines.
type Inventory struct {
	opts     Options
	graph    *graph
	warnings []Warning

	mu    sync.Mutex // guards what is read late: layers of hosts, files beside
	files varsFiles
}

// Load reads the inventory of that name in fsys: a YAML or INI file, the JSON
// of "ansible-inventory --list", or a directory of them, with group_vars and
// host_vars beside it. See [Options] for more control.
//
// The error matches [ErrUnreadable] and names file and line.
func Load(fsys fs.FS, name string, env func(string) (string, bool)) (*Inventory, error) {
	return Open(Options{FS: fsys, Name: name, Env: env})
}

// Open reads the inventory that o describes. See [Load].
func Open(o Options) (*Inventory, error) {
	if o.Env == nil {
		o.Env = func(string) (string, bool) { return "", false }
	}
	l := &loader{opts: o, graph: newGraph()}
	base, err := l.source(o.Name, 0)
	if err != nil {
		return nil, err
	}
	if err := l.graph.finish(); err != nil {
		return nil, err
	}
	for _, g := range l.graph.groupOrder {
		if h := l.graph.hosts[g.name]; h != nil {
			l.warn(Warning{Origin: Origin{File: o.shown(h.source)}, Code: WarnName, Message: fmt.Sprintf("%q is both a group and a host; patterns take the host", g.name)})
		}
	}
	return &Inventory{opts: o, graph: l.graph, warnings: l.warnings, files: varsFiles{base: base}}, nil
}

// Hosts lists all hosts in inventory order.
func (inv *Inventory) Hosts() []string { return names(inv.graph.groups["all"].allHosts()) }

// Groups lists all groups, "all" and "ungrouped" included, in the order in
// which they were named first.
func (inv *Inventory) Groups() []string {
	groups := make([]string, len(inv.graph.groupOrder))
	for i, g := range inv.graph.groupOrder {
		groups[i] = g.name
	}
	return groups
}

// GroupsOf lists the groups of a host, "all" excepted, the weakest first: the
// order in which their variables override each other.
func (inv *Inventory) GroupsOf(node string) ([]string, error) {
	h, err := inv.host(node)
	if err != nil {
		return nil, err
	}
	var groups []string
	for _, g := range h.groupsOf() {
		groups = append(groups, g.name)
	}
	return groups, nil
}

// Members lists what a group itself names: its hosts and its child groups.
// ok is false where there is no such group.
func (inv *Inventory) Members(group string) (hosts, children []string, ok bool) {
	g := inv.graph.groups[group]
	if g == nil {
		return nil, nil, false
	}
	for _, child := range g.children {
		children = append(children, child.name)
	}
	return names(g.hosts), children, true
}

// Warnings lists what reading the inventory gave rise to, in reading order.
func (inv *Inventory) Warnings() []Warning { return slices.Clone(inv.warnings) }

// Name is the inventory's name as messages show it.
func (inv *Inventory) Name() string { return inv.opts.shown(inv.opts.Name) }

// Path is the inventory's absolute path, "" where Options.Dir is not given.
func (inv *Inventory) Path() string {
	if inv.opts.Dir == "" {
		return ""
	}
	return path.Join(inv.opts.Dir, inv.opts.Name)
}

func (inv *Inventory) host(node string) (*host, error) {
	if h := inv.graph.hosts[node]; h != nil {
		return h, nil
	}
	return nil, &UnknownNodeError{Node: node, Inventory: inv.Name(), Nearest: inv.nearest(node), Group: inv.graph.groups[node] != nil}
}

func names(hosts []*host) []string {
	out := make([]string, len(hosts))
	for i, h := range hosts {
		out[i] = h.name
	}
	return out
}

func (o Options) shown(name string) string { return path.Join(o.Shown, name) }

// loader reads files into a graph.
type loader struct {
	opts      Options
	graph     *graph
	warnings  []Warning
	fileCount int
	spent     int
}

// spend counts entries of the inventory. Ranges and aliases make a small file
// into a large inventory.
func (l *loader) spend(entries int, o Origin) error {
	if l.spent += entries; l.spent > maxEntries {
		return &ReadError{Origin: o, Why: fmt.Sprintf("more than %d hosts, groups and variables", maxEntries)}
	}
	return nil
}

func (l *loader) warn(w Warning) { l.warnings = append(l.warnings, w) }

func (l *loader) fail(name, format string, args ...any) error {
	return &ReadError{Origin: Origin{File: l.opts.shown(name)}, Why: fmt.Sprintf(format, args...)}
}

// source reads a file or, entry by entry in byte order, a directory. It
// returns the folder beside which group_vars and host_vars stand.
func (l *loader) source(name string, depth int) (base string, err error) {
	info, err := fs.Stat(l.opts.FS, name)
	if err != nil {
		return "", l.readError(name, err)
	}
	if !info.IsDir() {
		if !info.Mode().IsRegular() && (depth > 0 || info.Mode()&fs.ModeNamedPipe == 0) {
			return "", l.fail(name, "neither a file nor a directory")
		}
		return path.Dir(name), l.file(name)
	}
	if depth > maxDirs {
		return "", l.fail(name, "directories nested deeper than %d; a symbolic link that leads back?", maxDirs)
	}
	list, err := fs.ReadDir(l.opts.FS, name)
	if err != nil {
		return "", l.readError(name, err)
	}
	for _, e := range list { // sorted by name
		if ignoredInDirectory(e.Name()) {
			continue
		}
		if _, err := l.source(path.Join(name, e.Name()), depth+1); err != nil {
			return "", err
		}
	}
	return name, nil
}

// ignoredInDirectory is Ansible's rule for the entries of an inventory
// directory: hidden ones, the folders of variables, and endings that are
// never inventories (.ini among them).
func ignoredInDirectory(name string) bool {
	if name[0] == '.' || name == "host_vars" || name == "group_vars" || name == "vars_plugins" {
		return true
	}
	for _, end := range []string{".pyc", ".pyo", ".swp", ".bak", "~", ".rpm", ".md", ".txt", ".rst", ".orig", ".ini", ".cfg", ".retry"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

func (l *loader) file(name string) error {
	if l.fileCount++; l.fileCount > maxFiles {
		return l.fail(name, "more than %d files", maxFiles)
	}
	b, err := l.read(name)
	if err != nil {
		return err
	}
	l.graph.source = name
	shown := l.opts.shown(name)
	switch ext := path.Ext(name); {
	case bytes.HasPrefix(b, []byte("#!")):
		return l.fail(name, "an inventory script, which is never run here; save the output of ansible-inventory --list as a .json file and name that")
	case ext == ".toml":
		return l.fail(name, "TOML inventories are not read; save the output of ansible-inventory --list as a .json file and name that")
	case ext != "" && ext != ".yml" && ext != ".yaml" && ext != ".json":
		return l.addINI(shown, b)
	default:
		return l.yamlOrINI(shown, b)
	}
}

// yamlOrINI reads a file that may be either: Ansible tries INI on what is no
// YAML mapping, whatever its name.
func (l *loader) yamlOrINI(shown string, b []byte) error {
	root, err := l.parse(shown, b)
	switch {
	case err == nil && root.typ == Map:
		if meta, ok := root.get("_meta"); ok && meta.typ == Map {
			return l.addList(root)
		}
		return l.addTree(root)
	case err != nil && !errors.Is(err, errSyntax):
		return err
	}
	iniErr := l.addINI(shown, b)
	if iniErr == nil || looksLikeINI(b) {
		return iniErr
	}
	if err == nil {
		err = l.addTree(root) // says what it is in place of a mapping
	}
	return err
}

// looksLikeINI decides which of two errors helps: the first line that is not
// blank or a comment is a section, or has nothing of YAML.
func looksLikeINI(b []byte) bool {
	for line := range bytes.Lines(b) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && line[0] != ';' {
			return iniSection.Match(line) || !bytes.ContainsAny(line, ":{}") && !bytes.HasPrefix(line, []byte("-"))
		}
	}
	return false
}

// read returns a file's content, bounded, and decrypted where it is a vault
// and the password is there.
func (l *loader) read(name string) ([]byte, error) {
	f, err := l.opts.FS.Open(name)
	if err != nil {
		return nil, l.readError(name, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, l.readError(name, err)
	}
	if len(b) > maxFile {
		return nil, l.fail(name, "larger than %d MiB", maxFile>>20)
	}
	if !bytes.HasPrefix(b, []byte(vault.Header)) {
		return b, nil
	}
	b, err = vault.Decrypt(b, l.opts.VaultPassword)
	if err != nil {
		return nil, &ReadError{Origin: Origin{File: l.opts.shown(name)}, Why: err.Error(), Err: err}
	}
	return b, nil
}

func (l *loader) readError(name string, err error) error {
	why := err
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		why = p.Err
	}
	return &ReadError{Origin: Origin{File: l.opts.shown(name)}, Why: why.Error(), Err: err}
}

// nearest lists up to three names that resemble the one asked for.
func (inv *Inventory) nearest(name string) []string {
	type candidate struct {
		name string
		far  int
	}
	var found []candidate
	limit := max(2, len(name)/3)
	for _, h := range inv.graph.hostOrder {
		if far := distance(name, h.name, limit); far <= limit {
			found = append(found, candidate{h.name, far})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.far, b.far) })
	var best []string
	for _, c := range found[:min(3, len(found))] {
		best = append(best, c.name)
	}
	return best
}

// distance counts the edits between two names, giving up above limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost = 1 + min(diagonal, row[j], row[j-1])
			}
			diagonal, row[j] = row[j], cost
		}
	}
	return row[len(b)]
}
