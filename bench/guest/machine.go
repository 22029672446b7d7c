package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// slots is how many virtio and NVMe disks can be plugged in at once.
const slots = 8

// machine is how qemu is started. Two machines with the same memory can take
// over each other's saved state.
type machine struct {
	image     image
	dir       string // where its files are; qemu's working folder
	memoryMiB int
	forward   map[int]int // the guest's ports: those of 127.0.0.1
	saved     *os.File    // the memory to go on from; nil boots
	leashed   bool        // it ends when this process does
}

func (m machine) args() []string {
	net := "user,id=net0,restrict=on"
	for guest, host := range m.forward {
		net += fmt.Sprintf(",hostfwd=tcp:127.0.0.1:%d-10.0.2.15:%d", host, guest)
	}
	args := []string{"qemu-system-x86_64",
		"-machine", "q35,usb=off,vmport=off", "-accel", "tcg,thread=multi,tb-size=256", "-cpu", "max",
		"-smp", "2", "-m", strconv.Itoa(m.memoryMiB), "-nodefaults", "-no-user-config", "-display", "none",
		"-kernel", m.image.file("vmlinuz"), "-initrd", m.image.file("initrd"),
		"-append", "root=LABEL=root ro quiet console=ttyS0 systemd.show_status=0 mitigations=off",
		"-serial", "file:console", "-qmp", "unix:qmp,server=on,wait=off",
		"-blockdev", "driver=qcow2,node-name=system,discard=unmap,cache.no-flush=on,file.driver=file,file.filename=system.qcow2",
		"-device", "virtio-blk-pci,drive=system,addr=0x4",
		"-netdev", net, "-device", "virtio-net-pci,netdev=net0,addr=0x5,romfile=",
		"-device", "virtio-rng-pci,addr=0x6",
		"-device", "virtio-scsi-pci,id=scsi0,addr=0x8", "-device", "virtio-scsi-pci,id=scsi1,addr=0x9",
	}
	for slot := range slots {
		args = append(args, "-device", fmt.Sprintf("pcie-root-port,id=slot%d,chassis=%d,addr=0x10.%d,multifunction=on", slot, slot+1, slot))
	}
	if m.saved != nil {
		args = append(args, "-incoming", "fd:3")
	}
	return args
}

// start starts qemu and returns once it can be talked to.
func (m machine) start(ctx context.Context) error {
	if err := need([2]string{"qemu-system-x86_64", "qemu-system-x86"}, [2]string{"qemu-img", "qemu-utils"},
		[2]string{"ssh", "openssh-client"}); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(m.dir, "qemu.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	args := m.args()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Stderr = m.dir, log
	if m.saved != nil {
		cmd.ExtraFiles = []*os.File{m.saved}
	}
	cmd.SysProcAttr = attributes(m.leashed)
	started, ended := make(chan error), make(chan struct{})
	go func() {
		// A leashed qemu ends with the thread that started it: one of its
		// own, which is there until then.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(ended)
	}()
	if err := <-started; err != nil {
		return err
	}
	return poll(ctx, func() (bool, error) {
		select {
		case <-ended:
			said, _ := os.ReadFile(log.Name())
			return false, fmt.Errorf("qemu ended at once: %s", lastLines(string(said), 3))
		default:
			return running(m.dir), nil
		}
	})
}

// running says whether a qemu listens on the folder's control socket.
func running(dir string) bool {
	_, err := listener(dir)
	return err == nil
}

// end kills the folder's qemu and waits until it is gone.
func end(ctx context.Context, dir string) error {
	pid, err := listener(dir)
	if err != nil {
		return nil // nobody is there
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("qemu, process %d: %w", pid, err)
	}
	return poll(ctx, func() (bool, error) { return !running(dir), nil })
}

// poll asks again until done, an error or the end of ctx; at least once.
func poll(ctx context.Context, done func() (bool, error)) error {
	for pause := 20 * time.Millisecond; ; pause = min(pause*3/2, 500*time.Millisecond) {
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

// overlay makes system.qcow2 in a folder: what is written over base.
func overlay(ctx context.Context, dir, base, format string) error {
	out, err := exec.CommandContext(ctx, "qemu-img", "create", "-q", "-f", "qcow2", "-b", base, "-F", format,
		filepath.Join(dir, "system.qcow2")).CombinedOutput()
	if err != nil {
		return fmt.Errorf("qemu-img: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}
