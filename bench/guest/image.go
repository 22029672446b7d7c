package guest

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

//go:embed image.sh
var recipe []byte

// MissingError says what this machine lacks to run a guest.
type MissingError struct{ Program, Package string }

func (e *MissingError) Error() string {
	return fmt.Sprintf("a guest needs %s: install %s", e.Program, e.Package)
}

// ErrNeedsRoot says that the image is not built yet, and that building it
// needs root.
var ErrNeedsRoot = errors.New("building a guest's image needs root on Linux")

// image is the folder of a built image.
type image struct{ dir string }

func (i image) file(name string) string { return filepath.Join(i.dir, name) }

// cacheDir is where images are kept: <user's cache>/nestor-guest.
func cacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "nestor-guest"), err
}

// need looks for programs, given with the Debian package that has each.
func need(programs ...[2]string) error {
	for _, p := range programs {
		if _, err := exec.LookPath(p[0]); err != nil {
			return &MissingError{Program: p[0], Package: p[1]}
		}
	}
	return nil
}

// Build makes the image and boots it once, unless the cache has both: minutes,
// and 2 GiB. Another process that does so is waited for.
func Build(ctx context.Context) error {
	i, err := builtImage(ctx)
	if err != nil {
		return err
	}
	_, err = i.booted(ctx, defaultMemoryMiB)
	return err
}

func builtImage(ctx context.Context) (image, error) {
	cache, err := cacheDir()
	if err != nil {
		return image{}, err
	}
	i := image{filepath.Join(cache, fmt.Sprintf("%x", sha256.Sum256(recipe))[:16])}
	return i, once(ctx, i.dir, func(fresh string) error {
		if os.Getuid() != 0 {
			return ErrNeedsRoot
		}
		if err := need([2]string{"mmdebstrap", "mmdebstrap"}, [2]string{"sfdisk", "fdisk"}, [2]string{"mke2fs", "e2fsprogs"},
			[2]string{"mkfs.vfat", "dosfstools"}, [2]string{"ssh-keygen", "openssh-client"}); err != nil {
			return err
		}
		script := filepath.Join(fresh, "image.sh")
		if err := os.WriteFile(script, recipe, 0o600); err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, "sh", script, fresh)
		// Asked to end, mmdebstrap unmounts and removes what it made.
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("building the guest's image: %w: %s", err, lastLines(said.String(), 5))
		}
		return nil
	})
}

// once makes a folder unless it is there: in a new one beside it, which is
// renamed when whole. A second process waits for the first.
func once(ctx context.Context, dir string, fill func(fresh string) error) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	unlock, err := lock(ctx, dir+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	// What a killed process left of it.
	if err := removeTree(dir + ".new"); err != nil {
		return err
	}
	if err := os.Mkdir(dir+".new", 0o700); err != nil {
		return err
	}
	if err := fill(dir + ".new"); err != nil {
		return errors.Join(err, removeTree(dir+".new"))
	}
	return os.Rename(dir+".new", dir)
}

// removeTree removes a folder, unless something is mounted in it: a killed
// mmdebstrap might have left the machine's /dev there.
func removeTree(dir string) error {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	if strings.Contains(string(mounts), " "+dir+"/") {
		return fmt.Errorf("something is mounted below %s: unmount it first", dir)
	}
	return os.RemoveAll(dir)
}

func lock(ctx context.Context, file string) (unlock func(), err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = poll(ctx, func() (bool, error) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("waiting for %s: %w", file, err)
	}
	return func() { f.Close() }, nil
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], " | ")
}
