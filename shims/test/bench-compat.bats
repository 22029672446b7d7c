#!/usr/bin/env bats

load helper

setup() {
  setup_fakes
  # shellcheck source=../bench-compat.sh
  . "$shims/bench-compat.sh"
}

@test "vm_sh runs on the Lima instance, without an inventory" {
  export NESTOR_BIN=false
  run --separate-stderr vm_sh node1 sudo cat /etc/hostname
  [ "$status" -eq 0 ]
  [[ $output == "limactl [shell] [--workdir] [/] [--tty=false] [node1] "*"[sudo] [cat] [/etc/hostname]" ]]
}

@test "vm_sh never uses ssh, whatever is exported" {
  target NODE_EXEC_TARGET_KIND=prod NODE_EXEC_SUDO=1 NODE_EXEC_WRAP=x
  run --separate-stderr vm_sh node1 true
  [[ $output == "limactl "* ]]
  [[ $output != *sudo* ]]
  run --separate-stderr vm_sh node2 true
  [[ $output == "limactl "*"[node2]"* ]]
  [ "$NODE_EXEC_TARGET_KIND" = prod ]
}

@test "vm_sh passes stdin and the exit code" {
  FAKE=cat run --separate-stderr vm_sh node1 bash -s <<<'echo hi'
  [ "${lines[1]}" = 'echo hi' ]
  FAKE='exit 3' run vm_sh node1 true
  [ "$status" -eq 3 ]
}

@test "vm_sh runs on the instance that is named, whatever the caller made of our names" {
  run --separate-stderr bash -c "
    export NODE_EXEC_SUDO=1 NODE_EXEC_WRAP=x
    readonly -x NODE_EXEC_NODE=evil NODE_EXEC_HOST=evil NODE_EXEC_TRANSPORT=ssh NODE_EXEC_SUDO
    unset() { :; }; export() { :; }; node_exec() { echo mine; }
    . '$shims/bench-compat.sh'; vm_sh node1 true"
  [ "$status" -eq 0 ]
  [[ $output == "limactl [shell] "*" [node1] "*"[sh] [true]" ]]
  [[ $output != *sudo* ]]
}

@test "vm_sh refuses a stated kind that is not lima, and no instance" {
  EXPECTED_TARGET_KIND=prod run --separate-stderr vm_sh node1 true
  [ "$status" -eq 125 ]
  [ -z "$output" ]
  for args in '' 'node1' '-n node1 true' '--effective node1'; do
    # shellcheck disable=SC2086 # words
    run --separate-stderr vm_sh $args
    [ "$status" -eq 125 ]
    [ -z "$output" ]
  done
}

@test "fetch_kubeconfig_node is nestor kubeconfig, of the instance alone" {
  resolver ''
  cd "$BATS_TEST_TMPDIR"
  fetch_kubeconfig_node cp1 'my out' 16443 bench
  [ "$(cat asked)" = '[kubeconfig][--lima=cp1][--api-port=16443][--context=bench][--out=my out]' ]
  fetch_kubeconfig_node -cp1 -out 6443
  [ "$(cat asked)" = '[kubeconfig][--lima=-cp1][--api-port=6443][--out=-out]' ]
  fetch_kubeconfig_node cp1 out 6443 ''
  [ "$(cat asked)" = '[kubeconfig][--lima=cp1][--api-port=6443][--out=out]' ]
}

@test "fetch_kubeconfig_node returns nestor's exit code, under set -eu too" {
  NESTOR_BIN=false run fetch_kubeconfig_node cp1 out 6443
  [ "$status" -eq 1 ]
  run --separate-stderr bash -euc ". '$shims/bench-compat.sh'; NESTOR_BIN=true fetch_kubeconfig_node cp1 out 6443; echo on"
  [ "$output" = on ]
}
