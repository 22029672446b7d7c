#!/usr/bin/env bash
# cni.sh: stands for the script that installs a CNI on a control plane. It
# takes all it is told from its environment, and changes nothing.
set -eu -o pipefail
: "${CILIUM_POD_CIDR:?the CIDR of the Pods}"
: "${CILIUM_KUBE_PROXY_REPLACEMENT:=true}"

case $CILIUM_POD_CIDR in
  */*) ;;
  *) echo "cni: $CILIUM_POD_CIDR is no CIDR" >&2 && exit 2 ;;
esac

# A program that may read its stdin would eat the rest of this script.
if command -v cilium >/dev/null; then cilium version </dev/null; fi

cat <<END
cni: on $(hostname), kernel $(uname -r)
cni: pod CIDR $CILIUM_POD_CIDR
cni: kubeProxyReplacement $CILIUM_KUBE_PROXY_REPLACEMENT
END
