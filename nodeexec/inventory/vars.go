package inventory

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/nodeexec/inventory/internal/vault"
)

// layer is variables of one strength: those that a host or group has inline,
// or those of one file beside the inventory.
type layer struct {
	vars   []assignment // of one name the last counts
	sealed string       // a vaulted file that stayed closed: it may hold anything
}

// layersOf lists what a host's variables come from, the strongest first:
// host_vars, inline host, group_vars, group_vars/all, inline groups, inline
// all. Among groups see groupsOf. This is Ansible's default
// VARIABLE_PRECEDENCE; whole values replace each other.
func (inv *Inventory) layersOf(h *host) ([]layer, error) {
	all := inv.graph.groups["all"]
	groups := h.groupsOf()
	layers := []layer{{vars: all.vars}}
	for _, g := range groups {
		layers = append(layers, layer{vars: g.vars})
	}
	for _, g := range append([]*group{all}, groups...) {
		beside, err := inv.beside("group_vars", g.name)
		if err != nil {
			return nil, err
		}
		layers = append(layers, beside...)
	}
	layers = append(layers, layer{vars: h.vars})
	beside, err := inv.beside("host_vars", h.name)
	if err != nil {
		return nil, err
	}
	layers = append(layers, beside...)
	slices.Reverse(layers)
	return layers, nil
}

// lookup finds a variable of a host as it is written, the value that counts
// first and those that it beat after it. None: the variable is not set.
func (inv *Inventory) lookup(h *host, name string) ([]Value, error) {
	layers, err := inv.layersOf(h)
	if err != nil {
		return nil, err
	}
	var found []Value
	for _, l := range layers {
		for _, a := range slices.Backward(l.vars) {
			if a.name == name {
				found = append(found, a.value)
			}
		}
		if l.sealed != "" && len(found) == 0 {
			return nil, &ValueError{Node: h.name, Variable: name, Origin: Origin{File: l.sealed},
				Why: "may be set in this vaulted file, which is closed; give the vault password file"}
		}
	}
	return found, nil
}

// Variable is a variable of a host as it is written, and what it beat.
type Variable struct {
	Name  string
	Value Value
	Beat  []Value // weaker values of the same name, the strongest first
}

// Vars lists all variables of a host, sorted by name, as they are written:
// templates unresolved, vaults closed, aliases not applied. This is what
// "ansible-inventory --host" shows.
func (inv *Inventory) Vars(node string) ([]Variable, error) {
	h, err := inv.host(node)
	if err != nil {
		return nil, err
	}
	layers, err := inv.layersOf(h)
	if err != nil {
		return nil, err
	}
	var vars []Variable
	index := map[string]int{}
	for _, l := range layers {
		if l.sealed != "" {
			return nil, &ReadError{Origin: Origin{File: l.sealed}, Why: "vaulted, and closed; give the vault password file"}
		}
		for _, a := range slices.Backward(l.vars) {
			if at, ok := index[a.name]; ok {
				vars[at].Beat = append(vars[at].Beat, a.value)
				continue
			}
			index[a.name] = len(vars)
			vars = append(vars, Variable{Name: a.name, Value: a.value})
		}
	}
	slices.SortFunc(vars, func(a, b Variable) int { return strings.Compare(a.Name, b.Name) })
	return vars, nil
}

// varsFiles is what stands beside the inventory: read when a host needs it,
// and then kept.
type varsFiles struct {
	base   string                     // the folder of group_vars and host_vars
	inside map[string]map[string]bool // what each of the two holds; nil: it does not exist
	layers map[string][]layer         // by "group_vars/name"
}

// beside reads the files of variables of one host or group.
func (inv *Inventory) beside(folder, name string) ([]layer, error) {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	v := &inv.files
	if v.inside == nil {
		v.inside, v.layers = map[string]map[string]bool{}, map[string][]layer{}
	}
	root := path.Join(v.base, folder)
	inside, listed := v.inside[folder]
	if !listed {
		var err error
		if inside, err = inv.list(root); err != nil {
			return nil, err
		}
		v.inside[folder] = inside
	}
	if inside == nil || strings.HasPrefix(name, "/") {
		return nil, nil
	}
	key := path.Join(folder, name)
	if layers, ok := v.layers[key]; ok {
		return layers, nil
	}
	layers, err := inv.readBeside(root, name, inside)
	if err == nil {
		v.layers[key] = layers
	}
	return layers, err
}

