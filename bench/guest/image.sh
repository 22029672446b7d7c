#!/bin/sh
# image.sh FOLDER: builds a guest's image from Debian's packages, as root:
# system.raw (GPT: root, swap, /boot/efi), vmlinuz, initrd, and id, the key
# that root and debian of a fresh guest accept. The suite's mirror is the one
# that this machine's apt uses. What is written here decides the image: its
# digest names the cache, so a change builds anew.
set -eu

suite=bookworm
root_mib=6144 swap_mib=128 efi_mib=64

packages='
linux-image-amd64 initramfs-tools systemd-sysv udev dbus kmod procps iproute2 iputils-ping
openssh-server sudo ca-certificates
e2fsprogs btrfs-progs dosfstools gdisk fdisk
lvm2 mdadm cryptsetup-bin multipath-tools ceph-osd
auditd apparmor apparmor-utils nftables chrony unattended-upgrades fail2ban
containerd runc
'

# put PATH: writes a file of the guest.
put() { mkdir -p "$(dirname "$root$1")" && cat >"$root$1"; }

# before: runs before the kernel is installed, so that its initrd is made once
# and only holds what leads to the root; all else is loaded from there.
before() {
  put /etc/initramfs-tools/conf.d/guest <<'END'
MODULES=list
COMPRESS=lz4
RESUME=none
FSTYPE=ext4
END
  printf '%s\n' virtio_pci virtio_blk ext4 | put /usr/share/initramfs-tools/modules.d/guest
}

# after: runs when all is installed.
after() {
  echo debian-guest >"$root/etc/hostname"
  printf '127.0.0.1 localhost\n' >"$root/etc/hosts"
  put /etc/fstab <<'END'
LABEL=root / ext4 defaults,noatime 0 1
LABEL=swap none swap sw 0 0
LABEL=EFI /boot/efi vfat umask=0077,nofail 0 1
END
  put /etc/systemd/network/10-guest.network <<'END'
[Match]
Type=ether
[Network]
Address=10.0.2.15/24
Gateway=10.0.2.2
LinkLocalAddressing=no
IPv6AcceptRA=no
END
  put /etc/systemd/journald.conf.d/guest.conf <<'END'
[Journal]
Storage=volatile
END
  put /etc/systemd/system.conf.d/guest.conf <<'END'
[Manager]
DefaultTimeoutStopSec=15s
END
  # Multipath only where two paths lead to one disk.
  put /etc/multipath.conf <<'END'
defaults {
  find_multipaths yes
  user_friendly_names yes
}
END
  put /etc/audit/rules.d/guest.rules <<'END'
-w /etc/passwd -p wa -k identity
-w /etc/shadow -p wa -k identity
END
  put /etc/sudoers.d/debian <<'END'
debian ALL=(ALL) NOPASSWD: ALL
END
  chmod 440 "$root/etc/sudoers.d/debian"
  chroot "$root" useradd --create-home --shell /bin/bash debian
  for home in /root /home/debian; do
    mkdir -p "$root$home/.ssh"
    cp "$folder/id.pub" "$root$home/.ssh/authorized_keys"
  done
  chroot "$root" chown -R debian: /home/debian
  chmod -R go= "$root/root/.ssh" "$root/home/debian/.ssh"

  # Timers that would work while a test does, and services that a test starts
  # when it wants them.
  chroot "$root" systemctl --quiet disable apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer \
    fstrim.timer dpkg-db-backup.timer e2scrub_reap.service unattended-upgrades.service \
    mdcheck_start.timer mdcheck_continue.timer mdmonitor-oneshot.timer \
    ceph-crash.service ceph.target containerd.service fail2ban.service
  chroot "$root" systemctl --quiet enable systemd-networkd.service ssh.service
}

build() {
  ssh-keygen -q -t ed25519 -N '' -C guest -f "$folder/id"
  # shellcheck disable=SC2016 # apt's own variables
  apt-get indextargets --format '$(ORIGIN) deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    sed -n "s/^Debian \(deb .* ${suite}[^ ]* main\)\$/\1/p" >"$folder/sources.list"
  [ -s "$folder/sources.list" ] || {
    echo "image.sh: apt knows no mirror of Debian $suite: add one to its sources, and apt-get update" >&2
    exit 1
  }
  export folder
  mmdebstrap --quiet --variant=minbase --include="$(echo "$packages" | tr ' ' '\n' | grep . | paste -sd ,)" \
    --essential-hook="sh '$0' before \"\$1\"" --customize-hook="sh '$0' after \"\$1\"" "$suite" "$folder/rootfs" "$folder/sources.list"
  cp "$folder"/rootfs/boot/vmlinuz-* "$folder/vmlinuz"
  cp "$folder"/rootfs/boot/initrd.img-* "$folder/initrd"

  truncate -s $((root_mib + swap_mib + efi_mib + 2))M "$folder/system.raw"
  sfdisk --quiet "$folder/system.raw" <<END
label: gpt
size=${root_mib}MiB, type=linux, name=root
size=${swap_mib}MiB, type=swap, name=swap
size=${efi_mib}MiB, type=uefi, name=efi
END
  mke2fs -q -t ext4 -L root -d "$folder/rootfs" -E offset=1048576 "$folder/system.raw" ${root_mib}M
  truncate -s ${swap_mib}M "$folder/part"
  mkswap --quiet -L swap "$folder/part"
  dd status=none conv=notrunc,sparse bs=1M seek=$((1 + root_mib)) if="$folder/part" of="$folder/system.raw"
  rm "$folder/part"
  truncate -s ${efi_mib}M "$folder/part"
  mkfs.vfat -n EFI "$folder/part" >/dev/null
  dd status=none conv=notrunc,sparse bs=1M seek=$((1 + root_mib + swap_mib)) if="$folder/part" of="$folder/system.raw"
  rm -r --one-file-system "$folder/part" "$folder/rootfs" "$folder/sources.list"
}

case $1 in
  before | after)
    root=$2
    "$1"
    ;;
  *)
    folder=$1
    build
    ;;
esac
