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

func (g *Guest) sshArgs(user string) []string {
	return append(plainSSH(g.IdentityPath, g.Port),
		"-o", "UserKnownHostsFile="+g.KnownHostsPath, "-o", "StrictHostKeyChecking=yes", user+"@127.0.0.1")
}

func plainSSH(identity string, port int) []string {
	return []string{"-F", "/dev/null", "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes", "-o", "ConnectTimeout=20",
		"-o", "ServerAliveInterval=15", "-o", "GlobalKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR",
		"-i", identity, "-p", fmt.Sprint(port)}
}

// Exec runs a command as root, by plain ssh and without nestor, and returns
// its stdout: something to compare with. The error of a command that failed
// holds its stderr.
func (g *Guest) Exec(ctx context.Context, argv ...string) ([]byte, error) {
	words := make([]string, len(argv))
	for i, word := range argv {
		words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return sshRun(ctx, append(g.sshArgs("root"), strings.Join(words, " ")), "")
}

// Run runs a POSIX shell script as root, under set -eu, and returns its
// stdout.
func (g *Guest) Run(ctx context.Context, script string) ([]byte, error) {
	return sshRun(ctx, append(g.sshArgs("root"), "sh -eu"), script)
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

// answers waits until a script runs in the guest.
func answers(ctx context.Context, dir string, args []string, script string) error {
	var last error
	err := poll(ctx, func() (bool, error) {
		if !running(dir) {
			return false, errors.New("qemu ended")
		}
		attempt, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		_, last = sshRun(attempt, args, script)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("the guest does not answer: %w", errors.Join(err, last))
	}
	return nil
}

// personalise makes the guest one of its own: name, machine-id, keys, clock.
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
ssh-keygen -y -f /etc/ssh/ssh_host_ed25519_key >/etc/ssh/ssh_host_ed25519_key.pub
systemctl reload ssh
cat >/root/.ssh/authorized_keys <<'END'
%[4]sEND
cat /root/.ssh/authorized_keys >/home/debian/.ssh/authorized_keys
`, time.Now().Unix(), g.Spec.Hostname, hostKey, public)
	first := append(plainSSH(i.file("id"), g.Port), "-o", "UserKnownHostsFile=/dev/null", "-o", "StrictHostKeyChecking=no",
		"root@127.0.0.1", "sh -eu")
	if err := answers(ctx, g.Dir, first, script); err != nil {
		return err
	}
	return answers(ctx, g.Dir, append(g.sshArgs("root"), "true"), "")
}
