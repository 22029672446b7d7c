package scenarios

import (
	"fmt"
	"path/filepath"
	"strings"
)

// spoil puts old content on the disks $@ and in /var/lib/rook: a GPT with a
// file system in a partition on the first, LVM (where the node has it, else a
// file system) on the second, swap's mark on others.
const spoil = `set -eu
mkdir -p /var/lib/rook/mon-a && echo fsid >/var/lib/rook/mon-a/keyring
n=0
for disk; do
  n=$((n + 1))
  case $n in
    1) printf 'label: gpt\n,,L\n' | sfdisk -q "$disk" && udevadm settle && mkfs.ext4 -qF "${disk}1" ;;
    2) if command -v pvcreate >/dev/null; then
         pvcreate -qyff "$disk" >/dev/null && vgcreate -q "ceph-$(cat /proc/sys/kernel/random/uuid)" "$disk" >/dev/null
       else
         mkfs.ext4 -qF "$disk"
       fi ;;
    *) mkswap -q "$disk" ;;
  esac
done
udevadm settle`

// untouched is a digest of what must not change: every block device that is
// not listed, in its first and last MiB (the file system of / changes in the
// middle, as long as it is mounted), and the programs on the system disk.
const untouched = `set -eu
for d in /sys/block/*; do
  name=${d##*/}
  case $name in loop* | ram* | zram* | dm-* | sr*) continue ;; esac
  for listed; do [ "/dev/$name" != "$listed" ] || continue 2; done
  size=$(($(cat "$d/size") * 512))
  [ "$size" -gt 2097152 ] || continue
  echo "$name $(dd if="/dev/$name" bs=1M skip=$((size / 1048576 - 1)) status=none | sha256sum | cut -c1-16) $(blkid -p -o value -s UUID "/dev/$name" || true)"
done
echo "/usr/bin $(cd /usr/bin && find . -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum | cut -c1-16)"
echo "/etc/fstab $(sha256sum </etc/fstab | cut -c1-16)"`

func remove(l *Log, b *Bench) {
	node := b.Worker(l)
	sudo := func(script string, args ...string) call {
		return b.node(node, append([]string{"sudo", "-n", "sh", "-c", script, "sh"}, args...)...)
	}
	names, err := sudo(`system=$(lsblk -no PKNAME "$(findmnt -no SOURCE /)"); [ -n "$system" ] || system=$(basename "$(findmnt -no SOURCE /)")
		for d in /sys/block/vd* /sys/block/sd*; do
			[ -e "$d" ] && [ "${d##*/}" != "$system" ] && [ "$(blkid -o value -s LABEL "/dev/${d##*/}")" != cidata ] && echo "/dev/${d##*/}"
		done; true`).text()
	l.Must(err, "the extra disks of "+node)
	disks := strings.Fields(names)
	if len(disks) < 2 {
		l.NotRun("%s has %d extra disks, two are needed", node, len(disks))
	}
	_, err = sudo(spoil, disks...).text()
	l.Must(err, "old content on the extra disks of "+node)
	before, err := sudo(untouched, disks...).text()
	l.Must(err, "what must not change")
	seen, err := sudo(`lsblk -no NAME,TYPE,SIZE,FSTYPE "$@"; ls -R /var/lib/rook`, disks...).text()
	l.Must(err, "the extra disks of "+node)
	l.See("on %s, before:\n%s", node, seen)

	profile := fmt.Sprintf("nodes:\n  - name: %s\n    disks:\n", node)
	for _, d := range disks {
		profile += fmt.Sprintf("      - {device: %s, role: data}\n", d)
	}
	file, err := b.write("disks.yaml", profile)
	l.Must(err, "the profile")
	plan := filepath.Join(b.Work, "plan.json")
	ask := func(args ...string) call {
		return b.nestor(append([]string{"remove"}, append(args, "--sudo", "--target-kind", "lima", "--stack-id", b.StackID)...)...)
	}

	code, out, stderr, err := ask("verify", node, "--disks", file).code()
	l.Must(err, "nestor remove verify")
	l.Check(code == 1, "verify before the wipe names what is there: exit code %d\n%s%s", code, out, stderr)

	text, err := ask("plan", node, "--disks", file, "--out", plan).text()
	l.Must(err, "nestor remove plan")
	l.See("%s", text)
	hash := strings.TrimSpace(text[strings.LastIndex(text, " ")+1:])

	// The refusals that stand between a plan and a disk.
	for why, refused := range map[string]call{
		"without BANC_JETABLE=1": ask("apply", plan, "--confirm", hash).with("BANC_JETABLE="),
		"of another stack": b.nestor("remove", "apply", plan, "--confirm", hash, "--sudo", "--target-kind", "lima", "--stack-id", "another").
			with("BANC_JETABLE=1"),
		"with another hash": ask("apply", plan, "--confirm", strings.Repeat("0", 64)).with("BANC_JETABLE=1"),
		"meant for production": b.nestor("remove", "apply", plan, "--confirm", hash, "--sudo", "--target-kind", "prod", "--stack-id", b.StackID).
			with("BANC_JETABLE=1", "EXPECTED_TARGET_KIND=prod"),
	} {
		code, _, stderr, err := refused.code()
		l.Must(err, "nestor remove apply")
		l.Check(code == 4, "apply %s: exit code %d: %s", why, code, stderr)
	}
	still, err := sudo(`lsblk -no NAME,TYPE,SIZE,FSTYPE "$@"; ls -R /var/lib/rook`, disks...).text()
	l.Must(err, "the extra disks of "+node)
	l.Check(still == seen, "after the refusals they are as they were")

	out, err = ask("apply", plan, "--confirm", hash).with("BANC_JETABLE=1").text()
	l.Check(err == nil, "apply: %v\n%s", err, out)
	out, err = ask("verify", node, "--disks", file).text()
	l.Check(err == nil, "verify: %v\n%s", err, out)

	// The node's own tools agree.
	left, err := sudo(`for d; do wipefs --parsable "$d" | grep -v '^#'; ls /sys/block/"${d##*/}" | grep "^${d##*/}[0-9]"; done; ls -d /var/lib/rook 2>/dev/null; true`, disks...).text()
	l.Must(err, "what is left")
	l.Check(left == "", "wipefs finds no mark, the kernel no partition, and /var/lib/rook is gone: %q", left)
	after, err := sudo(untouched, disks...).text()
	l.Must(err, "what must not change")
	l.Check(after == before, "the system disk and what is not listed are as they were:\n%s", after)
}
