package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Attach plugs disks in, and waits until the guest sees all of them.
func (g *Guest) Attach(ctx context.Context, disks ...Disk) error {
	for _, d := range disks {
		d, err := d.withDefaults()
		if err != nil {
			return err
		}
		if _, ok := g.state.Attached[d.Name]; ok {
			return fmt.Errorf("two disks are named %s", d.Name)
		}
		if err := g.plug(ctx, d); err != nil {
			return fmt.Errorf("disk %s: %w", d.Name, err)
		}
	}
	if len(disks) == 0 {
		return nil
	}
	_, err := g.Devices(ctx)
	return err
}

// Detach pulls a disk out, whatever the guest does with it. Its content is
// kept in DiskFile until a disk of the same name is attached.
func (g *Guest) Detach(ctx context.Context, name string) error {
	d, err := g.attached(name)
	if err != nil {
		return err
	}
	for _, id := range d.ids() {
		if _, err := g.QMP(ctx, "device_del", map[string]any{"id": id}); err != nil {
			return fmt.Errorf("disk %s: %w", name, err)
		}
	}
	// The guest agrees to it first; until then the file is in use.
	var last error
	err = poll(ctx, func() (bool, error) {
		_, last = g.QMP(ctx, "blockdev-del", map[string]any{"node-name": "file-" + name})
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("disk %s: the guest does not let go: %w", name, errors.Join(err, last))
	}
	delete(g.state.Attached, name)
	g.state.Disks = slices.DeleteFunc(g.state.Disks, func(other Disk) bool { return other.Name == name })
	return g.save()
}

// Disks are the disks that are plugged in.
func (g *Guest) Disks() []Disk { return slices.Clone(g.state.Disks) }

// DiskFile is the disk's content on this machine, a raw and sparse file: to
// read behind the guest's back. What the guest has not flushed may be missing.
func (g *Guest) DiskFile(name string) string { return filepath.Join(g.file("disks"), name) }

// Device is the disk's name in the guest now, such as /dev/vdb; of a disk
// with two paths, the first.
func (g *Guest) Device(ctx context.Context, name string) (string, error) {
	if _, err := g.attached(name); err != nil {
		return "", err
	}
	devices, err := g.Devices(ctx)
	return devices[name], err
}

// findDisk waits for the disk that a bus address leads to and prints its name.
const findDisk = `
find_disk() {
  n=0
  while [ $n -lt 150 ]; do
    for found in $2; do
      [ ! -e "$found" ] || { echo "$1 /dev/${found##*/}"; return; }
    done
    n=$((n + 1))
    sleep 0.2
  done
  echo "the guest does not see disk $1" >&2
  return 1
}
`

// Devices are the names in the guest of all attached disks.
func (g *Guest) Devices(ctx context.Context) (map[string]string, error) {
	script := findDisk
	for _, d := range g.state.Disks {
		slot := g.state.Attached[d.Name]
		for path := range d.ids() {
			address := fmt.Sprintf("00:10.%d/0000:*/virtio*/block/*", slot)
			switch d.Bus {
			case NVMe:
				address = fmt.Sprintf("00:10.%d/0000:*/nvme/nvme*/nvme*n*", slot)
			case SCSI, CDROM:
				address = fmt.Sprintf("00:0%d.0/virtio*/host*/target*/*:0:%d:0/block/*", 8+path, slot)
			}
			script += fmt.Sprintf("find_disk %s '/sys/bus/pci/devices/0000:%s'\n", d.Name, address)
		}
	}
	out, err := g.Run(ctx, script+"udevadm settle --timeout=600\n")
	if err != nil {
		return nil, err
	}
	devices := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		name, device, _ := strings.Cut(line, " ")
		if devices[name] == "" { // else its second path
			devices[name] = device
		}
	}
	return devices, nil
}

func (g *Guest) attached(name string) (Disk, error) {
	for _, d := range g.state.Disks {
		if d.Name == name {
			return d, nil
		}
	}
	return Disk{}, fmt.Errorf("no disk %s is attached", name)
}

func (d Disk) ids() []string {
	if d.SecondPath {
		return []string{"disk-" + d.Name, "disk-" + d.Name + "-2"}
	}
	return []string{"disk-" + d.Name}
}

