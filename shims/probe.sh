#!/bin/sh
# probe.sh NONCE [SECONDS [loops]]: reads what this node is and prints it, in
# one go. It changes nothing on the node: its only writes are in a folder of
# its own on a tmpfs, removed at the end.
#
# Sections run side by side. Each has SECONDS (10) to answer; one that hangs
# is killed with all its children and the others lose nothing. The output is
# a sequence of frames:
#
#   NONCE nestor-probe 1
#   NONCE begin NAME          NAME is a section, or section:item
#   the bytes of stdout
#   NONCE err                 only when there are any
#   the bytes of stderr
#   NONCE end STATUS          exit code, or absent, denied, cut
#   NONCE done COUNT          so that a cut stream is noticed
#
# A newline stands before each "NONCE err" and "NONCE end" and is no part of
# the bytes. NONCE is the caller's, and unguessable: no output can fake a
# frame. Exit code 127 means that the tool is not installed. What the caller
# must not carry away is derived or removed here.
#
# POSIX sh: it must run under dash, bash and busybox ash.

# section NAME COMMAND...: runs the command in the background.
section() {
  name=$1
  shift
  (
    "$@" >"$dir/$name.out" 2>"$dir/$name.err" 4>"$dir/$name.items" 5>&-
    printf 'end %s %d\n' "$name" "$?" >&5
  ) </dev/null >/dev/null 2>&1 &
  pending="$pending $name:$!"
}

# item NAME COMMAND...: runs the command in the foreground of its section and
# frames its output under the section's name.
item() {
  printf '%s begin %s\n' "$nonce" "$name:$1" >&4
  shift
  complaint=$("$@" 2>&1 >&4)
  code=$?
  [ -z "$complaint" ] || printf '\n%s err\n%s' "$nonce" "$complaint" >&4
  printf '\n%s end %d\n' "$nonce" "$code" >&4
}

# file PATH [COMMAND...]: a regular file as an item, through the command (cat).
file() {
  path=$1
  shift
  if [ -f "$path" ] && [ -r "$path" ]; then
    item "$path" "${@:-cat}" "$path"
  else
    printf '%s begin %s\n\n%s end %s\n' "$nonce" "$name:$path" "$nonce" "$(missing "$path")" >&4
  fi
}

# missing PATH: why it cannot be read. Below a folder that may not be searched
# a file is not absent: nobody can tell.
missing() {
  while [ ! -e "$1" ]; do
    case $1 in */*) ;; *) break ;; esac
    set -- "${1%/*}"
    [ -n "$1" ] || break
    if [ -d "$1" ]; then
      if [ -x "$1" ]; then echo absent; else echo denied; fi
      return
    fi
  done
  if [ -e "$1" ] && [ -n "$1" ]; then echo denied; else echo absent; fi
}

host() {
  for path in /etc/os-release /usr/lib/os-release /etc/machine-id \
    /proc/sys/kernel/hostname /proc/cpuinfo /proc/meminfo /proc/swaps \
    /proc/self/mountinfo; do
    file "$path"
  done
}

# Old versions of lsblk refuse a column that they do not know: MOUNTPOINTS is
# of 2.37, PATH of 2.33, and JSON of 2.27.
disks() {
  old=NAME,KNAME,MAJ:MIN,TYPE,SIZE,RO,RM,ROTA,MOUNTPOINT,FSTYPE,LABEL,UUID,PKNAME,SERIAL,WWN,MODEL,TRAN
  for columns in "$old,PATH,PTTYPE,PARTTYPE,MOUNTPOINTS" "$old,PATH,PTTYPE,PARTTYPE" "$old"; do
    if listing=$(lsblk -J -b -o "$columns" 2>/dev/null); then
      printf '%s\n' "$listing"
      return
    fi
  done
  lsblk -P -b -o "${old%,WWN,*},MODEL"
}

# sysfs prints what the kernel says of each block device, one a line:
# NAME<TAB>key=value<TAB>...
sysfs() {
  for device in /sys/class/block/*; do
    [ -e "$device/size" ] || continue
    printf '%s' "${device##*/}"
    for key in dev size ro removable partition queue/rotational dm/name dm/uuid \
      md/level loop/backing_file device/model device/vendor device/serial device/wwid wwid; do
      value=
      { read -r value <"$device/$key"; } 2>/dev/null
      [ -z "$value" ] || printf '\t%s=%s' "$key" "$value"
    done
    if [ -e "$device/partition" ]; then
      read -r value <"$device/../dev" && printf '\tparent=%s' "$value"
    fi
    for relation in holders slaves; do
      for other in "$device/$relation"/*; do
        [ ! -e "$other" ] || printf '\t%s=%s' "$relation" "${other##*/}"
      done
    done
    printf '\n'
  done
}

