#!/usr/bin/env bash
# bench-compat.sh: sourced, it gives bench/lima scripts the names they have
# always called, on top of node-exec.sh.
#
#   vm_sh VM ARGV...    run ARGV on a Lima instance
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
