#!/bin/sh
# probe.sh NONCE [SECONDS [loops]]: reads what this node is and prints it, in
# one go. It changes nothing on the node: its only writes are in a folder of
# its own on a tmpfs, removed at the end.
#
# Sections run side by side. Each has SECONDS (10) to answer; one that hangs
# is killed with all its children and the others lose nothing. The output is
# a sequence of frames:
#
#   NONCE nestor-probe 1
#   NONCE begin NAME          NAME is a section, or section:item
#   the bytes of stdout
#   NONCE err                 only when there are any
#   the bytes of stderr
#   NONCE end STATUS          exit code, or absent, denied, cut
#   NONCE done COUNT          so that a cut stream is noticed
#
# A newline stands before each "NONCE err" and "NONCE end" and is no part of
# the bytes. NONCE is the caller's, and unguessable: no output can fake a
# frame. Exit code 127 means that the tool is not installed. What the caller
# must not carry away is derived or removed here.
#
# POSIX sh: it must run under dash, bash and busybox ash.

# section NAME COMMAND...: runs the command in the background.
section() {
  name=$1
  shift
  (
    "$@" >"$dir/$name.out" 2>"$dir/$name.err" 4>"$dir/$name.items" 5>&-
    printf 'end %s %d\n' "$name" "$?" >&5
  ) </dev/null >/dev/null 2>&1 &
  pending="$pending $name:$!"
}

# item NAME COMMAND...: runs the command in the foreground of its section and
# frames its output under the section's name.
item() {
  printf '%s begin %s\n' "$nonce" "$name:$1" >&4
  shift
  complaint=$("$@" 2>&1 >&4)
  code=$?
  [ -z "$complaint" ] || printf '\n%s err\n%s' "$nonce" "$complaint" >&4
  printf '\n%s end %d\n' "$nonce" "$code" >&4
}

# file PATH [COMMAND...]: a regular file as an item, through the command (cat).
file() {
  path=$1
  shift
  if [ -f "$path" ] && [ -r "$path" ]; then
    item "$path" "${@:-cat}" "$path"
  else
    printf '%s begin %s\n\n%s end %s\n' "$nonce" "$name:$path" "$nonce" "$(missing "$path")" >&4
  fi
}

# missing PATH: why it cannot be read. Below a folder that may not be searched
# a file is not absent: nobody can tell.
missing() {
  while [ ! -e "$1" ]; do
    case $1 in */*) ;; *) break ;; esac
    set -- "${1%/*}"
    [ -n "$1" ] || break
    if [ -d "$1" ]; then
      if [ -x "$1" ]; then echo absent; else echo denied; fi
      return
    fi
  done
  if [ -e "$1" ] && [ -n "$1" ]; then echo denied; else echo absent; fi
}

read_kernel() { uname -srm; }

read_host() {
  for path in /etc/os-release /usr/lib/os-release /etc/machine-id \
    /proc/sys/kernel/hostname /proc/cpuinfo /proc/meminfo /proc/swaps \
    /proc/self/mountinfo; do
    file "$path"
  done
}

# Old versions of lsblk refuse a column that they do not know: MOUNTPOINTS is
# of 2.37, PATH of 2.33, and JSON of 2.27.
read_disks() {
  old=NAME,KNAME,MAJ:MIN,TYPE,SIZE,RO,RM,ROTA,MOUNTPOINT,FSTYPE,LABEL,UUID,PKNAME,SERIAL,WWN,MODEL,TRAN
  for columns in "$old,PATH,PTTYPE,PARTTYPE,MOUNTPOINTS" "$old,PATH,PTTYPE,PARTTYPE" "$old"; do
    if listing=$(lsblk -J -b -o "$columns" 2>/dev/null); then
      printf '%s\n' "$listing"
      return
    fi
  done
  lsblk -P -b -o "${old%,WWN,*},MODEL"
}

# What the kernel says of each block device, one a line:
# NAME<TAB>key=value<TAB>...
read_sysfs() {
  for device in /sys/class/block/*; do
    [ -e "$device/size" ] || continue
    printf '%s' "${device##*/}"
    for key in dev size ro removable partition queue/rotational dm/name dm/uuid \
      md/level loop/backing_file device/model device/vendor device/serial device/wwid wwid; do
      value=
      { read -r value <"$device/$key"; } 2>/dev/null
      [ -z "$value" ] || printf '\t%s=%s' "$key" "$value"
    done
    if [ -e "$device/partition" ]; then
      read -r value <"$device/../dev" && printf '\tparent=%s' "$value"
    fi
    for relation in holders slaves; do
      for other in "$device/$relation"/*; do
        [ ! -e "$other" ] || printf '\t%s=%s' "$relation" "${other##*/}"
      done
    done
    printf '\n'
  done
}

