package inventory

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/cases"
)

// recorded is what Ansible did with an inventory: the answer of
// "ansible-inventory --list" and, for each host, the argv of ssh.
type recorded struct {
	Connection map[string]struct {
		RC   int      `json:"rc"`
		Argv []string `json:"ssh_argv"`
		Out  []string `json:"out"`
	} `json:"connection"`
	Env map[string]string `json:"env"`
}

// refusable are the hosts and inventories for which a refusal is right even
// though Ansible runs: their values turn into options or words of ssh.
func refusable(argv []string) bool {
	host := argv[len(argv)-2]
	if strings.HasPrefix(host, "-") || strings.ContainsAny(host, " \n;") {
		return true
	}
	return slices.ContainsFunc(argv, func(s string) bool { return strings.HasPrefix(s, `User="-`) })
}

// TestCases reads every shared inventory and compares with what Ansible
// answered and ran.
func TestCases(t *testing.T) {
	dir := cases.Dir(t, "inventories")
	oracles, err := filepath.Glob(filepath.Join(dir, "*.ssh.json"))
	require.NoError(t, err)
	require.NotEmpty(t, oracles)
	hosts, refused := 0, 0
	for _, file := range oracles {
		name := strings.TrimSuffix(file, ".ssh.json")
		t.Run(filepath.Base(name), func(t *testing.T) {
			var want recorded
			readJSON(t, file, &want)
			var list map[string]json.RawMessage
			readJSON(t, name+".list.json", &list)
			if _, err := os.Stat(name); err != nil {
				name += ".yaml"
			}
			inv, err := openPath(name, want.Env)
			if len(want.Connection) == 0 {
				require.ErrorIs(t, err, ErrUnreadable, "Ansible leaves all of it out")
				refused++
				return
			}
			require.NoError(t, err)
			requireList(t, list, inv)
			all := inv.Hosts()
			slices.Sort(all)
			require.Len(t, all, len(want.Connection))
			for node, ran := range want.Connection {
				hosts++
				target, err := inv.Target(node, "")
				switch {
				case ran.RC != 0 || ran.Argv != nil && refusable(ran.Argv):
					require.Error(t, err, node)
					require.Contains(t, err.Error(), filepath.Base(name)+":", "the refusal says where")
					require.NotContains(t, err.Error(), "\n")
					refused++
				case ran.Argv == nil:
					require.NoError(t, err)
					require.Equal(t, TransportLocal, target.Transport, node)
				default:
					require.NoError(t, err)
					requireArgv(t, ran.Argv, target)
				}
			}
		})
	}
	t.Logf("%d hosts of %d inventories compared, %d refused", hosts, len(oracles), refused)
}

func readJSON(t testing.TB, file string, into any) {
	t.Helper()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, into), file)
}

func openPath(name string, env map[string]string) (*Inventory, error) {
	o := Options{FS: os.DirFS(filepath.Dir(name)), Name: filepath.Base(name), Dir: filepath.Dir(name), Env: func(k string) (string, bool) {
		v, ok := env[k]
		if k == "HOME" {
			return "<HOME>", true
		}
		return v, ok
	}}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		o.FS, o.Name, o.Shown, o.Dir = os.DirFS(name), ".", filepath.Base(name), name
	}
	return Open(o)
}

// requireArgv compares a target with the ssh command that Ansible builds.
func requireArgv(t testing.TB, argv []string, target Target) {
	t.Helper()
	host, port, user, key, args := parseArgv(t, argv)
	require.Equal(t, TransportSSH, target.Transport, target.Node)
	require.Equal(t, host, target.Host, target.Node)
	require.Equal(t, port, target.Port, target.Node)
	require.Equal(t, user, target.User, target.Node)
	require.Equal(t, key, target.IdentityFile, target.Node)
	require.Equal(t, args, append([]string{}, target.SSHArgs...), target.Node)
}

// parseArgv takes Ansible's own options out of its ssh command. What is left
// are the arguments of the inventory.
func parseArgv(t testing.TB, argv []string) (host string, port int, user, key string, args []string) {
	t.Helper()
	require.Greater(t, len(argv), 3)
	require.Equal(t, "-tt", argv[len(argv)-3])
	host = argv[len(argv)-2]
	args = []string{}
	own := true // up to ConnectTimeout, except for ansible_ssh_args before it
	for i := 0; i < len(argv)-3; i++ {
		if argv[i] != "-o" || !own {
			args = append(args, argv[i])
			continue
		}
		i++
		switch name, value, _ := strings.Cut(argv[i], "="); name {
		case "Port":
			var err error
			port, err = strconv.Atoi(value)
			require.NoError(t, err)
		case "User":
			user = strings.Trim(value, `"`)
		case "IdentityFile":
			key = strings.Trim(value, `"`)
		case "KbdInteractiveAuthentication", "PreferredAuthentications", "PasswordAuthentication":
		case "ConnectTimeout":
			own = false
		default:
			args = append(args, "-o", argv[i])
		}
	}
	return host, port, user, key, args
}

// requireList compares with "ansible-inventory --list": groups, their hosts
// and children, and all variables of all hosts, unresolved.
func requireList(t testing.TB, want map[string]json.RawMessage, inv *Inventory) {
	t.Helper()
	var meta struct {
		Hostvars map[string]map[string]any `json:"hostvars"`
	}
	require.NoError(t, json.Unmarshal(want["_meta"], &meta))
	for _, node := range inv.Hosts() {
		vars, err := inv.Vars(node)
		require.NoError(t, err)
		got := map[string]Value{}
		for _, v := range vars {
			got[v.Name] = v.Value
		}
		wanted, ok := meta.Hostvars[node]
		if !ok {
			wanted = map[string]any{}
		}
		requireSameJSON(t, wanted, got, node)
	}
	for _, name := range inv.Groups() {
		hosts, children, ok := inv.Members(name)
		require.True(t, ok)
		var g struct{ Hosts, Children []string }
		if raw := want[name]; raw != nil {
			require.NoError(t, json.Unmarshal(raw, &g))
		}
		if name == "all" {
			hosts = nil // left out there
		}
		require.ElementsMatch(t, g.Hosts, hosts, "hosts of "+name)
		require.ElementsMatch(t, g.Children, children, "children of "+name)
	}
	for name := range want {
		_, _, ok := inv.Members(name)
		require.True(t, ok || name == "_meta", "group "+name)
	}
}

func requireSameJSON(t testing.TB, want, got any, what string) {
	t.Helper()
	w, err := json.Marshal(want)
	require.NoError(t, err)
	g, err := json.Marshal(got)
	require.NoError(t, err)
	require.JSONEq(t, string(w), string(g), what)
}
