// Command run runs the scenarios of the bench, all or those named, and keeps
// what they saw:
//
//	run [flags] [SCENARIO...]
//
// It exits 0 when all passed, 1 when one failed, 2 when one could not run.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nestor-tools/nestor/bench/scenarios"
)

func main() {
	code, err := run()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "run:", err)
	}
	os.Exit(code)
}

func run() (int, error) {
	var emulated []string
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	root := flags.String("root", ".", "this repository's `folder`")
	inventory := flags.String("inventory", "", "the bench's inventory `file` (default: bench/lima/.work/inventory.yaml)")
	evidence := flags.String("evidence", "", "also write what was seen to this new `file`, a folder's dated one if it is a folder")
	stack := flags.String("stack-id", "bench", "the inventory's `stack_id`, which remove wants to be told")
	list := flags.Bool("list", false, "say which scenarios there are")
	flags.Func("emulated", "something of the bench that is not the real thing, for the evidence (repeatable)", func(s string) error {
		emulated = append(emulated, s)
		return nil
	})
	if err := flags.Parse(os.Args[1:]); err != nil {
		return 2, err
	}
	if *list {
		for _, s := range scenarios.All {
			fmt.Printf("%-14s %s\n", s.Name, s.Proves)
		}
		return 0, nil
	}
	dir, err := filepath.Abs(*root)
	if err != nil {
		return 2, err
	}
	if *inventory == "" {
		*inventory = filepath.Join(dir, "bench", "lima", ".work", "inventory.yaml")
	}
	file, err := filepath.Abs(*inventory)
	if err != nil {
		return 2, err
	}
	work, err := os.MkdirTemp("", "nestor-scenarios-")
	if err != nil {
		return 2, err
	}
	defer os.RemoveAll(work)
	b, err := scenarios.Open(dir, filepath.Join(dir, "bin", "nestor"), file, work)
	if err != nil {
		return 2, err
	}
	b.Emulated, b.StackID = emulated, *stack

	began := time.Now()
	results, err := scenarios.Run(os.Stdout, b, flags.Args()...)
	if err != nil {
		return 2, err
	}
	fmt.Println()
	code := scenarios.Summary(os.Stdout, results)
	if *evidence != "" {
		if info, err := os.Stat(*evidence); err == nil && info.IsDir() {
			*evidence = filepath.Join(*evidence, began.UTC().Format("2006-01-02-150405")+".md")
		}
		out, err := os.OpenFile(*evidence, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return 2, err
		}
		err = errors.Join(b.Evidence(out, began, strings.Join(flags.Args(), " "), results), out.Close())
		if err != nil {
			return 2, err
		}
		fmt.Println("evidence:", *evidence)
	}
	return code, nil
}