read_byid() { ls -l /dev/disk/by-id; }

# The devices themselves are read; lsblk only knows what udev noted. A floppy
# or an optical drive is left alone: opening it may take seconds.
read_signatures() {
  wipefs --version >/dev/null || return
  for device in /sys/class/block/*; do
    device=${device##*/}
    case $device in
      ram* | zram* | fd[0-9]* | sr[0-9]*) continue ;;
      loop*) [ -n "$loops" ] || continue ;;
    esac
    { read -r size <"/sys/class/block/$device/size"; } 2>/dev/null || continue
    [ "$size" -gt 0 ] || continue
    item "$device" wipe_list "/dev/$(printf %s "$device" | tr '!' /)"
  done
}

# Without -J (util-linux before 2.33) the parsable form tells the same.
wipe_list() {
  wipefs --no-act -J "$1" 2>/dev/null || wipefs --no-act -p "$1"
}

# BlueStore keeps a label at the start of a device, which wipefs knows, and
# copies further in, which it does not. Beside the uuids a label holds the
# OSD's key, which stays here.
read_labels() {
  for device in /sys/class/block/*; do
    device=${device##*/}
    case $device in
      ram* | zram* | fd[0-9]* | sr[0-9]*) continue ;;
      loop*) [ -n "$loops" ] || continue ;;
    esac
    { read -r size <"/sys/class/block/$device/size"; } 2>/dev/null || continue
    [ "$size" -gt 0 ] || continue
    item "$device" bluestore "/dev/$(printf %s "$device" | tr '!' /)" "$size"
  done
}

# bluestore DEVICE SECTORS: a line "GIB OSD_UUID CLUSTER_FSID OSD_ID" for each
# copy; what the label does not tell is "-".
bluestore() {
  head -c 1 "$1" >/dev/null || return
  for gib in 0 1 10 100 1000; do
    [ "$2" -gt $((gib * 2097152)) ] || break
    label=$(dd if="$1" bs=4096 count=1 skip=$((gib * 262144)) 2>/dev/null | tr -c '[:alnum:]_-' ' ')
    case $label in 'bluestore block device '*) ;; *) continue ;; esac
    osd='' fsid='' id='' previous=''
    for word in ${label#bluestore block device }; do
      case $previous in ceph_fsid) fsid=$word ;; whoami) id=$word ;; esac
      previous=$word
      osd=${osd:-$word}
    done
    printf '%s %s %s %s\n' "$gib" "${osd:--}" "${fsid:--}" "${id:--}"
  done
}

read_ceph() {
  for folder in /var/lib/rook /var/lib/ceph /var/lib/ceph/osd; do
    listing "$folder"
  done
}

# listing FOLDER: the names in it, as an item.
listing() {
  if [ -d "$1" ]; then item "$1" ls -1A "$1"; else file "$1"; fi
}

