package contract

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Set is the contract with the files beside it.
type Set struct {
	*Contract
	Platform *Platform // namespaces-secrets.yaml; nil: there is none
	Storage  *Storage  // storage-classes.yaml; nil: there is none
}

// The names of the files of a contract. Each may hold ".example" before
// ".yaml", as versioned samples do.
const (
	endpointsFile = "endpoints"
	platformFile  = "namespaces-secrets"
	storageFile   = "storage-classes"
)

// Files gives the names in the folder dir that Load reads, those that exist:
// endpoints.yaml first. It fails where there is no contract, and where there
// are two, .yaml and .yml.
func Files(fsys fs.FS, dir string) ([]string, error) {
	if other := path.Join(dir, endpointsFile+".yml"); isThere(fsys, path.Join(dir, endpointsFile+".yaml")) && isThere(fsys, other) {
		return nil, &fs.PathError{Op: "open", Path: other, Err: errors.New("a second contract beside endpoints.yaml; keep one, or name it")}
	}
	for _, suffix := range []string{".yaml", ".yml", ".example.yaml"} {
		if name := path.Join(dir, endpointsFile+suffix); isThere(fsys, name) {
			return append([]string{name}, beside(fsys, dir, suffix)...), nil
		}
	}
	return nil, &fs.PathError{Op: "open", Path: path.Join(dir, endpointsFile+".yaml"), Err: fs.ErrNotExist}
}

func beside(fsys fs.FS, dir, suffix string) (names []string) {
	for _, base := range []string{platformFile, storageFile} {
		for _, s := range []string{suffix, ".yaml", ".yml", ".example.yaml"} {
			if name := path.Join(dir, base+s); isThere(fsys, name) {
				names = append(names, name)
				break
			}
		}
	}
	return names
}

func isThere(fsys fs.FS, name string) bool {
	_, err := fs.Stat(fsys, name)
	return err == nil
}

// Load reads the contract name, a file or the folder that holds it, and the
// files beside it. Positions say prefix joined with the file's name. The
// error is for files that cannot be opened; whatever is wrong in them is a
// finding, and Set.Contract is nil where the contract is not YAML.
func Load(fsys fs.FS, name, prefix string) (*Set, []Finding, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, nil, located(prefix, err)
	}
	var names []string
	if info.IsDir() {
		if names, err = Files(fsys, name); err != nil {
			return nil, nil, located(prefix, err)
		}
	} else {
		suffix := ".yaml"
		for _, s := range []string{".example.yaml", ".yml"} {
			if strings.HasSuffix(name, s) {
				suffix = s
			}
		}
		names = append([]string{name}, beside(fsys, path.Dir(name), suffix)...)
	}
	s := &Set{}
	var findings []Finding
	for i, file := range names {
		b, err := fs.ReadFile(fsys, file)
		if err != nil {
			return nil, nil, located(prefix, err)
		}
		var more []Finding
		switch shown := path.Join(prefix, file); {
		case i == 0:
			s.Contract, more = Parse(shown, b)
		case strings.HasPrefix(path.Base(file), platformFile):
			s.Platform, more = ParsePlatform(shown, b)
		default:
			s.Storage, more = ParseStorage(shown, b)
		}
		findings = append(findings, more...)
	}
	return s, findings, nil
}

// located says where the caller's files are, not what they are called here.
func located(prefix string, err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", path.Join(prefix, p.Path), p.Err)
	}
	return err
}
