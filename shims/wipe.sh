#!/bin/sh
# wipe.sh inspect DEVICE...   what these disks are and what is on them; it writes nothing
# wipe.sh apply REQUEST       makes sure that all is as planned, then takes the steps
# wipe.sh reboot              restarts the node
#
# Both tell what they do on stdout, in lines of fields between tabs:
#
#   nestor-wipe 1
#   node KEY VALUE            machine-id, host-key, boot-id (where a disk has no lasting
#                             identity), tool, process (of Ceph), unread
#   rook KEY VALUE            state, entry, fsid, mount: of /var/lib/rook
#   disk DEVICE NAME          the kernel's name of each device that was asked for
#   dev NAME KEY=VALUE...     each of them, and each device that is built on one
#   pv NAME VG UUID           each physical volume of the volume groups on them
#   lv VG NAME TAGS
#   inspected
#
# REQUEST holds the lines that inspect must print again, after that the steps:
#
#   expect LINE
#   step ID VERB ARGUMENT...
#
# and apply prints "differ -LINE" and "differ +LINE" and stops, before anything
# is written; or "same", then "begin ID", "end ID" and perhaps "fail ID REASON"
# of each step, then all that inspect prints, and "done". It stops at the first
# failure.
#
# Only the devices that were asked for, and what is built on those alone, are
# ever written to, and only after an exclusive open: nothing here is forced.
# POSIX sh; coreutils and util-linux, and lvm2, cryptsetup, mdadm or dmsetup
# where such a layer is there.

say() {
  printf '%s' "$1"
  shift
  [ $# -eq 0 ] || printf '\t%s' "$@"
  printf '\n'
}

# clean_text: makes bytes of a node's own harmless: one line, no tab.
clean_text() { tr -c '[:print:]' '?'; }

# value PATH: the first line of a file.
value() {
  { read -r line <"$1"; } 2>/dev/null || [ -n "$line" ] || line=
  case $line in
    *[![:print:]]*) printf '%s' "$line" | clean_text ;;
    *) printf '%s' "$line" ;;
  esac
  line=
}

# node_of NAME: the path of a device.
node_of() {
  path=/dev/$1
  case $1 in *!*) path=/dev/$(printf %s "$1" | tr '!' /) ;; esac
  if [ ! -b "$path" ] && [ -e "$sys/$1/dm/name" ]; then path=/dev/mapper/$(value "$sys/$1/dm/name"); fi
  printf %s "$path"
}

# kernel_name PATH: the name of the block device that a path leads to.
kernel_name() {
  [ -b "$1" ] || return 1
  found=$(readlink -f "$1") && found=${found#/dev/}
  case $found in */*) found=$(printf %s "$found" | tr / '!') ;; esac
  [ -e "$sys/$found" ] || return 1
  printf %s "$found"
}

# below NAME: the partitions of a device and what holds it.
below() {
  for entry in "$sys/$1"/*/partition; do
    [ -e "$entry" ] && entry=${entry%/partition} && printf '%s\n' "${entry##*/}"
  done
  for entry in "$sys/$1"/holders/*; do
    [ -e "$entry" ] && printf '%s\n' "${entry##*/}"
  done
}

# above NAME: what a device is built on.
above() {
  if [ -e "$sys/$1/partition" ]; then
    entry=$(readlink -f "$sys/$1/..") && printf '%s\n' "${entry##*/}"
  fi
  for entry in "$sys/$1"/slaves/*; do
    [ -e "$entry" ] && printf '%s\n' "${entry##*/}"
  done
}

# looped NAME: whether a loop device lies over a device. It has no holder, and
# an exclusive open succeeds beneath what is mounted through it.
looped() {
  for entry in "$sys"/loop*/loop/backing_file; do
    over=$(value "$entry")
    [ ! -b "$over" ] || [ "$(number_of "$over")" != "$(value "$sys/$1/dev")" ] || return 0
  done
  return 1
}

