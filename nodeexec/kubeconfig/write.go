package kubeconfig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"

	"github.com/nestor-tools/nestor/nodeexec/kubeconfig/internal/merge"
)

// Why a file is not written.
var (
	// ErrHeld: a name is taken by another cluster, or the file is no
	// kubeconfig.
	ErrHeld = errors.New("refused")
	// ErrBusy: another program is writing the file.
	ErrBusy = errors.New("another program is writing it")
)

// maxFile bounds a user's own kubeconfig.
const maxFile = 16 << 20

// BackupSuffix ends the name of the copy of what was replaced.
const BackupSuffix = ".nestor-backup"

// WriteOptions say how a kubeconfig gets into a file.
type WriteOptions struct {
	// Merge puts the entries into the file that is there, and changes
	// nothing else of it. Otherwise the file is replaced as a whole.
	Merge bool
	// Current makes the context the current one when merging. Without it
	// that is done only where the file has none.
	Current bool
	// Replace takes over a name that another cluster has, and a file that is
	// no kubeconfig.
	Replace bool

	step func(name string) // tests stop here
}

// Written is what became of a file.
type Written struct {
	Path    string // the file itself, links followed
	Changed bool
	Backup  string // the copy of what was there, "" without one
	Diff    string // what changed, secrets masked; "" for nothing
	Remarks []string
}

// Write puts the access into a file, as a transaction: under a lock, with a
// copy of what was there beside it, written to the disk before it takes the
// file's name, and readable by its owner alone. Whatever happens on the way,
// kill -9 and a full disk included, the file is whole: the old one or the new
// one. A link is followed; the file that it names is replaced.
//
// Beside the file only FILE.nestor-backup stays; .FILE.nestor-lock goes at the
// end. kubectl's own lock, FILE.lock, is waited for. A file that changed
// meanwhile is not replaced (ErrBusy).
func (c *Config) Write(ctx context.Context, file string, o WriteOptions) (Written, error) {
	if o.step == nil {
		o.step = func(string) {}
	}
	path, err := follow(file)
	if err != nil {
		return Written{}, err
	}
	unlock, err := lock(ctx, path)
	if err != nil {
		return Written{}, fmt.Errorf("%s: %w", file, err)
	}
	defer unlock()
	o.step("locked")
	w, err := c.write(ctx, path, o)
	if err != nil {
		return Written{}, fmt.Errorf("%s: %w", file, err)
	}
	return w, nil
}

// Check is what Write would do; it touches nothing.
func (c *Config) Check(file string, o WriteOptions) (Written, error) {
	path, err := follow(file)
	if err != nil {
		return Written{}, err
	}
	w, _, err := c.plan(path, o)
	if err != nil {
		return Written{}, fmt.Errorf("%s: %w", file, err)
	}
	return w, nil
}

// before is a file as it was.
type before struct {
	text []byte
	info os.FileInfo // nil: there was none
	now  []byte      // what it is to be
}

// plan reads the file and says what it is to be.
func (c *Config) plan(path string, o WriteOptions) (Written, before, error) {
	old, err := read(path)
	if err != nil {
		return Written{}, before{}, err
	}
	w := Written{Path: path}
	if old.now, w.Remarks, err = c.edit(path, old.text, o); err != nil {
		return Written{}, before{}, err
	}
	if !bytes.Equal(old.text, old.now) {
		w.Changed = true
		w.Diff = difference(old.text, old.now)
	}
	if old.info != nil && old.info.Mode().Perm() != 0o600 {
		w.Changed = true
		w.Remarks = append(w.Remarks, fmt.Sprintf("its mode changes from %#o to 0600", old.info.Mode().Perm()))
		w.Diff += fmt.Sprintf("mode %#o -> 0600\n", old.info.Mode().Perm())
	}
	return w, old, nil
}

