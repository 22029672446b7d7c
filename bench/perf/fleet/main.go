// Command fleet measures "nestor exec" on many real nodes against clush, pdsh,
// xargs with ssh, and ansible: the same command, the same fan-out, in turns,
// on nodes that it makes. It needs root, and leaves out what is not installed.
//
//	go run ./bench/perf/fleet -nodes 100 -rounds 7
//	go run ./bench/perf/fleet -nodes 200 -only gather
//	go run ./bench/perf/fleet -nodes 100 -only discover
//
// Cold: each run makes its connections, nestor's and ansible's shared ones
// included. Warm: each tool finds shared connections that stand already.
// discover: "nestor discover", warm, against clush with the same probe, and
// against ansible -m setup.
// gather: every node prints 1 MB of its own; the peak memory of nestor alone
// is reported. CPU is the client's, the processes it started included, and
// not the nodes', which share the machine.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nestor-tools/nestor/bench/nodes"
	"github.com/nestor-tools/nestor/shims"
)

func main() {
	var o options
	flag.IntVar(&o.nodes, "nodes", 100, "how many nodes")
	flag.IntVar(&o.rounds, "rounds", 7, "how often each is measured")
	flag.IntVar(&o.forks, "forks", 32, "the fan-out of all tools")
	flag.StringVar(&o.only, "only", "", "cold, warm, gather or discover; the first three without it")
	flag.StringVar(&o.tools, "tools", "", "only these, as in the table, separated by commas; all without it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := measure(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

type options struct {
	nodes, rounds, forks int
	only, tools          string
}

// stage is the nodes and all files about them.
type stage struct {
	options
	*nodes.Bench
	dir       string // short: sockets live below it
	nestor    string
	sshConfig string // names every node, without sharing connections
	runs      int
}

// tool is one way to run a command on all nodes.
type tool struct {
	name    string
	program string
	limit   float64 // what nestor may take, of this tool's time
	// command is the command line, with sockets below the folder; share says
	// whether connections are to be shared.
	command func(s *stage, sockets string, share bool) *exec.Cmd
}

func tools(kind string) []tool {
	if kind == "discover" {
		return discoverTools()
	}
	limits := map[string][3]float64{"cold": {1.05, 1.05, 1.10}, "warm": {1.15, 1.15, 0}}[kind]
	all := []tool{
		{name: "nestor", program: "bash", command: nestor},
		{name: "clush", program: "clush", limit: limits[0], command: func(s *stage, sockets string, share bool) *exec.Cmd {
			return exec.Command("clush", "-f", strconv.Itoa(s.forks), "-O", "ssh_path=ssh", "-o", "-F "+s.config(sockets, share), "-w", s.list(), "true")
		}},
		{name: "pdsh -R ssh", program: "pdsh", limit: limits[1], command: func(s *stage, sockets string, share bool) *exec.Cmd {
			cmd := exec.Command("pdsh", "-R", "ssh", "-f", strconv.Itoa(s.forks), "-w", s.list(), "true")
			cmd.Env = append(os.Environ(), "PDSH_SSH_ARGS_APPEND=-F "+s.config(sockets, share))
			return cmd
		}},
		{name: "xargs -P ssh", program: "xargs", limit: limits[2], command: func(s *stage, sockets string, share bool) *exec.Cmd {
			cmd := exec.Command("xargs", "-P", strconv.Itoa(s.forks), "-I{}", "ssh", "-n", "-F", s.config(sockets, share), "{}", "true")
			cmd.Stdin = strings.NewReader(strings.ReplaceAll(s.list(), ",", "\n") + "\n")
			return cmd
		}},
	}
	if kind == "warm" {
		all = append(all, tool{name: "ansible -m command", program: "ansible", limit: 0.1, command: ansible("-m", "command", "-a", "true")})
	}
	return all
}

// discoverTools read what the nodes are: nestor and clush with the same probe.
func discoverTools() []tool {
	words := []string{"sh", "-c", shims.Probe, "nestor-probe", "N0", "10"}
	for i, word := range words {
		words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return []tool{
		{name: "nestor discover", program: "bash", command: func(s *stage, sockets string, _ bool) *exec.Cmd {
			cmd := exec.Command(s.nestor, "discover", "-i", s.InventoryPath, "--forks", strconv.Itoa(s.forks), "all")
			cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+sockets)
			return cmd
		}},
		{name: "clush, the same probe", program: "clush", limit: 1.3, command: func(s *stage, sockets string, share bool) *exec.Cmd {
			return exec.Command("clush", "-f", strconv.Itoa(s.forks), "-O", "ssh_path=ssh", "-o", "-F "+s.config(sockets, share), "-w", s.list(), strings.Join(words, " "))
		}},
		{name: "ansible -m setup", program: "ansible", limit: 0.35, command: ansible("-m", "setup")},
	}
}

func ansible(args ...string) func(s *stage, sockets string, _ bool) *exec.Cmd {
	return func(s *stage, sockets string, _ bool) *exec.Cmd {
		cmd := exec.Command("ansible", append([]string{"all", "-i", s.InventoryPath, "-f", strconv.Itoa(s.forks)}, args...)...)
		cmd.Env = append(os.Environ(), "ANSIBLE_SSH_CONTROL_PATH_DIR="+sockets, "ANSIBLE_LOCAL_TEMP="+filepath.Join(s.dir, "ansible"),
			"ANSIBLE_SSH_ARGS=-o ControlMaster=auto -o ControlPersist=600s", "ANSIBLE_PYTHON_INTERPRETER=/usr/bin/python3")
		return cmd
	}
}

func nestor(s *stage, sockets string, _ bool) *exec.Cmd {
	return s.nestorExec(sockets, "--", "true")
}

func (s *stage) nestorExec(sockets string, args ...string) *exec.Cmd {
	cmd := exec.Command(s.nestor, append([]string{"exec", "-i", s.InventoryPath, "--forks", strconv.Itoa(s.forks), "all"}, args...)...)
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+sockets)
	return cmd
}

func (s *stage) list() string {
	var names []string
	for _, n := range s.Nodes {
		names = append(names, n.Name)
	}
	return strings.Join(names, ",")
}

// config is an ssh_config of all nodes.
func (s *stage) config(sockets string, share bool) string {
	if !share {
		return s.sshConfig
	}
	return filepath.Join(sockets, "config")
}

func (s *stage) writeConfig(file, more string) error {
	var b strings.Builder
	for _, n := range s.Nodes {
		p := s.Node(n.Name)
		fmt.Fprintf(&b, "Host %s\n  HostName %s\n  Port %d\n  User %s\n", n.Name, p.Addr, p.Port, p.User)
	}
	fmt.Fprintf(&b, "Host *\n  IdentityFile %s\n  IdentitiesOnly yes\n  IdentityAgent none\n  UserKnownHostsFile %s\n  GlobalKnownHostsFile /dev/null\n  BatchMode yes\n%s",
		s.IdentityPath, s.KnownHostsPath, more)
	return os.WriteFile(file, []byte(b.String()), 0o600)
}

// sockets is a new folder for shared connections.
func (s *stage) sockets() (string, error) {
	s.runs++
	dir := filepath.Join(s.dir, strconv.Itoa(s.runs))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	return dir, s.writeConfig(filepath.Join(dir, "config"), "  ControlMaster auto\n  ControlPersist 600\n  ControlPath "+dir+"/%C\n")
}

// hangUp ends the shared connections below a folder.
func hangUp(dir string) {
	procs, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is well formed
	for _, file := range procs {
		line, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(line), dir+"/") || !strings.Contains(string(line), "[mux]") {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			_ = syscall.Kill(pid, syscall.SIGTERM) // gone already is as well
		}
	}
}