// plug makes the disk's file and tells qemu of it.
func (g *Guest) plug(ctx context.Context, d Disk) error {
	taken := map[int]bool{}
	for _, other := range g.state.Disks {
		if other.onSCSI() == d.onSCSI() {
			taken[g.state.Attached[other.Name]] = true
		}
	}
	slot := 0
	for taken[slot] {
		slot++
	}
	if !d.onSCSI() && slot >= slots {
		return fmt.Errorf("%d virtio and NVMe disks are plugged in, which is all there is room for", slots)
	}
	if err := g.makeDisk(ctx, d); err != nil {
		return err
	}
	readOnly := d.ReadOnly || d.Bus == CDROM
	node := "file-" + d.Name
	if _, err := g.QMP(ctx, "blockdev-add", map[string]any{
		"driver": "raw", "node-name": node, "read-only": readOnly, "discard": "unmap",
		"cache": map[string]any{"no-flush": true},
		"file": map[string]any{"driver": "file", "filename": g.DiskFile(d.Name), "read-only": readOnly,
			"discard": "unmap", "cache": map[string]any{"no-flush": true}},
	}); err != nil {
		return err
	}
	for path, id := range d.ids() {
		device := map[string]any{"id": id, "drive": node}
		if d.Serial != "" {
			device["serial"] = d.Serial
		}
		switch d.Bus {
		case Virtio:
			device["driver"], device["bus"] = "virtio-blk-pci", fmt.Sprintf("slot%d", slot)
		case NVMe:
			device["driver"], device["bus"] = "nvme", fmt.Sprintf("slot%d", slot)
		case CDROM:
			device["driver"], device["bus"], device["scsi-id"] = "scsi-cd", "scsi0.0", slot
		case SCSI:
			device["driver"], device["bus"], device["scsi-id"] = "scsi-hd", fmt.Sprintf("scsi%d.0", path), slot
			device["removable"] = d.Removable
			device["share-rw"] = d.SecondPath
			if d.WWN != 0 {
				device["wwn"] = d.WWN
			}
		}
		if _, err := g.QMP(ctx, "device_add", device); err != nil {
			return err
		}
	}
	g.state.Attached[d.Name] = slot
	g.state.Disks = append(g.state.Disks, d)
	return g.save()
}

func (d Disk) onSCSI() bool { return d.Bus == SCSI || d.Bus == CDROM }

func (g *Guest) makeDisk(ctx context.Context, d Disk) error {
	if err := os.MkdirAll(g.file("disks"), 0o700); err != nil {
		return err
	}
	file := g.DiskFile(d.Name)
	if err := os.RemoveAll(file); err != nil {
		return err
	}
	if d.From != "" {
		if out, err := exec.CommandContext(ctx, "cp", "--sparse=always", "--", d.From, file).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if d.SizeMiB == 0 {
		return nil
	}
	return f.Truncate(int64(d.SizeMiB) << 20)
}

// Reboot has the guest shut down and boot again, with its disks, and waits
// until it answers.
func (g *Guest) Reboot(ctx context.Context) error {
	return g.again(ctx, func() error {
		_, err := g.Run(ctx, "systemctl reboot >/dev/null 2>&1 &\n")
		return err
	})
}

// PowerCut takes the guest's power away and gives it back: it boots again
// without having shut down. It waits until the guest answers.
func (g *Guest) PowerCut(ctx context.Context) error {
	return g.again(ctx, func() error {
		_, err := g.QMP(ctx, "system_reset", nil)
		return err
	})
}

func (g *Guest) again(ctx context.Context, reboot func() error) error {
	before, err := g.Exec(ctx, "cat", "/proc/sys/kernel/random/boot_id")
	if err != nil {
		return err
	}
	if err := errors.Join(reboot(), g.hangUp(ctx)); err != nil {
		return err
	}
	return answers(ctx, g.Dir, login(g.own(), fmt.Sprintf(`
[ "$(cat /proc/sys/kernel/random/boot_id)" != %s ]
date -u -s @%d >/dev/null
udevadm settle --timeout=600
`, strings.TrimSpace(string(before)), now())))
}
