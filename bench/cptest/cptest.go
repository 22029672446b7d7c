// Package cptest gives a test a real Kubernetes API: it starts the server of
// bench/controlplane as a process of its own, on 127.0.0.1 and in a temporary
// directory, and ends it with the test.
//
//	var api cptest.Shared // one server for the package, started at first use
//
//	func TestMain(m *testing.M) { os.Exit(api.Main(m)) }
//
//	func TestReadsServices(t *testing.T) {
//		cluster := api.Get(t)
//		cluster.Seed(t, "apiVersion: v1\nkind: Service\n...")
//		config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig)
//		...
//	}
//
// The binary is $NESTOR_CONTROLPLANE, else bin/controlplane in this
// repository. Without it the test fails in CI and is skipped, loudly,
// elsewhere: make controlplane-build makes it. Nothing is read from the user's
// own kubeconfig.
package cptest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// startTimeout is far above the 4 to 7 s of a start: the machine may be
	// running a whole test suite.
	startTimeout = 2 * time.Minute
	stopTimeout  = 45 * time.Second
)

// Cluster is a running server. Its methods are not safe for concurrent use,
// but tests may use the server itself in parallel.
type Cluster struct {
	// Access is the administrator's.
	Access
	// Kubeconfig is the administrator's kubeconfig file.
	Kubeconfig string
	// Dir holds the server's data and logs.
	Dir string

	binary  string
	process *process
}

type process struct {
	cmd    *exec.Cmd
	output bytes.Buffer
	exited chan struct{}
}

// Start runs a server for one test and its subtests.
func Start(t testing.TB) *Cluster {
	t.Helper()
	c, err := start()
	require(t, err)
	t.Cleanup(func() {
		if err := c.close(); err != nil {
			t.Errorf("cptest: %v", err)
		}
	})
	return c
}

// Shared is one server for all tests of a package. The zero value is ready.
type Shared struct {
	once    sync.Once
	cluster *Cluster
	err     error
}

// Get returns the server, started by the first call.
func (s *Shared) Get(t testing.TB) *Cluster {
	t.Helper()
	s.once.Do(func() { s.cluster, s.err = start() })
	require(t, s.err)
	return s.cluster
}

// Main runs the tests and ends the server; it returns the code for os.Exit.
func (s *Shared) Main(m *testing.M) int {
	code := m.Run()
	if s.cluster == nil {
		return code
	}
	if err := s.cluster.close(); err != nil {
		fmt.Fprintln(os.Stderr, "cptest:", err)
		return max(code, 1)
	}
	return code
}

// Stop ends the server as an operator does, with SIGTERM. Its data stay for
// Restart.
func (c *Cluster) Stop(t testing.TB) {
	t.Helper()
	if err := c.end(syscall.SIGTERM); err != nil {
		t.Fatalf("cptest: %v", err)
	}
}

// Kill ends the server with SIGKILL. Its data stay for Restart.
func (c *Cluster) Kill(t testing.TB) {
	t.Helper()
	if err := c.end(syscall.SIGKILL); err != nil {
		t.Fatalf("cptest: %v", err)
	}
}

// Restart runs the server again after Stop or Kill, on the same data, port,
// certificate and tokens.
func (c *Cluster) Restart(t testing.TB) {
	t.Helper()
	before := c.URL
	if err := c.run(); err != nil {
		t.Fatalf("cptest: %v", err)
	}
	if c.URL != before {
		t.Fatalf("cptest: the port of %s was taken meanwhile", before)
	}
}

// errNoBinary is told from failures: without the binary a test may be skipped.
var errNoBinary = errors.New("the control plane's binary is missing; run: make controlplane-build")

func require(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, errNoBinary) && os.Getenv("CI") == "":
		t.Skipf("NOT RUN: %v", err)
	default:
		t.Fatalf("cptest: %v", err)
	}
}

func findBinary() (string, error) {
	file, ok := os.LookupEnv("NESTOR_CONTROLPLANE")
	if !ok {
		_, source, _, _ := runtime.Caller(0)
		file = filepath.Join(filepath.Dir(source), "..", "..", "bin", "controlplane")
	}
	if _, err := os.Stat(file); err != nil {
		return "", fmt.Errorf("%w (%w)", errNoBinary, err)
	}
	return filepath.Abs(file)
}

func start() (*Cluster, error) {
	binary, err := findBinary()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "cptest-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{Dir: dir, binary: binary}
	if err := c.run(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return c, nil
}

// run starts the process and waits for its ready file.
func (c *Cluster) run() error {
	ready := filepath.Join(c.Dir, "ready.json")
	_ = os.Remove(ready) // left by a server that was killed
	p := &process{exited: make(chan struct{})}
	p.cmd = exec.Command(c.binary, "--dir", c.Dir, "--keep", "--ready-file", ready, "--with-stdin")
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	// A process group of its own: Ctrl-C is for the test, which then ends
	// the server.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// The pipe stays open as long as this process lives: a test that is killed
	// leaves no server behind.
	if _, err := p.cmd.StdinPipe(); err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	go func() {
		_ = p.cmd.Wait() // the ready file or its absence says how it went
		close(p.exited)
	}()
	c.process = p
	deadline := time.After(startTimeout)
	for {
		if b, err := os.ReadFile(ready); err == nil {
			return c.read(b)
		}
		select {
		case <-p.exited:
			return fmt.Errorf("the control plane ended: %s", bytes.TrimSpace(p.output.Bytes()))
		case <-deadline:
			return errors.Join(fmt.Errorf("the control plane is not ready after %s", startTimeout), c.end(syscall.SIGKILL))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// read takes the content of the ready file.
func (c *Cluster) read(b []byte) error {
	var ready struct {
		URL, Token, Kubeconfig string
		CAFile                 string `json:"ca_file"`
	}
	if err := json.Unmarshal(b, &ready); err != nil {
		return fmt.Errorf("ready file: %w", err)
	}
	ca, err := os.ReadFile(ready.CAFile)
	if err != nil {
		return err
	}
	c.Access = Access{URL: ready.URL, CA: ca, Token: ready.Token}
	c.Kubeconfig = ready.Kubeconfig
	return nil
}

// end sends a signal and waits for the process; it may have ended already.
func (c *Cluster) end(signal syscall.Signal) error {
	p := c.process
	select {
	case <-p.exited:
		return nil
	default:
	}
	if err := p.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.exited:
		return nil
	case <-time.After(stopTimeout):
		_ = p.cmd.Process.Kill()
		<-p.exited
		return fmt.Errorf("the control plane was still there %s after %v", stopTimeout, signal)
	}
}

func (c *Cluster) close() error {
	return errors.Join(c.end(syscall.SIGTERM), os.RemoveAll(c.Dir))
}