func measure(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp("/tmp", "nf")
	if err != nil {
		return err
	}
	defer func() {
		hangUp(dir)
		err = cmp.Or(err, os.RemoveAll(dir))
	}()
	s := &stage{options: o, dir: dir, nestor: filepath.Join(dir, "nestor"), sshConfig: filepath.Join(dir, "config")}
	if out, err := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", s.nestor, "./cmd/nestor").CombinedOutput(); err != nil {
		return fmt.Errorf("build nestor: %w: %s", err, out)
	}
	var spec nodes.Spec
	for i := range o.nodes {
		spec.Nodes = append(spec.Nodes, nodes.Node{Name: fmt.Sprintf("node%03d", i+1)})
	}
	if s.Bench, err = nodes.Up(ctx, filepath.Join(dir, "bench"), spec); err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, s.Down(context.WithoutCancel(ctx))) }()
	if err := s.writeConfig(s.sshConfig, ""); err != nil {
		return err
	}
	fmt.Printf("%d nodes, fan-out %d, %d rounds; %s\n", o.nodes, o.forks, o.rounds, load())
	if o.only == "" || o.only == "cold" {
		if err := s.race(ctx, "cold"); err != nil {
			return err
		}
	}
	if o.only == "" || o.only == "warm" {
		if err := s.race(ctx, "warm"); err != nil {
			return err
		}
	}
	if o.only == "discover" {
		return s.race(ctx, "discover")
	}
	if o.only == "" || o.only == "gather" {
		return s.gather(ctx)
	}
	return nil
}

func load() string {
	text, _ := os.ReadFile("/proc/loadavg") // absent: not said
	return "load " + strings.TrimSpace(string(text))
}

// took is what one run cost.
type took struct {
	wall, cpu time.Duration
	rssKiB    int64 // the peak of the process itself, without those it started
}

func run(ctx context.Context, cmd *exec.Cmd) (took, error) {
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stop := context.AfterFunc(ctx, func() {
		if cmd.Process != nil {
			_ = cmd.Process.Signal(syscall.SIGTERM)
		}
	})
	defer stop()
	began := time.Now()
	err := cmd.Run()
	t := took{wall: time.Since(began)}
	if err != nil {
		return t, fmt.Errorf("%s: %w: %.500s", cmd.Path, err, stderr.String())
	}
	t.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return t, nil
}