byid() { ls -l /dev/disk/by-id; }

# signatures reads the devices themselves; lsblk only knows what udev noted.
# A floppy or an optical drive is left alone: opening it may take seconds.
signatures() {
  wipefs --version >/dev/null || return
  for device in /sys/class/block/*; do
    device=${device##*/}
    case $device in
      ram* | zram* | fd[0-9]* | sr[0-9]*) continue ;;
      loop*) [ -n "$loops" ] || continue ;;
    esac
    { read -r size <"/sys/class/block/$device/size"; } 2>/dev/null || continue
    [ "$size" -gt 0 ] || continue
    item "$device" wipe_list "/dev/$(printf %s "$device" | tr '!' /)"
  done
}

# Without -J (util-linux before 2.33) the parsable form tells the same.
wipe_list() {
  wipefs --no-act -J "$1" 2>/dev/null || wipefs --no-act -p "$1"
}

cri() {
  seen=
  for socket in /run/containerd/containerd.sock /run/crio/crio.sock \
    /run/cri-dockerd.sock /run/k3s/containerd/containerd.sock \
    /run/docker.sock /var/run/containerd/containerd.sock \
    /var/run/crio/crio.sock /var/run/cri-dockerd.sock; do
    [ -S "$socket" ] || continue
    socket=$(readlink -f "$socket")
    case " $seen " in *" $socket "*) continue ;; esac
    seen="$seen $socket"
    printf '%s\n' "$socket"
    [ "$socket" = /run/docker.sock ] || item "crictl $socket" crictl --runtime-endpoint "unix://$socket" version
  done
  for tool in containerd crio k3s rke2 cri-dockerd; do
    item "$tool" "$tool" --version
  done
}

# cni lists every entry of each folder that a runtime may read, and gives the
# content of what a runtime would read as a configuration. Other files there
# (kubeconfigs) hold credentials.
cni() {
  for folder in /etc/cni/net.d /var/lib/rancher/k3s/agent/etc/cni/net.d; do
    if [ -d "$folder" ]; then item "$folder" ls -1A "$folder"; else
      file "$folder"
      continue
    fi
    for path in "$folder"/* "$folder"/.[!.]* "$folder"/..?*; do
      case $path in
        *"$newline"*) ;;
        *.conf | *.conflist | *.json) [ ! -f "$path" ] || file "$path" redact ;;
      esac
    done
  done
  for folder in /opt/cni/bin /usr/lib/cni /usr/libexec/cni /var/lib/rancher/k3s/data/current/bin; do
    [ ! -d "$folder" ] || item "$folder" ls -1 "$folder"
  done
}

# redact FILE: prints a JSON file without the values of its secrets.
redact() {
  value='"[[:space:]]*:[[:space:]]*)"([^"\\]|\\.)*"/\1"(removed)"/g'
  sed -E -e "s/(\"[^\"]*[Tt][Oo][Kk][Ee][Nn]$value" \
    -e "s/(\"[^\"]*[Pp][Aa][Ss][Ss][Ww][Oo][Rr][Dd]$value" \
    -e "s/(\"[^\"]*[Ss][Ee][Cc][Rr][Ee][Tt]$value" "$1"
}

kubelet() {
  for comm in /proc/[0-9]*/comm; do
    { read -r value <"$comm"; } 2>/dev/null || continue
    [ "$value" = kubelet ] || continue
    item cmdline tr '\0' '\n' <"${comm%comm}cmdline"
    break
  done
  for path in /var/lib/kubelet/config.yaml /var/lib/kubelet/kubeadm-flags.env; do
    file "$path"
  done
}

