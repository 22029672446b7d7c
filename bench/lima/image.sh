#!/usr/bin/env bash
# image.sh DIR: builds a Debian 12 for the bench where no cloud image can be
# downloaded: DIR/disk.qcow2 (one bare ext4), DIR/vmlinuz and DIR/initrd.img,
# for NESTOR_BENCH_IMAGE=DIR. As root, on Debian, with mmdebstrap, qemu-utils
# and e2fsprogs; the packages come from the mirror that apt uses here.
set -eu -o pipefail
[[ $# -eq 1 && $(id -u) -eq 0 ]] || { echo 'usage, as root: image.sh DIR' >&2 && exit 2; }
mkdir -p "$1"
dir=$(cd "$1" && pwd)
root=$dir/root
[[ ! -e $root && ! -e $dir/disk.qcow2 ]] || { echo "image.sh: there is an image in $dir already" >&2 && exit 2; }
trap 'rm -rf "$root" "$dir/disk.raw"' EXIT

packages=(
  systemd-sysv udev dbus dbus-user-session libpam-systemd linux-image-cloud-amd64 # boots, with user sessions
  cloud-init openssh-server sudo iproute2 ifupdown isc-dhcp-client                # what Lima asks of an image
  python3 lvm2 iptables procps ca-certificates                                    # Ansible, old disks, port forwards
)
# shellcheck disable=SC2016 # apt's own variables
apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
  grep -E ' bookworm[^ ]* main$' | sort -u >"$dir/sources.list"
mmdebstrap --variant=minbase --include="$(IFS=, && echo "${packages[*]}")" bookworm "$root" "$dir/sources.list"

echo 'datasource_list: [NoCloud, None]' >"$root/etc/cloud/cloud.cfg.d/90-nestor.cfg"
echo 'LABEL=rootfs / ext4 defaults 0 1' >"$root/etc/fstab"
rm -f "$root"/etc/ssh/ssh_host_* "$root/etc/machine-id" && : >"$root/etc/machine-id"
# The default key exchange takes an emulated machine seconds.
echo 'KexAlgorithms curve25519-sha256' >"$root/etc/ssh/sshd_config.d/90-nestor.conf"
cp "$root"/boot/vmlinuz-* "$dir/vmlinuz"
cp "$root"/boot/initrd.img-* "$dir/initrd.img"
chmod a+r "$dir/vmlinuz" "$dir/initrd.img"

truncate -s 3G "$dir/disk.raw"
mke2fs -q -t ext4 -L rootfs -d "$root" "$dir/disk.raw"
qemu-img convert -c -O qcow2 "$dir/disk.raw" "$dir/disk.qcow2"
ls -l "$dir"