# number_of PATH: MAJOR:MINOR of a device's node.
number_of() (
  # shellcheck disable=SC2046 # two numbers
  set -- $(stat -Lc '0x%t 0x%T' "$1" 2>/dev/null)
  [ $# -ne 2 ] || printf %s "$(($1)):$(($2))"
)

# tree NAME: the device and all that is built on it.
tree() (
  printf '%s\n' "$1"
  for child in $(below "$1"); do tree "$child"; done
)

# roots NAME: the devices at the bottom of what a device is built on.
roots() (
  case " $targets " in *" $1 "*) # a multipath device is a whole itself
    printf '%s\n' "$1"
    exit
    ;;
  esac
  parents=$(above "$1")
  [ -n "$parents" ] || printf '%s\n' "$1"
  for parent in $parents; do roots "$parent"; done
)

# read_mounts: sets mounts to lines "DEVICE-NUMBER-OR-NAME TARGET".
read_mounts() {
  mounts=$(while read -r _ _ number _ target rest; do
    say "$number" "$target"
    rest=${rest#* - }
    rest=${rest#* }
    case $rest in
      /dev/*) source=$(kernel_name "${rest%% *}") && say "$source" "$target" ;;
    esac
  done </proc/self/mountinfo)
  swaps=$(while read -r path _; do
    case $path in /dev/*) kernel_name "$path" && echo ;; esac
  done 2>/dev/null </proc/swaps)
}

# mounted_at KEY: where it is mounted.
mounted_at() {
  printf '%s\n' "$mounts" | while IFS=$tab read -r key target; do
    [ "$key" != "$1" ] || printf '%s\n' "$target"
  done
}

exclusive() { wipefs --all --no-act "$1" >/dev/null 2>&1; }

# zeros PATH BYTES MIB COUNT: says whether the device of that size holds nothing
# but zeros in so many MiB. What cannot be read is no zero.
zeros() {
  part=$(($2 - $3 * 1048576))
  [ "$part" -le $(($4 * 1048576)) ] || part=$(($4 * 1048576))
  [ "$part" -le 0 ] ||
    [ "$(dd if="$1" bs=1048576 skip="$3" count="$4" 2>/dev/null | tr -dc '\0' | wc -c)" -eq "$part" ]
}

# blank PATH BYTES: says whether all that a wipe would write is zero. Most that
# is not shows in the first MiB, which spares slow disks the rest.
blank() {
  end=$(($2 / 1048576 - 4))
  [ "$end" -ge 0 ] || end=0
  zeros "$1" "$2" 0 1 && zeros "$1" "$2" 0 "$head_mib" && zeros "$1" "$2" "$end" 5 || return
  for gib in 1 10 100 1000; do
    zeros "$1" "$2" $((gib * 1024)) 1 || return
  done
}

# labels PATH BYTES: the copies of a BlueStore label, "GIB:OSD:CLUSTER:ID". A
# label holds the OSD's key too, which stays here.
labels() {
  for gib in 0 1 10 100 1000; do
    [ "$2" -gt $((gib * 1073741824)) ] || break
    dd if="$1" of=/dev/null bs=4096 count=1 skip=$((gib * 262144)) 2>/dev/null || printf '\tunread=it cannot be read at %s GiB' "$gib"
    label=$(dd if="$1" bs=4096 count=1 skip=$((gib * 262144)) 2>/dev/null | tr -c '[:alnum:]_-' ' ')
    case $label in 'bluestore block device '*) ;; *) continue ;; esac
    osd='' fsid='' id='' previous=''
    for word in ${label#bluestore block device }; do
      case $previous in ceph_fsid) fsid=$word ;; whoami) id=$word ;; esac
      previous=$word
      osd=${osd:-$word}
    done
    printf '\tlabel=%s:%s:%s:%s' "$gib" "${osd:--}" "${fsid:--}" "${id:--}"
  done
}

# tables PATH BYTES: where the header of a GPT is: in the second and the last
# sector, of 512 or 4096 bytes.
tables() {
  for sector in 512 4096; do
    for at in 1 $(($2 / sector - 1)); do
      [ "$2" -lt $((2 * sector)) ] || dd if="$1" of=/dev/null bs=$sector skip="$at" count=1 2>/dev/null ||
        printf '\tunread=it cannot be read at %s' $((at * sector))
      [ "$(dd if="$1" bs=$sector skip="$at" count=1 2>/dev/null | head -c 8 | tr '\0' '?')" != 'EFI PART' ] ||
        printf '\tgpt=%s' $((at * sector))
    done
  done
}

# device NAME: its line.
device() {
  d=$sys/$1
  path=$(node_of "$1")
  size=$(value "$d/size")
  size=$((${size:-0} * 512))
  printf 'dev\t%s\tnode=%s\tnumber=%s\tsize=%s' "$1" "$path" "$(value "$d/dev")" "$size"
  for key in ro removable partition dm/name dm/uuid md/level loop/backing_file device/transport; do
    v=$(value "$d/$key")
    case $key:$v in *: | ro:0 | removable:0) ;; *) printf '\t%s=%s' "$key" "$v" ;; esac
  done
  if [ -e "$d/loop/backing_file" ]; then
    printf '\tloop/inode=%s' "$(stat -c %d:%i "$(value "$d/loop/backing_file")" 2>/dev/null)"
  fi
  # With the kernel's own multipath the disk is the subsystem's, whose paths tell.
  for v in "$d"/device/nvme*/transport; do
    [ ! -e "$v" ] || printf '\tdevice/transport=%s' "$(value "$v")"
  done
  for v in $(above "$1"); do printf '\tparent=%s' "$v"; done
  for v in $( (mounted_at "$(value "$d/dev")" && mounted_at "$1") | sort -u); do printf '\tmount=%s' "$v"; done
  for v in $swaps; do [ "$v" != "$1" ] || printf '\tswap=1'; done
  lasting=''
  case $(readlink -f "$d") in */session[0-9]*) printf '\tTRAN=iscsi' ;; esac
  for key in SERIAL WWN TRAN; do
    v=$(lsblk -dno "$key" "$path" 2>/dev/null | tr -d '\n' | clean_text)
    v=${v%"${v##*[! ]}"}
    [ -z "$v" ] || printf '\t%s=%s' "$key" "$v"
    [ -z "$v" ] || [ "$key" = TRAN ] || lasting=1
  done
  for v in $ids; do
    [ "${v%%"|"*}" != "$1" ] || { lasting=1 && printf '\tby-id=%s' "${v#*"|"}"; }
  done
  if signatures=$(wipefs --no-act --parsable "$path" 2>/dev/null); then
    printf '%s\n' "$signatures" | while read -r v; do
      case $v in '' | '#'*) ;; *) printf '\tsig=%s' "$(printf %s "$v" | clean_text)" ;; esac
    done
    labels "$path" "$size"
    tables "$path" "$size"
    case " $targets " in *" $1 "*) contents "$1" ;; esac
  else
    printf '\tunread=wipefs cannot read it'
  fi
  # The open is one for writing, after which udev looks at the device anew: it
  # would start an array or a volume group that rests.
  case $signatures in *raid_member* | *LVM2_member* | *bcache*) ;; *)
    if looped "$1" || { [ -z "$(below "$1")" ] && ! exclusive "$path"; }; then printf '\tbusy=1'; fi
    ;;
  esac
  printf '\n'
}

