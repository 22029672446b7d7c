package inventory

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/nestor-tools/nestor/nodeexec/inventory/internal/vault"
)

// Bounds on what is read: far above real inventories, far below what hurts.
const (
	maxFile    = 32 << 20  // bytes of one file
	maxYAML    = 4 << 20   // bytes of one file of YAML, which needs a hundred times as much memory
	maxFiles   = 10_000    // files of a directory
	maxDirs    = 16        // directories within directories
	maxEntries = 4_000_000 // hosts, groups and their variables, each time they are named
)

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
