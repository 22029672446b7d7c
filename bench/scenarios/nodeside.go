package scenarios

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/bitfield/script"
)

// comparisons are facts of a node's topology, in jq's words, beside a script
// for the node's sh that finds the same in another way than the probe does.
var comparisons = []struct{ fact, jq, sh string }{
	{"host name", `.facts.hostname.value`, `cat /proc/sys/kernel/hostname`},
	{"machine-id", `.facts.machine_id.value`, `cat /etc/machine-id`},
	{"system", `.facts.os.value | .id + " " + .version_id`, `. /etc/os-release; echo "$ID $VERSION_ID"`},
	{"kernel", `.facts.kernel.value | .release + " " + .machine`, `uname -rm`},
	{"threads", `.facts.cpu.value.threads`, `getconf _NPROCESSORS_ONLN`},
	{"memory in bytes", `.facts.memory.value.total_bytes`, `free -b | awk '/^Mem/ { print $2 }'`},
	{"swap", `.facts.swap.value | length`, `awk 'NR > 1' /proc/swaps | wc -l`},
	{"disks and their bytes", `[.facts.disks.value[] | select(.type == "disk")] | sort_by(.name)[] | "\(.name) \(.size_bytes)"`,
		`cd /sys/block && for d in *; do case $d in loop* | ram* | sr* | zram* | dm-*) ;; *) echo "$d $(($(cat "$d/size") * 512))" ;; esac; done | sort`},
	{"the system disk", `.facts.disks.value[] | select(.role == "system") | .name`,
		`d=$(stat -c %Hd:%Ld /) && d=$(readlink -f "/sys/dev/block/$d") && if [ -e "$d/partition" ]; then d=${d%/*}; fi; echo "${d##*/}"`},
	{"file system of /", `.facts.mounts.value[] | select(.target == "/") | .fs_type`, `stat -fc %T / | sed 's|ext2/ext3|ext4|'`},
	{"container runtime's socket", `.facts.container_runtime.state`,
		`for s in /run/containerd/containerd.sock /run/crio/crio.sock /run/k3s/containerd/containerd.sock; do [ -S "$s" ] && echo present && exit; done; echo absent`},
	{"CNI configuration", `.facts.cni.state`, `if [ -d /etc/cni/net.d ]; then echo present; else echo absent; fi`},
	{"kubelet", `.facts.kubelet.state`, `if command -v kubelet >/dev/null || pgrep -x kubelet >/dev/null; then echo present; else echo absent; fi`},
	{"/var/lib/rook", `.facts.ceph.value.rook.state`, `if [ -e /var/lib/rook ]; then echo present; else echo absent; fi`},
	{"hardening", `.hardening`,
		`a=$(systemctl is-active auditd); f=$(systemctl is-active fail2ban)
		case $a$f in activeactive) echo hardened ;; inactiveinactive) echo plain ;; *) echo partial ;; esac`},
}

func nodeSide(l *Log, b *Bench) {
	file := filepath.Join(b.Work, "node-side.json")
	out, err := b.nestor("discover", "--no-api", "--sudo", "--timeout", "10m", "--output", "json").text()
	l.Must(err, "nestor discover")
	_, err = script.Echo(out).WriteFile(file)
	l.Must(err, "the topology")
	for _, n := range b.Nodes {
		for _, c := range comparisons {
			found, err := jq(file, fmt.Sprintf(`.nodes[] | select(.name == %q) | `, n.Name)+c.jq)
			l.Must(err, c.fact)
			own, err := b.node(n.Name, "sudo", "-n", "sh", "-c", c.sh).text()
			l.Must(err, c.fact)
			l.Check(found == strings.TrimSpace(own), "%s: %s: discover says %q, the node says %q", n.Name, c.fact, found, strings.TrimSpace(own))
		}
	}
	code, out, stderr, err := b.nestor("discover", "--no-api", "--sudo", "--timeout", "10m", "--against", file).code()
	l.Must(err, "nestor discover --against")
	l.Check(code == 0 && out == "", "again, nothing has drifted: exit code %d: %s%s", code, out, stderr)
}

// jq is what a query makes of a JSON file, a line a result, strings bare.
func jq(file, query string) (string, error) {
	out, err := script.File(file).JQ(query).String()
	if err != nil {
		return "", err
	}
	var lines []string
	for line := range strings.Lines(out) {
		var s string
		if json.Unmarshal([]byte(line), &s) != nil {
			s = strings.TrimSpace(line)
		}
		lines = append(lines, s)
	}
	return strings.Join(lines, "\n"), nil
}