# contents NAME: what tells a target apart where no number does, and whether
# there is anything to wipe.
contents() {
  if [ -z "$lasting" ]; then
    v=$(for v in 0 $((size / 1048576 - 1)); do dd if="$path" bs=1048576 skip="$v" count=2; done 2>/dev/null | sha256sum)
    printf '\tends=%s' "${v%% *}"
  fi
  if [ -z "$(below "$1")" ] && blank "$path" "$size"; then printf '\tblank=1'; fi
}

# volumes NAME...: the volume groups that have a physical volume among these
# devices, whole.
volumes() {
  command -v lvm >/dev/null || return 0
  pvs=$(lvm pvs --noheadings --separator '|' -o vg_name,vg_uuid,pv_name 2>/dev/null) || {
    say node unread 'lvm pvs'
    return
  }
  pvs=$(printf '%s\n' "$pvs" | while IFS='|' read -r vg uuid pv; do
    name=$(kernel_name "$pv") || name=$(printf %s "$pv" | clean_text)
    [ -z "$pv" ] || say "$name" "${vg##* }" "$uuid"
  done | sort)
  groups=''
  for name; do
    groups="$groups $(printf '%s\n' "$pvs" | sed -n "s/^$name$tab.*$tab\(.\{1,\}\)/\1/p")"
  done
  printf '%s\n' "$pvs" | while IFS= read -r row; do
    uuid=${row##*"$tab"}
    [ -n "$uuid" ] || uuid=${row%%"$tab"*}
    [ -z "$row" ] || case " $groups $* " in *" $uuid "*) say pv "$row" ;; esac
  done
  lvm lvs --noheadings --separator '|' -o vg_uuid,vg_name,lv_name,lv_tags 2>/dev/null | while IFS='|' read -r uuid vg lv tags; do
    case "$groups " in *" ${uuid##* } "*) say lv "$vg" "$lv" "$(printf %s "$tags" | clean_text)" ;; esac
  done | sort
}

