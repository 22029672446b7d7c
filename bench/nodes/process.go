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

// killTree ends a process and all that descends from it.
func killTree(ctx context.Context, p process) error {
	if !p.alive() {
		return nil
	}
	// Stopped, it has no more children than ps shows.
	if err := p.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, "ps", "-A", "-o", "pid=,ppid=").Output()
	if err != nil {
		return fmt.Errorf("ps: %w", err)
	}
	children := map[string][]string{}
	for _, line := range strings.Split(string(out), "\n") {
		if f := strings.Fields(line); len(f) == 2 {
			children[f[1]] = append(children[f[1]], f[0])
		}
	}
	family := []process{p}
	for next := []string{strconv.Itoa(p.PID)}; len(next) > 0; next = next[1:] {
		for _, child := range children[next[0]] {
			pid, err := strconv.Atoi(child)
			if err != nil {
				return fmt.Errorf("ps: %w", err)
			}
			if c, err := identify(pid); err == nil { // else it has just ended
				family = append(family, c)
			}
			next = append(next, child)
		}
	}
	var errs []error
	for _, member := range family {
		errs = append(errs, member.kill(ctx))
	}
	return errors.Join(errs...)
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
