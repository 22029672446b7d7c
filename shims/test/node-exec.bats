#!/usr/bin/env bats
# node-exec.sh with fakes. What it does to real nodes is tested from Go.

load helper

setup() {
  setup_fakes
  # shellcheck source=../node-exec.sh
  . "$shims/node-exec.sh"
}

@test "ssh: options in order, -- before the host, one quoted line" {
  target NODE_EXEC_USER=debian NODE_EXEC_PORT=2222 NODE_EXEC_IDENTITY='/a key' NODE_EXEC_SSH_ARG=$'-o\nProxyCommand=nc %h %p'
  run --separate-stderr node_exec node1 -- echo "it's"
  [ "$status" -eq 0 ]
  [ "$output" = "ssh [-o] [BatchMode=yes] [-o] [StrictHostKeyChecking=yes] [-p] [2222] [-l] [debian] [-i] [/a key] [-o] [ProxyCommand=nc %h %p] [-T] [-S] [none] [-o] [ConnectTimeout=10] [-o] [ServerAliveInterval=15] [-o] [ServerAliveCountMax=3] [--] [192.0.2.1] [exec 'sh' '-c' 'case \$1 in -*) \"\$@\" ;; *) exec \"\$@\" ;; esac' 'sh' 'echo' 'it'\"'\"'s']" ]
}

@test "ssh: accept-new and a shared connection only when asked" {
  target NODE_EXEC_HOST_KEYS=accept-new NODE_EXEC_CONTROL_PATH=/c NODE_EXEC_CONTROL_PERSIST=30
  run --separate-stderr node_exec node1 true
  [[ $output == *"[StrictHostKeyChecking=accept-new] [-o] [ControlMaster=auto] [-o] [ControlPersist=30]"*"[-S] [/c]"* ]]
  target NODE_EXEC_HOST_KEYS=no
  unset NODE_EXEC_CONTROL_PATH
  run --separate-stderr node_exec node1 true
  [[ $output == *"[StrictHostKeyChecking=yes]"*"[-S] [none]"* ]]
}

@test "lima: the flags come first, a fixed word before the argv" {
  target NODE_EXEC_TRANSPORT=lima NODE_EXEC_HOST=vm1
  run --separate-stderr node_exec node1 A=b
  [ "$status" -eq 0 ]
  [[ $output == "limactl [shell] [--workdir] [/] [--tty=false] [vm1] [sh] [-c] "*"[sh] [A=b]" ]]
}

@test "sudo and the wrapper stand in front of the argv" {
  target NODE_EXEC_SUDO=1 NODE_EXEC_WRAP=n:0:lifeline NODE_EXEC_WRAPPER=text
  run --separate-stderr node_exec node1 id
  [[ $output == *"[exec 'sudo' '-n' '--' 'sh' '-c' 'text' 'sh' 'n:0:lifeline' 'id']" ]]
}

@test "local: runs here, and passes none of our variables on" {
  target NODE_EXEC_TRANSPORT=local
  run --separate-stderr node_exec node1 sh -c 'env | grep -c NODE_EXEC_; exit 7'
  [ "$status" -eq 7 ]
  [ "$output" = 0 ]
}

@test "exit codes: the command's own pass, 255 over ssh is 125" {
  target FAKE='exit 3'
  run node_exec node1 true
  [ "$status" -eq 3 ]
  target FAKE='exit 255'
  run --separate-stderr node_exec node1 true
  [ "$status" -eq 125 ]
  [[ $stderr == "node-exec: node1: ssh ended with 255"* ]]
}

@test "lima: 1 is 125 when stderr says level=fatal, and stderr streams" {
  target NODE_EXEC_TRANSPORT=lima FAKE="$BATS_TEST_TMPDIR/fake"
  printf '#!/bin/sh\necho "level=fatal msg=stopped" >&2; exit 1\n' >"$FAKE"
  chmod +x "$FAKE"
  run --separate-stderr node_exec node1 true
  [ "$status" -eq 125 ]
  [[ $stderr == "level=fatal msg=stopped"*"node-exec: node1: limactl did not run it" ]]
  printf '#!/bin/sh\necho oops >&2; exit 1\n' >"$FAKE"
  run --separate-stderr node_exec node1 true
  [ "$status" -eq 1 ]
  [ "$stderr" = oops ]
  printf '#!/bin/sh\necho level=fatal >&2; exit 4\n' >"$FAKE"
  run --separate-stderr node_exec node1 true
  [ "$status" -eq 4 ]
}

@test "variables of another node are refused" {
  target
  run --separate-stderr node_exec node2 true
  [ "$status" -eq 125 ]
  [ -z "$output" ]
  [[ $stderr == "node-exec: node2: refused: the target at hand is 'node1'"* ]]
}