read_cri() {
  seen=
  for socket in /run/containerd/containerd.sock /run/crio/crio.sock \
    /run/cri-dockerd.sock /run/k3s/containerd/containerd.sock \
    /run/docker.sock /var/run/containerd/containerd.sock \
    /var/run/crio/crio.sock /var/run/cri-dockerd.sock; do
    [ -S "$socket" ] || continue
    socket=$(readlink -f "$socket")
    case " $seen " in *" $socket "*) continue ;; esac
    seen="$seen $socket"
    printf '%s\n' "$socket"
    [ "$socket" != /run/docker.sock ] || continue
    item "crictl $socket" crictl --runtime-endpoint "unix://$socket" version
    item "driver $socket" crictl --runtime-endpoint "unix://$socket" runtime-config
  done
  for tool in containerd crio k3s rke2 cri-dockerd; do
    item "$tool" "$tool" --version
  done
  item 'containerd config' containerd_config
  for path in /var/lib/rancher/k3s /var/lib/rancher/rke2; do
    file "$path/agent/etc/containerd/config.toml" containerd_settings
  done
  item 'crio config' crio_config
  for path in /etc/containerd/certs.d/*/hosts.toml; do
    [ ! -e "$path" ] || file "$path" mirror_settings
  done
  file /etc/containers/registries.conf registry_settings
  for path in /etc/containers/registries.conf.d /etc/containers/registries.conf.d/*.conf; do
    case $path in
      *.d) [ ! -d "$path" ] || [ -r "$path" ] || file "$path" ;;
      *) [ ! -e "$path" ] || file "$path" registry_settings ;;
    esac
  done
  other_cni
}

# other_cni: the folders of networks that a runtime's own configuration names,
# where they are none of those that read_cni reads anyway. Their items are that
# section's.
other_cni() (
  name=cni
  for path in "$dir/containerd" "$dir/crio" /var/lib/rancher/*/agent/etc/containerd/config.toml; do
    [ ! -f "$path" ] || [ ! -r "$path" ] || sed -n -E "s/^[[:space:]]*(conf_dir|network_dir)[[:space:]]*=[[:space:]]*[\"']([^\"']*)[\"'].*/\2/p" "$path"
  done | sort -u | while read -r folder; do
    folder=${folder%/}
    case $folder in
      /etc/cni/net.d | /var/lib/rancher/k3s/agent/etc/cni/net.d) ;;
      /*) networks "$folder" ;;
    esac
  done
)

# Of configurations only the settings that nestor reads are carried: others
# hold the passwords of registries.
containerd_config() {
  whole=$(containerd config dump) || return
  printf '%s\n' "$whole" | containerd_settings - | tee "$dir/containerd"
}

containerd_settings() {
  grep -E '^[[:space:]]*(\[|(version|conf_dir|max_conf_num|config_path|SystemdCgroup|default_runtime_name|endpoint)[[:space:]]*=)' "$1" |
    sed 's#//[^/@"]*@#//#g'
}

crio_config() {
  whole=$(crio config 2>/dev/null) || crio config || return
  printf '%s\n' "$whole" | grep -E '^(\[|(cgroup_manager|network_dir|cni_default_network)[[:space:]]*=)' >"$dir/crio"
  code=$?
  cat "$dir/crio"
  return "$code"
}

registry_settings() {
  grep -E '^[[:space:]]*(\[|(prefix|location|blocked)[[:space:]]*=)' "$1" | sed -E "s#^([^=]*=[[:space:]]*[\"'])[^\"'@]*@#\\1#"
}

mirror_settings() {
  grep -E '^[[:space:]]*(server[[:space:]]*=|\[host\.)' "$1" | grep -v '\.header' | sed 's#//[^/@"]*@#//#g'
}

# Every entry of each folder that a runtime may read, and the content of what
# it would read as a configuration. Other files there (kubeconfigs) hold
# credentials.
read_cni() {
  for folder in /etc/cni/net.d /var/lib/rancher/k3s/agent/etc/cni/net.d; do
    networks "$folder"
  done
  for folder in /opt/cni/bin /usr/lib/cni /usr/libexec/cni /var/lib/rancher/k3s/data/current/bin; do
    [ ! -d "$folder" ] || item "$folder" ls -1 "$folder"
  done
}

# networks FOLDER: its entries, and its network configurations.
networks() {
  listing "$1"
  [ -d "$1" ] || return 0
  for path in "$1"/* "$1"/.[!.]* "$1"/..?*; do
    case $path in
      *"$newline"*) ;;
      *.conf | *.conflist | *.json) [ ! -f "$path" ] || file "$path" redact ;;
    esac
  done
}

# redact FILE: prints a JSON file without the values of its secrets.
redact() {
  value='"[[:space:]]*:[[:space:]]*)"([^"\\]|\\.)*"/\1"(removed)"/g'
  sed -E -e "s/(\"[^\"]*[Tt][Oo][Kk][Ee][Nn]$value" \
    -e "s/(\"[^\"]*[Pp][Aa][Ss][Ss][Ww][Oo][Rr][Dd]$value" \
    -e "s/(\"[^\"]*[Ss][Ee][Cc][Rr][Ee][Tt]$value" "$1"
}

# The processes that make a node a part of a cluster, the running kubelet's
# command line, and the files that it names.
read_kubelet() {
  { read -r value </proc/1/comm; } 2>/dev/null || echo hidden
  config='' dropins=''
  for comm in /proc/[0-9]*/comm; do
    { read -r value <"$comm"; } 2>/dev/null || continue
    case $value in
      kubelet)
        argv=$(tr '\0' '\n' <"${comm%comm}cmdline")
        item cmdline printf '%s\n' "$argv"
        config=$(printf '%s\n' "$argv" | sed -n 's/^--config=//p; /^--config$/{n;p;}' | tail -n 1)
        dropins=$(printf '%s\n' "$argv" | sed -n 's/^--config-dir=//p; /^--config-dir$/{n;p;}' | tail -n 1)
        ;;
      kube-apiserver | k3s-server | k3s-agent | rke2) ;;
      *) continue ;;
    esac
    printf 'process %s\n' "$value"
  done
  config=${config:-/var/lib/kubelet/config.yaml}
  printf 'config %s\n' "$config"
  file "$config" without_headers
  [ ! -e "$config" ] || item 'config mode' stat -c '%a %U' "$config"
  for path in "${dropins:-/nowhere}"/*.conf; do
    [ -e "$path" ] || continue
    printf 'dropin %s\n' "$path"
    file "$path" without_headers
  done
  file /var/lib/kubelet/kubeadm-flags.env
  listing /etc/kubernetes/manifests
  item version kubelet --version
}

# The one setting of a kubelet that may hold a credential.
without_headers() {
  awk '/^[^[:space:]-]/ { skip = /^staticPodURLHeader/ } ! skip' "$1"
}

read_virt() {
  item detect systemd-detect-virt
  for path in /sys/class/dmi/id/sys_vendor /sys/class/dmi/id/product_name /sys/class/dmi/id/product_uuid; do file "$path"; done
}

read_units() {
  systemctl --no-pager show -p Id,LoadState,ActiveState,UnitFileState \
    ssh.service sshd.service ssh.socket nftables.service ufw.service firewalld.service \
    netfilter-persistent.service iptables.service apparmor.service auditd.service fail2ban.service \
    chrony.service chronyd.service systemd-timesyncd.service ntp.service ntpd.service ntpsec.service \
    openntpd.service unattended-upgrades.service apt-daily-upgrade.timer dnf-automatic.timer \
    dnf-automatic-install.timer kubelet.service containerd.service crio.service docker.service \
    k3s.service k3s-agent.service rke2-server.service rke2-agent.service
}

# What is effective; -C names the connection that Match blocks are
# tried on. Without root -T cannot read the host keys; -G (OpenSSH 9.3) needs
# none.
read_sshd() {
  server=$(command -v sshd) || {
    sshd
    return
  }
  "$server" -T -C user=root,host=localhost,addr=127.0.0.1 || "$server" -G 2>/dev/null
}

# A file of /proc/sys must be read in one piece: a second read finds its end,
# and the shells' own read takes a byte at a time.
read_sysctl() {
  cd /proc/sys || return
  set --
  for key in kernel/randomize_va_space kernel/yama/ptrace_scope fs/suid_dumpable \
    net/ipv4/tcp_syncookies net/ipv4/ip_forward net/bridge/bridge-nf-call-iptables \
    net/ipv4/conf/all/accept_redirects net/ipv4/conf/default/accept_redirects \
    net/ipv6/conf/all/accept_redirects net/ipv6/conf/default/accept_redirects \
    net/ipv4/conf/all/send_redirects net/ipv4/conf/default/send_redirects \
    net/ipv4/conf/all/accept_source_route net/ipv4/conf/default/accept_source_route \
    net/ipv6/conf/all/accept_source_route net/ipv6/conf/default/accept_source_route; do
    if [ -r "$key" ]; then
      set -- "$@" "$key"
    elif [ -e "$key" ]; then
      printf 'denied %s\n' "$key" | tr / .
    fi
  done
  grep -H '' "$@" | tr / . | sed 's/:/ = /'
}

# Names only; no password hash leaves the node.
# shellcheck disable=SC2016 # awk's own variables
read_accounts() {
  file /etc/passwd awk -F: '$3 == 0 { print $1 }'
  file /etc/shadow awk -F: '$2 == "" { print $1 }'
}

read_security() {
  file /sys/module/apparmor/parameters/enabled
  file /sys/kernel/security/apparmor/profiles
  file /sys/fs/selinux/enforce
  item auditctl auditctl -s
  item 'audit rules' auditctl -l
  item fail2ban fail2ban-client status
}

# The chains that see what comes in, not the thousands of rules that kube-proxy
# and the CNI keep elsewhere. Asking for tables that are not there would make
# the kernel load them: nothing is asked then, and nothing is the answer.
read_firewall() {
  item ufw ufw status verbose
  item firewalld firewall-cmd --state
  file /proc/net/ip_tables_names
  if grep -qs '^filter$' /proc/net/ip_tables_names; then
    item iptables-legacy iptables-legacy -S INPUT
  fi
  # Without /proc/modules the kernel cannot load any.
  if [ -e /proc/modules ] && ! grep -qs '^nf_tables ' /proc/modules &&
    ! grep -qs '/nf_tables\.ko' "/lib/modules/$(uname -r)/modules.builtin"; then
    return
  fi
  chains=$(nft list chains) || return
  printf '%s\n' "$chains" | awk '$1 == "table" { table = $2 " " $3 } $1 == "chain" { chain = $2 } / hook input / { print table, chain }' |
    while read -r family table chain; do
      item "nft $family $table $chain" nft -j list chain "$family" "$table" "$chain"
    done
}

read_time() {
  item timedatectl timedatectl show -p NTP -p NTPSynchronized
  item chronyc chronyc -n tracking
}

read_updates() {
  item apt apt-config dump APT::Periodic
  file /etc/dnf/automatic.conf grep -E '^[[:space:]]*(apply_updates|upgrade_type)[[:space:]]*='
}

read_listeners() { ss -Hltunp; }

# below PID...: every process that they started, and those started, and so on.
below() {
  cat /proc/[0-9]*/stat 2>/dev/null | awk -v roots="$*" '
    BEGIN { n = split(roots, list); for (i = 1; i <= n; i++) root[list[i]] = 1 }
    { pid = $1; sub(/^.*\) /, ""); parent[pid] = $2 }
    END {
      for (pid in parent) {
        for (above = parent[pid]; !(above in root) && above in parent;) above = parent[above]
        if (above in root) print pid
      }
    }'
}

