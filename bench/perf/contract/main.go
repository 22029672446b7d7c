// Command contract measures `nestor contract check` on a generated tree of
// manifests against two yardsticks: a Python checker with PyYAML that reads
// every document once, and kubeconform with local schemas where it is on PATH.
//
//	go run ./bench/perf/contract                        # 500 manifests, 10 MB
//	go run ./bench/perf/contract -files 5000 -slow=false  # 100 MB, without PyYAML's own loader
//
// It prints wall and CPU time, peak memory and the ratios to each yardstick.
package main

import (
	"cmp"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

//go:embed checker.py
var checker []byte

func main() {
	files := flag.Int("files", 500, "manifests in the tree")
	size := flag.Int("bytes", 20_000, "of each manifest, about")
	slow := flag.Bool("slow", true, "also run PyYAML's own loader, which yaml.safe_load_all uses: minutes for 100 MB")
	rounds := flag.Int("rounds", 3, "runs of each program; the fastest counts")
	flag.Parse()
	if err := measure(tree{*files, *size}, *slow, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "contract:", err)
		os.Exit(1)
	}
}

func measure(size tree, slow bool, rounds int) error {
	dir, err := os.MkdirTemp("", "nestor-perf-contract-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	root := filepath.Join(dir, "tree")
	if err := generate(root, size); err != nil {
		return err
	}
	nestor := filepath.Join(dir, "nestor")
	if out, err := exec.Command("go", "build", "-trimpath", "-o", nestor, "github.com/nestor-tools/nestor/cmd/nestor").CombinedOutput(); err != nil {
		return fmt.Errorf("build nestor: %w: %s", err, out)
	}
	script := filepath.Join(dir, "checker.py")
	if err := os.WriteFile(script, checker, 0o600); err != nil {
		return err
	}
	fmt.Printf("%d manifests of about %d bytes, %d processors\n", size.files, size.bytes, runtime.GOMAXPROCS(0))
	ours, err := fastest(rounds, nestor, "contract", "check", "--root", root, "--output", "json")
	if err != nil {
		return err
	}
	fmt.Printf("%-34s %8.2f s  %8.2f s of CPU  %5d MiB\n", "nestor contract check", ours.wall.Seconds(), ours.cpu.Seconds(), ours.peak>>20)
	compare := func(name string, rounds int, argv ...string) error {
		got, err := fastest(rounds, argv...)
		if err != nil {
			return err
		}
		fmt.Printf("%-34s %8.2f s  %8.2f s of CPU  %5d MiB   nestor takes %.3f of its time, %.3f of its CPU\n", name, got.wall.Seconds(), got.cpu.Seconds(), got.peak>>20,
			ours.wall.Seconds()/got.wall.Seconds(), ours.cpu.Seconds()/got.cpu.Seconds())
		return nil
	}
	if err := compare("python3, PyYAML with libyaml", rounds, "python3", script, "--libyaml", root); err != nil {
		return err
	}
	if slow {
		if err := compare("python3, PyYAML as it comes", 1, "python3", script, root); err != nil {
			return err
		}
	}
	if _, err := exec.LookPath("kubeconform"); err != nil {
		fmt.Println("kubeconform: not on PATH, not measured")
		return nil
	}
	schemas := filepath.Join(dir, "schemas")
	if err := os.Mkdir(schemas, 0o700); err != nil {
		return err
	}
	for _, kind := range []string{"service", "deployment", "configmap", "customresourcedefinition"} {
		if err := os.WriteFile(filepath.Join(schemas, kind+".json"), []byte(`{"type": "object", "required": ["kind", "metadata"]}`), 0o600); err != nil {
			return err
		}
	}
	return compare("kubeconform, local schemas", rounds, "kubeconform", "-schema-location", filepath.Join(schemas, "{{ .ResourceKind }}.json"), "-summary", filepath.Join(root, "apps"))
}

// run is one program's time and memory.
type run struct {
	wall time.Duration
	cpu  time.Duration // of all processors: what a busy machine distorts least
	peak int64         // bytes
}

// fastest runs a program a few times; its findings are no failure of the
// measurement, but being unable to judge is.
func fastest(rounds int, argv ...string) (best run, err error) {
	for range max(1, rounds) {
		cmd := exec.Command(argv[0], argv[1:]...)
		start := time.Now()
		out, err := cmd.CombinedOutput()
		wall := time.Since(start)
		if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !(ok && exit.ExitCode() == 1) {
			return run{}, fmt.Errorf("%s: %w: %.500s", argv[0], err, out)
		}
		usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		if !ok {
			return run{}, errors.New("this system does not tell a program's memory")
		}
		unit := int64(1) // bytes on macOS, KiB on Linux
		if runtime.GOOS == "linux" {
			unit = 1024
		}
		if got := (run{wall, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), int64(usage.Maxrss) * unit}); best.wall == 0 || cmp.Less(got.wall, best.wall) {
			best = got
		}
	}
	return best, nil
}
