package nodes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a process that cannot be mistaken for a later one of the same
// pid.
type process struct {
	PID   int    `json:"pid"`
	Start string `json:"start"` // opaque, from the kernel
}

// identify describes a running process.
func identify(pid int) (process, error) {
	start, err := startOf(pid)
	if err != nil {
		return process{}, fmt.Errorf("process %d: %w", pid, err)
	}
	return process{PID: pid, Start: start}, nil
}

var errGone = errors.New("is gone")

// startOf gives when a process started, in words that differ for another
// process of the same pid.
func startOf(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err == nil {
		// The program's name, in parentheses, may hold anything.
		f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(f) < 20 || f[0] == "Z" || f[0] == "X" {
			return "", errGone
		}
		return f[19], nil
	}
	if _, err := os.Stat("/proc/self/stat"); err == nil {
		return "", errGone
	}
	// macOS has no /proc.
	out, err := exec.Command("ps", "-o", "lstart=", "-p", strconv.Itoa(pid)).Output()
	if err != nil || len(out) == 0 {
		return "", errGone
	}
	return strings.TrimSpace(string(out)), nil
}

func (p process) alive() bool {
	if p.PID <= 1 {
		return false
	}
	start, err := startOf(p.PID)
	return err == nil && start == p.Start
}

func (p process) signal(s syscall.Signal) error {
	if !p.alive() {
		return nil
	}
	if err := syscall.Kill(p.PID, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("process %d: %w", p.PID, err)
	}
	return nil
}

// kill ends the process and waits until it is gone.
func (p process) kill(ctx context.Context) error {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	return poll(ctx, func() (bool, error) { return !p.alive(), nil })
}

// killTree ends a process and those that it started.
func killTree(ctx context.Context, p process) error {
	if !p.alive() {
		return nil
	}
	out, err := exec.CommandContext(ctx, "ps", "-A", "-o", "pid=,ppid=").Output()
	if err != nil {
		return fmt.Errorf("ps: %w", err)
	}
	for _, line := range strings.Split(string(out), "\n") {
		f := strings.Fields(line)
		if len(f) != 2 || f[1] != strconv.Itoa(p.PID) {
			continue
		}
		pid, err := strconv.Atoi(f[0])
		if err != nil {
			continue
		}
		if child, err := identify(pid); err == nil {
			if err := child.kill(ctx); err != nil {
				return err
			}
		}
	}
	return p.kill(ctx)
}

// poll asks again until done, an error or the end of ctx; at least once.
func poll(ctx context.Context, done func() (bool, error)) error {
	for pause := 5 * time.Millisecond; ; pause = min(pause*3/2, 100*time.Millisecond) {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}
