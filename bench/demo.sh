#!/usr/bin/env bash
# demo.sh: discovers this machine over "local", writes the portal's page for the
# sample platform and, where an sshd can be started, discovers two nodes over
# ssh on the loopback. No root, no cluster, nothing to configure, nothing left
# behind but the page.
set -u
cd "$(dirname "$0")/.." || exit 1
work=$(mktemp -d "${TMPDIR:-/tmp}/nestor-demo.XXXXXX") || exit 1
nodes=$work/bench-nodes
clean() {
  if [[ -d $work/loop ]] && ! "$nodes" down "$work/loop"; then
    printf 'the nodes in %s are still there\n' "$work/loop" >&2
    return
  fi
  rm -rf "$work"
}
trap clean EXIT

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[[ -t 1 ]] || say() { printf '\n# %s\n' "$*"; }

say 'This machine, over the shim: nestor discover'
(cd "$work" && env -u NESTOR_INVENTORY "$OLDPWD/bin/nestor" discover --output table) || exit 1

say 'A sample platform on its portal: nestor portal render'
mkdir -p .work && bin/nestor portal render --contract bench/platform/contract --profile ceph \
  --from portal/testdata/troubled.yaml --out .work/portal.html || exit 1
printf 'open file://%s\n' "$PWD/.work/portal.html"

go build -o "$nodes" ./bench/nodes/cmd/bench-nodes || exit 1
if ! "$nodes" loopback up --dir "$work/loop" --count 2; then
  say 'No sshd could be started, so the two ssh nodes are left out.'
  exit 0
fi
say 'Two nodes over ssh on the loopback: nestor exec node1 -- uname -srm'
bin/nestor exec -i "$work/loop/inventory.yaml" node1 -- uname -srm || exit 1
say 'And their topology: nestor discover'
bin/nestor discover -i "$work/loop/inventory.yaml" || exit 1
