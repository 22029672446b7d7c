package nodes

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// Up starts the namespaced nodes of spec, described in folder dir, and
// returns when all of them listen. They run until Down, or until the machine
// stops. When the folder holds this very bench, running, it is given back as
// it is; a dead one is replaced. The caller must be root on Linux
// (ErrNeedsRoot); a *MissingError says what else is missing.
func Up(ctx context.Context, dir string, spec Spec) (*Bench, error) {
	return up(ctx, dir, spec, false)
}

// up starts a bench; leashed, it ends with this process.
func up(ctx context.Context, dir string, spec Spec, leashed bool) (*Bench, error) {
	spec, err := spec.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := mayNamespace(); err != nil {
		return nil, err
	}
	if err := spec.needs(); err != nil {
		return nil, err
	}
	b, running, err := claim(ctx, dir, state{Namespaced: true, Spec: spec})
	if err != nil || running {
		return b, err
	}
	if err := b.start(ctx, leashed); err != nil {
		// The context may be what failed.
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		return nil, errors.Join(err, b.Down(clean))
	}
	return b, nil
}

// mayNamespace tells whether this process may make namespaces, links and
// devices: a root inside a container often may not.
func mayNamespace() error {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		return ErrNeedsRoot
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	_, after, _ := strings.Cut(string(status), "CapEff:")
	effective, _, _ := strings.Cut(after, "\n")
	capabilities, err := strconv.ParseUint(strings.TrimSpace(effective), 16, 64)
	if err != nil {
		return fmt.Errorf("/proc/self/status: CapEff: %w", err)
	}
	for name, bit := range map[string]int{"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21, "CAP_MKNOD": 27} { // capabilities(7)
		if capabilities>>bit&1 == 0 {
			return fmt.Errorf("%w, and this root lacks %s", ErrNeedsRoot, name)
		}
	}
	return nil
}

// needs looks for every program of the machine that the bench will run.
func (s Spec) needs() error {
	programs := []string{"ip", "unshare", "nsenter", "setpriv", "sshd", "ssh", "ssh-keygen"}
	for _, n := range s.Nodes {
		if n.Sudo != SudoNone {
			programs = append(programs, "sudo")
		}
		if n.Busybox {
			programs = append(programs, "busybox")
		}
		if _, err := shellPath(n.Shell); err != nil {
			return err
		}
	}
	for _, program := range programs {
		if _, err := need(program); err != nil {
			return err
		}
	}
	return nil
}

func (b *Bench) start(ctx context.Context, leashed bool) error {
	if err := b.made("id", "id.pub", "stranger", "stranger.pub", "known_hosts", "inventory.yaml",
		"nodes", "links", "hub.sh", "node.sh", "hub.log"); err != nil {
		return err
	}
	if err := b.keys(ctx); err != nil {
		return err
	}
	hub, err := b.startHub(leashed)
	if err != nil {
		return err
	}
	defer hub.stdout.Close()
	defer context.AfterFunc(ctx, func() { hub.stdout.SetReadDeadline(time.Now()) })()
	lines := bufio.NewScanner(hub.stdout)
	if err := b.expect(ctx, lines, "hub", func(f []string) (err error) {
		b.state.Hub, err = identifyWord(f[1])
		return err
	}); err != nil {
		return err
	}
	network, err := b.claimNetwork(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(b.writeLinks(network), b.writeTrees(), b.writeClient()); err != nil {
		return err
	}
	if _, err := hub.stdin.WriteString("go\n"); err != nil {
		return b.hubFailed(err)
	}
	if !leashed {
		hub.stdin.Close()
	}
	for range b.Nodes {
		if err := b.expect(ctx, lines, "node", func(f []string) (err error) {
			_, i := b.find(f[1])
			if i < 0 || len(f) != 3 {
				return fmt.Errorf("unexpected words %q", f)
			}
			b.state.Members[i].Init, err = identifyWord(f[2])
			return err
		}); err != nil {
			return err
		}
	}
	if err := b.save(); err != nil {
		return err
	}
	for _, n := range b.Nodes {
		if n.Fault == NoListener {
			continue
		}
		if err := b.wait(ctx, n.Name); err != nil {
			return err
		}
	}
	return nil
}

// keys makes the client's key, a stranger's, and each node's host key.
func (b *Bench) keys(ctx context.Context) error {
	files := []string{b.IdentityPath, b.strangerPath()}
	for _, n := range b.Nodes {
		if err := os.MkdirAll(b.nodeDir(n.Name), 0o700); err != nil {
			return err
		}
		files = append(files, b.hostKeyPath(n.Name))
	}
	var group errgroup.Group
	group.SetLimit(runtime.NumCPU())
	for _, file := range files {
		group.Go(func() error {
			_, err := run(ctx, "", "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "bench", "-f", file)
			return err
		})
	}
	return group.Wait()
}

// The files of a bench that are not in its exported fields.
func (b *Bench) strangerPath() string           { return filepath.Join(b.Dir, "stranger") }
func (b *Bench) nodeDir(name string) string     { return filepath.Join(b.Dir, "nodes", name) }
func (b *Bench) hostKeyPath(name string) string { return filepath.Join(b.nodeDir(name), hostKey) }

// writeTrees writes the files of every node.
func (b *Bench) writeTrees() error {
	for i, n := range b.Nodes {
		key := b.IdentityPath
		if n.Fault == RefusedKey {
			key = b.strangerPath()
		}
		authorized, err := os.ReadFile(key + ".pub")
		if err != nil {
			return err
		}
		hosts := fmt.Sprintf("127.0.0.1 localhost\n%s %s\n", b.state.Members[i].Addr, n.Name)
		if err := writeTree(b.nodeDir(n.Name), n, b.state.Spec.Fast, hosts, string(authorized)); err != nil {
			return fmt.Errorf("node %q: %w", n.Name, err)
		}
	}
	return nil
}