rook() {
  if [ -L "$folder" ]; then
    say rook state link
  elif [ -d "$folder" ]; then
    say rook state present
    for entry in "$folder"/* "$folder"/.[!.]* "$folder"/..?*; do
      [ -e "$entry" ] || [ -L "$entry" ] || continue
      say rook entry "$(printf %s "${entry##*/}" | clean_text)"
    done
    for entry in "$folder"/*/*.config "$folder"/*/*.conf; do
      [ ! -f "$entry" ] || sed -n 's/^[[:space:]]*fsid[[:space:]]*=[[:space:]]*\([0-9a-fA-F-]*\).*/\1/p' "$entry"
    done | sort -u | while read -r fsid; do say rook fsid "$fsid"; done
  else
    say rook state absent
  fi
  real=$(readlink -f "$folder") || real=$folder # one above it may be a link
  printf '%s\n' "$mounts" | while IFS=$tab read -r _ target; do
    case $target in "$folder" | "$folder"/* | "$real" | "$real"/*) say rook mount "$target" ;; esac
  done | sort -u
}

# read_ids: sets ids to words "NAME|NAME-IN-BY-ID", without those names that are
# of what is on a disk.
read_ids() {
  ids=$(for link in /dev/disk/by-id/*; do
    case ${link##*/} in lvm-* | dm-* | md-*) continue ;; esac
    name=$(kernel_name "$link") && printf '%s|%s\n' "$name" "$(printf %s "${link##*/}" | tr -c '[:graph:]' '?')"
  done)
}

# inspect DEVICE...
inspect() {
  read_mounts
  read_ids
  targets=''
  for arg; do
    name=$(kernel_name "$arg") || name=-
    targets="$targets $name"
  done
  seen=$(for name in $targets; do attached "$name" && echo ' '; done | tr -d '\n')
  for name in $targets; do [ "$name" = - ] || tree "$name"; done >"$scratch"
  all=$(sort -u "$scratch")
  say node machine-id "$(value /etc/machine-id)"
  for key in /etc/ssh/ssh_host_*_key.pub; do
    [ -e "$key" ] && read -r kind key _ <"$key" && key=$(printf %s "$key" | base64 -d | sha256sum) &&
      say node host-key "$kind ${key%% *}"
  done | sort
  for tool in cryptsetup dmsetup lvm mdadm; do
    ! command -v "$tool" >/dev/null || say node tool "$tool"
  done
  cat /proc/[0-9]*/comm 2>/dev/null | grep '^ceph-' | sort -u |
    while read -r comm; do say node process "$comm"; done
  rook
  for arg; do
    name=$(kernel_name "$arg") || name=-
    say disk "$(printf %s "$arg" | clean_text)" "$name"
  done
  for name in $all; do device "$name"; done >"$scratch"
  cat "$scratch"
  # An identity of this boot, where a disk has none that lasts.
  ! grep -q "$tab"ends= "$scratch" || say node boot-id "$(value /proc/sys/kernel/random/boot_id)"
  # shellcheck disable=SC2086 # names of devices
  volumes $all
  say inspected
}

settle() { ! command -v udevadm >/dev/null || udevadm settle --timeout=30 2>/dev/null || :; }

# attached NAME: a word that changes when another disk takes over a name:
# diskseq, which no two have in one boot, and what older kernels (before 5.15)
# tell.
attached() {
  for key in diskseq dev size device/wwid wwid dm/uuid; do
    printf %s "$1|$(value "$sys/$1/$key" | tr -s ' ' _)|"
  done
}

