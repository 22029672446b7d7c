package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/nodes"
)

// whenBegun calls f once the job has begun on the nodes.
func whenBegun(t *testing.T, b *nodes.Bench, names []string, f func()) (wait func()) {
	var waiting sync.WaitGroup
	waiting.Go(func() {
		for _, name := range names {
			begun := func() bool {
				_, err := b.Exec(t.Context(), name, "rm", "/begun")
				return err == nil
			}
			if !assert.Eventually(t, begun, time.Minute, 100*time.Millisecond, name) {
				return
			}
		}
		f()
	})
	return waiting.Wait
}

func raise(t *testing.T, s syscall.Signal) {
	assert.NoError(t, syscall.Kill(os.Getpid(), s)) // nestor runs in this process, and takes it
}

func TestSignalsToExec(t *testing.T) {
	var spec nodes.Spec
	spec.Fast = true
	for i := range 4 {
		spec.Nodes = append(spec.Nodes, nodes.Node{Name: fmt.Sprint("node", i+1), Files: map[string]string{
			"/usr/local/bin/job": "#!/bin/sh\ntouch /begun; sleep 600 & sleep 600\n",
		}})
	}
	b := nodes.Start(t, spec)
	busy := []string{"node1", "node2"}
	nothingIn := func(t *testing.T, names ...string) {
		for _, name := range names {
			assert.Eventually(t, func() bool { return leftovers(t, b, name) == "" }, time.Minute, 500*time.Millisecond, name)
		}
		assert.Empty(t, localLeftovers(t, b))
	}

	t.Run("status, then once", func(t *testing.T) {
		wait := whenBegun(t, b, busy, func() {
			raise(t, syscall.SIGUSR1)
			time.Sleep(300 * time.Millisecond) // one signal after the other
			raise(t, syscall.SIGINT)
		})
		code, _, errs := nestorOn(t, b, "exec", "all", "--forks", "2", "--", "job")
		wait()
		assert.Equal(t, exitUnevaluated, code)
		assert.Regexp(t, `nestor: 0/4 done, 0 failed, 2 running: node[12] \ds, node[12] \ds\n`, errs)
		assert.Contains(t, errs, "nestor: stopping:")
		assert.Contains(t, errs, ": 0 ok, 2 canceled, 2 not-started\n  canceled: node[1-2]: cancelled (remote: killed)\n  not-started: node[3-4]\n")
		nothingIn(t, "node1", "node2", "node3", "node4")
	})

	t.Run("a script", func(t *testing.T) { // has no lifeline: it is ended from outside
		file := t.TempDir() + "/script.sh"
		require.NoError(t, os.WriteFile(file, []byte("touch /begun\nsleep 600 & sleep 600\n"), 0o600))
		wait := whenBegun(t, b, busy, func() { raise(t, syscall.SIGINT) })
		_, _, errs := nestorOn(t, b, "exec", "node1,node2", "--script", file)
		wait()
		assert.Contains(t, errs, "\n  canceled: node[1-2]: cancelled (remote: killed)\n")
		nothingIn(t, "node1", "node2")
	})

	t.Run("twice", func(t *testing.T) {
		wait := whenBegun(t, b, busy, func() {
			assert.NoError(t, b.LinkDown(t.Context(), "node1")) // it can no longer answer
			raise(t, syscall.SIGINT)
			time.Sleep(300 * time.Millisecond)
			raise(t, syscall.SIGINT)
		})
		_, out, errs := nestorOn(t, b, "exec", "all", "--forks", "2", "--timeout", "60s", "--output", "json", "--", "job")
		wait()
		require.NoError(t, b.LinkUp(t.Context(), "node1"))
		assert.Equal(t, 4, strings.Count(out, "\n"), errs)
		assert.Contains(t, errs, " 2 canceled, 2 not-started\n")
		assert.Contains(t, errs, "canceled: node1: cancelled (remote: unknown)")
		nothingIn(t, "node2", "node3", "node4")
	})
}
