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

vm_sh() {
  (
    unset "${!NODE_EXEC_@}"
    export NODE_EXEC_NODE=${1-} NODE_EXEC_TRANSPORT=lima NODE_EXEC_TARGET_KIND=lima NODE_EXEC_HOST=${1-}
    node_exec "$@"
  )
}
