package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
)

// Guest is a running guest. Its methods are not safe for concurrent use,
// except Exec and Run.
type Guest struct {
	Spec Spec // as asked for, defaults filled in

	Dir            string // everything of the guest's is in here
	InventoryPath  string
	IdentityPath   string // the client's key, made for this guest
	KnownHostsPath string
	Port           int // sshd's, on 127.0.0.1

	state   state
	leashed bool
}

const (
	stateFile   = "state.json"
	stateSchema = "nestor.guest/v1"
)

// state is what another process needs to use or end the guest.
type state struct {
	Schema   string         `json:"schema"`
	Spec     Spec           `json:"spec"`
	Forward  map[int]int    `json:"forward"`  // the guest's ports: ours
	Attached map[string]int `json:"attached"` // disk: its slot or SCSI id
	Disks    []Disk         `json:"disks"`    // as they are now
}

// Up starts a guest in a folder that is absent or empty, or gives back the
// one of the same description that runs there. It stays until Down.
func Up(ctx context.Context, dir string, spec Spec) (*Guest, error) { return up(ctx, dir, spec, false) }

func up(ctx context.Context, dir string, spec Spec, leashed bool) (*Guest, error) {
	spec, err := spec.withDefaults()
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	old, err := Open(dir)
	switch {
	case err == nil && old.Running() && reflect.DeepEqual(old.state.Spec, spec):
		return old, nil
	case err == nil && old.Running():
		return nil, fmt.Errorf("folder %s holds another guest that runs: take it down first", dir)
	case err == nil:
		if err := old.Down(ctx); err != nil {
			return nil, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("folder %s is not empty and holds no guest", dir)
	}
	if strings.ContainsAny(dir, " \t\n\"'\\%$#{},") || len(dir) > 70 {
		return nil, fmt.Errorf("folder %q: sockets and ssh options cannot hold this path, choose a plain, shorter one", dir)
	}
	i, err := builtImage(ctx)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	s := state{Schema: stateSchema, Spec: spec, Forward: map[int]int{}}
	for _, port := range append([]int{22}, spec.Forward...) {
		if s.Forward[port], err = freePort(); err != nil {
			return nil, err
		}
	}
	g := newGuest(dir, s)
	g.leashed = leashed
	if err := errors.Join(g.save(), g.makeKeys(ctx), g.writeInventory()); err != nil {
		return nil, errors.Join(err, g.Down(ctx))
	}
	if err := g.begin(ctx, i); err != nil {
		return nil, errors.Join(err, g.Down(context.WithoutCancel(ctx)))
	}
	return g, nil
}

// Open finds the guest of a folder, running or not. Without one the error
// matches fs.ErrNotExist.
func Open(dir string) (*Guest, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, stateFile)
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("no guest: %w", err)
	}
	var s state
	if err := json.Unmarshal(content, &s); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if s.Schema != stateSchema {
		return nil, fmt.Errorf("%s: not a state of %s", file, stateSchema)
	}
	return newGuest(dir, s), nil
}

func newGuest(dir string, s state) *Guest {
	return &Guest{
		Spec:           s.Spec,
		Dir:            dir,
		InventoryPath:  filepath.Join(dir, "inventory.yaml"),
		IdentityPath:   filepath.Join(dir, "id"),
		KnownHostsPath: filepath.Join(dir, "known_hosts"),
		Port:           s.Forward[22],
		state:          s,
	}
}

func (g *Guest) save() error {
	content, err := json.MarshalIndent(g.state, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(g.Dir, stateFile), append(content, '\n'), 0o600)
}

// begin starts qemu with nothing written yet, makes the guest its own, and
// plugs in the disks of the description.
func (g *Guest) begin(ctx context.Context, i image) error {
	m := machine{image: i, dir: g.Dir, memoryMiB: g.Spec.MemoryMiB, forward: g.state.Forward, leashed: g.leashed}
	base, format := i.file("system.raw"), "raw"
	if !g.Spec.Cold {
		b, err := i.booted(ctx, g.Spec.MemoryMiB)
		if err != nil {
			return err
		}
		base, format = b.system, "qcow2"
		if m.saved, err = os.Open(b.memory); err != nil {
			return err
		}
		defer m.saved.Close()
	}
	if err := overlay(ctx, g.Dir, base, format); err != nil {
		return err
	}
	if err := m.start(ctx); err != nil {
		return err
	}
	if err := goOn(ctx, g.Dir); err != nil {
		return err
	}
	if err := g.personalise(ctx, i); err != nil {
		return err
	}
	g.state.Attached, g.state.Disks = map[string]int{}, nil
	return g.Attach(ctx, g.Spec.Disks...)
}

