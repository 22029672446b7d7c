#!/usr/bin/env bash
# install.sh [guest]: what the tests need; with "guest", also what those of a
# real guest do. On Debian or Ubuntu, as root, it installs
# what is missing; elsewhere it says what is missing and leaves the rest to
# the tests, each of which says loudly what it could not run.
set -u

# program and the Debian package that has it
needs="
bash:bash
dash:dash
zsh:zsh
fish:fish
busybox:busybox
ssh:openssh-client
sshd:openssh-server
sudo:sudo
ip:iproute2
unshare:util-linux
losetup:mount
fdisk:fdisk
mkfs.ext4:e2fsprogs
sgdisk:gdisk
ps:procps
script:bsdutils
strace:strace
nft:nftables
containerd:containerd
systemctl:systemd
ansible-inventory:ansible-core
python3:python3
bats:bats
shellcheck:shellcheck
shfmt:shfmt
chromium:chromium
"
[[ ${1-} != guest ]] || needs+="
qemu-system-x86_64:qemu-system-x86
qemu-img:qemu-utils
mmdebstrap:mmdebstrap
mke2fs:e2fsprogs
mkfs.vfat:dosfstools
lvm:lvm2
cryptsetup:cryptsetup-bin
ceph-osd:ceph-osd
"

PATH=$PATH:/usr/sbin:/sbin
missing=()
packages=()
for need in $needs; do
  command -v "${need%%:*}" >/dev/null || {
    missing+=("${need%%:*}")
    packages+=("${need#*:}")
  }
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

if [[ $(id -u) -ne 0 ]] || ! command -v apt-get >/dev/null; then
  printf 'NOT RUN: what needs %s; install %s\n' "${missing[*]}" "${packages[*]}" >&2
  exit 0
fi
printf '== installing %s\n' "${packages[*]}"
apt-get -qq update &&
  DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends -o Dpkg::Use-Pty=0 install "${packages[@]}" >/dev/null
