# shellcheck shell=bash disable=SC2034 # used by the tests that load it
# helper.bash: fake ssh and limactl, first on the PATH. Each prints its
# arguments, one a line in brackets, then does what FAKE says.

setup_fakes() {
  bats_require_minimum_version 1.5.0
  shims=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
  fakes=$BATS_TEST_TMPDIR/bin
  mkdir -p "$fakes"
  local name
  for name in ssh limactl; do
    cat >"$fakes/$name" <<EOF
#!/bin/sh
printf '$name'
printf ' [%s]' "\$@"
printf '\n'
\${FAKE:-true}
EOF
    chmod +x "$fakes/$name"
  done
  export PATH="$fakes:$PATH"
  unset "${!NODE_EXEC_@}" NESTOR_BIN
}

# target KEY=VALUE...: the coordinates of node1 over ssh, changed as told.
target() {
  export NODE_EXEC_NODE=node1 NODE_EXEC_TRANSPORT=ssh NODE_EXEC_HOST=192.0.2.1
  local assignment
  for assignment; do export "${assignment?}"; done
}

# resolver LINES...: a nestor whose resolve prints the lines, for any node.
resolver() {
  printf '%s\n' "$@" >"$BATS_TEST_TMPDIR/lines"
  export NESTOR_BIN=$fakes/nestor
  cat >"$NESTOR_BIN" <<EOF
#!/bin/sh
printf '[%s]' "\$@" >"$BATS_TEST_TMPDIR/asked"
cat "$BATS_TEST_TMPDIR/lines"
EOF
  chmod +x "$NESTOR_BIN"
}
