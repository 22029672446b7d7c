package manifest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nestor-tools/nestor/contract/kube"
)

// MaxFileBytes is the longest file that is read.
const MaxFileBytes = 128 << 20

// Options of Read. The zero value reads every manifest of the tree.
type Options struct {
	Prefix   string                // put in front of every file's name in a Position: where the tree's root is
	Skip     []string              // files and folders of the tree to leave out, such as the contract's own
	Jobs     int                   // files read at once; 0: one for each processor
	Progress func(done, total int) // called after each file, one call at a time
}

// Read reads every manifest of the tree. What cannot be read or judged is in
// Tree.Problems; the error is for a tree that cannot be walked at all, and
// for a cancelled context.
func Read(ctx context.Context, tree fs.FS, o Options) (*Tree, error) {
	names, found, err := list(tree, o)
	if err != nil {
		return nil, err
	}
	charts := found.Charts
	jobs := o.Jobs
	if jobs <= 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	parts := make([]*Tree, len(names))
	var next, done atomic.Int64
	var progress sync.Mutex
	var group sync.WaitGroup
	for range min(jobs, len(names)) {
		group.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(names) && ctx.Err() == nil; i = next.Add(1) - 1 {
				parts[i] = readFile(tree, names[i], o.Prefix)
				if n := done.Add(1); o.Progress != nil {
					progress.Lock()
					o.Progress(int(n), len(names))
					progress.Unlock()
				}
			}
		})
	}
	group.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	all := found // what the names alone told comes first
	for _, part := range parts {
		all.merge(part)
	}
	all.Elsewhere = slices.DeleteFunc(all.Elsewhere, func(e Elsewhere) bool {
		// the chart is reported as a whole
		return e.By == ByValues && slices.ContainsFunc(charts, func(c kube.Object) bool { return strings.HasPrefix(e.At.File, path.Dir(c.At.File)+"/") })
	})
	all.applyKustomize()
	all.reportPortless()
	return all, nil
}

// ReadBytes reads one stream of manifests; name is what its positions say.
func ReadBytes(name string, b []byte) *Tree {
	r := reader{file: name, tree: &Tree{Files: []string{name}}}
	r.stream(b)
	r.tree.applyKustomize()
	r.tree.reportPortless()
	return r.tree
}

// list gives the files to read, and a tree that holds what the names alone
// tell: charts, of which the templates are not manifests, and links that lead
// out of the tree.
func list(tree fs.FS, o Options) (names []string, found *Tree, err error) {
	found = &Tree{}
	err = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil && name == "." {
			return err
		}
		if err != nil {
			found.Problems = append(found.Problems, Problem{Kind: Unread, At: kube.Position{File: path.Join(o.Prefix, name)}, Message: err.Error()})
			return fs.SkipDir
		}
		skip := name != "." && slices.Contains(o.Skip, name)
		base := path.Base(name)
		switch {
		case d.IsDir() && (skip || (name != "." && isOutOfScope(tree, name, base))):
			return fs.SkipDir
		case d.IsDir() || skip:
		case base == "Chart.yaml":
			found.Charts = append(found.Charts, kube.Object{Kind: "Chart", Name: path.Base(path.Dir(name)), At: kube.Position{File: path.Join(o.Prefix, name), Line: 1, Column: 1}})
		case d.Type()&fs.ModeSymlink != 0:
			read, why := link(tree, name)
			if why != "" {
				found.Problems = append(found.Problems, Problem{Kind: Unread, At: kube.Position{File: path.Join(o.Prefix, name)}, Message: why})
			}
			if read {
				names = append(names, name)
			}
		case !isManifestName(name):
		case d.Type().IsRegular():
			names = append(names, name)
		default: // a pipe would never end
			found.Problems = append(found.Problems, Problem{Kind: Unread, At: kube.Position{File: path.Join(o.Prefix, name)}, Message: "not a file but a pipe, a socket or a device"})
		}
		return nil
	})
	return names, found, err
}

// isOutOfScope tells the folders that are not entered.
func isOutOfScope(tree fs.FS, name, base string) bool {
	if strings.HasPrefix(base, ".") || base == "node_modules" {
		return true
	}
	if base != "templates" {
		return false
	}
	_, err := fs.Stat(tree, path.Join(path.Dir(name), "Chart.yaml"))
	return err == nil
}

// link tells whether a link is read under its own name, and why it is not
// where it should be. What it leads to is mostly read there already.
func link(tree fs.FS, name string) (read bool, why string) {
	info, err := fs.Stat(tree, name)
	switch {
	case err != nil && isManifestName(name) && !strings.HasPrefix(path.Base(name), ".#"): // a lock of Emacs
		return false, "a link that leads nowhere"
	case err != nil || !(info.IsDir() || isManifestName(name)):
		return false, "" // of no interest
	}
	target, err := fs.ReadLink(tree, name)
	if err != nil {
		return false, "a link that cannot be read"
	}
	at := path.Join(path.Dir(name), target)
	switch {
	case path.IsAbs(target) || !fs.ValidPath(at):
		return false, "a link to " + target + ", out of the tree, is not followed"
	case !info.IsDir():
		return info.Mode().IsRegular() && (!isManifestName(at) || hidden(tree, path.Dir(at))), ""
	case hidden(tree, at):
		return false, "a link to " + target + ", which is left out, is not followed"
	}
	return false, ""
}

// hidden tells whether a folder, or one above it, is not entered.
func hidden(tree fs.FS, dir string) bool {
	for ; dir != "."; dir = path.Dir(dir) {
		if isOutOfScope(tree, dir, path.Base(dir)) {
			return true
		}
	}
	return false
}

// templateSuffix is the extension that names a file as a template, or "".
func templateSuffix(name string) string {
	switch ext := path.Ext(name); ext {
	case ".tmpl", ".gotmpl", ".tpl", ".j2":
		return ext
	}
	return ""
}

// isManifestName tells whether a file may hold manifests: YAML, JSON, or a
// template of them.
func isManifestName(name string) bool {
	base := strings.TrimSuffix(path.Base(name), templateSuffix(name))
	switch path.Ext(base) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return base == "Kustomization"
}

func readFile(tree fs.FS, name, prefix string) *Tree {
	r := reader{file: path.Join(prefix, name), tree: &Tree{}}
	r.tree.Files = []string{r.file}
	b, err := readAll(tree, name)
	if err != nil {
		r.problem(Unread, kube.Position{File: r.file}, "%v", err)
		return r.tree
	}
	// most JSON is not a manifest, and costs as much to read
	if path.Ext(name) == ".json" && !bytes.Contains(b, []byte(`"apiVersion"`)) {
		return r.tree
	}
	r.stream(b)
	return r.tree
}

func readAll(tree fs.FS, name string) ([]byte, error) {
	f, err := tree.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > MaxFileBytes {
		return nil, fmt.Errorf("%s: %d bytes, more than %d", name, info.Size(), MaxFileBytes)
	}
	// one byte more than announced, so that ReadFull tells a file that grew
	b := make([]byte, info.Size()+1)
	n, err := io.ReadFull(f, b)
	if err == nil {
		return nil, fmt.Errorf("%s: grew while it was read", name)
	}
	if err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, err
	}
	return b[:n], nil
}
