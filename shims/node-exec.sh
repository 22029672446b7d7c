#!/usr/bin/env bash
# node-exec.sh [--target-kind KIND] [-n] NODE [--] ARGV...   run ARGV on NODE, byte for byte
# node-exec.sh --effective NODE                              print what ssh -G makes of NODE
# Sourced, it defines node_exec (same arguments): this file run anew, so that it and the caller change nothing of each other.
# Returns the command's exit code; 125 and one line on stderr for a failure of its own. bash 3.2, no errexit.
# NODE's coordinates: "nestor resolve" ($NESTOR_BIN), or NODE_EXEC_* where NODE_EXEC_NODE is NODE. See README.md.
[ -n "${BASH_VERSION-}" ] || { echo 'node-exec: written for bash: source it from bash, or run it' >&2 && return 125; }
_node_exec_file=${BASH_SOURCE[0]-} && [[ $_node_exec_file == /* ]] || _node_exec_file=$PWD/$_node_exec_file
node_exec() { "${BASH:-bash}" -p -- "$_node_exec_file" "$@"; } # -p: no BASH_ENV, SHELLOPTS or exported function
[[ ${BASH_SOURCE[0]-$0} == "$0" ]] || return 0
_node_exec_die() { printf 'node-exec: %s\n' "$*" >&2 && exit 125; }

# _node_exec_encode WORD...: sets line to the words, quoted for sh, bash, zsh and fish alike.
_node_exec_encode() {
  local LC_ALL=C q=\' Q=\'\"\'\"\' b=\\\\ B=\'\\\\\' word
  line='exec'
  for word; do
    word=${word//$q/$Q} # ' becomes '"'"', which holds no backslash; then \ becomes '\\'
    line+=" '${word//$b/$B}'"
  done
  [[ ${#line} -le 122880 ]] || _node_exec_die "$t_NODE: the command takes ${#line} bytes encoded, over the limit of 122880; send a script on stdin: node_exec $t_NODE bash -s <FILE"
}

# _node_exec_set NODE_EXEC_KEY=VALUE: one coordinate. The value is data, never evaluated.
_node_exec_set() {
  local key=${1%%=*}
  [[ $1 == NODE_EXEC_*=* ]] || return 0
  case ${key#NODE_EXEC_} in
    SSH_ARG) t_SSH_ARGS+=("${1#*=}") ;;
    NODE | TARGET_KIND | TRANSPORT | HOST | USER | PORT | IDENTITY | CONTROL_PATH | CONTROL_PERSIST | HOST_KEYS) printf -v "t_${key#NODE_EXEC_}" %s "${1#*=}" ;;
  esac
}

_node_exec_main() {
  set +euC -f && shopt -u nocasematch patsub_replacement 2>/dev/null # run as a command, SHELLOPTS may have set some
  local t_NODE='' t_TARGET_KIND='' t_TRANSPORT='' t_HOST='' t_USER='' t_PORT='' t_IDENTITY='' t_SSH_ARGS=()
  local t_CONTROL_PATH='' t_CONTROL_PERSIST='' t_HOST_KEYS='' IFS=$'\n' line lines='' key node want='' effective='' usage='usage: node-exec.sh [--target-kind KIND] [-n] NODE [--] ARGV...' cmd opts wrap=${NODE_EXEC_WRAP-} code=0
  while [[ ${1-} == -* ]]; do
    case $1 in
      --effective) effective=1 ;;
      --target-kind) [[ -n ${2-} ]] || _node_exec_die '--target-kind: which?' && want=$2 && shift ;;
      -n) exec </dev/null ;;
      *) _node_exec_die "unknown option $1; $usage" ;;
    esac
    shift
  done
  [[ ${2-} == -- ]] && set -- "$1" "${@:3}"
  [[ -n ${1-} && ($# -gt 1 || -n $effective) ]] || _node_exec_die "$usage"
  node=$1 && shift
  [[ -n $want || -n $wrap ]] || want=${EXPECTED_TARGET_KIND-} # the library has asserted it already
  if [[ -n ${NODE_EXEC_NODE-} ]]; then
    for key in NODE TARGET_KIND TRANSPORT HOST USER PORT IDENTITY CONTROL_PATH CONTROL_PERSIST HOST_KEYS; do
      key=NODE_EXEC_$key && _node_exec_set "$key=${!key-}"
    done
    [[ -z ${NODE_EXEC_SSH_ARG-} ]] || lines=NODE_EXEC_SSH_ARG=${NODE_EXEC_SSH_ARG//$'\n'/$'\n'NODE_EXEC_SSH_ARG=}
  else
    unset NODE_EXEC_SUDO && wrap='' # they count with NODE_EXEC_NODE only
    lines=$("${NESTOR_BIN:-nestor}" resolve --output shim ${want:+"--target-kind=$want"} -- "$node" </dev/null) ||
      _node_exec_die "$node: nestor resolve gave no target"
  fi
  for line in $lines; do _node_exec_set "$line"; done
  IFS=$' \t\n'
  [[ $t_NODE == "$node" ]] || _node_exec_die "$node: refused: the target at hand is '$t_NODE'; unset NODE_EXEC_NODE"
  [[ -z $want || $t_TARGET_KIND == "$want" ]] || _node_exec_die "$node: refused: target_kind is '$t_TARGET_KIND', not '$want'"
  [[ $t_TRANSPORT == local || ($t_HOST == [!-]* && $t_USER != -*) ]] || _node_exec_die "$node: refused: host '$t_HOST' or user '$t_USER' is no name"
  [[ -z $effective || $t_TRANSPORT == ssh ]] || _node_exec_die "$node: no ssh in transport '$t_TRANSPORT'"
  # shellcheck disable=SC2016 # expanded by the node's sh
  cmd=(sh -c 'case $1 in -*) "$@" ;; *) exec "$@" ;; esac' sh "$@") # K=V or -x must mean nothing to sudo, limactl, exec
  [[ -z $wrap ]] || cmd=(sh -c "${NODE_EXEC_WRAPPER-}" sh "$wrap" "$@")
  [[ ${NODE_EXEC_SUDO-} != 1 ]] || cmd=(sudo -n -- "${cmd[@]}")
  unset "${!NODE_EXEC_@}" # nothing of ours reaches the command
  [[ $t_TRANSPORT == local ]] && exec "${cmd[@]}"
  _node_exec_encode "${cmd[@]}"
  case $t_TRANSPORT in
    lima) _node_exec_encode "$line" && cmd=(limactl shell --workdir / --tty=false "$t_HOST" "${cmd[@]}") ;; # which quotes twice
    ssh)
      opts=(-o BatchMode=yes -o StrictHostKeyChecking=yes ${t_CONTROL_PATH:+-o ControlMaster=auto -o ControlPersist="${t_CONTROL_PERSIST:-60}"})
      [[ $t_HOST_KEYS != accept-new ]] || opts[3]=StrictHostKeyChecking=accept-new
      opts+=(${t_PORT:+-p "$t_PORT"} ${t_USER:+-l "$t_USER"} ${t_IDENTITY:+-i "$t_IDENTITY"} ${t_SSH_ARGS[@]+"${t_SSH_ARGS[@]}"} -T -S "${t_CONTROL_PATH:-none}")
      opts+=(-o ConnectTimeout=10 -o ServerAliveInterval=15 -o ServerAliveCountMax=3)
      [[ -z $effective ]] || { printf '#%s\n' "$(printf ' %q' ssh "${opts[@]}" -- "$t_HOST")" && exec ssh -G "${opts[@]}" -- "$t_HOST"; }
      cmd=(ssh "${opts[@]}" -- "$t_HOST" "$line")
      ;;
    *) _node_exec_die "$node: unknown transport '$t_TRANSPORT'" ;;
  esac
  type -P "${cmd[0]}" >/dev/null || _node_exec_die "$node: ${cmd[0]} is not installed on this machine"
  [[ -z $wrap ]] || exec "${cmd[@]}"
  if [[ $t_TRANSPORT == ssh ]]; then
    command "${cmd[@]}" || code=$?
    [[ $code -ne 255 ]] || _node_exec_die "$node: ssh ended with 255: no connection, or the command's own exit code"
  else # limactl says 1 for a stopped instance too: its stderr, passed on as it comes, tells the two apart (stdout may be closed)
    { exec 3>&1; } 2>/dev/null || exec 3>/dev/null
    code=$({ { command "${cmd[@]}" 2>&1 >&3 3>&- 4>&- || printf '%s\n' "$?" >&4; } |
      tee >(LC_ALL=C grep level=fatal >/dev/null && echo fatal >&4) >&2 3>&-; } 4>&1)
    [[ $code != 1$'\n'fatal ]] || _node_exec_die "$node: limactl did not run it"
  fi
  return "$((${code%%$'\n'*} + 0))"
}

_node_exec_main "$@"
