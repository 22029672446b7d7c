package guest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// booted is a machine that was booted and then stopped: what it wrote, and
// its memory.
type booted struct{ system, memory string }

// booted boots the image once and keeps the result beside it. Only the same
// qemu with the same machine can go on from there, so both are in the name.
func (i image) booted(ctx context.Context, memoryMiB int) (booted, error) {
	if err := need([2]string{"qemu-system-x86_64", "qemu-system-x86"}); err != nil {
		return booted{}, err
	}
	version, err := exec.CommandContext(ctx, "qemu-system-x86_64", "--version").Output()
	if err != nil {
		return booted{}, fmt.Errorf("qemu: %w", err)
	}
	description := machine{memoryMiB: memoryMiB}.args()
	key := sha256.Sum256([]byte(string(version) + strings.Join(description, "\n")))
	dir := i.file(fmt.Sprintf("booted-%x", key[:8]))
	b := booted{system: filepath.Join(dir, "system.qcow2"), memory: filepath.Join(dir, "memory")}
	return b, once(ctx, dir, func(fresh string) (err error) {
		port, err := freePort()
		if err != nil {
			return err
		}
		m := machine{image: i, dir: fresh, memoryMiB: memoryMiB, forward: map[int]int{22: port}, leashed: true}
		if err := overlay(ctx, fresh, i.file("system.raw"), "raw"); err != nil {
			return err
		}
		if err := m.start(ctx); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, end(context.WithoutCancel(ctx), fresh)) }()
		// Degraded is fine: what a unit of the guest misses is its own affair.
		finished := "systemctl is-system-running --wait || true; udevadm settle --timeout=600; sync"
		if err := answers(ctx, fresh, login(i.fresh(port), finished)); err != nil {
			return err
		}
		return saveMemory(ctx, fresh)
	})
}

// saveMemory stops the machine and writes its memory to a file.
func saveMemory(ctx context.Context, dir string) error {
	socket := filepath.Join(dir, "qmp")
	for _, step := range []struct {
		command string
		args    map[string]any
	}{
		{"stop", nil},
		{"migrate-set-parameters", map[string]any{"max-bandwidth": 4 << 30}},
		{"migrate", map[string]any{"uri": "exec:cat >memory"}},
	} {
		if _, err := qmp(ctx, socket, step.command, step.args); err != nil {
			return err
		}
	}
	return poll(ctx, func() (bool, error) {
		answer, err := qmp(ctx, socket, "query-migrate", nil)
		if err != nil {
			return false, err
		}
		var progress struct {
			Status string
			Detail string `json:"error-desc"`
		}
		if err := json.Unmarshal(answer, &progress); err != nil {
			return false, err
		}
		if progress.Status == "failed" {
			return false, fmt.Errorf("qemu: saving the memory: %s", progress.Detail)
		}
		return progress.Status == "completed", nil
	})
}

// goOn waits for a machine that takes over a saved state, and runs it.
func goOn(ctx context.Context, dir string) error {
	socket := filepath.Join(dir, "qmp")
	return poll(ctx, func() (bool, error) {
		answer, err := qmp(ctx, socket, "query-status", nil)
		if err != nil {
			return false, err
		}
		var status struct{ Status string }
		if err := json.Unmarshal(answer, &status); err != nil {
			return false, err
		}
		switch status.Status {
		case "running":
			return true, nil
		case "paused", "postmigrate":
			_, err := qmp(ctx, socket, "cont", nil)
			return false, err
		}
		return false, nil // inmigrate
	})
}
