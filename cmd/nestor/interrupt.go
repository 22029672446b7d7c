package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interruptible hears the signals that ask to stop: the first cancels ctx and
// calls stopping, the second closes abandon. ended lets go of the signals.
func interruptible(parent context.Context, stopping func()) (ctx context.Context, abandon <-chan struct{}, ended func()) {
	ctx, cancel := context.WithCancel(parent)
	signals, over, again := make(chan os.Signal, 2), make(chan struct{}), make(chan struct{})
	signal.Notify(signals, stopSignals()...)
	go func() {
		for first := true; ; first = false {
			select {
			case <-signals:
			case <-over:
				return
			}
			if !first {
				close(again)
				return
			}
			stopping()
			cancel()
		}
	}()
	return ctx, again, func() { signal.Stop(signals); close(over); cancel() }
}

// stopSignals ask to stop. SIGHUP does not under nohup.
func stopSignals() []os.Signal {
	stop := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		stop = append(stop, syscall.SIGHUP)
	}
	return stop
}
