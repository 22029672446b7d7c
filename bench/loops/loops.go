// Package loops gives a test a node whose disks it may destroy: loop devices
// over files of the test, behind a real sshd on 127.0.0.1.
//
//	b := loops.Start(t, loops.Spec{Disks: []loops.Disk{{Name: "data1", SizeMiB: 256}}})
//	b.Device("data1")               // /dev/loop3
//	b.Exec(t, "mkfs.ext4", "-q", b.Device("data1"))
//	// b.InventoryPath declares it a bench on this machine.
//
// The node has mount and pid namespaces of its own. Its /dev holds its loop
// devices and no other disk, the machine's root is read-only there, and /run,
// /var/lib and /usr/local/sbin are in memory: what runs on the node, as root,
// can destroy nothing else. The kernel's list of devices is the machine's.
//
// It needs root on Linux. A loop device that is not over a file of the bench's
// own folder is never attached, detached or handed out.
package loops

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "embed" // node.sh

	"github.com/stretchr/testify/require"
)

//go:embed node.sh
var nodeScript string

// Disk is a disk of the node, a sparse file.
type Disk struct {
	Name    string
	SizeMiB int64
}

// Spec says what the node has.
type Spec struct {
	Disks []Disk
	// Vars are more variables for the node in the inventory.
	Vars map[string]string
}

// Bench is one running node, named node1.
type Bench struct {
	Dir           string
	InventoryPath string
	MachineID     string

	devices map[string]string // by the disk's name
	pid     int               // of the node's first process, as this machine numbers it
	port    int
}

// Start starts a node for a test, and takes it down when the test ends.
// Without root, or with a program missing, the test fails in CI and is skipped,
// loudly, elsewhere.
func Start(t testing.TB, spec Spec) *Bench {
	t.Helper()
	need(t)
	dir, err := os.MkdirTemp("", "nestor-loops-")
	require.NoError(t, err)
	b := &Bench{Dir: dir, devices: map[string]string{}, MachineID: digest(dir)[:32]}
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	for _, d := range []string{"dev", "etc", "disks"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, d), 0o755))
	}
	for _, d := range spec.Disks {
		b.attach(t, d)
	}
	b.configure(t, spec)
	b.up(t)
	return b
}

// need ends the test where it cannot run.
func need(t testing.TB) {
	t.Helper()
	missing := ""
	if os.Geteuid() != 0 {
		missing = "root"
	}
	for _, program := range []string{"/usr/sbin/sshd", "unshare", "nsenter", "losetup", "wipefs", "ssh-keygen"} {
		if _, err := exec.LookPath(program); err != nil {
			missing = program
		}
	}
	switch {
	case missing == "":
	case os.Getenv("CI") != "":
		t.Fatalf("NOT RUN: needs %s", missing)
	default:
		t.Skipf("NOT RUN: needs %s", missing)
	}
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s + strconv.FormatInt(time.Now().UnixNano(), 10)))
	return hex.EncodeToString(sum[:])
}

// attach makes a disk's file and puts a loop device over it. Another test may
// take the free device first: losetup itself finds and takes one at once.
func (b *Bench) attach(t testing.TB, d Disk) {
	t.Helper()
	file := b.File(d.Name)
	f, err := os.Create(file)
	require.NoError(t, err)
	require.NoError(t, f.Truncate(d.SizeMiB<<20))
	require.NoError(t, f.Close())
	var out []byte
	for range 60 { // all may be taken for a while
		if out, err = exec.Command("losetup", "--find", "--show", file).Output(); err == nil {
			break
		}
		time.Sleep(time.Second)
	}
	require.NoError(t, err, "losetup found no free loop device")
	device := strings.TrimSpace(string(out))
	b.devices[d.Name] = device
	t.Cleanup(func() {
		b.Own(t, device)
		require.NoError(t, exec.Command("losetup", "--detach", device).Run())
	})
	b.Own(t, device)
}

// Own fails the test unless a device is a loop device over a file of this
// bench.
func (b *Bench) Own(t testing.TB, device string) {
	t.Helper()
	name, ok := strings.CutPrefix(device, "/dev/loop")
	_, err := strconv.Atoi(name)
	require.True(t, ok && err == nil, "%s is no loop device", device)
	file, err := os.ReadFile("/sys/block/loop" + name + "/loop/backing_file")
	require.NoError(t, err)
	require.Equal(t, filepath.Join(b.Dir, "disks"), filepath.Dir(strings.TrimSpace(string(file))), "%s is over a file of somebody else's", device)
}

// Device is the loop device of a disk.
func (b *Bench) Device(disk string) string { return b.devices[disk] }

// File is the file of a disk.
func (b *Bench) File(disk string) string { return filepath.Join(b.Dir, "disks", disk) }