# mine NAME: says whether a device is one of the targets, or built on targets
# alone, and is neither mounted nor swapped on. Asked anew before every step.
mine() {
  why=''
  case $1 in '' | .* | */*) why="'$1' is no name of a device" ;; esac
  [ -b "$(node_of "$1")" ] && [ -e "$sys/$1/dev" ] || why=${why:-$1 is gone}
  [ -z "$why" ] || return 1
  [ "$(number_of "$(node_of "$1")")" = "$(value "$sys/$1/dev")" ] || why="$(node_of "$1") is not the node of $1"
  ! looped "$1" || why="a loop device is over $1"
  for root in $(roots "$1"); do
    case " $targets " in *" $root "*) ;; *) why="$1 is built on $root, which is not listed" ;; esac
    case " $seen " in *" $(attached "$root") "*) ;; *) why="$root is no longer the disk that was looked at" ;; esac
  done
  read_mounts
  for at in $(mounted_at "$(value "$sys/$1/dev")") $(mounted_at "$1"); do why="$1 is mounted at $at"; done
  for name in $swaps; do [ "$name" != "$1" ] || why="$1 is swapped on"; done
  [ -z "$why" ]
}

# alone PATH: an exclusive open must succeed. udev may be reading just then.
alone() {
  for _ in 1 2 3; do
    ! exclusive "$1" || return 0
    settle
    sleep 1
  done
  why="$1 is in use: it cannot be opened exclusively"
  return 1
}

# zero PATH OFFSET BYTES: both are multiples of 512.
zero() {
  [ -b "$1" ] && alone "$1" || return 1
  unit=1048576
  [ $(($2 % unit + $3 % unit)) -eq 0 ] || unit=512
  [ "$3" -le 0 ] || dd if=/dev/zero of="$1" bs=$unit seek=$(($2 / unit)) count=$(($3 / unit)) conv=nocreat,notrunc,fsync 2>/dev/null || {
    why="$1: writing zeros at $2 failed"
    return 1
  }
}

# clear NAME MIB: signatures, the first MIB and the last 4 MiB, and where
# BlueStore keeps labels.
clear() {
  mine "$1" || return
  path=$(node_of "$1")
  # wipefs opens exclusively by itself. udev may be reading just then.
  for try in 1 2 3; do
    complaint=$(wipefs --all "$path" 2>&1 >/dev/null) && break
    why="wipefs: $(printf %s "$complaint" | clean_text)"
    [ "$try" -lt 3 ] || return 1
    settle
    sleep 1
  done
  why=''
  size=$(value "$sys/$1/size") size=$((size * 512))
  part=$(($2 * 1048576))
  [ "$part" -le "$size" ] || part=$size
  zero "$path" 0 "$part" || return
  for gib in 1 10 100 1000; do
    at=$((gib * 1073741824)) part=$((size - gib * 1073741824))
    [ "$part" -le 1048576 ] || part=1048576
    [ "$part" -le 0 ] || zero "$path" $at $part || return
  done
  at=$((size / 1048576 - 4)) at=$((at * 1048576))
  [ "$at" -ge 0 ] || at=0
  zero "$path" $at $((size - at)) || return
  blockdev --flushbufs "$path" || why='blockdev --flushbufs failed'
  settle
  [ -z "$why" ]
}

# run WHAT COMMAND...: a tool that tells on stderr why it failed.
run() {
  complaint=$("$@" 2>&1 >/dev/null </dev/null) && settle && return
  why="$1: $(printf %s "$complaint" | tail -n 1 | clean_text)"
  return 1
}

# step VERB ARGUMENT...: sets why where it fails.
step() {
  why=''
  case $1 in
    clear-inner) clear "$2" 4 ;;
    clear-disk) clear "$2" "$head_mib" ;;
    discard) mine "$2" && alone "$(node_of "$2")" && run blkdiscard "$(node_of "$2")" ;;
    remove-vg) remove_vg "$2" "$3" ;;
    remove-pv) mine "$2" && run lvm pvremove -y "$(node_of "$2")" ;;
    close-luks) mine "$2" && run cryptsetup close "$(value "$sys/$2/dm/name")" ;;
    stop-md) mine "$2" && run mdadm --stop "$(node_of "$2")" ;;
    remove-dm) mine "$2" && run dmsetup remove "$(value "$sys/$2/dm/name")" ;;
    reread) mine "$2" && reread "$2" ;;
    remove-folder) remove_folder ;;
    *) why="unknown step $1" && return 1 ;;
  esac
}

# remove_vg NAME UUID: a volume group all of whose parts are ours. Another may
# have the same name.
remove_vg() {
  parts=$(lvm pvs --noheadings -o pv_name --select "vg_uuid=$2" 2>/dev/null) || parts=''
  [ -n "$parts" ] || why="volume group $1 ($2) has no part that can be seen"
  for pv in $parts; do
    name=$(kernel_name "$pv") || why="volume group $1 has a part that is missing: $pv"
    [ -n "$why" ] || mine "$name" || :
  done
  [ -z "$why" ] && run lvm vgchange -an --select "vg_uuid=$2" && run lvm vgremove -y --select "vg_uuid=$2"
}

# reread NAME: the kernel forgets the partitions that are no more.
reread() {
  path=$(node_of "$1")
  alone "$path" || return
  [ -n "$(below "$1")" ] || return 0
  blockdev --rereadpt "$path" 2>/dev/null || partx --delete "$path" 2>/dev/null
  settle
  [ -z "$(below "$1")" ] || why="$(below "$1" | tr '\n' ' ')still on $1"
  [ -z "$why" ]
}

# remove_folder: a mount of the same file system is emptied by rm whatever its
# options, so nothing may be mounted there.
remove_folder() {
  read_mounts
  case $(rook) in *"rook${tab}mount$tab"* | *"state${tab}link"*) why="something is mounted at $folder, or it is a link" && return 1 ;; esac
  run rm -rf --one-file-system -- "$folder" && sync
}

# apply REQUEST
apply() {
  for tool in wipefs blockdev dd lsblk readlink stat sha256sum tail head tr sort flock; do
    command -v "$tool" >/dev/null || {
      say stop "$tool is not installed"
      exit 3
    }
  done
  exec 9>/run/nestor-wipe.lock
  flock -n 9 || {
    say stop 'another wipe is running on this node'
    exit 3
  }
  expected=$(printf '%s\n' "$1" | sed -n "s/^expect$tab//p")
  steps=$(printf '%s\n' "$1" | sed -n "s/^step$tab//p")
  set -f
  IFS=$newline
  # shellcheck disable=SC2046 # one device a line
  set -- $(printf '%s\n' "$expected" | sed -n "s/^disk$tab\([^$tab]*\).*/\1/p")
  IFS=$blank
  set +f
  inspect "$@" >"$folder_of_mine/now"
  if [ "$(cat "$folder_of_mine/now")" != "$expected" ]; then
    printf '%s\n' "$expected" | sort >"$folder_of_mine/planned"
    sort "$folder_of_mine/now" | comm -23 "$folder_of_mine/planned" - | while IFS= read -r line; do say differ "-$line"; done
    sort "$folder_of_mine/now" | comm -13 "$folder_of_mine/planned" - | while IFS= read -r line; do say differ "+$line"; done
    exit 4
  fi
  say same
  take "$targets" "$steps"
  inspect "$@"
  say "done"
}

