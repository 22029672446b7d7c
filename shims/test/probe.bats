#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2030,SC2031
# The probe itself, under each shell that a node may have.

bats_require_minimum_version 1.5.0

setup() {
  PROBE=$BATS_TEST_DIRNAME/../probe.sh
  FAKES=$BATS_TEST_TMPDIR/fakes
  mkdir -p "$FAKES"
  N=N$BASHPID$RANDOM # the folder's name comes of it: another run of these tests may be under way
  shells='dash|bash|bash --posix|busybox ash'
}

# each FUNCTION: calls it once with every shell in $shell.
each() {
  local IFS='|'
  for shell in $shells; do
    IFS=' ' "$1" || {
      echo "under $shell" >&2
      return 1
    }
  done
}

# probe [ARGUMENT...]: runs it under $shell, the fakes first on PATH.
probe() {
  # shellcheck disable=SC2086
  PATH=$FAKES:$PATH $shell "$PROBE" "$@"
}

# fake NAME: makes a tool of the script on stdin.
fake() {
  printf '#!/bin/sh\n%s\n' "$(cat)" >"$FAKES/$1"
  chmod +x "$FAKES/$1"
}

# gone PATTERN: no such process is left. One that was just killed may take a
# moment to die.
gone() {
  for _ in $(seq 50); do
    pgrep -f "$1" >/dev/null || return 0
    sleep 0.1
  done
  return 1
}

# frame NAME: the frame of that name, out of stdin.
frame() {
  awk -v begin="$N begin $1" -v end="$N end " '$0 == begin { on = 1 } on { print } on && index($0, end) == 1 { exit }'
}

framed() {
  run --separate-stderr probe "$N" 10
  [ "$status" -eq 0 ] && [ -z "$stderr" ] || return 1
  [ "${lines[0]}" = "$N nestor-probe 1" ] || return 1
  sections=$(grep -c "^$N begin [a-z]*\$" <<<"$output")
  [ "${lines[-1]}" = "$N done $sections" ] || return 1
  [ "$(frame 'host:/etc/machine-id' <<<"$output" | sed -n 2p)" = "$(cat /etc/machine-id)" ]
}
@test "prints frames and a count, under every shell" { each framed; }

from_stdin() {
  # shellcheck disable=SC2086
  run --separate-stderr $shell -s "$N" 10 <"$PROBE"
  [ "$status" -eq 0 ] && [ "${lines[0]}" = "$N nestor-probe 1" ] && [[ ${lines[-1]} = "$N done "* ]]
}
@test "can be read from stdin, and no section eats the script" {
  fake lsblk <<<'cat >/dev/null; echo read'
  fake uname <<<'cat'
  each from_stdin
}

leaves_nothing() {
  own=N$BASHPID$RANDOM # other probes may run on this machine
  probe "$own" 10 >/dev/null
  ! compgen -G "/*/nestor-probe.$own" && ! compgen -G "/*/*/nestor-probe.$own"
}
@test "leaves no folder behind" { each leaves_nothing; }

@test "a nonce that is no word is refused" {
  shell=dash
  for nonce in '' '../x' 'a b' 'a/b' "a'b"; do
    run --separate-stderr probe "$nonce"
    [ "$status" -eq 2 ]
    [ "$stderr" = 'probe: the nonce must be letters and digits' ]
    [ -z "$output" ]
  done
}

@test "half a script does nothing" {
  for cut in 1000 4000 9000; do
    run --separate-stderr sh -c 'head -c "$1" "$2" | sh -s "$3" 10' sh "$cut" "$PROBE" "$N"
    [ -z "$output" ]
  done
}

hang_is_cut() {
  mark=7$BASHPID.$RANDOM
  fake uname <<<"echo before; sleep $mark & (trap '' TERM; sleep $mark; true) | cat"
  run --separate-stderr probe "$N" 3
  [ "$status" -eq 0 ] || return 1
  [ "$(frame kernel <<<"$output" | sed -n '2p;$p')" = $'before\n'"$N end cut" ] || return 1
  [ "$(frame byid <<<"$output" | tail -n 1)" != "$N end cut" ] || return 1
  gone "sleep $mark"
}
@test "a section that hangs is cut, with all its children" { each hang_is_cut; }

