#!/bin/sh
# The first process of one node, in namespaces of its own: builds the node's
# root over the machine's, moves into it, starts sshd and stays to reap.
#
# node.sh NAME      run by hub.sh in the folder of the bench
set -eu

name=$1
trap 'echo "dead $name"' EXIT
read -r pid _ </proc/self/stat # the machine's /proc still: the machine's pid
dir=/run/nodes/$name
hostname "$name"
ip -batch "$dir/links"

# What the node writes goes to memory and dies with the hub.
mount -t overlay -o "lowerdir=/,upperdir=$dir/upper,workdir=$dir/work" overlay "$dir/tree"
cd "$dir/tree"
for private in dev home root run tmp; do
  mount --bind "../private/$private" "$private"
done
mount -t devpts -o newinstance,ptmxmode=666,mode=620,gid=5 devpts dev/pts
mount -t sysfs -o ro sysfs sys
mount -t proc proc proc
# A node's root is root: keep it away from the machine's own switches.
mount -o bind,ro proc/sys proc/sys
if [ -e proc/sysrq-trigger ]; then
  mount -o bind,ro proc/sysrq-trigger proc/sysrq-trigger
fi

if [ -e ../no-bash ]; then
  rm -f bin/bash bin/rbash usr/bin/bash usr/bin/rbash
fi
if [ -e ../busybox ]; then
  busybox --list | grep -vx busybox >../applets
  (cd usr/sbin && xargs rm -f) <../applets
  (cd usr/bin && xargs rm -f) <../applets
  chroot . /bin/busybox --install -s /usr/bin
fi
listen=yes
if [ -e ../no-listener ]; then
  listen=no
fi

pivot_root . .
umount -l .
cd /
/usr/sbin/sshd -t # with set -e: a node whose sshd cannot start is none
trap - EXIT
echo "node $name $pid"
exec >&2
if [ "$listen" = yes ]; then
  /usr/sbin/sshd -D -e &
fi
tail -f /dev/null &
wait "$!"
