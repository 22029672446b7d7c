//go:build !linux

package guest

import (
	"errors"
	"syscall"
)

func listener(string) (pid int, err error) {
	return 0, errors.New("guests are for Linux")
}

func attributes(bool) *syscall.SysProcAttr { return nil }
