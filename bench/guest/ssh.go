package guest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// SSHArgs are the arguments of an ssh to the guest as Spec.User, up to and
// with the host.
func (g *Guest) SSHArgs() []string { return g.sshArgs(g.Spec.User) }

func (g *Guest) sshArgs(user string) []string { return append(g.own(), user+"@127.0.0.1") }

func (g *Guest) own() []string {
	return append(plainSSH(g.IdentityPath, g.Port), "-o", "UserKnownHostsFile="+g.KnownHostsPath, "-o", "StrictHostKeyChecking=yes")
}

func plainSSH(identity string, port int) []string {
	return []string{"-F", "/dev/null", "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes", "-o", "ConnectTimeout=120",
		"-o", "ServerAliveInterval=30", "-o", "ServerAliveCountMax=20", "-o", "GlobalKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR",
		"-o", "KexAlgorithms=curve25519-sha256", "-i", identity, "-p", fmt.Sprint(port)}
}

// Exec runs a command as root, by plain ssh and without nestor, and returns
// its stdout: something to compare with. The error of a command that failed
// holds its stderr.
func (g *Guest) Exec(ctx context.Context, argv ...string) ([]byte, error) {
	words := make([]string, len(argv))
	for i, word := range argv {
		words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return sshRun(ctx, append(g.shared(), strings.Join(words, " ")), "")
}

// Run runs a POSIX shell script as root, under set -eu, and returns its
// stdout.
func (g *Guest) Run(ctx context.Context, script string) ([]byte, error) {
	return sshRun(ctx, append(g.shared(), "sh -eu"), script)
}

// shared are the arguments of an ssh as root that leaves its connection to the
// next one: a new one costs an emulated processor seconds. It ends with qemu.
func (g *Guest) shared() []string {
	return append([]string{"-o", "ControlMaster=auto", "-o", "ControlPersist=yes", "-o", "ControlPath=" + g.file("ssh")}, g.sshArgs("root")...)
}

// hangUp ends the shared connection.
func (g *Guest) hangUp(ctx context.Context) error {
	if _, err := os.Stat(g.file("ssh")); err != nil {
		return nil
	}
	_ = exec.CommandContext(ctx, "ssh", append([]string{"-O", "exit"}, g.shared()...)...).Run() // it may be gone by now
	return os.RemoveAll(g.file("ssh"))
}

func sshRun(ctx context.Context, args []string, stdin string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "ssh", args...)
	cmd.WaitDelay = time.Second
	cmd.Stdin = strings.NewReader(stdin)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return out.Bytes(), fmt.Errorf("in the guest: %w: %s", err, lastLines(complaint.String(), 5))
	}
	return out.Bytes(), nil
}

// answers waits until an attempt succeeds. A guest that boots leaves a
// connection hanging, so the first ones are short; on a busy machine a login
// alone may take a minute, so later ones are not.
func answers(ctx context.Context, dir string, attempt func(ctx context.Context, connect string) error) error {
	var last error
	patience := 10
	err := poll(ctx, func() (bool, error) {
		if !running(dir) {
			return false, errors.New("qemu ended")
		}
		last = attempt(ctx, fmt.Sprintf("ConnectTimeout=%d", patience))
		patience = min(patience*3/2, 120)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("the guest does not answer: %w", errors.Join(err, last))
	}
	return nil
}

// login is an attempt to run a script as root.
func login(ssh []string, script string) func(ctx context.Context, connect string) error {
	return func(ctx context.Context, connect string) error {
		_, err := sshRun(ctx, append(append([]string{"-o", connect}, ssh...), "root@127.0.0.1", "sh -eu"), script)
		return err
	}
}

// fresh are the arguments of an ssh to a guest that is nobody's yet.
func (i image) fresh(port int) []string {
	return append(plainSSH(i.file("id"), port), "-o", "UserKnownHostsFile=/dev/null", "-o", "StrictHostKeyChecking=no")
}

// personalise makes the guest one of its own: name, machine-id, keys, clock.
// The default key exchange costs an emulated processor seconds.
func (g *Guest) personalise(ctx context.Context, i image) error {
	var public, hostKey []byte
	var err error
	if public, err = os.ReadFile(g.file("id.pub")); err != nil {
		return err
	}
	if hostKey, err = os.ReadFile(g.file("hostkey")); err != nil {
		return err
	}
	script := fmt.Sprintf(`
date -u -s @%d >/dev/null
echo %[2]s >/etc/hostname
hostname %[2]s
printf '127.0.0.1 localhost\n127.0.1.1 %[2]s\n' >/etc/hosts
tr -d - </proc/sys/kernel/random/uuid >/etc/machine-id
rm -f /etc/ssh/ssh_host_*
umask 077
cat >/etc/ssh/ssh_host_ed25519_key <<'END'
%[3]sEND
echo KexAlgorithms curve25519-sha256 >/etc/ssh/sshd_config.d/guest.conf
ssh-keygen -y -f /etc/ssh/ssh_host_ed25519_key >/etc/ssh/ssh_host_ed25519_key.pub
systemctl reload ssh
cat >/home/debian/.ssh/authorized_keys <<'END'
%[4]sEND
cat /home/debian/.ssh/authorized_keys >/root/.ssh/authorized_keys
`, now(), g.Spec.Hostname, hostKey, public)
	// The second shows that the first has worked, also one that was cut
	// after it had changed the keys.
	both := func(ctx context.Context, connect string) error {
		first := login(i.fresh(g.Port), script)(ctx, connect)
		if err := login(g.own(), "true")(ctx, connect); err != nil {
			return errors.Join(first, err)
		}
		return nil
	}
	return answers(ctx, g.Dir, both)
}

func now() int64 { return time.Now().Unix() }
