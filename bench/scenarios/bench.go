package scenarios

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bitfield/script"
)

// Bench is where the scenarios run.
type Bench struct {
	Root      string // this repository
	Nestor    string // the binary
	Inventory string
	StackID   string // the inventory's stack_id
	Work      string // a folder for what the scenarios write
	Nodes     []Node
	Emulated  []string // what of the bench is not the real thing, a sentence each
}

// Node is one of the inventory's.
type Node struct {
	Name   string   `json:"node"`
	Kind   string   `json:"target_kind"`
	Groups []string `json:"groups"`
}

// Open reads the inventory, through nestor.
func Open(root, nestor, inventory, work string) (*Bench, error) {
	b := &Bench{Root: root, Nestor: nestor, Inventory: inventory, Work: work}
	out, err := b.nestor("nodes", "--output", "json").text()
	if err != nil {
		return nil, err
	}
	var list struct{ Nodes []Node }
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		return nil, fmt.Errorf("nestor nodes: %w", err)
	}
	b.Nodes = list.Nodes
	return b, nil
}

// Control is the first control plane; the scenario is not run without one.
func (b *Bench) Control(l *Log) string { return b.first(l, "control") }

// Worker is the first worker.
func (b *Bench) Worker(l *Log) string { return b.first(l, "workers") }

func (b *Bench) first(l *Log, group string) string {
	i := slices.IndexFunc(b.Nodes, func(n Node) bool { return slices.Contains(n.Groups, group) })
	if i < 0 {
		l.NotRun("no node of the inventory is in the group %s", group)
	}
	return b.Nodes[i].Name
}

// call is one run of a program, through bitfield/script.
type call struct {
	argv  []string
	env   []string
	stdin string
}

// nestor is a call of the binary on the bench's inventory, as someone without
// a kubeconfig.
func (b *Bench) nestor(args ...string) call {
	return call{
		argv: append([]string{b.Nestor, "--inventory", b.Inventory}, args...),
		env:  []string{"KUBECONFIG=" + filepath.Join(b.Work, "none"), "EXPECTED_TARGET_KIND=lima"},
	}
}

// node is a call of the shim, as a script of the bench makes it.
func (b *Bench) node(name string, argv ...string) call {
	return call{
		argv: append([]string{filepath.Join(b.Root, "shims", "node-exec.sh"), name, "--"}, argv...),
		env:  []string{"NESTOR_BIN=" + b.Nestor, "NESTOR_INVENTORY=" + b.Inventory},
	}
}

// with adds environment.
func (c call) with(env ...string) call {
	c.env = append(slices.Clip(c.env), env...)
	return c
}

// text is what the program printed, to the last byte; what it said on stderr
// is in the error.
func (c call) text() (string, error) {
	var stderr bytes.Buffer
	out, err := script.Echo(c.stdin).WithEnv(append(os.Environ(), c.env...)).WithStderr(&stderr).ExecCommand(c.argv[0], c.argv[1:]...).String()
	if err != nil {
		return out, fmt.Errorf("%s: %w: %s", strings.Join(c.argv[:min(len(c.argv), 6)], " "), err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}

// code is the exit code; err is for a program that could not be started, or
// was killed.
func (c call) code() (code int, stdout, stderr string, err error) {
	var errs bytes.Buffer
	p := script.Echo(c.stdin).WithEnv(append(os.Environ(), c.env...)).WithStderr(&errs).ExecCommand(c.argv[0], c.argv[1:]...)
	out, err := p.String()
	// script says 0 of what never started.
	if code = p.ExitStatus(); err != nil && code == 0 {
		return 0, out, errs.String(), err
	}
	return code, out, errs.String(), nil
}

// write makes a file for a scenario.
func (b *Bench) write(name, content string) (string, error) {
	file := filepath.Join(b.Work, name)
	return file, os.WriteFile(file, []byte(content), 0o600)
}
