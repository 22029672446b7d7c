#!/usr/bin/env bash
# controlplane.sh up|down NODE: runs the API server of bench/controlplane
# inside a VM of the bench, as a control plane has one: it listens on 6443 and
# its kubeconfig is /etc/kubernetes/admin.conf, root's alone, naming the server
# https://cluster-api:6443 as kubeadm does with a controlPlaneEndpoint.
#
# It is an API and no more: no kubelet, no Pods, nothing serves NodePorts. It
# wants bin/controlplane (make controlplane-build) for the VM's architecture.
set -eu -o pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
program=${NESTOR_CONTROLPLANE:-$here/../../bin/controlplane}
export NESTOR_INVENTORY=${NESTOR_INVENTORY:-$here/.work/inventory.yaml}
# shellcheck source-path=SCRIPTDIR source=../../shims/node-exec.sh
. "$here/../../shims/node-exec.sh"

on() { node_exec --target-kind lima "$node" -- sudo -n "$@"; }

up() {
  [[ -x $program ]] || { echo "controlplane.sh: $program is missing: make controlplane-build" >&2 && return 2; }
  if ! on test -x /usr/local/bin/controlplane </dev/null; then
    gzip -1 <"$program" | on sh -c 'cd /usr/local/bin && gunzip >controlplane.new && chmod 755 controlplane.new && mv controlplane.new controlplane'
  fi
  on bash -s <<'END'
set -eu
cat >/etc/systemd/system/controlplane.service <<'UNIT'
[Unit]
Description=API server of the bench
[Service]
ExecStart=/usr/local/bin/controlplane --dir /var/lib/controlplane --keep --port 6443 --start-timeout 15m --ready-file /run/controlplane.ready
# Killed, it finds its data again.
Restart=on-failure
[Install]
WantedBy=multi-user.target
UNIT
grep -q ' cluster-api$' /etc/hosts || echo '127.0.0.1 cluster-api' >>/etc/hosts
systemctl daemon-reload
systemctl enable -q --now controlplane
END
  echo "controlplane.sh: waiting for the API on $node" >&2
  on bash -s <<'END'
set -eu
for _ in $(seq 600); do
  [ -e /run/controlplane.ready ] && break
  sleep 2
done
[ -e /run/controlplane.ready ] || { journalctl -n 20 --no-pager -u controlplane >&2; exit 1; }
umask 077
mkdir -p -m 755 /etc/kubernetes
sed 's|server: .*|server: https://cluster-api:6443|' /var/lib/controlplane/kubeconfig >/etc/kubernetes/admin.conf
END
}

down() {
  on bash -s <<'END'
systemctl disable -q --now controlplane
rm -rf /etc/systemd/system/controlplane.service /var/lib/controlplane /etc/kubernetes/admin.conf
END
}

[[ $# -eq 2 ]] || { echo 'usage: controlplane.sh up|down NODE' >&2 && exit 2; }
node=$2
case $1 in
  up | down) "$1" ;;
  *) echo 'usage: controlplane.sh up|down NODE' >&2 && exit 2 ;;
esac
