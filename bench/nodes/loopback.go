package nodes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// privsepDir is where a root's sshd wants to give up its rights; without the
// folder it does not start. It is compiled in.
const privsepDir = "/run/sshd"

// UpLoopback starts count sshds of the current user on free ports of
// 127.0.0.1, named node1, node2 and so on, described in folder dir. They run
// until Down. The folder is treated as by Up. The inventory calls them prod:
// they are this very machine, and no bench to be wiped.
//
// Root's sshd needs the folder /run/sshd, which is made where it is missing
// and left there: another sshd may have come to use it.
func UpLoopback(ctx context.Context, dir string, count int) (*Bench, error) {
	if count < 1 || count > 200 {
		return nil, fmt.Errorf("%d loopback nodes: want 1 to 200", count)
	}
	me, err := user.Current()
	if err != nil {
		return nil, err
	}
	for _, program := range []string{"sshd", "ssh", "ssh-keygen", "ps"} {
		if _, err := need(program); err != nil {
			return nil, err
		}
	}
	spec := Spec{Kind: "prod"}
	for i := range count {
		spec.Nodes = append(spec.Nodes, Node{Name: fmt.Sprint("node", i+1), User: me.Username})
	}
	b, running, err := claim(ctx, dir, state{Spec: spec})
	if err != nil || running {
		return b, err
	}
	if err := b.startLoopback(ctx); err != nil {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		return nil, errors.Join(err, b.Down(clean))
	}
	return b, nil
}

func (b *Bench) startLoopback(ctx context.Context) error {
	if err := b.made("id", "id.pub", "stranger", "stranger.pub", "known_hosts", "inventory.yaml", "nodes"); err != nil {
		return err
	}
	if err := b.keys(ctx); err != nil {
		return err
	}
	if os.Geteuid() == 0 {
		if _, err := os.Stat("/run"); err == nil { // macOS has none, and no need
			if err := os.MkdirAll(privsepDir, 0o755); err != nil {
				return err
			}
		}
	}
	for i := range b.Nodes {
		if err := b.startSSHD(ctx, i); err != nil {
			return fmt.Errorf("node %s: %w", b.Nodes[i].Name, err)
		}
	}
	return b.writeClient()
}

// startSSHD starts the sshd of one loopback node. Between choosing a free
// port and listening on it, somebody else may take it: it is tried again.
func (b *Bench) startSSHD(ctx context.Context, i int) error {
	sshd, err := need("sshd") // sshd wants to be called by its full path
	if err != nil {
		return err
	}
	dir := b.nodeDir(b.Nodes[i].Name)
	for try := 1; ; try++ {
		port, err := freePort()
		if err != nil {
			return err
		}
		b.Nodes[i].Port = port
		config := append([]string{
			fmt.Sprint("Port ", port),
			"ListenAddress 127.0.0.1",
			"HostKey " + b.hostKeyPath(b.Nodes[i].Name),
			"PidFile none",
			"AuthorizedKeysFile " + b.IdentityPath + ".pub",
			"StrictModes no", // the folder may lie below a /tmp that anyone writes
			"PermitRootLogin prohibit-password",
		}, sshdCommon...)
		if err := os.WriteFile(filepath.Join(dir, "sshd_config"), []byte(strings.Join(config, "\n")+"\n"), 0o600); err != nil {
			return err
		}
		log, err := os.Create(filepath.Join(dir, "log"))
		if err != nil {
			return err
		}
		cmd := exec.Command(sshd, "-D", "-e", "-f", filepath.Join(dir, "sshd_config"))
		cmd.Stderr = log
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		err = cmd.Start()
		log.Close()
		if err != nil {
			return err
		}
		ended := make(chan struct{})
		go func() {
			cmd.Wait()
			close(ended)
		}()
		m := &b.state.Members[i]
		m.Addr = "127.0.0.1"
		if m.Init, err = identify(cmd.Process.Pid); err == nil {
			if err := b.save(); err != nil {
				return err
			}
			err = poll(ctx, func() (bool, error) {
				select {
				case <-ended:
					return false, errors.New("sshd ended early")
				default:
					// Asking the port could reach whoever took it first.
					return strings.Contains(b.Log(b.Nodes[i].Name), "Server listening on"), nil
				}
			})
		}
		if err == nil {
			return nil
		}
		if try == 5 || !strings.Contains(b.Log(b.Nodes[i].Name), "already in use") {
			return fmt.Errorf("%w: %s", err, strings.ReplaceAll(strings.TrimSpace(b.Log(b.Nodes[i].Name)), "\n", " | "))
		}
	}
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// Loopback starts loopback nodes for a test and takes them down when it ends.
// With a program missing, the test fails in CI and is skipped, loudly,
// elsewhere.
func Loopback(t testing.TB, count int) *Bench {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	return begin(t, func(dir string) (*Bench, error) { return UpLoopback(ctx, dir, count) })
}
