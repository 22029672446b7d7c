#!/bin/sh
# The first process of the node, in mount and pid namespaces of its own. All
# that it can write to is the loop devices that it is given, in a /dev that
# holds nothing else, and file systems in memory: the machine's own root is
# read-only here, and its disks have no node.
#
# node.sh DIR LOOP...     DIR holds etc/ (ssh's host keys, sshd_config), machine-id
set -eu

dir=$1
shift
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs "$dir/dev"
while read -r name major minor; do
  mknod -m 666 "$dir/dev/$name" c "$major" "$minor"
done <<DEVICES
null 1 3
zero 1 5
full 1 7
random 1 8
urandom 1 9
tty 5 0
ptmx 5 2
DEVICES
for loop in "$@"; do
  IFS=: read -r major minor <"/sys/block/$loop/dev"
  mknod -m 600 "$dir/dev/$loop" b "$major" "$minor"
done
ln -s /proc/self/fd "$dir/dev/fd"
ln -s /proc/self/fd/0 "$dir/dev/stdin"
ln -s /proc/self/fd/1 "$dir/dev/stdout"
ln -s /proc/self/fd/2 "$dir/dev/stderr"
mkdir "$dir/dev/pts" "$dir/dev/shm"
mount -t devpts -o newinstance,ptmxmode=666 devpts "$dir/dev/pts"
mount --bind "$dir/etc" /etc/ssh
mount --bind "$dir/machine-id" /etc/machine-id
mount --rbind "$dir/dev" /dev
for path in /run /var/lib /usr/local/sbin; do
  mount -t tmpfs -o mode=755 tmpfs "$path"
done
if [ -d /etc/lvm ]; then
  cp /etc/lvm/lvm.conf /run/lvm.conf
  mount -t tmpfs tmpfs /etc/lvm
  cp /run/lvm.conf /etc/lvm/
fi
mkdir -p /run/sshd /run/lock
mount -o remount,bind,ro /
trap 'exit 0' TERM
/usr/sbin/sshd -D -e &
echo ready
while :; do wait || :; done