// Sum is the SHA-256 of what a disk holds, read from its file after a flush.
func (b *Bench) Sum(t testing.TB, disk string) string {
	t.Helper()
	require.NoError(t, exec.Command("blockdev", "--flushbufs", b.Device(disk)).Run())
	f, err := os.Open(b.File(disk))
	require.NoError(t, err)
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	require.NoError(t, err)
	return hex.EncodeToString(h.Sum(nil))
}

func (b *Bench) configure(t testing.TB, spec Spec) {
	t.Helper()
	for _, key := range []string{"etc/ssh_host_ed25519_key", "id"} {
		out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(b.Dir, key)).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b.port = l.Addr().(*net.TCPAddr).Port
	require.NoError(t, l.Close())
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(b.Dir, name), []byte(text), 0o600))
	}
	public, err := os.ReadFile(filepath.Join(b.Dir, "id.pub"))
	require.NoError(t, err)
	host, err := os.ReadFile(filepath.Join(b.Dir, "etc/ssh_host_ed25519_key.pub"))
	require.NoError(t, err)
	write("machine-id", b.MachineID+"\n")
	write("etc/authorized_keys", string(public))
	write("known_hosts", fmt.Sprintf("[127.0.0.1]:%d %s", b.port, host))
	write("etc/sshd_config", fmt.Sprintf(`Port %d
ListenAddress 127.0.0.1
HostKey /etc/ssh/ssh_host_ed25519_key
AuthorizedKeysFile /etc/ssh/authorized_keys
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
PidFile none
`, b.port))
	vars := ""
	for k, v := range spec.Vars {
		vars += fmt.Sprintf("      %s: %s\n", k, v)
	}
	b.InventoryPath = filepath.Join(b.Dir, "inventory.yaml")
	write("inventory.yaml", fmt.Sprintf(`all:
  hosts:
    node1:
      target_kind: lima
      transport: ssh
      local_bench: true
      ansible_host: 127.0.0.1
      ansible_port: %d
      ansible_user: root
      ansible_ssh_private_key_file: %s
      ansible_ssh_common_args: -o UserKnownHostsFile=%s -o GlobalKnownHostsFile=/dev/null -F /dev/null
%s`, b.port, filepath.Join(b.Dir, "id"), filepath.Join(b.Dir, "known_hosts"), vars))
}

// up starts the node, and takes it down with the test, or with its process.
func (b *Bench) up(t testing.TB) {
	t.Helper()
	args := []string{"--mount", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", nodeScript, "node", b.Dir}
	for _, d := range b.devices {
		args = append(args, filepath.Base(d))
	}
	cmd := exec.Command("unshare", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	log, err := os.Create(filepath.Join(b.Dir, "node.log"))
	require.NoError(t, err)
	defer log.Close()
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // the pid namespace goes with it
		_ = cmd.Wait()         // its error is that it was killed
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	text, _ := os.ReadFile(log.Name())
	require.NoError(t, err, "%s", text)
	require.Equal(t, "ready\n", line)
	child, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", cmd.Process.Pid, cmd.Process.Pid))
	require.NoError(t, err)
	b.pid, err = strconv.Atoi(strings.Fields(string(child))[0])
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		c, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", b.port), time.Second)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}, 30*time.Second, 50*time.Millisecond, "sshd does not listen")
}

// Exec runs a program as root inside the node, without ssh, and gives its
// stdout. A failure fails the test.
func (b *Bench) Exec(t testing.TB, argv ...string) string {
	t.Helper()
	out, err := b.Command(argv...).Output()
	if e, ok := err.(*exec.ExitError); ok {
		require.NoError(t, err, "%v: %s", argv, e.Stderr)
	}
	require.NoError(t, err, "%v", argv)
	return string(out)
}

// Command is a program to run as root inside the node.
func (b *Bench) Command(argv ...string) *exec.Cmd {
	return exec.Command("nsenter", append([]string{"--mount", "--pid", "--target", strconv.Itoa(b.pid), "--"}, argv...)...)
}

// Partitions makes device nodes for the partitions of a disk, as udev would.
func (b *Bench) Partitions(t testing.TB, disk string) {
	t.Helper()
	b.Exec(t, "sh", "-c", `for p in /sys/block/$1/$1p*; do [ -e "$p/dev" ] || continue
		IFS=: read -r major minor <"$p/dev"; rm -f "/dev/${p##*/}"; mknod "/dev/${p##*/}" b "$major" "$minor"; done`, "sh", filepath.Base(b.Device(disk)))
}

// Cut ends every open connection to the node.
func (b *Bench) Cut(t testing.TB) {
	t.Helper()
	b.Exec(t, "sh", "-c", `for p in /proc/[0-9]*; do
		case $(tr '\0' ' ' <"$p/cmdline" 2>/dev/null) in "sshd: root@"*) kill -9 "${p#/proc/}" ;; esac; done; :`)
}
