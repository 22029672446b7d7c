// Package lima installs a stand-in for limactl, for tests: a program that
// answers list, start, stop and shell as limactl v2.2.0 does, without any
// virtual machine.
//
//	l := lima.Install(t)
//	l.Add(t, "node1", lima.VM{})
//	cmd := exec.Command("limactl", "shell", "--workdir", "/", "node1", "hostname")
//	cmd.Env = l.Environ(os.Environ())
//
// A VM is a folder below LIMA_HOME. Its guest is a login shell of this
// machine with an environment, a home and a session of its own, or, where
// VM.SSH names one, a real node reached by ssh. Either way limactl runs
// another process, as the real one runs ssh, and so leaves it behind when it
// is killed alone.
//
// Unlike the real one it runs as root too, starts a VM at once, and touches
// no folder that Add did not make.
package lima

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// VM describes one instance. The zero value is a running one without mounts.
type VM struct {
	Status string   `json:"status"` // Running (when empty), Stopped or Broken
	Mounts []string `json:"mounts"` // folders of the host that the guest is said to share

	// Shell is the guest user's login shell; /bin/bash when empty.
	Shell string `json:"shell"`

	// SSH are the arguments of an ssh to a real node that is the guest, up
	// to and with the host.
	SSH []string `json:"ssh"`

	// Errors are what is wrong with the instance: list warns of them, as it
	// does while a VM starts.
	Errors []string `json:"errors"`

	// Stderr is printed by every shell before anything else, as ssh does
	// when its control socket is in trouble.
	Stderr string `json:"stderr"`

	Fault Fault `json:"fault"`
}

// Fault is a way in which limactl shell goes wrong although the VM runs.
type Fault string

// The faults. NothingRun: exit code 0 at once, and nothing was run (Lima's
// issue 1939). Unreachable: ssh finds nobody. Hang: ssh never answers.
const (
	NothingRun  Fault = "nothing-run"
	Unreachable Fault = "unreachable"
	Hang        Fault = "hang"
)

// Lima is an installed stand-in.
type Lima struct {
	Bin  string // folder that holds limactl
	Home string // LIMA_HOME
}

// Install builds the stand-in for one test.
func Install(t testing.TB) *Lima {
	t.Helper()
	l := &Lima{Bin: t.TempDir(), Home: t.TempDir()}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	build := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(l.Bin, "limactl"),
		"github.com/nestor-tools/nestor/bench/lima/limactl")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the stand-in for limactl: %v: %s", err, out)
	}
	return l
}

// Add makes an instance, or replaces it.
func (l *Lima) Add(t testing.TB, name string, vm VM) {
	t.Helper()
	if vm.Status == "" {
		vm.Status = "Running"
	}
	if vm.Shell == "" {
		vm.Shell = "/bin/bash"
	}
	content, err := json.MarshalIndent(vm, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(l.GuestHome(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(l.Home, name, "standin.json"), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// GuestHome is the home of the guest's user, where its profile files go.
func (l *Lima) GuestHome(name string) string { return filepath.Join(l.Home, name, "home") }

// Environ gives an environment in which limactl is the stand-in.
func (l *Lima) Environ(base []string) []string {
	var env []string
	path := l.Bin
	for _, kv := range base {
		switch name, value, _ := strings.Cut(kv, "="); name {
		case "PATH":
			path += string(filepath.ListSeparator) + value
		case "LIMA_HOME":
		default:
			env = append(env, kv)
		}
	}
	return append(env, "PATH="+path, "LIMA_HOME="+l.Home)
}
