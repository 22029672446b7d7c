#!/bin/sh
# wrap.sh: runs on the node, around the command: sh -c THIS sh NONCE:SECONDS:MODE ARGV...
#
# It writes a start record before the command and an end record after it, on
# both streams, so that the caller knows what ran and what did not:
#
#   nestor:NONCE:start:PID
#   nestor:NONCE:killed:yes|partly      only when a watcher ended the command
#   nestor:NONCE:end:CODE
#
# MODE lifeline: stdin is the caller's lifeline; the command reads /dev/null.
#      stdin:    stdin is the command's.
#      kill:     no command: ARGV is the PID and the NONCE of another call's
#                wrapper, whose command is ended; exit code 0 ended, 1 not all
#                of it, 2 gone already.
# SECONDS, when not 0, is how long the command may run.
#
# The names start with w_ so that no variable of the command's own environment
# is changed. POSIX sh, Linux. Only sleep and grep are called, for a deadline or
# when something must be ended, and not needed. The watchers hold no stream of the caller's:
# whatever happens to this shell, the connection closes.

w_nonce=${1%%:*}
w_mode=${1##*:}
w_seconds=${1#*:}
w_seconds=${w_seconds%:*}
shift
exec 8>&1 9>&2 2>/dev/null

record() {
  printf 'nestor:%s:%s\n' "$w_nonce" "$1" >&8 && printf 'nestor:%s:%s\n' "$w_nonce" "$1" >&9
}

# look STAT: sets pid, parent and session from a stat file of /proc. The name
# in it may hold blanks, brackets and newlines.
look() {
  w_line=
  while read -r w_more; do w_line="$w_line $w_more"; done <"$1" || return 1
  w_pid=${w_line%% (*}
  w_pid=${w_pid# }
  # shellcheck disable=SC2086 # split into fields
  set -- ${w_line##*) }
  w_state=$1 w_parent=$2 w_session=$4
  [ -n "$w_session" ] && [ "$w_state" != Z ]
}

# mentions FILE WORD: says whether a line of the file holds the word.
mentions() {
  while read -r w_more || [ -n "$w_more" ]; do
    case $w_more in *"$2"*) return 0 ;; esac
  done <"$1"
  return 1
}

# end_session PID: ends the session of the process PID ("self" for this one),
# all but that process, its ancestors (the wrapper, sudo, the login shell) and
# this one. Asks first, then insists. Returns 0 when nothing is left of it.
end_session() {
  trap '' HUP INT TERM
  # No /proc: the process group is what can be ended, and nobody is left to record it.
  look /proc/self/stat || { kill -s TERM 0 && sleep 1 && kill -s KILL 0; }
  w_keep=" $w_pid "
  look "/proc/$1/stat" || return 0
  w_theirs=$w_session
  while [ "$w_session" = "$w_theirs" ]; do
    w_keep="$w_keep$w_pid "
    look "/proc/$w_parent/stat" || break
  done
  # shellcheck disable=SC2086 # a list of pids
  kill -s CONT $w_keep # who was stopped could not report
  for w_signal in TERM KILL KILL KILL; do
    w_left=
    # A node may have thousands of processes, and look is slow; grep may be missing.
    w_stats=$(grep -l " $w_theirs " /proc/[0-9]*/stat) || [ $? -le 2 ] || w_stats='/proc/[0-9]*/stat'
    for w_stat in $w_stats; do
      look "$w_stat" || continue
      [ "$w_session" = "$w_theirs" ] || continue
      case $w_keep in *" $w_pid "*) continue ;; esac
      w_left="$w_left $w_pid"
      kill -s "$w_signal" "$w_pid" && kill -s CONT "$w_pid"
    done
    [ -n "$w_left" ] || return 0
    w_round=0
    while [ -n "$w_left" ] && [ "$w_round" -lt 20 ]; do
      sleep 0.05 || sleep 1
      w_doomed=$w_left w_left=
      for w_pid in $w_doomed; do
        look "/proc/$w_pid/stat" && w_left="$w_left $w_pid"
      done
      w_round=$((w_round + 1))
    done
  done
  return 1
}

record "start:$$" || exit 1 # nobody is there to hear of it

if [ "$w_mode" = kill ]; then
  w_code=1
  if mentions "/proc/$1/cmdline" "$2"; then
    end_session "$1" && w_code=0
  elif [ -r /proc/self/cmdline ]; then
    w_code=2
  fi
  record "end:$w_code"
  exit "$w_code"
fi

# The watchers: one waits for the lifeline's end, one for the deadline.
w_watchers=
if [ "$w_mode" = lifeline ]; then
  exec 3<&0 </dev/null
  {
    while read -r _; do :; done <&3
    end_session self # even where the command has ended its wrapper
    exit
  } 8>&- 9>&- >/dev/null &
  w_watchers=$!
fi
if [ "$w_seconds" -gt 0 ]; then
  {
    trap 'kill -9 $!; exit 143' TERM # a TERM is lost on a child that has not got to its exec yet
    sleep "$w_seconds" 3<&- &
    wait $! || exit 143 # no sleep, no deadline
    end_session self
    exit
  } 8>&- 9>&- >/dev/null </dev/null &
  w_watchers="$w_watchers $!"
fi

# In the foreground, since a background command of sh ignores SIGINT. exec
# finds no built-in; a leading dash must not be read as exec's own option.
(
  case $1 in
    -*) "$@" ;;
    *) exec "$@" ;;
  esac
) 3<&- >&8 2>&9 8>&- 9>&-
w_code=$?

# A watcher that is busy ending the session ignores this, and is waited for.
w_killed=
for w_watcher in $w_watchers; do
  kill "$w_watcher"
  wait "$w_watcher"
  case $? in
    0) w_killed=yes ;;
    1) w_killed=partly ;;
  esac
done
[ -z "$w_killed" ] || record "killed:$w_killed"
record "end:$w_code"
exit "$w_code"
