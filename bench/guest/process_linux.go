package guest

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"syscall"
)

// listener is the process behind the folder's control socket, as the kernel
// knows it: no number in a file can name another one.
func listener(dir string) (pid int, err error) {
	conn, err := dial(context.Background(), filepath.Join(dir, "qmp"))
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *syscall.Ucred
	if ctlErr := raw.Control(func(fd uintptr) {
		cred, err = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); ctlErr != nil || err != nil {
		return 0, errors.Join(ctlErr, err)
	}
	return int(cred.Pid), nil
}

// attributes of a process that a Ctrl-C at the terminal is not meant for.
func attributes(leashed bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setsid: true}
	if leashed {
		a.Pdeathsig = syscall.SIGKILL
	}
	return a
}