// race runs the tools in turns, so that what else the machine does hits all
// of them alike. The first round warms up and is not counted.
func (s *stage) race(ctx context.Context, kind string) error {
	type contestant struct {
		tool
		sockets string
		last    time.Time
		took    []took
	}
	var all []*contestant
	for _, t := range tools(kind) {
		if s.tools != "" && t.program != "bash" && !slices.Contains(strings.Split(s.tools, ","), t.name) {
			continue
		}
		if _, err := exec.LookPath(t.program); errors.Is(err, exec.ErrNotFound) {
			fmt.Printf("%s is not installed: left out\n", t.program)
			continue
		}
		dir, err := s.sockets()
		if err != nil {
			return err
		}
		all = append(all, &contestant{tool: t, sockets: dir})
	}
	for round := range s.rounds + 1 {
		for _, c := range all {
			if kind == "cold" {
				hangUp(c.sockets)
				dir, err := s.sockets()
				if err != nil {
					return err
				}
				c.sockets = dir
				time.Sleep(300 * time.Millisecond) // what was hung up has ended
			}
			once := func() (took, error) {
				t, err := run(ctx, c.command(s, c.sockets, kind != "cold"))
				c.last = time.Now()
				return t, err
			}
			if kind != "cold" && time.Since(c.last) > 30*time.Second { // nestor's connections live for a minute
				if _, err := once(); err != nil {
					return fmt.Errorf("%s, %s: %w", kind, c.name, err)
				}
			}
			t, err := once()
			if err != nil {
				return fmt.Errorf("%s, %s: %w", kind, c.name, err)
			}
			if round > 0 {
				c.took = append(c.took, t)
			}
		}
	}
	fmt.Printf("\n%s; %s\n\n| connections | tool | median | fastest | client CPU | nestor takes | at most |\n|---|---|---|---|---|---|---|\n", kind, load())
	wall := func(t took) time.Duration { return t.wall }
	for _, c := range all {
		ratio := float64(median(all[0].took, wall)) / float64(median(c.took, wall))
		limit := "-"
		if c.limit > 0 {
			limit = fmt.Sprintf("%.2f", c.limit)
		}
		fmt.Printf("| %s | %s | %.3f s | %.3f s | %.3f s | %.2f | %s |\n", kind, c.name, median(c.took, wall).Seconds(),
			slices.MinFunc(c.took, func(a, b took) int { return cmp.Compare(a.wall, b.wall) }).wall.Seconds(),
			median(c.took, func(t took) time.Duration { return t.cpu }).Seconds(), ratio, limit)
		hangUp(c.sockets)
	}
	return nil
}

func median(all []took, of func(took) time.Duration) time.Duration {
	var values []time.Duration
	for _, t := range all {
		values = append(values, of(t))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// gather has every node print 1 MB, the same and then each its own.
func (s *stage) gather(ctx context.Context) error {
	dir, err := s.sockets()
	if err != nil {
		return err
	}
	fmt.Printf("\n--gather of 1 MB from each of %d nodes; %s\n\n| output | time | client CPU | peak memory of nestor |\n|---|---|---|---|\n", s.nodes, load())
	for _, c := range []struct{ name, line string }{
		{"the same", `yes 0123456789abcdef | head -c 1000000`},
		{"each its own", `yes "$(head -c 24 /dev/urandom | base64)" | head -c 1000000`},
	} {
		report := filepath.Join(s.dir, "report")
		out, err := os.Create(report)
		if err != nil {
			return err
		}
		cmd := s.nestorExec(dir, "--gather", "--", "sh", "-c", c.line)
		cmd.Stdout = out
		peak := make(chan int64, 1)
		done := make(chan struct{})
		go func() { peak <- watchPeak(cmd, done) }()
		t, err := run(ctx, cmd)
		close(done)
		t.rssKiB = <-peak
		_ = out.Close() // only looked at
		if err != nil {
			return err
		}
		info, err := os.Stat(report)
		if err != nil {
			return err
		}
		fmt.Printf("| %s (report of %.0f MB) | %.1f s | %.1f s | %.0f MiB |\n", c.name, float64(info.Size())/1e6, t.wall.Seconds(), t.cpu.Seconds(), float64(t.rssKiB)/1024)
	}
	hangUp(dir)
	return nil
}

// watchPeak follows the peak resident memory of a command's own process.
// rusage would give the greatest of all processes below it.
func watchPeak(cmd *exec.Cmd, done <-chan struct{}) (kib int64) {
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		select {
		case <-done:
			tick.Stop()
			return kib
		case <-tick.C:
		}
		if cmd.Process == nil {
			continue
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
		if err != nil {
			continue // ended
		}
		_, after, _ := strings.Cut(string(status), "VmHWM:")
		if n, err := strconv.ParseInt(strings.Fields(after + " 0")[0], 10, 64); err == nil {
			kib = max(kib, n)
		}
	}
}
