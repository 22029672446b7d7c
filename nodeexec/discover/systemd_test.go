package discover_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/mapping"
	"github.com/nestor-tools/nestor/mapping/baseline"
	"github.com/nestor-tools/nestor/mapping/fact"
	"github.com/nestor-tools/nestor/nodeexec/discover"
)

// bootSystemd is run with a folder and the name of a new control group: a real
// systemd over an overlay of this machine's root, with namespaces and a part
// of the control groups of its own. It can reach nothing outside.
const bootSystemd = `set -e
dir=$1 group=$2
for h in /sys/fs/cgroup /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do
  [ -e "$h/cgroup.procs" ] || continue
  mkdir -p "$h/$group"
  echo $$ >"$h/$group/cgroup.procs"
done
exec unshare --pid --fork --kill-child --mount --uts --ipc --net --cgroup sh -ec '
  mount --make-rprivate /
  kind=$(stat -fc %T /sys/fs/cgroup)
  mount -t tmpfs none "$1"
  mkdir "$1/up" "$1/work" "$1/root"
  mount -t overlay none -o "lowerdir=/,upperdir=$1/up,workdir=$1/work" "$1/root"
  cd "$1/root"
  mount -t proc proc proc
  mount -t sysfs -o ro sysfs sys
  for d in run tmp dev; do mount -t tmpfs none "$d"; done
  for n in null zero full random urandom tty; do touch "dev/$n"; mount --bind "/dev/$n" "dev/$n"; done
  mkdir dev/shm mnt/old
  if [ "$kind" = cgroup2fs ]; then
    mount -t cgroup2 cgroup2 sys/fs/cgroup
  else
    mount -t tmpfs none sys/fs/cgroup
    mkdir sys/fs/cgroup/systemd sys/fs/cgroup/unified
    mount -t cgroup -o none,name=systemd systemd sys/fs/cgroup/systemd
    mount -t cgroup2 cgroup2 sys/fs/cgroup/unified
  fi
  for unit in auditd fail2ban; do
    printf "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n" >"usr/lib/systemd/system/$unit.service"
  done
  printf "flush ruleset\ntable inet t { chain in { type filter hook input priority 0; policy drop; }; }\n" >etc/nftables.conf
  pivot_root . mnt/old
  umount -l /mnt/old
  exec env -i container=nestor PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --log-target=null --show-status=0
' sh "$dir" </dev/null >/dev/null 2>&1`

// startSystemd gives the words that run a command beside the new systemd.
func startSystemd(t *testing.T) []string {
	t.Helper()
	needRoot(t)
	for _, tool := range []string{"/lib/systemd/systemd", "systemctl", "nsenter", "unshare"} {
		needTool(t, tool)
	}
	group := fmt.Sprintf("nestor-test-%d", os.Getpid())
	boot := exec.Command("sh", "-c", bootSystemd, "sh", t.TempDir(), group)
	boot.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, boot.Start())
	t.Cleanup(func() {
		_ = boot.Process.Kill() // its child goes with it, and all below
		_ = boot.Wait()
		require.Eventually(t, func() bool {
			left := 0
			for _, h := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified"} {
				_ = exec.Command("find", filepath.Join(h, group), "-depth", "-type", "d", "-exec", "rmdir", "{}", ";").Run()
				if _, err := os.Stat(filepath.Join(h, group)); err == nil {
					left++
				}
			}
			return left == 0
		}, 30*time.Second, 100*time.Millisecond, "its control groups are removed")
	})
	pid := boot.Process.Pid
	var words []string
	require.Eventually(t, func() bool {
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		if err != nil || len(strings.Fields(string(children))) != 1 {
			return false
		}
		child := strings.Fields(string(children))[0]
		if comm, _ := os.ReadFile("/proc/" + child + "/comm"); strings.TrimSpace(string(comm)) != "systemd" {
			return false
		}
		words = []string{"nsenter", "-t", child, "-a", "--"}
		state, _ := exec.Command(words[0], append(words[1:], "systemctl", "is-system-running")...).Output()
		return strings.HasPrefix(string(state), "running") || strings.HasPrefix(string(state), "degraded")
	}, 2*time.Minute, 200*time.Millisecond, "systemd is up")
	return words
}

func TestMachine_RealSystemd(t *testing.T) {
	words := startSystemd(t)
	ctl := func(args ...string) string { // its exit code is part of its answer
		out, _ := exec.Command(words[0], append(append(words[1:], "systemctl"), args...)...).Output()
		return strings.TrimSpace(string(out))
	}
	read := func() mapping.Node {
		t.Helper()
		topology, failures := discover.Run(t.Context(), nodes(in(append(words, "sh")...)), discover.Options{})
		require.Empty(t, failures)
		return topology.Nodes[0]
	}
	n := read()
	require.Equal(t, "plain", n.Hardening)
	require.Equal(t, fact.IsPresent, n.Facts.TimeSync.State, n.Facts.TimeSync.Why)
	active := []string{}
	for _, unit := range baseline.TimeDaemons {
		if ctl("is-active", unit) == "active" {
			active = append(active, unit)
		}
	}
	require.ElementsMatch(t, active, n.Facts.TimeSync.Value.Daemons)
	require.Equal(t, fact.IsPresent, n.Facts.TimeSync.Value.Synchronized.State)
	require.Equal(t, "container-other", n.Facts.Virtualization.Value, "what it was told at its start")

	ctl("start", "auditd", "fail2ban")
	require.Equal(t, "hardened", read().Hardening)
	ctl("stop", "fail2ban")
	require.Equal(t, "partial", read().Hardening)
	ctl("mask", "--now", "auditd")
	require.Equal(t, "plain", read().Hardening)

	h4 := func() baseline.Check {
		for _, c := range read().Baseline {
			if c.ID == "H4" {
				return c
			}
		}
		return baseline.Check{}
	}
	require.Equal(t, baseline.Fail, h4().State)
	require.Contains(t, h4().Evidence, "no host firewall is active")
	needTool(t, "nft")
	ctl("start", "nftables")
	require.Equal(t, "active", ctl("is-active", "nftables"), strconv.Quote(ctl("status", "nftables")))
	require.Equal(t, baseline.Pass, h4().State, "%v", h4().Evidence)
}
