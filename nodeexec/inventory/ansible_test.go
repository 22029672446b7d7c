package inventory

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// python is Debian's own: ansible-core and PyYAML are packages of it.
const python = "/usr/bin/python3"

type question struct {
	YAML        []string            `json:"yaml,omitempty"`
	Literal     []string            `json:"literal,omitempty"`
	Shlex       []string            `json:"shlex,omitempty"`
	Inventories []inventoryQuestion `json:"inventories,omitempty"`
}

type inventoryQuestion struct {
	Path     string   `json:"path"`
	Patterns []string `json:"patterns,omitempty"`
	Argv     bool     `json:"argv"`
	NoList   bool     `json:"no_list"`
}

type answer struct {
	YAML, Literal []scalarAnswer
	Shlex         []struct{ Words, Commented *[]string }
	Inventories   []inventoryAnswer
}

type scalarAnswer struct {
	Value string `json:"value"` // JSON, with Python's NaN and Infinity
	Text  string `json:"text"`
	Type  string `json:"type"` // where JSON has none
	Error bool   `json:"error"`
}

type inventoryAnswer struct {
	ListRC   int                        `json:"list_rc"`
	ListErr  string                     `json:"list_err"`
	List     map[string]json.RawMessage `json:"list"`
	Selected map[string]*[]string       `json:"selected"`
	Argv     map[string][]string        `json:"argv"`
	RunOut   string                     `json:"run_out"`
}

// ask asks Ansible. Without it the test fails in CI and is skipped elsewhere.
func ask(t testing.TB, q question, env ...string) answer {
	t.Helper()
	if out, err := exec.Command(python, "-c", "import ansible, yaml").CombinedOutput(); err != nil {
		missing := "NOT RUN: " + python + " has no ansible or yaml (apt-get install ansible-core): " + string(out)
		if os.Getenv("CI") != "" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	home := t.TempDir()
	ssh := filepath.Join(home, "fake-ssh")
	require.NoError(t, os.WriteFile(ssh, []byte("#!/bin/sh\nout=$(mktemp \"$FAKE_SSH_RECORD/XXXXXX\")\nprintf '%s\\0' \"$@\" >\"$out\"\n"), 0o755))
	config := filepath.Join(home, "ansible.cfg")
	require.NoError(t, os.WriteFile(config, nil, 0o644))
	input, err := json.Marshal(q)
	require.NoError(t, err)
	cmd := exec.Command(python, "testdata/oracle.py")
	cmd.Stdin = bytes.NewReader(input)
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LC_ALL=C.UTF-8", "ANSIBLE_LOCAL_TEMP=" + filepath.Join(home, "tmp"),
		"ANSIBLE_SSH_EXECUTABLE=" + ssh, "ANSIBLE_SSH_ARGS=", "ANSIBLE_NOCOLOR=1", "ANSIBLE_CONFIG=" + config,
	}, env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	var a answer
	require.NoError(t, json.Unmarshal(out, &a))
	for i := range a.Inventories {
		for node, argv := range a.Inventories[i].Argv {
			for j := range argv {
				argv[j] = strings.ReplaceAll(argv[j], home, "<HOME>")
			}
			a.Inventories[i].Argv[node] = argv
		}
	}
	return a
}
