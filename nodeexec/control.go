package nodeexec

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// maxControlPath leaves room for the suffix of 17 bytes that ssh adds while it
// binds the socket, within the 104 bytes that macOS allows.
const maxControlPath = 80

// controlPath names the socket of a node's shared connection. The name is a
// hash of everything that decides where the connection leads, since ssh's own
// %C is the same behind two different jump hosts.
func controlPath(dir string, t inventory.Target, hostKeys string) (string, error) {
	if err := privateDir(dir); err != nil {
		return "", err
	}
	parts := append([]string{t.Inventory, t.Node, t.Host, strconv.Itoa(t.Port), t.User, t.IdentityFile, hostKeys}, t.SSHArgs...)
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	path := filepath.Join(dir, hex.EncodeToString(sum[:10]))
	if len(path) > maxControlPath {
		return "", fmt.Errorf("control socket %s: %d bytes, over the %d that ssh can bind; choose a shorter directory", path, len(path), maxControlPath)
	}
	if strings.ContainsAny(path, "%$~\"") { // ssh expands them
		return "", fmt.Errorf("control socket %s: ssh would expand a character of it; choose another directory", path)
	}
	return path, nil
}

// privateDir makes the directory where it is missing, and refuses one that
// others could put a socket into.
func privateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("control directory: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("control directory: %w", err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("control directory %s: not a directory", dir)
	case !ok || int(owner.Uid) != os.Getuid():
		return fmt.Errorf("control directory %s: belongs to someone else", dir)
	case info.Mode().Perm()&(fs.ModePerm&^0o700) != 0:
		return fmt.Errorf("control directory %s: open to others (mode %04o); chmod 700 it", dir, info.Mode().Perm())
	}
	return nil
}
