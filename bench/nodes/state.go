package nodes

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// stateFile tells, in the bench's folder, what was made.
const stateFile = "state.json"

// state is all that Down needs. It is written before what it names exists.
type state struct {
	Schema     string   `json:"schema"` // nestor.bench/v1
	Namespaced bool     `json:"namespaced"`
	Spec       Spec     `json:"spec"` // defaults filled in; on disk, digested
	Outer      process  `json:"outer"`
	Hub        process  `json:"hub"`
	Uplink     string   `json:"uplink"`
	Members    []member `json:"members"` // as Spec.Nodes
	Made       []string `json:"made"`    // in the bench's folder
	MadeDir    bool     `json:"made_dir"`
}

// member is what became of one node.
type member struct {
	Addr string  `json:"addr"`
	Init process `json:"init"` // its first process; of a loopback node, sshd
}

const stateSchema = "nestor.bench/v1"

// Open finds the bench that stands in a folder, running or not. Without one
// the error matches fs.ErrNotExist. The content of Node.Files is not kept:
// digests stand in its place.
func Open(dir string) (*Bench, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(filepath.Join(dir, stateFile))
	if err != nil {
		return nil, fmt.Errorf("no bench: %w", err)
	}
	var s state
	if err := json.Unmarshal(content, &s); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, stateFile), err)
	}
	if s.Schema != stateSchema || len(s.Members) != len(s.Spec.Nodes) {
		return nil, fmt.Errorf("%s: not a state of %s", filepath.Join(dir, stateFile), stateSchema)
	}
	return newBench(dir, s), nil
}

func newBench(dir string, s state) *Bench {
	return &Bench{
		Dir:            dir,
		InventoryPath:  filepath.Join(dir, "inventory.yaml"),
		KnownHostsPath: filepath.Join(dir, "known_hosts"),
		IdentityPath:   filepath.Join(dir, "id"),
		Nodes:          s.Spec.Nodes,
		state:          s,
	}
}

// Running says whether every node of the bench that should run does.
func (b *Bench) Running() bool {
	for _, m := range b.state.Members {
		if !m.Init.alive() {
			return false
		}
	}
	return !b.state.Namespaced || b.state.Hub.alive()
}

// claim makes the folder a bench's own: it must be absent, empty, or hold a
// bench. The same bench, running, is given back with running true; a dead one
// is cleaned away.
func claim(ctx context.Context, dir string, s state) (b *Bench, running bool, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, false, err
	}
	if strings.ContainsAny(dir, " \t\n\"'\\%$#{}") {
		return nil, false, fmt.Errorf("folder %q: ssh options cannot hold this path, choose a plain one", dir)
	}
	old, err := Open(dir)
	switch {
	case err == nil && old.Running() && old.state.sameAs(s):
		return old, true, nil
	case err == nil && old.Running():
		return nil, false, fmt.Errorf("folder %s holds another bench that runs: take it down first", dir)
	case err == nil:
		if err := old.Down(ctx); err != nil {
			return nil, false, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, false, err
	}
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.MadeDir = true
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, false, err
		}
	case err != nil:
		return nil, false, err
	case len(entries) > 0:
		return nil, false, fmt.Errorf("folder %s is not empty and holds no bench", dir)
	}
	s.Schema = stateSchema
	s.Members = make([]member, len(s.Spec.Nodes))
	b = newBench(dir, s)
	return b, false, b.save()
}

// sameAs says whether both describe one bench. The ports of loopback nodes
// are found, not asked for.
func (s state) sameAs(asked state) bool {
	s.Spec.Nodes = slices.Clone(s.Spec.Nodes)
	for i := range s.Spec.Nodes {
		if !s.Namespaced {
			s.Spec.Nodes[i].Port = 0
		}
	}
	return s.Namespaced == asked.Namespaced && reflect.DeepEqual(s.Spec.digested(), asked.Spec.digested())
}

// digested returns a copy with the digests of files in the place of their
// content, which may be large and need not be text.
func (s Spec) digested() Spec {
	s.Nodes = slices.Clone(s.Nodes)
	for i, n := range s.Nodes {
		if n.Files == nil {
			continue
		}
		s.Nodes[i].Files = map[string]string{}
		for file, content := range n.Files {
			if !strings.HasPrefix(content, "sha256:") {
				content = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(content)))
			}
			s.Nodes[i].Files[file] = content
		}
	}
	return s
}

// save writes the state; it replaces the file in one step.
func (b *Bench) save() error {
	s := b.state
	s.Spec = s.Spec.digested()
	content, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	file := filepath.Join(b.Dir, stateFile)
	if err := os.WriteFile(file+".new", append(content, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// made notes files and folders of the bench's folder before they are made.
func (b *Bench) made(names ...string) error {
	b.state.Made = append(b.state.Made, names...)
	return b.save()
}

// Down ends the nodes and removes what the bench made, whatever state it is
// in. It returns when the kernel has taken everything back. Where something
// foreign lies in the bench's folder, the folder stays.
func (b *Bench) Down(ctx context.Context) error {
	if b.leash != nil {
		b.leash.Close()
	}
	if b.state.Namespaced {
		// The hub is the first of its pid namespace: with it goes all.
		for _, p := range []process{b.state.Hub, b.state.Outer} {
			if err := p.kill(ctx); err != nil {
				return err
			}
		}
		if err := poll(ctx, b.uplinkGone); err != nil {
			return fmt.Errorf("network interface %s is still there: %w", b.state.Uplink, err)
		}
	} else {
		for _, m := range b.state.Members {
			if err := killTree(ctx, m.Init); err != nil {
				return err
			}
		}
	}
	for _, name := range b.state.Made {
		if name != filepath.Base(name) {
			return fmt.Errorf("%s names %q, which is no file of the bench", stateFile, name)
		}
		if err := os.RemoveAll(filepath.Join(b.Dir, name)); err != nil {
			return err
		}
	}
	if err := os.Remove(filepath.Join(b.Dir, stateFile)); err != nil {
		return err
	}
	if left, err := os.ReadDir(b.Dir); err != nil || len(left) > 0 || !b.state.MadeDir {
		return err
	}
	return os.Remove(b.Dir)
}

func (b *Bench) uplinkGone() (bool, error) {
	if b.state.Uplink == "" {
		return true, nil
	}
	interfaces, err := net.Interfaces()
	if err != nil {
		return false, err
	}
	for _, i := range interfaces {
		if i.Name == b.state.Uplink {
			return false, nil
		}
	}
	return true, nil
}

// Down takes down the bench that stands in a folder. Without one it does
// nothing.
func Down(ctx context.Context, dir string) error {
	b, err := Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return b.Down(ctx)
}

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
