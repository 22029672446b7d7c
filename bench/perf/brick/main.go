// Command brick measures what nestor adds to a bare ssh: the library's Run
// and "nestor exec", cold and over a warm shared connection, against the same
// ssh with the same options, in one run and in turns. It needs root for the
// node that it makes.
//
//	go run ./bench/perf/brick -rounds 40
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/nestor-tools/nestor/bench/nodes"
	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

func main() {
	rounds := flag.Int("rounds", 40, "how often each is measured")
	flag.Parse()
	if err := measure(context.Background(), *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "brick:", err)
		os.Exit(1)
	}
}

// contestant is one way to run "true" on the node.
type contestant struct {
	name  string
	limit float64 // of the first contestant's median; 0: it is the yardstick
	run   func() error
	wall  []time.Duration
	cpu   []time.Duration
}

func measure(ctx context.Context, rounds int) (err error) {
	dir, err := os.MkdirTemp("/tmp", "np")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	bin := filepath.Join(dir, "nestor")
	build := exec.CommandContext(ctx, "go", "build", "-ldflags", "-s -w", "-o", bin, "./cmd/nestor")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	b, err := nodes.Up(ctx, filepath.Join(dir, "bench"), nodes.Spec{Nodes: []nodes.Node{{Name: "node1"}}})
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, b.Down(ctx)) }()
	inv, err := inventory.Load(os.DirFS(filepath.Dir(b.InventoryPath)), filepath.Base(b.InventoryPath), os.LookupEnv)
	if err != nil {
		return err
	}
	target, err := inv.Target("node1", "")
	if err != nil {
		return err
	}

	bare := func(more ...string) func() error {
		words := append([]string{"-o", "BatchMode=yes"}, more...)
		words = append(append(words, b.SSHArgs("node1")...), "true")
		return func() error { return exec.CommandContext(ctx, "ssh", words...).Run() }
	}
	library := func(o nodeexec.Options) func() error {
		node := nodeexec.Open(target, o)
		return func() error {
			_, err := node.Run(ctx, nodeexec.Command{Argv: []string{"true"}})
			return err
		}
	}
	process := func(runtimeDir func() string) func() error {
		return func() error {
			cmd := exec.CommandContext(ctx, bin, "exec", "-i", b.InventoryPath, "node1", "--", "true")
			cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+runtimeDir())
			return cmd.Run()
		}
	}
	fresh := 0
	newDir := func() string { // no connection is shared yet in a new folder
		fresh++
		d := filepath.Join(dir, fmt.Sprint("r", fresh))
		_ = os.Mkdir(d, 0o700) // the command that uses it will tell
		return d
	}
	warmDir := newDir()
	socket := filepath.Join(dir, "bare")

	cold := []*contestant{
		{name: "ssh NODE true", run: bare("-S", "none")},
		{name: "library Run", limit: 1.05, run: library(nodeexec.Options{})},
		{name: "nestor exec", limit: 1.10, run: process(newDir)},
	}
	warm := []*contestant{
		{name: "ssh NODE true", run: bare("-S", socket, "-o", "ControlMaster=auto", "-o", "ControlPersist=120")},
		{name: "library Run", limit: 1.5, run: library(nodeexec.Options{ControlDir: filepath.Join(dir, "lib"), ControlPersist: 2 * time.Minute})},
		{name: "nestor exec", limit: 3.0, run: process(func() string { return warmDir })},
	}
	load, _ := os.ReadFile("/proc/loadavg") // absent: not said
	fmt.Printf("%d rounds, load before: %s\n", rounds, load)
	fmt.Println("| connection | what | median | client CPU | ratio | at most |")
	fmt.Println("|---|---|---|---|---|---|")
	for _, set := range []struct {
		name string
		of   []*contestant
	}{{"cold", cold}, {"warm", warm}} {
		if err := race(set.of, rounds); err != nil {
			return fmt.Errorf("%s: %w", set.name, err)
		}
		for _, c := range set.of {
			ratio := float64(median(c.wall)) / float64(median(set.of[0].wall))
			fmt.Printf("| %s | %s | %.1f ms | %.1f ms | %.2f | %s |\n", set.name, c.name, ms(median(c.wall)), ms(median(c.cpu)), ratio, orDash(c.limit))
		}
	}
	return nil
}

// race runs the contestants in turns, so that what else the machine does hits
// all of them alike. The first round warms up and is not counted.
func race(of []*contestant, rounds int) error {
	for round := range rounds + 1 {
		for _, c := range of {
			cpu, began := childCPU(), time.Now()
			if err := c.run(); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			if round > 0 {
				c.wall = append(c.wall, time.Since(began))
				c.cpu = append(c.cpu, childCPU()-cpu)
			}
		}
	}
	return nil
}

// childCPU is the CPU time of this process and its ended children.
func childCPU() (total time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			total += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return total
}

func median(d []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(d))
	return sorted[len(sorted)/2]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func orDash(limit float64) string {
	if limit == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", limit)
}
