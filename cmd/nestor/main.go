// Command nestor reaches the nodes of a bare-metal or Lima Kubernetes
// cluster, reads what is really on them, wipes them when that is meant, and
// publishes the platform's web UIs over plain NodePorts.
package main

import (
	"context"
	"os"
	"os/signal"
)

func main() {
	os.Exit(Main())
}

// Main runs nestor with the process's own arguments, streams and environment,
// and returns the exit code.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), stopSignals()...)
	defer stop()
	return run(ctx, os.Args[1:], &cli{in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.LookupEnv})
}
