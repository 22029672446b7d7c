// Command bench-nodes makes real ssh nodes to try things on.
//
//	bench-nodes up --dir D --count 3            namespaced nodes, root on Linux
//	bench-nodes up --dir D --flavours           one node of every kind
//	bench-nodes up --dir D --spec spec.json     as nodes.Spec
//	bench-nodes loopback up --dir D --count 2   plain sshds of this user
//	bench-nodes exec D NODE -- ARGV...          run inside a node, without ssh
//	bench-nodes down D                          take either kind down
//
// It prints the path of the inventory. Exit codes: 0 good; 1 failed; 2 usage;
// 3 something is missing on this machine, named in one line on stderr.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/nestor-tools/nestor/bench/nodes"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	err := newCommand().ExecuteContext(ctx)
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "bench-nodes:", err)
	var missing *nodes.MissingError
	var failed failure
	switch {
	case errors.As(err, &missing), errors.Is(err, nodes.ErrNeedsRoot):
		os.Exit(3)
	case errors.As(err, &failed):
		os.Exit(1)
	}
	os.Exit(2)
}

// failure is what went wrong after the command line was understood.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "bench-nodes",
		Short:         "Make real ssh nodes to try things on",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	loopback := &cobra.Command{Use: "loopback", Short: "Plain sshds of the current user on 127.0.0.1"}
	loopback.AddCommand(newLoopbackUp(), newDown())
	root.AddCommand(newUp(), loopback, newExec(), newDown())
	return root
}

func newUp() *cobra.Command {
	var dir, specFile string
	var count int
	var fast, flavours bool
	c := &cobra.Command{
		Use:   "up --dir D",
		Short: "Start namespaced nodes (root on Linux)",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var spec nodes.Spec
			switch {
			case specFile != "":
				content, err := os.ReadFile(specFile)
				if err != nil {
					return err
				}
				if err := json.Unmarshal(content, &spec); err != nil {
					return fmt.Errorf("%s: %w", specFile, err)
				}
			case flavours:
				spec = nodes.Flavours()
			default:
				for i := range count {
					spec.Nodes = append(spec.Nodes, nodes.Node{Name: fmt.Sprint("node", i+1)})
				}
			}
			spec.Fast = spec.Fast || fast
			return report(c, func() (*nodes.Bench, error) { return nodes.Up(c.Context(), dir, spec) })
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "folder of the bench: absent, empty, or this bench's")
	c.Flags().IntVar(&count, "count", 3, "number of plain nodes")
	c.Flags().BoolVar(&flavours, "flavours", false, "one node of every kind instead")
	c.Flags().StringVar(&specFile, "spec", "", "JSON file that describes the nodes instead")
	c.Flags().BoolVar(&fast, "fast", false, "cheap connections; not for measuring")
	c.MarkFlagsMutuallyExclusive("count", "flavours", "spec")
	cobra.CheckErr(c.MarkFlagRequired("dir"))
	return c
}

func newLoopbackUp() *cobra.Command {
	var dir string
	var count int
	c := &cobra.Command{
		Use:   "up --dir D",
		Short: "Start loopback nodes",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return report(c, func() (*nodes.Bench, error) { return nodes.UpLoopback(c.Context(), dir, count) })
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "folder of the bench: absent, empty, or this bench's")
	c.Flags().IntVar(&count, "count", 2, "number of nodes")
	cobra.CheckErr(c.MarkFlagRequired("dir"))
	return c
}

func newExec() *cobra.Command {
	return &cobra.Command{
		Use:   "exec D NODE -- ARGV...",
		Short: "Run a program as root inside a node, without ssh",
		Args:  cobra.MinimumNArgs(3),
		RunE: func(c *cobra.Command, args []string) error {
			b, err := nodes.Open(args[0])
			if err != nil {
				return failure{err}
			}
			out, err := b.Exec(c.Context(), args[1], args[2:]...)
			c.OutOrStdout().Write(out)
			if err != nil {
				return failure{err}
			}
			return nil
		},
	}
}

func newDown() *cobra.Command {
	return &cobra.Command{
		Use:   "down D",
		Short: "Take down the bench that stands in a folder, in whatever state",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := nodes.Down(c.Context(), args[0]); err != nil {
				return failure{err}
			}
			return nil
		},
	}
}

// report starts a bench and prints where its inventory is.
func report(c *cobra.Command, up func() (*nodes.Bench, error)) error {
	b, err := up()
	if err != nil {
		return failure{err}
	}
	fmt.Fprintln(c.OutOrStdout(), b.InventoryPath)
	return nil
}
