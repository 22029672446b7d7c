#!/usr/bin/env bash
# bench-compat.sh: sourced, it gives bench/lima scripts the names they have
# always called, on top of node-exec.sh.
#
#   vm_sh VM ARGV...                              run ARGV on a Lima instance
#   fetch_kubeconfig_node VM OUT API_PORT [CTX]   write the kubeconfig of a Lima control plane to OUT
#
# Lima by construction: no inventory is read, since these run before one
# exists, and a production node of the same name cannot be reached.

# shellcheck source-path=SCRIPTDIR source=node-exec.sh
. "${BASH_SOURCE[0]%/*}/node-exec.sh"

# env, not export: a variable that the caller made readonly must not name another instance.
vm_sh() {
  command env NODE_EXEC_NODE="${1-}" NODE_EXEC_HOST="${1-}" NODE_EXEC_TRANSPORT=lima NODE_EXEC_TARGET_KIND=lima \
    NODE_EXEC_SUDO='' NODE_EXEC_WRAP='' "${BASH:-bash}" -p -- "$_node_exec_file" "$@"
}

# The port is where Lima forwards the API to on 127.0.0.1. "nestor" is $NESTOR_BIN, else the one on PATH.
fetch_kubeconfig_node() {
  "${NESTOR_BIN:-nestor}" kubeconfig --lima="${1-}" --api-port="${3-}" ${4:+"--context=$4"} --out="${2-}"
}