# kill_below PID...: ends all that they started. It is stopped first, and
# looked for again, so that none can fork away meanwhile.
kill_below() {
  for _ in 1 2 3; do
    doomed=$(below "$@")
    # shellcheck disable=SC2086 # a list of pids
    [ -z "$doomed" ] || kill -s STOP $doomed 2>/dev/null
  done
  # shellcheck disable=SC2086
  [ -z "$doomed" ] || kill -s KILL $doomed 2>/dev/null
}

# pids of the sections that still run.
pids() {
  for job in $pending; do printf '%s ' "${job#*:}"; done
}

# stop ends whatever still runs and removes the folder.
stop() {
  trap '' HUP INT TERM PIPE
  trap - EXIT
  if [ -z "$pending" ] && [ -n "$clock" ]; then
    kill -s KILL "$watchdog" "$clock" 2>/dev/null
    wait "$watchdog" 2>/dev/null # else bash says "Killed"
  else
    # All of it: a section may have been started and not noted yet.
    kill_below $$
  fi
  rm -rf "$dir"
}

# emit NAME STATUS: prints the frames of a section.
emit() {
  [ ! -s "$dir/$1.items" ] || cat "$dir/$1.items"
  printf '%s begin %s\n' "$nonce" "$1"
  [ ! -s "$dir/$1.out" ] || cat "$dir/$1.out"
  if [ -s "$dir/$1.err" ]; then
    printf '\n%s err\n' "$nonce"
    cat "$dir/$1.err"
  fi
  printf '\n%s end %s\n' "$nonce" "$2"
  count=$((count + 1))
}