# take TARGETS STEPS: one after the other, up to the first failure.
take() {
  targets=$1
  printf '%s\n' "$2" | while IFS=$tab read -r id verb first second; do
    [ -n "$id" ] || continue
    say begin "$id" || exit 1 # nobody would know of it
    if step "$verb" "$first" "$second" </dev/null && [ -z "$why" ]; then
      say end "$id"
    else
      say fail "$id" "${why:-it failed}"
      exit 1
    fi
  done || exit 1
}

main() {
  LC_ALL=C PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LVM_SUPPRESS_FD_WARNINGS=1
  export LC_ALL PATH LVM_SUPPRESS_FD_WARNINGS
  unset -v CDPATH ENV BASH_ENV 2>/dev/null
  umask 077
  sys=/sys/class/block folder=/var/lib/rook head_mib=100 line='' targets='' seen='' why=''
  tab=$(printf '\t') newline='
'
  blank=" $tab$newline"
  IFS=$blank
  mode=$1
  shift
  say nestor-wipe 1
  if [ "$mode" = reboot ]; then
    (sleep 2 && (systemctl reboot || reboot)) >/dev/null 2>&1 </dev/null &
    return
  fi
  folder_of_mine=$(mktemp -d /run/nestor-wipe.XXXXXX) || exit 3
  trap 'rm -rf "$folder_of_mine"' EXIT
  trap 'exit 143' HUP INT TERM PIPE
  scratch=$folder_of_mine/list
  case $mode in
    inspect) inspect "$@" ;;
    apply) apply "$1" ;;
    *) say stop "unknown mode $mode" && exit 2 ;;
  esac
}

main "$@"
