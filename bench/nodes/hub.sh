#!/bin/sh
# The hub of a bench: the first process of its own pid, mount and network
# namespaces, which hold everything the bench makes. When the hub ends, the
# kernel takes all of it back: nodes, links, bridge, files.
#
# hub.sh leashed|free NODE...      run in the folder of the bench
#
# Protocol: says "hub PID" (as the machine counts), waits for the line "go"
# (the uplink is in place), says "node NAME PID" for each node, closes stdout.
# Leashed, it ends when its stdin does; without "go" it always ends then.
set -eu

mode=$1
shift

# Private from here on: ip keeps the names of network namespaces in /run.
mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/netns

read -r pid _ </proc/self/stat
echo "hub $pid"
read -r go
[ "$go" = go ]

cp -a nodes /run/nodes
ip -batch links
for name in "$@"; do
  dir=/run/nodes/$name
  mkdir "$dir/work" "$dir/tree" "$dir/private/dev" "$dir/private/dev/pts" "$dir/private/dev/shm"
  chmod 1777 "$dir/private/dev/shm"
  # The harmless devices only: a node never sees a disk of the machine.
  (cd /dev && cp -a null zero full random urandom tty fd stdin stdout stderr "$dir/private/dev")
  ln -s pts/ptmx "$dir/private/dev/ptmx"
  nsenter --net="/run/netns/$name" \
    unshare --uts --ipc --mount --propagation private --pid --fork --kill-child \
    setpriv --bounding-set=-mknod,-sys_rawio,-sys_module,-sys_boot,-sys_time \
    sh node.sh "$name" </dev/null 2>"nodes/$name/log" &
done

exec 3<&0 >/dev/null
if [ "$mode" = leashed ]; then
  cat <&3 &
else
  tail -f /dev/null &
fi
wait "$!"
