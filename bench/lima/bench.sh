#!/usr/bin/env bash
# bench.sh up|status|down [VM...]: the Lima bench of vms.txt, or some of it.
#
#   up      make and start what is missing, write .work/inventory.yaml
#   status  what there is, and whether it answers
#   down    delete the VMs that up made, and their disks; no others, ever
#
# NESTOR_BENCH_VMS      another file than vms.txt
# NESTOR_BENCH_IMAGE    a folder with disk.qcow2, vmlinuz and initrd.img (see
#                       image.sh) in place of Debian's cloud image
# NESTOR_BENCH_EMULATE  1: no hardware virtualization, whatever the machine says
#
# bash 3.2 and BSD tools will do.
set -eu -o pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$here/.work
vms=${NESTOR_BENCH_VMS:-$here/vms.txt}
# shellcheck source-path=SCRIPTDIR source=../../shims/bench-compat.sh
. "$here/../../shims/bench-compat.sh"

die() { printf 'bench: %s\n' "$*" >&2 && exit 2; }
say() { printf 'bench: %s\n' "$*" >&2; }

# rows [VM...]: the rows of the table, or those of the VMs named.
rows() {
  awk -v wanted=" $* " '
    /^[[:space:]]*(#|$)/ { next }
    NF != 8 { printf "bench: %s:%d: 8 columns are needed, these are %d\n", FILENAME, FNR, NF > "/dev/stderr"; exit 2 }
    $1 !~ /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/ { printf "bench: %s:%d: %s is no name for a VM\n", FILENAME, FNR, $1 > "/dev/stderr"; exit 2 }
    wanted == "  " || index(wanted, " " $1 " ")' "$vms"
}

# state VM: Running, Stopped, ... or nothing.
state() { limactl list --format '{{.Status}}' "$1" 2>/dev/null || true; }

# disks VM SIZES: a name and a size a line.
disks() {
  local i=0 size
  [[ $2 == - ]] || for size in ${2//,/ }; do
    i=$((i + 1))
    printf '%s-%d %s\n' "$1" "$i" "$size"
  done
}

# template NAME GROUP CPUS MEMORY DISK EXTRA API NODEPORTS
template() {
  local image=${NESTOR_BENCH_IMAGE-} disk
  printf '# Written by bench.sh.\nminimumLimaVersion: 2.0.0\n'
  if [[ -n $image ]]; then
    printf 'images:\n- location: %s/disk.qcow2\n  arch: x86_64\n  kernel: {location: %s/vmlinuz, cmdline: root=/dev/vda rw console=ttyS0}\n  initrd: {location: %s/initrd.img}\n' "$image" "$image" "$image"
    printf 'firmware: {legacyBIOS: true}\n'
  else
    printf 'base: template:_images/debian-12\n'
  fi
  printf 'cpus: %s\nmemory: %s\ndisk: %s\nmounts: []\ncontainerd: {system: false, user: false}\n' "$3" "$4" "$5"
  if [[ ${NESTOR_BENCH_EMULATE-} == 1 ]]; then
    printf 'vmType: qemu\nvideo: {display: none}\nvmOpts: {qemu: {cpuType: {x86_64: max}}}\n'
  fi
  printf 'additionalDisks:\n'
  disks "$1" "$6" | while read -r disk _; do
    printf -- '- {name: %s, format: false}\n' "$disk"
  done
  # Only forwarding needs Lima's agent in the guest.
  [[ $7$8 != -- ]] || { printf 'plain: true\n' && return; }
  # guestIP 0.0.0.0 that need not be zero: bound to whatever address.
  printf 'portForwards:\n'
  [[ $7 == - ]] || printf -- '- {guestIP: 0.0.0.0, guestIPMustBeZero: false, guestPort: 6443, hostPort: %s}\n' "$7"
  [[ $8 == - ]] || printf -- '- {guestIP: 0.0.0.0, guestIPMustBeZero: false, guestPortRange: [30000, 32767], hostPortRange: [30000, 32767]}\n'
  printf -- '- {guestIP: 0.0.0.0, proto: any, ignore: true}\n'
}

# inventory: of the VMs that up made, for nestor and for Ansible.
inventory() {
  local group name of api
  printf '# Written by bench.sh up; gone with bench.sh down.\nall:\n  vars:\n    target_kind: lima\n    stack_id: bench\n  children:\n    cloud:\n      children:\n'
  for group in control workers; do
    printf '        %s:\n          hosts:\n' "$group"
    rows | while read -r name of _ _ _ _ api _; do
      [[ $of == "$group" && -e $work/made/$name ]] || continue
      # What begins with ansible_ is for Ansible; nestor needs the name alone.
      printf '            %s:\n              ansible_host: lima-%s\n' "$name" "$name"
      printf '              ansible_ssh_common_args: -F %s\n' "$(limactl list --format '{{.SSHConfigFile}}' "$name")"
      [[ $api == - ]] || printf '              api_port: %s\n' "$api"
    done
  done
}

up() {
  local table name group cpus memory disk extra api nodeports size known
  table=$(rows "$@")
  [[ -n $table ]] || die "$vms names no such VM: $*"
  if [[ ${NESTOR_BENCH_EMULATE-} == 1 ]]; then
    export QEMU_SYSTEM_X86_64='qemu-system-x86_64 -machine q35,vmport=off -accel tcg,thread=multi,tb-size=512'
  fi
  mkdir -p "$work/made"
  while read -r name group cpus memory disk extra api nodeports <&3; do
    if [[ -z $(state "$name") ]]; then
      template "$name" "$group" "$cpus" "$memory" "$disk" "$extra" "$api" "$nodeports" >"$work/$name.yaml"
      known=$(limactl disk list --json)
      : >"$work/made/$name"
      disks "$name" "$extra" | while read -r disk size; do
        [[ $known == *"\"name\":\"$disk\""* ]] && die "the disk $disk exists and bench.sh did not make it: limactl disk delete $disk"
        limactl --tty=false disk create "$disk" --size "$size" </dev/null
        printf '%s\n' "$disk" >>"$work/made/$name"
      done
      limactl --tty=false create --name "$name" "$work/$name.yaml" </dev/null
    elif [[ ! -e $work/made/$name ]]; then
      die "the instance $name exists and bench.sh did not make it: rename yours, or the bench's in $vms"
    fi
    # An emulated VM may take longer than Lima's own ten minutes.
    [[ $(state "$name") == Running ]] || limactl --tty=false start --timeout 40m "$name" </dev/null
    vm_sh "$name" true </dev/null || die "$name runs and does not answer"
  done 3<<<"$table"
  inventory >"$work/inventory.yaml"
  say "$work/inventory.yaml"
}

status() {
  local table name extra answer code=0
  table=$(rows "$@")
  printf '%-12s %-10s %-8s %s\n' VM STATUS ANSWERS 'EXTRA DISKS'
  while read -r name _ _ _ _ extra _ <&3; do
    answer=no
    vm_sh "$name" true </dev/null >/dev/null 2>&1 && answer=yes || code=1
    printf '%-12s %-10s %-8s %s\n' "$name" "$(state "$name" | sed 's/^$/absent/')" "$answer" "$extra"
  done 3<<<"$table"
  return "$code"
}

down() {
  local table name disk
  table=$(rows "$@")
  while read -r name _ <&3; do
    [[ -e $work/made/$name ]] || continue
    [[ -z $(state "$name") ]] || limactl --tty=false delete --force "$name" </dev/null
    while read -r disk <&4; do
      limactl --tty=false disk delete "$disk" </dev/null
    done 4<"$work/made/$name"
    rm -f "$work/made/$name" "$work/$name.yaml"
  done 3<<<"$table"
  if [[ -z $(ls "$work/made" 2>/dev/null) ]]; then
    rm -rf "$work/made" "$work/inventory.yaml"
  else
    inventory >"$work/inventory.yaml"
  fi
}

command -v limactl >/dev/null || die 'limactl is not installed on this machine'
verb=${1-}
case $verb in
  up | status | down) shift && "$verb" "$@" ;;
  *) die 'usage: bench.sh up|status|down [VM...]' ;;
esac