# kill_tree PID...: ends the processes and all that they started. They are
# stopped first, level by level, so that none can fork away meanwhile.
kill_tree() {
  doomed=$*
  level=$*
  while [ -n "$level" ]; do
    # shellcheck disable=SC2086 # a list of pids
    kill -s STOP $level 2>/dev/null
    children=
    for stat in /proc/[0-9]*/stat; do
      { read -r line <"$stat"; } 2>/dev/null || continue
      # shellcheck disable=SC2086 # "PID (name) STATE PPID ..."
      set -- ${line##*) }
      case " $level " in *" $2 "*) children="$children ${line%% *}" ;; esac
    done
    level=${children# }
    doomed="$doomed$children"
  done
  # shellcheck disable=SC2086
  kill -s KILL $doomed 2>/dev/null
}

# stop ends whatever still runs and removes the folder.
stop() {
  trap '' HUP INT TERM PIPE
  trap - EXIT
  for job in $pending; do kill_tree "${job#*:}"; done
  if [ -n "$clock" ]; then
    kill -s KILL "$watchdog" "$clock" 2>/dev/null
    wait "$watchdog" 2>/dev/null # else bash says "Killed"
  elif [ -n "$watchdog" ]; then
    kill_tree "$watchdog"
  fi
  rm -rf "$dir"
}

# emit NAME STATUS: prints the frames of a section.
emit() {
  [ ! -s "$dir/$1.items" ] || cat "$dir/$1.items"
  printf '%s begin %s\n' "$nonce" "$1"
  [ ! -s "$dir/$1.out" ] || cat "$dir/$1.out"
  if [ -s "$dir/$1.err" ]; then
    printf '\n%s err\n' "$nonce"
    cat "$dir/$1.err"
  fi
  printf '\n%s end %s\n' "$nonce" "$2"
  count=$((count + 1))
}

main() {
  nonce=$1 limit=${2:-10} loops=${3:-}
  case $nonce in '' | *[!0-9A-Za-z]*)
    echo 'probe: the nonce must be letters and digits' >&2
    exit 2
    ;;
  esac
  LC_ALL=C PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
  export LC_ALL PATH
  unset -v CDPATH ENV BASH_ENV 2>/dev/null
  newline='
'
  umask 077
  dir='' pending='' clock='' watchdog='' count=0
  for base in /dev/shm /run "${TMPDIR:-/tmp}"; do
    mkdir "$base/nestor-probe.$nonce" 2>/dev/null || continue
    dir=$base/nestor-probe.$nonce
    break
  done
  if [ -z "$dir" ]; then
    echo 'probe: neither /dev/shm nor /run nor /tmp can be written to' >&2
    exit 1
  fi
  trap stop EXIT
  trap 'exit 143' HUP INT TERM PIPE
  mkfifo "$dir/events" || exit 1
  exec 5<>"$dir/events"
  printf '%s nestor-probe 1\n' "$nonce"

  (
    sleep "$limit" 5>&- &
    printf 'clock %d\n' "$!" >&5
    wait
    echo late >&5
  ) </dev/null >/dev/null 2>&1 &
  watchdog=$!
  section kernel uname -srm
  for name in host disks sysfs byid signatures cri cni kubelet; do
    section "$name" "$name"
  done

  # The watchdog's own message is awaited too: without it its sleep would be
  # left on the node.
  while [ -n "$pending" ] || [ -z "$clock" ]; do
    read -r event what status <&5 || exit 1
    case $event in
      clock) clock=$what ;;
      late) break ;;
      end)
        emit "$what" "$status"
        left=
        for job in $pending; do
          [ "${job%%:*}" = "$what" ] || left="$left $job"
        done
        pending=$left
        ;;
    esac
  done
  for job in $pending; do
    kill_tree "${job#*:}"
    emit "${job%%:*}" cut
  done
  pending=
  printf '%s done %d\n' "$nonce" "$count"
}

main "$@"
