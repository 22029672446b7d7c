package inventory

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDifferential compares generated inventories with Ansible: groups,
// variables, patterns, and the ssh command of every host.
// NESTOR_DIFFERENTIAL is the number of inventories, NESTOR_SEED the first seed.
func TestDifferential(t *testing.T) {
	t.Parallel()
	count, seed := number(t, "NESTOR_DIFFERENTIAL", 15), number(t, "NESTOR_SEED", 1)
	root := t.TempDir()
	var q question
	for i := range count {
		g := newGenerator(uint64(seed + i))
		path := g.write(t, filepath.Join(root, strconv.Itoa(seed+i)))
		q.Inventories = append(q.Inventories, inventoryQuestion{Path: path, Patterns: g.patterns(), Argv: true})
	}
	answers := ask(t, q, "DIFF_USER=diff").Inventories
	compared, refused, strict := 0, 0, 0
	for i, want := range answers {
		t.Run(fmt.Sprint("seed ", seed+i), func(t *testing.T) {
			path := q.Inventories[i].Path
			defer func() {
				if t.Failed() {
					t.Log(dump(path), want.ListErr, want.RunOut)
				}
			}()
			require.Zero(t, want.ListRC, want.ListErr)
			require.NotContains(t, want.ListErr, "arse", "the generator makes only what Ansible reads whole")
			inv, err := openPath(path, map[string]string{"DIFF_USER": "diff"})
			require.NoError(t, err)
			requireList(t, want.List, inv)
			saved := savedList(t, want.List)
			for pattern, selected := range want.Selected {
				got, err := inv.Select(pattern)
				if err != nil && strings.Contains(err.Error(), "neither a host nor a group") {
					continue // Ansible goes on without a name that it does not know
				}
				if selected == nil || len(*selected) == 0 {
					require.Error(t, err, pattern)
					continue
				}
				require.NoError(t, err, pattern)
				requireSelected(t, inv, pattern, *selected, got)
			}
			for _, node := range inv.Hosts() {
				target, err := inv.Target(node, "")
				fromList, listErr := saved.Target(node, "")
				require.Equal(t, err == nil, listErr == nil, "%s: %v, from the saved list: %v", node, err, listErr)
				if err == nil {
					fromList.Origins, fromList.Inventory = target.Origins, target.Inventory
					require.Equal(t, target, fromList)
				}
				argv, ran := want.Argv[node]
				switch {
				case err == nil && target.Transport == TransportLocal:
					require.False(t, ran, "%s: Ansible runs ssh", node)
				case !ran:
					require.Error(t, err, "%s: Ansible fails", node)
					refused++
				case emptyHost(argv):
					require.Error(t, err, "%s: Ansible asks ssh for a host without a name", node)
					refused++
				case err != nil && (strings.Contains(err.Error(), "cannot be resolved without Ansible") || strings.Contains(err.Error(), "no option of ssh") || slices.ContainsFunc(argv[:len(argv)-1], oddWord)):
					strict++ // what Ansible runs was never meant, or takes more of Jinja than is known here
				default:
					require.NoError(t, err, node)
					requireSameSSH(t, argv, target)
					compared++
				}
			}
		})
	}
	t.Logf("%d inventories, %d ssh commands compared, %d hosts that Ansible cannot reach either, %d refused that it can", count, compared, refused, strict)
	if !t.Failed() {
		require.GreaterOrEqual(t, compared, count, "the generator makes hosts that can be reached")
		require.LessOrEqual(t, strict, 1+compared/5, "refused without need")
	}
}

// savedList reads what ansible-inventory printed, as if it had been saved.
func savedList(t *testing.T, list map[string]json.RawMessage) *Inventory {
	t.Helper()
	text, err := json.Marshal(list)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "list.json")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	inv, err := openPath(file, map[string]string{"DIFF_USER": "diff"})
	require.NoError(t, err)
	return inv
}

func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	v, ok := os.LookupEnv(name)
	if !ok {
		return otherwise
	}
	n, err := strconv.Atoi(v)
	require.NoError(t, err, name)
	return n
}

// requireSelected compares the hosts of a pattern. Below the second level of
// groups Ansible's order is that of a Python set, so only the hosts count;
// and with a subscript only how many there are.
func requireSelected(t *testing.T, inv *Inventory, pattern string, want, got []string) {
	t.Helper()
	if _, children, ok := inv.Members(pattern); ok && !slices.ContainsFunc(children, func(child string) bool {
		_, below, _ := inv.Members(child)
		return len(below) > 0
	}) {
		require.Equal(t, want, got, pattern)
		return
	}
	if strings.HasSuffix(pattern, "]") && !strings.HasPrefix(pattern, "h") {
		require.Len(t, got, len(want), pattern)
		return
	}
	require.ElementsMatch(t, want, got, pattern)
}

// oddWord finds a list, a mapping, an unsafe "{{" or a blank in what Ansible
// made a user or a host of.
func oddWord(s string) bool {
	return strings.ContainsAny(s, "{[") || strings.HasPrefix(s, "User=") && strings.Contains(s, " ")
}

func emptyHost(argv []string) bool { return argv[len(argv)-2] == "" }

// requireSameSSH compares what ssh itself makes of Ansible's command and of
// the target, with the options in the order in which the shim gives them.
func requireSameSSH(t *testing.T, argv []string, target Target) {
	t.Helper()
	auth := slices.Index(argv, "KbdInteractiveAuthentication=no") - 1
	require.Positive(t, auth+1)
	ours := []string{}
	if target.Port != 0 {
		ours = append(ours, "-o", fmt.Sprint("Port=", target.Port))
	}
	if target.User != "" {
		ours = append(ours, "-o", `User="`+target.User+`"`)
	}
	if target.IdentityFile != "" {
		ours = append(ours, "-o", `IdentityFile="`+target.IdentityFile+`"`)
	}
	ours = append(ours, target.SSHArgs...)
	ours = append(ours, argv[auth:auth+6]...)
	ours = append(ours, "-o", "ConnectTimeout=10", "-tt", "--", target.Host)
	want, got := effective(argv[:len(argv)-1]), effective(ours)
	require.True(t, want == got, "%s\nansible: %q\nours: %q\n%s", target.Node, argv, ours, difference(want, got))
}

// effective is what ssh makes of its arguments, or what it says against them.
func effective(argv []string) string {
	out, err := exec.Command("ssh", append([]string{"-F", "none", "-G"}, argv...)...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(exit.Stderr)
	}
	return string(out)
}

// difference shows the lines that only one of the two has.
func difference(want, got string) string {
	var b strings.Builder
	for _, pair := range [][3]string{{"ansible", want, got}, {"ours", got, want}} {
		for line := range strings.Lines(pair[1]) {
			if !strings.Contains(pair[2], line) {
				b.WriteString(pair[0] + ": " + line)
			}
		}
	}
	return b.String()
}

func dump(path string) string {
	var b strings.Builder
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		path = filepath.Dir(path)
	}
	_ = filepath.WalkDir(path, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		fmt.Fprintf(&b, "--- %s\n%s", name, text)
		return err
	})
	return b.String()
}
