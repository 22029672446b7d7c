package nodes

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// hostKey is the name of an sshd's private key.
const hostKey = "ssh_host_ed25519_key"

// The user that a node has beside root.
const userID = 10001

// passwordHash is Password, by "openssl passwd -6".
const passwordHash = "$6$nestorbench$dRClAtMDJGnXC2ViGehy5wFXFUiQPbGWazP7BbRspYsAswiAd351GvcYr6/yiEWn6vIWpmQrGa3YAVjPty7tb0"

// tree is the folder from which a node's files are made: upper/ lies over the
// machine's root, private/ replaces whole folders of it.
type tree struct {
	dir string
	err error // the first failure
}

// place gives where the file of a node is kept.
func (t *tree) place(file string) string {
	switch top, _, _ := strings.Cut(strings.TrimPrefix(file, "/"), "/"); top {
	case "root", "home", "run", "tmp":
		return filepath.Join(t.dir, "private", file)
	}
	return filepath.Join(t.dir, "upper", file)
}

// mkdir makes a folder of the node, whatever the umask. Folders above it that
// exist keep their mode.
func (t *tree) mkdir(dir string, mode os.FileMode) {
	if dir != "/" {
		if _, err := os.Stat(t.place(filepath.Dir(dir))); err != nil {
			t.mkdir(filepath.Dir(dir), 0o755)
		}
	}
	if t.err == nil {
		t.err = os.MkdirAll(t.place(dir), 0o700)
	}
	if t.err == nil {
		t.err = os.Chmod(t.place(dir), mode)
	}
}

func (t *tree) write(file string, mode os.FileMode, content string) {
	if _, err := os.Stat(t.place(filepath.Dir(file))); err != nil {
		t.mkdir(filepath.Dir(file), 0o755)
	}
	if t.err == nil {
		t.err = os.WriteFile(t.place(file), []byte(content), 0o600)
	}
	if t.err == nil {
		t.err = os.Chmod(t.place(file), mode)
	}
}

// shellPath finds a login shell on the machine.
func shellPath(shell string) (string, error) {
	if filepath.IsAbs(shell) {
		return shell, nil
	}
	if shell == "busybox" {
		shell = "ash" // busybox acts as what it is called as
		if _, err := need("busybox"); err != nil {
			return "", err
		}
		return "/bin/ash", nil
	}
	return need(shell)
}

// writeTree writes the files of one node below dir, which holds its host key
// already. hosts is its /etc/hosts, authorized the public key that it accepts.
func writeTree(dir string, n Node, fast bool, hosts, authorized string) error {
	shell, err := shellPath(n.Shell)
	if err != nil {
		return err
	}
	t := &tree{dir: dir}
	for _, top := range []string{"/", "/home", "/run"} {
		t.mkdir(top, 0o755)
	}
	t.mkdir("/run/sshd", 0o755) // where sshd goes to give up its rights
	t.mkdir("/tmp", 0o777|os.ModeSticky)
	t.write("/etc/hostname", 0o644, n.Name+"\n")
	t.write("/etc/hosts", 0o644, hosts)
	t.write("/etc/machine-id", 0o444, randomHex(16)+"\n")
	t.accounts(n, shell)
	for name, mode := range map[string]os.FileMode{hostKey: 0o600, hostKey + ".pub": 0o644} {
		key, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		t.write("/etc/ssh/"+name, mode, string(key))
	}
	t.write("/etc/ssh/sshd_config", 0o644, sshdConfig(n, fast))
	if n.ForceCommand {
		t.write("/etc/ssh/forced", 0o755, forced)
	}
	if n.Noisy {
		t.write("/etc/ssh/banner", 0o644, "*** This system is monitored. Authorised use only. ***\n")
	}
	homes := []string{"/root"}
	if n.User != "root" {
		homes = append(homes, "/home/"+n.User)
	}
	for _, home := range homes {
		t.mkdir(home, 0o700)
		t.mkdir(home+"/.ssh", 0o700)
		t.write(home+"/.ssh/authorized_keys", 0o600, authorized)
		if n.Noisy {
			t.write(home+"/"+rcFile(n.Shell), 0o644, noise(n.Shell))
		}
	}
	if n.Shell == "busybox" && t.err == nil {
		t.mkdir("/usr/bin", 0o755)
		t.err = os.Symlink("busybox", t.place("/usr/bin/ash"))
	}
	for file, content := range n.Files {
		mode := os.FileMode(0o644)
		if strings.HasPrefix(content, "#!") {
			mode = 0o755
		}
		t.write(file, mode, content)
	}
	for flag, on := range map[string]bool{
		"no-bash": n.NoBash, "busybox": n.Busybox, "no-listener": n.Fault == NoListener,
	} {
		if on && t.err == nil {
			t.err = os.WriteFile(filepath.Join(dir, flag), nil, 0o600)
		}
	}
	if t.err == nil && n.User != "root" {
		t.err = filepath.WalkDir(t.place("/home/"+n.User), func(file string, _ os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Lchown(file, userID, userID)
		})
	}
	return t.err
}