// Running says whether the guest's qemu does.
func (g *Guest) Running() bool { return running(g.Dir) }

// Reset gives the guest back as Start did: its system, its memory and the
// disks of Spec, all as new. It has other ssh keys and another machine-id.
// What Attach and Detach did is undone.
func (g *Guest) Reset(ctx context.Context) error {
	i, err := builtImage(ctx)
	if err != nil {
		return err
	}
	if err := g.Kill(ctx); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(g.file("disks")), os.Remove(g.file("system.qcow2")), g.makeKeys(ctx)); err != nil {
		return err
	}
	return g.begin(ctx, i)
}

// Kill ends the guest as a power cut does; what it wrote stays in Dir. Only
// Reset brings it back.
func (g *Guest) Kill(ctx context.Context) error {
	return errors.Join(g.hangUp(ctx), end(ctx, g.Dir))
}

// Down ends the guest, whatever state it is in, and removes its files. Where
// something foreign lies in the folder, the folder stays.
func (g *Guest) Down(ctx context.Context) error {
	if err := g.Kill(ctx); err != nil {
		return err
	}
	for _, name := range []string{"disks", "system.qcow2", "qmp", "console", "qemu.log", "id", "id.pub", "hostkey", "hostkey.pub",
		"known_hosts", "inventory.yaml", stateFile} {
		if err := os.RemoveAll(g.file(name)); err != nil {
			return err
		}
	}
	if left, err := os.ReadDir(g.Dir); err != nil || len(left) > 0 {
		return err
	}
	return os.Remove(g.Dir)
}

// Down takes down the guest of a folder. Without one it does nothing.
func Down(ctx context.Context, dir string) error {
	g, err := Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return g.Down(ctx)
}

// QMP asks qemu itself, for what the methods do not do: "stop" and "cont"
// freeze and thaw the guest, "set_link" with name net0 cuts its cable.
func (g *Guest) QMP(ctx context.Context, command string, args map[string]any) (json.RawMessage, error) {
	return qmp(ctx, g.file("qmp"), command, args)
}

// Forwarded is the address on this machine of a port of Spec.Forward.
func (g *Guest) Forwarded(port int) string { return fmt.Sprintf("127.0.0.1:%d", g.state.Forward[port]) }

// Console is what the guest's kernel printed since the start.
func (g *Guest) Console() string {
	content, _ := os.ReadFile(g.file("console"))
	return string(content)
}

func (g *Guest) file(name string) string { return filepath.Join(g.Dir, name) }

func (g *Guest) makeKeys(ctx context.Context) error {
	for _, name := range []string{"id", "hostkey"} {
		if err := errors.Join(os.RemoveAll(g.file(name)), os.RemoveAll(g.file(name+".pub"))); err != nil {
			return err
		}
		out, err := exec.CommandContext(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", g.Spec.Name, "-f", g.file(name)).CombinedOutput()
		if err != nil {
			return fmt.Errorf("ssh-keygen: %w: %s", err, out)
		}
	}
	public, err := os.ReadFile(g.file("hostkey.pub"))
	if err != nil {
		return err
	}
	return os.WriteFile(g.KnownHostsPath, fmt.Appendf(nil, "[127.0.0.1]:%d %s", g.Port, public), 0o600)
}

func (g *Guest) writeInventory() error {
	return os.WriteFile(g.InventoryPath, fmt.Appendf(nil, `all:
  vars:
    target_kind: %s
    transport: ssh
    local_bench: true
  children:
    cloud:
      hosts:
        %s:
          ansible_host: 127.0.0.1
          ansible_port: %d
          ansible_user: %s
          ansible_ssh_private_key_file: %s
          ansible_ssh_common_args: -o IdentitiesOnly=yes -o UserKnownHostsFile=%s -o GlobalKnownHostsFile=/dev/null
`, g.Spec.Kind, g.Spec.Name, g.Port, g.Spec.User, g.IdentityPath, g.KnownHostsPath), 0o600)
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
