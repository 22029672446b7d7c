package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// open opens the node that the target describes, over a shared connection.
func (c *cli) open(t inventory.Target) *nodeexec.Node {
	shim, _ := c.env("NODE_EXEC_SHIM")
	return nodeexec.Open(t, nodeexec.Options{
		Shim:              shim,
		ControlDir:        c.controlDir(),
		AcceptNewHostKeys: c.hostKeys == "accept-new",
	})
}

// controlDir is a short path that only this user can write to: a socket's
// path may not exceed some hundred bytes.
func (c *cli) controlDir() string {
	if dir, ok := c.env("XDG_RUNTIME_DIR"); ok && filepath.IsAbs(dir) && len(dir) < 40 {
		if info, err := os.Stat(dir); err == nil && info.IsDir() && ours(info) {
			return filepath.Join(dir, "nestor")
		}
	}
	return filepath.Join("/tmp", "nestor-"+strconv.Itoa(os.Getuid()))
}

// ours says whether the file is this user's. Under sudo -E the folder is the
// caller's: a folder of root's in it would shut the caller out.
func ours(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}

// shimView asks the shim what it would run and what ssh makes of it.
func (c *cli) shimView(ctx context.Context, t inventory.Target) (argv []string, effective string, err error) {
	if t.Transport != inventory.TransportSSH {
		return nil, "", nil
	}
	text, err := c.open(t).Effective(ctx)
	if err != nil {
		return nil, "", err
	}
	first, rest, _ := strings.Cut(text, "\n")
	return []string{strings.TrimPrefix(first, "# ")}, rest, nil
}

// unreachable says whether err means that the node could not be reached, or
// was lost, whatever it would have answered.
func unreachable(err error) bool {
	switch nodeexec.KindOf(err) {
	case nodeexec.KindUnreachable, nodeexec.KindAuth, nodeexec.KindHostKey, nodeexec.KindVMStopped, nodeexec.KindVMMissing, nodeexec.KindLost:
		return true
	}
	return false
}