func (c *Config) write(ctx context.Context, path string, o WriteOptions) (Written, error) {
	w, old, err := c.plan(path, o)
	if err != nil || !w.Changed {
		return w, err
	}
	sweep(path)
	if len(old.text) > 0 && !bytes.Equal(old.text, old.now) {
		w.Backup = path + BackupSuffix
		if err := replace(w.Backup, old.text, old.info, func(at string) error { o.step("backup " + at); return ctx.Err() }); err != nil {
			return Written{}, fmt.Errorf("its copy: %w", err)
		}
	}
	err = replace(path, old.now, old.info, func(at string) error {
		o.step(at)
		if at != "synced" {
			return ctx.Err()
		}
		if now, err := read(path); err != nil || !bytes.Equal(now.text, old.text) {
			return fmt.Errorf("%w: it changed meanwhile; run this again", ErrBusy)
		}
		return ctx.Err()
	})
	return w, err
}

// replace gives a file new content at once, or none. between is called
// with the state of the new content before each step, and ends it.
func replace(path string, content []byte, like os.FileInfo, between func(at string) error) error {
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithStaticPermissions(0o600))
	if err != nil {
		return plain(err)
	}
	defer f.Cleanup() //nolint:errcheck // nothing to do about it
	half := len(content) / 2
	for _, step := range []struct {
		before string
		do     func() error
	}{
		{"made", func() error { return keepOwner(f, like) }},
		{"owned", func() error { _, err := f.Write(content[:half]); return err }},
		{"half", func() error { _, err := f.Write(content[half:]); return err }},
		{"written", f.Sync},
		{"synced", f.CloseAtomicallyReplace},
		{"renamed", func() error { return syncDir(filepath.Dir(path)) }},
	} {
		if err := between(step.before); err != nil && step.before != "renamed" {
			return err
		}
		if err := step.do(); err != nil {
			return plain(err)
		}
	}
	return nil
}

// keepOwner gives the file to the owner of the one that it replaces, as when
// root runs this for a user.
func keepOwner(f *renameio.PendingFile, like os.FileInfo) error {
	if like == nil {
		return nil
	}
	was, ok := like.Sys().(*syscall.Stat_t)
	if !ok || int(was.Uid) == os.Geteuid() {
		return nil
	}
	return f.Chown(int(was.Uid), int(was.Gid))
}

// syncDir makes the new name last. Some file systems cannot, and the file is
// whole all the same.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	_ = d.Sync()
	return d.Close()
}

// plain leaves out the name of the temporary file, which tells nobody anything.
func plain(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}

