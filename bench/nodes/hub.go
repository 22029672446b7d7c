package nodes

import (
	"bufio"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

//go:embed hub.sh
var hubScript string

//go:embed node.sh
var nodeScript string

// hubPipes are our ends of the hub's stdin and stdout.
type hubPipes struct{ stdin, stdout *os.File }

func (b *Bench) startHub(leashed bool) (*hubPipes, error) {
	for name, content := range map[string]string{"hub.sh": hubScript, "node.sh": nodeScript} {
		if err := os.WriteFile(filepath.Join(b.Dir, name), []byte(content), 0o600); err != nil {
			return nil, err
		}
	}
	log, err := os.Create(filepath.Join(b.Dir, "hub.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	stdin, ourStdin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer stdin.Close()
	ourStdout, stdout, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer stdout.Close()
	mode := "free"
	if leashed {
		mode = "leashed"
	}
	cmd := exec.Command("unshare", "--net", "--ipc", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child",
		"sh", "hub.sh", mode)
	for _, n := range b.Nodes {
		cmd.Args = append(cmd.Args, n.Name)
	}
	cmd.Dir = b.Dir
	cmd.Env = []string{"PATH=" + safePath, "HOME=/root", "LC_ALL=C"}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, log
	// A Ctrl-C at the terminal is not meant for the bench.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	b.leash = ourStdin
	outer, err := identify(cmd.Process.Pid)
	if err == nil {
		b.state.Outer = outer
		err = b.save()
	}
	go cmd.Wait() // leaves no zombie; that it ended is seen elsewhere
	if err != nil {
		return nil, b.hubFailed(err)
	}
	return &hubPipes{stdin: ourStdin, stdout: ourStdout}, nil
}

// expect reads one line of the hub.
func (b *Bench) expect(ctx context.Context, lines *bufio.Scanner, word string, use func(fields []string) error) error {
	if !lines.Scan() {
		return b.hubFailed(cmp.Or(ctx.Err(), lines.Err(), errors.New("it ended early")))
	}
	f := strings.Fields(lines.Text())
	if len(f) < 2 || f[0] != word {
		return b.hubFailed(fmt.Errorf("it said %q, want %s", lines.Text(), word))
	}
	if err := use(f); err != nil {
		return b.hubFailed(err)
	}
	return nil
}

// hubFailed adds what the hub and the nodes logged.
func (b *Bench) hubFailed(err error) error {
	logs, _ := os.ReadFile(filepath.Join(b.Dir, "hub.log"))
	said := string(logs)
	for _, n := range b.Nodes {
		if log, err := os.ReadFile(filepath.Join(b.nodeDir(n.Name), "log")); err == nil && len(log) > 0 {
			said += n.Name + ": " + string(log)
		}
	}
	return fmt.Errorf("starting the bench: %w: %s", err, strings.Join(strings.Split(strings.TrimSpace(said), "\n"), " | "))
}

func identifyWord(word string) (process, error) {
	pid, err := strconv.Atoi(word)
	if err != nil {
		return process{}, err
	}
	return identify(pid)
}
