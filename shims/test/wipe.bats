#!/usr/bin/env bats
# wipe.sh, without a disk: what it refuses, and what it never does. The disks
# are for Go's tests, on nodes that have none but their own.
# shellcheck disable=SC2016

setup() {
  wipe=$BATS_TEST_DIRNAME/../wipe.sh
  if [ "$(id -u)" -ne 0 ] || [ ! -w /run ]; then
    [ -z "${CI-}" ] || {
      echo 'NOT RUN: needs root' >&2
      return 1
    }
    skip 'NOT RUN: needs root'
  fi
  # Whatever could write is replaced by something that only tells.
  mkdir "$BATS_TEST_TMPDIR/bin"
  for tool in wipefs dd blockdev blkdiscard lvm cryptsetup mdadm dmsetup partx rm reboot systemctl; do
    [ "$tool" != rm ] || continue
    printf '#!/bin/sh\necho "%s $*" >>%s/calls\nexit 1\n' "$tool" "$BATS_TEST_TMPDIR" >"$BATS_TEST_TMPDIR/bin/$tool"
    chmod +x "$BATS_TEST_TMPDIR/bin/$tool"
  done
  PATH=$BATS_TEST_TMPDIR/bin:$PATH
  tab=$(printf '\t')
}

calls() { cat "$BATS_TEST_TMPDIR/calls" 2>/dev/null || :; }

inspected() { "$1" "$wipe" inspect /dev/null | tail -n +2; }

@test "inspect says of what is no disk that there is none" {
  for shell in dash bash "busybox ash"; do
    # shellcheck disable=SC2086
    run $shell "$wipe" inspect /dev/null /nowhere
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = "nestor-wipe${tab}1" ]
    [ "${lines[${#lines[@]} - 1]}" = inspected ]
    [[ $output == *"disk${tab}/dev/null${tab}-"* ]]
    [[ $output == *"disk${tab}/nowhere${tab}-"* ]]
    [[ $output != *"dev$tab"* || $output != *"dev${tab}null"* ]]
  done
  [[ $(calls) != *dd* ]]
}

@test "apply does nothing where a line differs, and says which" {
  request=$(inspected dash | sed "s/^/expect$tab/; s/machine-id$tab./machine-id${tab}x/")
  run dash "$wipe" apply "$request
step${tab}1${tab}remove-folder"
  [ "$status" -eq 4 ]
  [[ $output == *"differ$tab-node${tab}machine-id${tab}x"* ]]
  [[ $output == *"differ$tab+node${tab}machine-id"* ]]
  [[ $output != *begin* && $output != *same* ]]
}

@test "apply does nothing where a line is missing or one too many" {
  for change in '$d' 1d '2p'; do
    run dash "$wipe" apply "$(inspected dash | sed "$change" | sed "s/^/expect$tab/")
step${tab}1${tab}remove-folder"
    [ "$status" -eq 4 ]
    [[ $output != *begin* ]]
  done
}

@test "a step that is not known fails, and so does one on a device that is not listed" {
  for step in "format${tab}sda" "clear-disk${tab}nowhere" "clear-disk$tab" "remove-dm${tab}../../x"; do
    run dash "$wipe" apply "$(inspected dash | sed "s/^/expect$tab/")
step${tab}1${tab}$step
step${tab}2${tab}$step"
    [ "$status" -eq 1 ]
    [[ $output == *"same"*"begin${tab}1"*"fail${tab}1$tab"* ]]
    [[ $output != *"begin${tab}2"* ]]
  done
  ! calls | grep -Ev '^lvm (pvs|lvs)' || return 1
}

@test "a step of which nobody can hear is not taken" {
  run dash "$wipe" apply "$(inspected dash | sed "s/^/expect$tab/")
step${tab}1${tab}remove-vg${tab}vg${tab}uuid" >/dev/null
  [[ $(calls) == *vg_uuid=uuid* ]]
  rm "$BATS_TEST_TMPDIR/calls"
  dash "$wipe" apply "$(inspected dash | sed "s/^/expect$tab/")
step${tab}1${tab}remove-vg${tab}vg${tab}uuid" >/dev/full 2>/dev/null || :
  [[ $(calls) != *vg_uuid=uuid* && $(calls) == *lvm* ]]
}

@test "a volume group whose parts cannot be seen is not removed" {
  run dash "$wipe" apply "$(inspected dash | sed "s/^/expect$tab/")
step${tab}1${tab}remove-vg${tab}vg${tab}uuid"
  [ "$status" -eq 1 ]
  [[ $output == *"fail${tab}1${tab}volume group vg (uuid) has no part that can be seen"* ]]
  ! calls | grep -E 'vgchange|vgremove' || return 1
}

@test "two at a time are refused" {
  exec 9>/run/nestor-wipe.lock
  flock 9
  run dash "$wipe" apply "expect${tab}inspected"
  flock -u 9
  [ "$status" -eq 3 ]
  [[ $output == *"stop${tab}another wipe is running on this node"* ]]
}

@test "a tool that is missing is named before anything else" {
  mkdir "$BATS_TEST_TMPDIR/few"
  for tool in dash mktemp readlink printf rm cat sed sort; do ln -s "$(command -v $tool)" "$BATS_TEST_TMPDIR/few/$tool"; done
  sed 's|PATH=$PATH:[^ ]* |PATH=$PATH |' "$wipe" >"$BATS_TEST_TMPDIR/wipe.sh"
  PATH=$BATS_TEST_TMPDIR/few run dash "$BATS_TEST_TMPDIR/wipe.sh" apply "expect${tab}inspected"
  [ "$status" -eq 3 ]
  [[ $output == *"stop${tab}wipefs is not installed"* ]]
}

@test "an unknown mode is refused" {
  run dash "$wipe" erase /dev/null
  [ "$status" -eq 2 ]
}

@test "nothing is left in /run" {
  before=$(ls -d /run/nestor-wipe.?????? 2>/dev/null || :)
  dash "$wipe" inspect /dev/null >"$BATS_TEST_TMPDIR/out"
  [ "$(ls -d /run/nestor-wipe.?????? 2>/dev/null || :)" = "$before" ]
}

@test "no tool is ever forced" {
  run grep -nE '(^|[^[:alnum:]_-])(-f|-ff|--force|-rf --no-preserve-root)([^[:alnum:]_-]|$)' "$wipe"
  while IFS= read -r line; do
    case $line in *'set -f'* | *'set +f'* | *'-f "$entry"'* | *'readlink -f'* | *'# '*) ;; *)
      [ -z "$line" ] || {
        echo "$line"
        return 1
      }
      ;;
    esac
  done <<<"$output"
}