@test "a stated kind that differs is refused, and nothing runs" {
  target NODE_EXEC_TARGET_KIND=prod
  run --separate-stderr node_exec --target-kind lima node1 true
  [ "$status" -eq 125 ]
  [ -z "$output" ]
  run --separate-stderr node_exec --target-kind prod node1 true
  [ "$status" -eq 0 ]
}

@test "a host or user that is an option, or no host, is refused" {
  for bad in NODE_EXEC_HOST=-oProxyCommand=x NODE_EXEC_HOST= NODE_EXEC_USER=-x; do
    target "$bad"
    run --separate-stderr node_exec node1 true
    [ "$status" -eq 125 ]
    [ -z "$output" ]
    unset NODE_EXEC_USER
  done
}

@test "without variables nestor resolve is asked, and its lines are only read" {
  # shellcheck disable=SC2016 # must not be expanded by anybody
  resolver NODE_EXEC_NODE=node1 NODE_EXEC_TRANSPORT=ssh 'NODE_EXEC_HOST=$(touch pwned)`touch pwned`' NODE_EXEC_SSH_ARG=-J NODE_EXEC_SSH_ARG=jump
  export NODE_EXEC_HOST=stale NODE_EXEC_SUDO=1 NODE_EXEC_WRAP=x
  cd "$BATS_TEST_TMPDIR"
  run --separate-stderr node_exec --target-kind lima node1 true
  [ "$status" -eq 125 ] # the kind is not lima
  [ "$(cat asked)" = '[resolve][--output][shim][--target-kind=lima][--][node1]' ]
  run --separate-stderr node_exec node1 true
  # shellcheck disable=SC2016
  [[ $output == *'[-J] [jump]'*'[$(touch pwned)`touch pwned`]'* ]]
  [[ $output != *sudo* ]]
  [ ! -e pwned ]
}

@test "a resolve that fails, or answers for another node, stops the call" {
  resolver NODE_EXEC_NODE=node2 NODE_EXEC_TRANSPORT=ssh NODE_EXEC_HOST=h
  run --separate-stderr node_exec node1 true
  [ "$status" -eq 125 ]
  [ -z "$output" ]
  export NESTOR_BIN=false
  run --separate-stderr node_exec node1 true
  [ "$status" -eq 125 ]
  [[ $stderr == *"nestor resolve gave no target" ]]
}

@test "stdin is the command's, and -n leaves it alone" {
  target FAKE=cat
  run --separate-stderr node_exec node1 true <<<input
  [ "${lines[1]}" = input ]
  count=0
  while read -r _; do
    node_exec -n node1 true
    count=$((count + 1))
  done <<<$'a\nb\nc'
  [ "$count" -eq 3 ]
}

@test "a command line that is too long is refused with both sizes" {
  target
  run --separate-stderr node_exec node1 echo "$(head -c 122000 /dev/zero | tr '\0' x)"
  [ "$status" -eq 0 ]
  run --separate-stderr node_exec node1 echo "$(head -c 123000 /dev/zero | tr '\0' x)"
  [ "$status" -eq 125 ]
  [[ $stderr =~ "takes 123"[0-9]+" bytes encoded, over the limit of 122880; send a script on stdin" ]]
}

@test "usage errors" {
  target
  for args in "" "node1" "--nope node1 true" "node1 --" "--target-kind"; do
    # shellcheck disable=SC2086 # words
    run --separate-stderr node_exec $args
    [ "$status" -eq 125 ]
    [[ $stderr == "node-exec: "*"usage: "* || $args == --target-kind ]]
  done
}

@test "--effective asks ssh -G and runs nothing" {
  target
  run --separate-stderr node_exec --effective node1
  [[ ${lines[0]} == "# ssh -o BatchMode=yes "*" -- 192.0.2.1" ]]
  [[ ${lines[1]} == "ssh [-G] [-o] [BatchMode=yes]"*"[--] [192.0.2.1]" ]]
}

@test "sourcing and calling changes nothing of the caller" {
  run bash -c '
    set -euo pipefail
    shopt -s nocasematch
    IFS=,; trap "echo trapped" USR1; set -- a b; cd /
    snapshot() { set +o; shopt; trap; pwd; printf "%q\n" "$IFS" "$@"; export -p; declare -F | grep -v -e node_exec -e snapshot; declare -p | grep -v -e _node_exec_file= -e "^declare -a[r]* \(BASH\|FUNC\|PIPE\)" -e " _=" -e BASH_ -e " \(LINENO\|RANDOM\|SRANDOM\|EPOCH[A-Z]*\|SECONDS\|FUNCNAME\|PIPESTATUS\|before\|after\|COLUMNS\|LINES\)="; }
    export NODE_EXEC_NODE=node1 NODE_EXEC_TRANSPORT=ssh NODE_EXEC_HOST=h
    before=$(snapshot "$@")
    . '"$shims"'/node-exec.sh
    node_exec node1 -- "a b" >/dev/null
    FAKE="exit 4" node_exec node1 true >/dev/null || [ $? -eq 4 ]
    after=$(snapshot "$@")
    [ "$before" = "$after" ] || { diff <(echo "$before") <(echo "$after"); exit 9; }'
  echo "$output" # shown where the test fails
  [ "$status" -eq 0 ]
  [ -z "$output" ]
}

