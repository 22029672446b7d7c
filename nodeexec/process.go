package nodeexec

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// process is one run of the shim: bash, and what it turns into. It has a
// session of its own, so that a signal for it reaches nobody else and no
// terminal can be asked for a password. This is the one file that starts
// processes, and bash is the only program it starts.
type process struct {
	cmd            *exec.Cmd
	stdin          *os.File // ours: its end is the lifeline
	stdout, stderr *os.File
	exited         chan struct{}
}

var errNoBash = errors.New("bash is not installed on this machine")

// start runs bash with the given words and additional environment.
func start(words, env []string) (*process, error) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoBash, err)
	}
	p := &process{exited: make(chan struct{})}
	p.cmd = &exec.Cmd{
		Path:        bash,
		Args:        append([]string{"bash"}, words...),
		Env:         append(cleanEnv(os.Environ()), env...),
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	theirs, err := p.pipes()
	if err == nil {
		err = p.cmd.Start()
	}
	for _, f := range theirs {
		_ = f.Close() // the child has its own
	}
	if err != nil {
		p.close()
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait() // the exit code says it all
		close(p.exited)
	}()
	return p, nil
}

// pipes makes the three streams and returns the child's ends. They are files,
// not os/exec's copying goroutines, so that a grandchild that holds one of
// them cannot make Wait hang.
func (p *process) pipes() (theirs []*os.File, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.cmd.Stdin, p.stdin, theirs = r, w, append(theirs, r)
	if r, w, err = os.Pipe(); err != nil {
		return theirs, err
	}
	p.stdout, p.cmd.Stdout, theirs = r, w, append(theirs, w)
	if r, w, err = os.Pipe(); err != nil {
		return theirs, err
	}
	p.stderr, p.cmd.Stderr, theirs = r, w, append(theirs, w)
	return theirs, nil
}

// waitExit waits for the end of the process, at most as long as given.
func (p *process) waitExit(d time.Duration) bool {
	select {
	case <-p.exited:
		return true
	case <-time.After(d):
		return false
	}
}

// exitCode is -1 for a process that a signal ended, or that still runs.
func (p *process) exitCode() int {
	select {
	case <-p.exited:
		return p.cmd.ProcessState.ExitCode()
	default:
		return -1
	}
}

// kill ends the process and all that it started here. It says whether nothing
// is left of them.
func (p *process) kill() bool {
	group := -p.cmd.Process.Pid
	for range 50 {
		if err := syscall.Kill(group, syscall.SIGKILL); errors.Is(err, syscall.ESRCH) {
			return true
		}
		time.Sleep(5 * time.Millisecond)
	}
	return false
}

// close closes our ends of the streams, whoever still holds the others.
func (p *process) close() {
	for _, f := range []*os.File{p.stdin, p.stdout, p.stderr} {
		if f != nil {
			_ = f.Close() // a pipe of ours: nothing to lose
		}
	}
}

// cleanEnv drops what would change how bash reads the shim, and the
// coordinates of another node.
func cleanEnv(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		key, _, _ := strings.Cut(kv, "=")
		switch key {
		case "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "CDPATH", "GLOBIGNORE", "POSIXLY_CORRECT", "BASH_XTRACEFD":
			return true
		}
		return strings.HasPrefix(key, "BASH_FUNC_") || strings.HasPrefix(key, "NODE_EXEC_")
	})
}