// read reads a file that may be missing.
func read(path string) (before, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not hold this up
	if errors.Is(err, fs.ErrNotExist) {
		return before{}, nil
	}
	if err != nil {
		return before{}, plain(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return before{}, plain(err)
	}
	if !info.Mode().IsRegular() {
		return before{}, errors.New("is no plain file, and is not replaced")
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return before{}, plain(err)
	}
	if len(text) > maxFile {
		return before{}, fmt.Errorf("is larger than %d bytes", maxFile)
	}
	return before{text: text, info: info}, nil
}

// follow gives the file that a path names in the end.
func follow(file string) (string, error) {
	path, err := filepath.EvalSymlinks(file)
	if err == nil {
		return filepath.Abs(path)
	}
	if _, statErr := os.Lstat(file); statErr == nil {
		return "", fmt.Errorf("%s: is a link to what is not there: %w", file, plain(err))
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(file))
	if err != nil {
		return "", fmt.Errorf("%s: its folder: %w", file, plain(err))
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", err
	}
	if base := filepath.Base(file); base == "." || base == ".." || strings.HasSuffix(file, string(filepath.Separator)) {
		return "", fmt.Errorf("%s: is no file name", file)
	}
	return filepath.Join(dir, filepath.Base(file)), nil
}

// lock keeps other runs of nestor off the file, and waits for kubectl, which
// makes FILE.lock while it writes. Our own lock has another name: one that a
// kill left behind must not lock kubectl out.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	name := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".nestor-lock")
	for {
		l := flock.New(name, flock.SetPermissions(0o600), flock.SetFlag(os.O_CREATE|os.O_RDONLY|syscall.O_NOFOLLOW))
		if _, err := l.TryLockContext(ctx, 50*time.Millisecond); err != nil {
			return nil, fmt.Errorf("lock: %w", plain(err))
		}
		mine, err := l.Stat()
		if now, statErr := os.Lstat(name); err == nil && statErr == nil && os.SameFile(mine, now) {
			unlock = func() { // the name goes first: nobody may get a lock on what is no longer there
				_ = os.Remove(name)
				_ = l.Unlock()
			}
			break
		}
		_ = l.Unlock() // its last holder took the name away
	}
	deadline := time.Now().Add(5 * time.Second)
	for {
		if _, err := os.Lstat(path + ".lock"); errors.Is(err, fs.ErrNotExist) {
			return unlock, nil
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			unlock()
			return nil, fmt.Errorf("%w: %s.lock is there, kubectl's lock; remove it if no kubectl runs", ErrBusy, path)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// sweep removes what a run that was killed left behind: files of the name
// that renameio gives, ours alone since the lock is held, and not of today's
// other programs.
func sweep(path string) {
	for _, name := range []string{path, path + BackupSuffix} {
		prefix := filepath.Join(filepath.Dir(name), "."+filepath.Base(name))
		left, _ := filepath.Glob(globQuote.Replace(prefix) + "[0-9]*")
		for _, file := range left {
			info, err := os.Lstat(file)
			digits := strings.Trim(strings.TrimPrefix(file, prefix), "0123456789") == "" && len(file)-len(prefix) >= 8
			if err == nil && digits && info.Mode() == 0o600 && time.Since(info.ModTime()) > 10*time.Minute {
				_ = os.Remove(file)
			}
		}
	}
}

var globQuote = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// edit makes the new text of a file.
func (c *Config) edit(path string, old []byte, o WriteOptions) (text []byte, remarks []string, err error) {
	fresh, err := c.YAML()
	if err != nil {
		return nil, nil, errors.New("it cannot be written as YAML")
	}
	h, err := hold(old, c)
	switch {
	case errors.Is(err, errEmpty) && o.Merge:
		return append(comments(old), fresh...), nil, nil
	case errors.Is(err, errEmpty):
		return fresh, nil, nil
	case !o.Merge:
		if err != nil && !o.Replace {
			return nil, nil, fmt.Errorf("%w: what is there is no kubeconfig: %w; --replace takes its place", ErrHeld, err)
		}
		if others := len(h.contexts); err == nil && others > 1 {
			remarks = append(remarks, fmt.Sprintf("it held %d contexts; --merge would have kept them", others))
		}
		return fresh, remarks, nil
	case err != nil:
		return nil, nil, err
	}
	if err := c.mayTake(path, h, o.Replace); err != nil {
		return nil, nil, err
	}
	current := ""
	if o.Current || h.current == "" {
		current = c.context
		if h.current != "" && h.current != current {
			remarks = append(remarks, fmt.Sprintf("the current context changes from %s to %s", h.current, current))
		}
	}
	var entries []merge.Entry
	for _, l := range lists {
		e := c.entry(l.list, l.of)
		e.Drop = rivals[l.of]
		entries = append(entries, e)
	}
	text, anew, err := merge.Apply(old, entries, current)
	if err != nil {
		return nil, nil, err
	}
	if anew {
		remarks = append(remarks, "its layout does not allow an edit in place: it is written anew, with its comments and order")
	}
	return text, remarks, nil
}

// comments is the text where it holds nothing but comments.
func comments(text []byte) []byte {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return nil
		}
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	return slices.Clone(text)
}

// rivals are the other ways in which an entry could say what c's fields say.
var rivals = map[string][]string{
	"cluster": {"certificate-authority", "insecure-skip-tls-verify"},
	"user":    {"client-certificate", "client-key", "tokenFile", "exec", "auth-provider", "username", "password"},
}
