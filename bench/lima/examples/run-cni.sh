#!/usr/bin/env bash
# run-cni.sh [NODE]: sends cni.sh to a control plane of the bench and runs it
# there, as run_cni does: the script over stdin, what it is told before it as
# K=V. VM_SH=1 sends it to a VM that no inventory knows yet.
set -eu -o pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../../../shims/bench-compat.sh
. "$here/../../../shims/bench-compat.sh"

"$([[ -n ${VM_SH-} ]] && echo vm_sh || echo node_exec)" "${1:-cp1}" env CILIUM_POD_CIDR=10.245.0.0/16 bash -s <"$here/cni.sh"