// list gives the entries of a folder, nil where there is none.
func (inv *Inventory) list(root string) (map[string]bool, error) {
	entries, err := fs.ReadDir(inv.opts.FS, root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, (&loader{opts: inv.opts}).readError(root, err)
	}
	inside := make(map[string]bool, len(entries))
	for _, e := range entries {
		inside[e.Name()] = true
	}
	return inside, nil
}

// readBeside reads what Ansible reads for a name: the first that exists of
// name, name.yml, name.yaml and name.json, the first of which may be a
// folder. The others are never read.
func (inv *Inventory) readBeside(root, name string, inside map[string]bool) ([]layer, error) {
	l := &loader{opts: inv.opts}
	first := strings.Split(name, "/")[0]
	var found []string
	for _, ext := range []string{"", ".yml", ".yaml", ".json"} {
		file := path.Join(root, name+ext)
		if first == name && !inside[name+ext] {
			continue
		}
		if !fs.ValidPath(file) || !strings.HasPrefix(file, root+"/") {
			return nil, l.fail(root, "the name %q leads out of this folder", name)
		}
		if _, err := fs.Stat(inv.opts.FS, file); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		found = append(found, file)
	}
	if len(found) == 0 {
		return nil, nil
	}
	for _, other := range found[1:] {
		inv.warnings = append(inv.warnings, Warning{Origin: Origin{File: inv.opts.shown(other)}, Code: WarnShadowed,
			Message: fmt.Sprintf("never read by Ansible, because %s exists", inv.opts.shown(found[0]))})
	}
	layers, err := l.varsFile(found[0], 0)
	inv.warnings = append(inv.warnings, l.warnings...)
	return layers, err
}

// varsFile reads a file of variables, or a folder of them in byte order.
func (l *loader) varsFile(name string, depth int) ([]layer, error) {
	info, err := fs.Stat(l.opts.FS, name)
	if err != nil {
		return nil, l.readError(name, err)
	}
	if !info.IsDir() {
		return l.varsLayer(name, info)
	}
	if depth > maxDirs {
		return nil, l.fail(name, "directories nested deeper than %d; a symbolic link that leads back?", maxDirs)
	}
	entries, err := fs.ReadDir(l.opts.FS, name)
	if err != nil {
		return nil, l.readError(name, err)
	}
	var layers []layer
	for _, e := range entries {
		if e.Name()[0] == '.' || strings.HasSuffix(e.Name(), "~") {
			continue
		}
		inner := path.Join(name, e.Name())
		info, err := fs.Stat(l.opts.FS, inner)
		if err != nil {
			return nil, l.readError(inner, err)
		}
		switch ext := path.Ext(e.Name()); {
		case info.IsDir() && ext != "", !info.IsDir() && ext != "" && ext != ".yml" && ext != ".yaml" && ext != ".json":
			continue
		}
		more, err := l.varsFile(inner, depth+1)
		if err != nil {
			return nil, err
		}
		layers = append(layers, more...)
	}
	return layers, nil
}

func (l *loader) varsLayer(name string, info fs.FileInfo) ([]layer, error) {
	if !info.Mode().IsRegular() {
		return nil, l.fail(name, "neither a file nor a directory")
	}
	if l.fileCount++; l.fileCount > maxFiles {
		return nil, l.fail(name, "more than %d files", maxFiles)
	}
	shown := l.opts.shown(name)
	b, err := l.read(name)
	if errors.Is(err, vault.ErrClosed) {
		return []layer{{sealed: shown}}, nil
	}
	if err != nil {
		return nil, err
	}
	root, err := l.parse(shown, b)
	if err != nil || root.falsy() {
		return nil, err
	}
	if root.typ != Map {
		return nil, &ReadError{Origin: root.origin, Why: fmt.Sprintf("a file of variables is a mapping; this is %s", root.typ)}
	}
	vars := make([]assignment, 0, len(root.entries()))
	for _, e := range root.entries() {
		vars = append(vars, assignment{e.key.text, e.value})
	}
	return []layer{{vars: vars}}, nil
}
