//go:build !(darwin || freebsd || netbsd || openbsd || dragonfly)

package main

import (
	"os"
	"syscall"
)

// statusSignals ask how far it is.
var statusSignals = []os.Signal{syscall.SIGUSR1}