// accounts writes the machine's users again, root with the node's shell or
// the node's own user beside them.
func (t *tree) accounts(n Node, shell string) {
	users := map[string]string{}
	for _, file := range []string{"/etc/passwd", "/etc/group", "/etc/shadow"} {
		b, err := os.ReadFile(file)
		if err != nil && t.err == nil {
			t.err = err
		}
		users[file] = string(b)
	}
	if n.User == "root" {
		lines := strings.Split(users["/etc/passwd"], "\n")
		for i, line := range lines {
			if f := strings.Split(line, ":"); f[0] == "root" && len(f) == 7 {
				f[6] = shell
				lines[i] = strings.Join(f, ":")
			}
		}
		users["/etc/passwd"] = strings.Join(lines, "\n")
	} else {
		// A "*" is no password at all; "!" would be a locked account, which
		// sshd refuses.
		hash := "*"
		if n.Sudo == SudoPassword {
			hash = passwordHash
		}
		users["/etc/passwd"] += fmt.Sprintf("%s:x:%d:%d::/home/%s:%s\n", n.User, userID, userID, n.User, shell)
		users["/etc/group"] += fmt.Sprintf("%s:x:%d:\n", n.User, userID)
		users["/etc/shadow"] += fmt.Sprintf("%s:%s:19000:0:99999:7:::\n", n.User, hash)
	}
	t.write("/etc/passwd", 0o644, users["/etc/passwd"])
	t.write("/etc/group", 0o644, users["/etc/group"])
	t.write("/etc/shadow", 0o640, users["/etc/shadow"])
	switch n.Sudo {
	case SudoFree:
		t.write("/etc/sudoers.d/bench", 0o440, n.User+" ALL=(ALL:ALL) NOPASSWD: ALL\n")
	case SudoPassword:
		t.write("/etc/sudoers.d/bench", 0o440, n.User+" ALL=(ALL:ALL) ALL\n")
	}
}

func sshdConfig(n Node, fast bool) string {
	lines := append([]string(nil), n.SSHD...)
	lines = append(lines,
		fmt.Sprint("Port ", n.Port),
		"HostKey /etc/ssh/"+hostKey,
		"PidFile /run/sshd.pid",
		"AuthorizedKeysFile .ssh/authorized_keys",
		"PermitRootLogin prohibit-password",
	)
	for _, line := range sshdCommon {
		keyword, _, _ := strings.Cut(line, " ")
		own := func(l string) bool { return strings.HasPrefix(l, keyword+" ") }
		if !slices.ContainsFunc(n.SSHD, own) { // sshd takes the last MaxStartups, not the first
			lines = append(lines, line)
		}
	}
	if fast {
		lines = append(lines, "KexAlgorithms curve25519-sha256")
	}
	if n.ForceCommand {
		lines = append(lines, "ForceCommand /etc/ssh/forced")
	}
	if n.Noisy {
		lines = append(lines, "Banner /etc/ssh/banner")
	}
	return strings.Join(lines, "\n") + "\n"
}

// sshdCommon is what every sshd of a bench says. Tests open many connections
// to one node, which MaxStartups and MaxSessions would turn away.
var sshdCommon = []string{
	"PasswordAuthentication no",
	"KbdInteractiveAuthentication no",
	"UsePAM no",
	"UseDNS no",
	"MaxStartups 200:30:400",
	"MaxSessions 200",
	"Subsystem sftp internal-sftp",
}

const forced = `#!/bin/sh
echo "this session is being recorded"
echo "this session is being recorded" >&2
if [ -z "${SSH_ORIGINAL_COMMAND+set}" ]; then
  exec "$SHELL" -l
fi
exec "$SHELL" -c "$SSH_ORIGINAL_COMMAND"
`

// rcFile is what the shell reads, below the home, for a command of ssh. The
// plain Bourne shells read nothing then, but sshd itself reads .ssh/rc.
func rcFile(shell string) string {
	switch filepath.Base(shell) {
	case "bash":
		return ".bashrc"
	case "zsh":
		return ".zshenv"
	case "fish":
		return ".config/fish/config.fish"
	}
	return ".ssh/rc"
}

func noise(shell string) string {
	if filepath.Base(shell) == "fish" {
		return fmt.Sprintf("for i in (seq %d)\n  echo \"welcome, line $i\"\n  echo \"warning, line $i\" >&2\nend\n", NoisyLines)
	}
	return fmt.Sprintf("for i in $(seq %d); do\n  echo \"welcome, line $i\"\n  echo \"warning, line $i\" >&2\ndone\n", NoisyLines)
}

// need finds a program of the machine, or says what to install.
func need(program string) (string, error) {
	file, err := exec.LookPath(program)
	if err == nil {
		return file, nil
	}
	file = filepath.Join("/usr/sbin", program) // not in a user's PATH on Debian
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	return "", &MissingError{Program: program}
}