# caller LINES: a bash of its own that sources the shim after the lines and calls it.
caller() {
  run --separate-stderr bash -c "$1
    . '$shims/node-exec.sh'; node_exec node1 'a b' '*'"
}

@test "what the caller defines does not reach the call" {
  target FAKE='exit 3'
  ours='line lines key node want effective cmd opts wrap code word t_NODE t_HOST LC_ALL'
  plain='' builtins='printf exec shift local set shopt unset command type'
  for transport in ssh lima; do
    export NODE_EXEC_TRANSPORT=$transport
    caller ''
    plain=$output
    [ "$status" -eq 3 ]
    echo 'echo from BASH_ENV' >"$BATS_TEST_TMPDIR/env"
    for preamble in "for v in $ours; do readonly \$v=zz; done" \
      "for f in ssh limactl sh grep tee $builtins; do . <(echo \$f '() { :; }'); done; export -f ssh grep" \
      'shopt -s expand_aliases; alias printf=false exec=false local=false command=false' \
      'set -a' \
      'shopt -s nullglob failglob extglob nocasematch; set -u -o pipefail -f -C -o posix' \
      'IFS=0; readonly IFS' 'IFS=/' 'FUNCNEST=2' 'export SHELLOPTS BASHOPTS; set -u' \
      "export BASH_ENV=$BATS_TEST_TMPDIR/env" \
      'export LC_ALL=xx_XX.nope' 'export LC_ALL=POSIX'; do
      caller "$preamble"
      echo "$transport: $preamble: $status: $output: $stderr"
      [ "$status" -eq 3 ]
      [ "$output" = "$plain" ]
    done
  done
}

@test "a DEBUG trap that is inherited leaves the exit code alone" {
  target NODE_EXEC_TRANSPORT=lima FAKE='exit 3'
  run bash -c ". '$shims/node-exec.sh'; set -T; trap 'echo trapped' DEBUG; node_exec node1 true"
  [ "$status" -eq 3 ]
}

@test "other shells are told that this is bash, and run nothing" {
  target
  for shell in zsh dash 'busybox ash'; do
    # shellcheck disable=SC2086 # words
    run --separate-stderr $shell -c ". '$shims/node-exec.sh'; echo after \$?" </dev/null
    [ "$output" = 'after 125' ]
    [[ $stderr == 'node-exec: written for bash'* ]]
  done
}

@test "it is found again from another folder" {
  target
  run --separate-stderr bash -c "cd '$shims'; . ./node-exec.sh; cd /; node_exec node1 true"
  [ "$status" -eq 0 ]
}

@test "a kind stated in the environment, or an empty one, counts too" {
  target NODE_EXEC_TARGET_KIND=prod EXPECTED_TARGET_KIND=lima
  run --separate-stderr node_exec node1 true
  [ "$status" -eq 125 ]
  [ -z "$output" ]
  export EXPECTED_TARGET_KIND=prod
  run --separate-stderr node_exec node1 true
  [ "$status" -eq 0 ]
  run --separate-stderr node_exec --target-kind '' node1 true
  [ "$status" -eq 125 ]
  [ -z "$output" ]
}

@test "lines of resolve without our prefix are nothing" {
  resolver 'warning: HOST=x' HOST=evil NODE_EXEC_NODE=node1 TRANSPORT=local NODE_EXEC_TRANSPORT=ssh NODE_EXEC_HOST=h HOST=evil NODE_EXEC_HOST
  run --separate-stderr node_exec node1 true
  [ "$status" -eq 0 ]
  [[ $output == *'[--] [h] ['* ]]
}

@test "closed streams do not change what runs" {
  for transport in ssh lima; do
    target NODE_EXEC_TRANSPORT=$transport FAKE="touch $BATS_TEST_TMPDIR/ran"
    run bash -c ". '$shims/node-exec.sh'; node_exec node1 true >&-"
    [ "$status" -eq 0 ]
    rm "$BATS_TEST_TMPDIR/ran"
    run bash -c ". '$shims/node-exec.sh'; node_exec node1 true <&-"
    [ "$status" -eq 0 ]
  done
}

@test "the script itself is at most 100 lines" {
  [ "$(wc -l <"$shims/node-exec.sh")" -le 100 ]
}