ends_on_term() {
  mark=6$BASHPID.$RANDOM
  own=N$BASHPID$RANDOM
  fake lsblk <<<"sleep $mark & sleep $mark"
  # shellcheck disable=SC2086
  PATH=$FAKES:$PATH $shell "$PROBE" "$own" 61 >"$BATS_TEST_TMPDIR/out" 3>&- &
  for _ in $(seq 100); do
    pgrep -f "sleep $mark" >/dev/null && break
    sleep 0.05
  done
  [ "$(pgrep -cf "sleep $mark")" -eq 2 ] || return 1
  kill -TERM $!
  code=0
  wait $! || code=$?
  [ "$code" -eq 143 ] || return 1
  gone "sleep $mark" && gone '^sleep 61$' || return 1
  ! compgen -G "/*/nestor-probe.$own" && ! compgen -G "/*/*/nestor-probe.$own"
}
@test "TERM ends all that it started" { each ends_on_term; }

keeps_streams_apart() {
  fake uname <<<'printf "out\n\n"; printf "err1\nerr2\n" >&2; exit 5'
  run --separate-stderr probe "$N" 10
  printf -v expected '%s begin kernel\nout\n\n\n%s err\nerr1\nerr2\n\n%s end 5' "$N" "$N" "$N"
  [ "$(frame kernel <<<"$output")" = "$expected" ]
}
@test "stdout, stderr and the exit code stay apart" { each keeps_streams_apart; }

falls_back() {
  # An lsblk that knows neither MOUNTPOINTS nor PATH.
  fake lsblk <<<'case "$*" in *MOUNTPOINTS* | *PATH*) echo "lsblk: unknown column" >&2; exit 1;; esac; echo "$*"'
  run --separate-stderr probe "$N" 10
  [[ $(frame disks <<<"$output" | sed -n 2p) = '-J -b -o NAME,'*',MOUNTPOINT,'* ]] || return 1
  # One without JSON.
  fake lsblk <<<'case "$*" in *-J*) exit 1;; esac; echo "$*"'
  run --separate-stderr probe "$N" 10
  [[ $(frame disks <<<"$output" | sed -n 2p) = '-P -b -o NAME,'* ]] || return 1
  [ "$(frame disks <<<"$output" | tail -n 1)" = "$N end 0" ]
}
@test "an old lsblk is asked for what it knows" { each falls_back; }