main() {
  nonce=$1 limit=${2:-10} loops=${3:-}
  case $nonce in '' | *[!0-9A-Za-z]*)
    echo 'probe: the nonce must be letters and digits' >&2
    exit 2
    ;;
  esac
  LC_ALL=C PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
  export LC_ALL PATH
  unset -v CDPATH ENV BASH_ENV 2>/dev/null
  newline='
'
  umask 077
  dir='' pending='' clock='' watchdog='' count=0
  for base in /dev/shm /run "${TMPDIR:-/tmp}"; do
    mkdir "$base/nestor-probe.$nonce" 2>/dev/null || continue
    dir=$base/nestor-probe.$nonce
    break
  done
  if [ -z "$dir" ]; then
    echo 'probe: neither /dev/shm nor /run nor /tmp can be written to' >&2
    exit 1
  fi
  trap stop EXIT
  trap 'exit 143' HUP INT TERM PIPE
  mkfifo "$dir/events" || exit 1
  exec 5<>"$dir/events"
  printf '%s nestor-probe 1\n' "$nonce"

  (
    sleep "$limit" 5>&- &
    printf 'clock %d\n' "$!" >&5
    wait
    echo late >&5
  ) </dev/null >/dev/null 2>&1 &
  watchdog=$!
  for name in kernel host disks sysfs byid signatures labels ceph cri cni kubelet \
    virt units sshd sysctl accounts security firewall time updates listeners; do
    section "$name" "read_$name"
  done

  # The watchdog's own message is awaited too: without it its sleep would be
  # left on the node.
  while [ -n "$pending" ] || [ -z "$clock" ]; do
    read -r event what status <&5 || exit 1
    case $event in
      clock) clock=$what ;;
      late) break ;;
      end)
        emit "$what" "$status"
        left=
        for job in $pending; do
          [ "${job%%:*}" = "$what" ] || left="$left $job"
        done
        pending=$left
        ;;
    esac
  done
  if [ -n "$pending" ]; then
    late=$(pids)
    # shellcheck disable=SC2086
    kill -s STOP $late 2>/dev/null
    # shellcheck disable=SC2086
    kill_below $late
    # shellcheck disable=SC2086
    kill -s KILL $late 2>/dev/null
  fi
  for job in $pending; do
    emit "${job%%:*}" cut
  done
  pending=
  printf '%s done %d\n' "$nonce" "$count"
}

main "$@"
