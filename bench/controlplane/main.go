// Command controlplane runs a real Kubernetes API on this machine, without
// containers: etcd and kube-apiserver in one process, listening on 127.0.0.1
// only, everything it writes under one directory.
//
//	controlplane --dir /tmp/cp --kubeconfig /tmp/kubeconfig --seed services.yaml
//	controlplane seed --kubeconfig /tmp/kubeconfig more.yaml
//
// It is an API server and nothing more: no controllers, no scheduler, no
// kubelet. Objects are validated, defaulted, stored and watched as on any
// cluster; nothing acts on them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/nestor-tools/nestor/bench/controlplane/seed"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// From the first signal on, a second one ends the process at once.
	context.AfterFunc(ctx, stop)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "controlplane:", err)
		os.Exit(1)
	}
}

// errOrphaned ends a server whose standard input has ended.
var errOrphaned = errors.New("standard input ended")

func run(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	if len(args) > 0 && args[0] == "seed" {
		return runSeed(ctx, args[1:], stdin, stdout)
	}
	var o settings
	var withStdin bool
	flags := flag.NewFlagSet("controlplane", flag.ContinueOnError)
	flags.StringVar(&o.Dir, "dir", "", "`directory` for everything the server writes; it must be new, empty, or one of its own (default: a temporary one)")
	flags.BoolVar(&o.Keep, "keep", false, "leave the directory in place when stopped, to start again on the same data")
	flags.IntVar(&o.Port, "port", 0, "`port` on 127.0.0.1 (default: the one used last in this directory, else any free one)")
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", "write the admin kubeconfig to this `file` too; it never replaces one it did not write")
	flags.StringVar(&o.ReadyFile, "ready-file", "", "write this `file`, JSON, once the server is ready and seeded")
	flags.DurationVar(&o.StartTimeout, "start-timeout", startTimeout, "give up where the server is not ready by then")
	flags.BoolVar(&withStdin, "with-stdin", false, "stop when standard input ends, --keep or not: nothing outlives the program that started the server")
	flags.Func("seed", "put the objects of this YAML `file` on the server once it is ready (repeatable; - is standard input)", func(file string) error {
		o.Seeds = append(o.Seeds, file)
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q: YAML files are given with --seed", flags.Arg(0))
	}
	if withStdin {
		if slices.Contains(o.Seeds, "-") {
			return errors.New("--with-stdin and --seed - both want standard input")
		}
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		go func() {
			_, _ = io.Copy(io.Discard, stdin)
			cancel(errOrphaned)
		}()
	}
	return serve(ctx, o, stdin, stdout)
}

func runSeed(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	flags := flag.NewFlagSet("controlplane seed", flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "kubeconfig `file` of the server to seed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	// Neither KUBECONFIG nor ~/.kube/config is read: what is written to must
	// have been named.
	if *kubeconfig == "" || flags.NArg() == 0 {
		return errors.New("usage: controlplane seed --kubeconfig FILE YAML... (- is standard input)")
	}
	klog.SetSlogLogger(slog.New(slog.DiscardHandler)) // errors are returned
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	return seedFiles(ctx, config, flags.Args(), stdin, stdout)
}

func seedFiles(ctx context.Context, config *rest.Config, files []string, stdin io.Reader, stdout io.Writer) error {
	if len(files) == 0 {
		return nil
	}
	begin := time.Now()
	var objects []seed.Object
	for _, file := range files {
		more, err := readSeed(file, stdin)
		if err != nil {
			return err
		}
		objects = append(objects, more...)
	}
	if err := seed.Apply(ctx, config, objects); err != nil {
		return err
	}
	_, err := fmt.Fprintf(stdout, "seeded %d objects in %s\n", len(objects), time.Since(begin).Round(10*time.Millisecond))
	return err
}

func readSeed(file string, stdin io.Reader) ([]seed.Object, error) {
	if file == "-" {
		return seed.Read("stdin", stdin)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return seed.Read(file, f)
}