tells_missing() {
  # shellcheck disable=SC1090
  out=$($shell -c "$(sed -n '/^missing() {/,/^}/p' "$PROBE")"'
    for p in "$1/none" "$1/none/deeper/still" "$1/open/x" /no-such-thing nowhere; do missing "$p"; done' sh "$BATS_TEST_TMPDIR")
  [ "$out" = $'absent\nabsent\nabsent\nabsent\nabsent' ]
}
@test "what does not exist is absent" {
  mkdir "$BATS_TEST_TMPDIR/open"
  each tells_missing
}

@test "what may not be read is denied, and so is what lies behind a closed folder" {
  [ "$(id -u)" -eq 0 ] || { [ -z "${CI:-}" ] && skip 'NOT RUN: needs root'; }
  mkdir -p /tmp/nestor-bats.$$/closed
  echo secret >/tmp/nestor-bats.$$/closed/file
  echo secret >/tmp/nestor-bats.$$/file
  chmod 600 /tmp/nestor-bats.$$/file
  chmod 700 /tmp/nestor-bats.$$/closed
  for shell in dash bash 'busybox ash'; do
    # shellcheck disable=SC2086
    out=$(setpriv --reuid=65534 --regid=65534 --clear-groups $shell -c "$(sed -n '/^missing() {/,/^}/p' "$PROBE")"'
      for p in file closed/file closed/other closed/a/b gone; do missing "/tmp/nestor-bats.$1/$p"; done' sh $$)
    [ "$out" = $'denied\ndenied\ndenied\ndenied\nabsent' ]
  done
  rm -r /tmp/nestor-bats.$$
}

@test "secrets of a network configuration stay on the node" {
  cat >"$BATS_TEST_TMPDIR/c.conf" <<'END'
{"name": "k8s", "policy": {"k8s_auth_token": "eyJ.a-b_c", "password" : "p\"w", "Secret": "s"}, "tokenize": "kept", "type":"calico"}
END
  for shell in dash 'busybox ash'; do
    # shellcheck disable=SC2086
    out=$($shell -c "$(sed -n '/^redact() {/,/^}/p' "$PROBE")"'
redact "$1"' sh "$BATS_TEST_TMPDIR/c.conf")
    [[ $out != *eyJ* && $out != *'"s"'* && $out != *'p\"'* && $out != *'w"'* ]]
    [[ $out = *'"tokenize": "kept"'* && $out = *'"type":"calico"'* ]]
  done
}

other_folder() {
  run --separate-stderr probe "$N" 20
  [ "$status" -eq 0 ] && [ -z "$stderr" ] || return 1
  [ "$(frame 'cri:containerd config' <<<"$output" | grep -c hunter2)" -eq 0 ] || return 1
  [ "$(frame "cni:$folder/one" <<<"$output" | sed -n 2p)" = 10-x.conflist ] || return 1
  [ "$(frame "cni:$folder/one/10-x.conflist" <<<"$output" | sed -n 2p)" = '{"name": "x"}' ] || return 1
  [ "$(frame "cni:$folder/two" <<<"$output" | sed -n 2p)" = 20-y.conf ] || return 1
  [ "$(frame cri <<<"$output" | tail -n 1)" = "$N end 0" ] || return 1
  [ "$(frame 'cri:crio config' <<<"$output" | tail -n 1)" = "$N end 0" ] || return 1
  [[ ${lines[-1]} = "$N done "* ]]
}
@test "the folders of networks that a runtime's configuration names are read, under every shell" {
  folder="$BATS_TEST_TMPDIR/a b"
  mkdir -p "$folder/one" "$folder/two"
  echo '{"name": "x"}' >"$folder/one/10-x.conflist"
  echo '{"name": "y"}' >"$folder/two/20-y.conf"
  fake containerd <<END
printf '[plugins."io.containerd.grpc.v1.cri".cni]\n  conf_dir = "%s"\n  conf_dir = "/etc/cni/net.d"\n  conf_dir = "-n"\npassword = "hunter2"\n' '$folder/one' # hunter2
END
  fake crio <<END
printf '[crio.network]\nnetwork_dir = "%s/"\n' '$folder/two'
END
  each other_folder
  fake containerd <<<"printf 'conf_dir = \"$folder/gone\"\n'"
  shell=dash
  run --separate-stderr probe "$N" 20
  [ "$(frame "cni:$folder/gone" <<<"$output" | tail -n 1)" = "$N end absent" ]
}

@test "of registries.conf no password is taken, and the rest is" {
  cat >"$BATS_TEST_TMPDIR/r.conf" <<'END'
# secret
[[registry]]
prefix = "docker.io"
location = 'robot:hunter2@mirror.example.org'
insecure = true
[[registry.mirror]]
  location = "mirror.example.org/a"
END
  for shell in dash 'busybox ash'; do
    # shellcheck disable=SC2086
    out=$($shell -c "$(sed -n '/^registry_settings() {/,/^}/p' "$PROBE")"'
registry_settings "$1"' sh "$BATS_TEST_TMPDIR/r.conf")
    [ "$out" = $'[[registry]]\nprefix = "docker.io"\nlocation = \'mirror.example.org\'\n[[registry.mirror]]\n  location = "mirror.example.org/a"' ]
  done
}

@test "nothing on the node is written but a folder on a tmpfs" {
  command -v strace >/dev/null || {
    [ -z "${CI:-}" ] || return 1
    skip 'NOT RUN: needs strace'
  }
  # -ff: a file for each process, or one call's line is cut in two by another.
  strace -ff -qq -e trace=openat,open,creat,mkdir,mkdirat,unlink,unlinkat,rename,renameat,renameat2,link,linkat,symlink,symlinkat,mknod,mknodat,truncate \
    -o "$BATS_TEST_TMPDIR/trace" dash "$PROBE" "$N" 10 >/dev/null
  # What was opened for writing, made or removed lies in that folder; rm names
  # what is in it by the folder's descriptor.
  run grep -E 'O_WRONLY|O_RDWR|O_CREAT|mkdir|unlink|rename|link|mknod|truncate' --no-filename "$BATS_TEST_TMPDIR"/trace.*
  [ "$status" -eq 0 ]
  run grep -vE '"/dev/shm/nestor-probe\.'"$N"'|"/dev/null"|"/dev/tty"|unlinkat\([0-9]+, |ENOENT' <<<"$output"
  [ -z "$output" ] || { echo "$output" >&2 && return 1; }
}
