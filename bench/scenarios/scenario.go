// Package scenarios proves, on the VMs of a bench, each step that nestor is
// for. A scenario prints what it saw and ends with one verdict:
//
//	bench/lima/bench.sh up
//	go run ./bench/scenarios/run node-exec kubeconfig
//
// It uses nestor as an operator does: the binary, the shims and an inventory.
// What it compares with comes from another source than the one it tests: the
// VM's own tools, the API itself. The scenarios refuse nodes that are not
// declared a bench, and run one after the other, since some change the nodes.
package scenarios

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Scenario is one proof.
type Scenario struct {
	Name   string
	Proves string // one sentence
	Run    func(*Log, *Bench)
}

// All are the scenarios, in the order in which they run.
var All = []Scenario{
	{"node-exec", "a command runs on the node that is named, byte for byte, with its own exit code", nodeExec},
	{"run-cni", "a long script with K=V environment goes over stdin, as run_cni sends it", runCNI},
	{"kubeconfig", "the kubeconfig is fetched without any previous one, and the API answers to it", kubeconfig},
	{"node-side", "what discover says of a node is what the node's own tools say", nodeSide},
	{"ui-reachable", "every exposed UI answers on its NodePort", uiReachable},
	{"portal", "the link is right just after a Service was recreated", portal},
	{"remove", "the extra disks are wiped and verified, and the system disk is untouched", remove},
}

// Deferred is what no bench of this kind can prove, and where it can be.
var Deferred = []string{
	"the eBPF data path of a real Cilium (kubeProxyReplacement serving NodePorts): needs Cilium on the VMs",
	"the proof on production: read-only scenarios by its operator, from their own workstation",
	"the wipe under a running Rook: needs a Rook-Ceph cluster on the VMs",
}

// Verdict is how a scenario ended.
type Verdict string

// The verdicts. NotRun is no success: a run that holds one says so.
const (
	Pass   Verdict = "PASS"
	Fail   Verdict = "FAIL"
	NotRun Verdict = "NOT RUN"
)

// Log takes the evidence of one scenario, and writes it as it comes.
type Log struct {
	w      io.Writer
	failed bool
}

// Result is a scenario with its verdict.
type Result struct {
	Scenario
	Verdict Verdict
	Took    time.Duration
	Text    string // the evidence, as printed
}

// See notes what was seen.
func (l *Log) See(format string, args ...any) { l.line("", format, args...) }

// Failf notes what is wrong; the scenario goes on and will have failed.
func (l *Log) Failf(format string, args ...any) {
	l.failed = true
	l.line("WRONG: ", format, args...)
}

// Check notes what was seen, as wrong unless good.
func (l *Log) Check(good bool, format string, args ...any) {
	if good {
		l.See(format, args...)
	} else {
		l.Failf(format, args...)
	}
}

func (l *Log) line(prefix, format string, args ...any) {
	text := strings.TrimRight(fmt.Sprintf(format, args...), "\n")
	fmt.Fprintln(l.w, prefix+strings.ReplaceAll(text, "\n", "\n  "))
}

// stop ends a scenario from within.
type stop struct{ notRun error }

// Must ends the scenario, failed, where err is one.
func (l *Log) Must(err error, doing string) {
	if err != nil {
		l.Failf("%s: %v", doing, err)
		panic(stop{})
	}
}

// NotRun ends the scenario without a verdict on nestor.
func (l *Log) NotRun(format string, args ...any) { panic(stop{fmt.Errorf(format, args...)}) }

// Run runs one scenario and writes its evidence to w as it comes.
func (s Scenario) run(w io.Writer, b *Bench) (r Result) {
	var text strings.Builder
	l := &Log{w: io.MultiWriter(w, &text)}
	began := time.Now()
	defer func() {
		r.Scenario, r.Took = s, time.Since(began).Round(100*time.Millisecond)
		switch why := recover().(type) {
		case nil:
		case stop:
			if why.notRun != nil && !l.failed {
				r.Verdict = NotRun
				l.line("NOT RUN: ", "%v", why.notRun)
			}
		default:
			l.Failf("the scenario itself broke: %v", why)
		}
		if r.Verdict == "" {
			r.Verdict = Pass
			if l.failed {
				r.Verdict = Fail
			}
		}
		r.Text = text.String()
	}()
	fmt.Fprintf(w, "\n== %s: %s\n", s.Name, s.Proves)
	s.Run(l, b)
	return r
}

// Run runs the scenarios named, or all, and writes to w what they see.
func Run(w io.Writer, b *Bench, names ...string) ([]Result, error) {
	chosen := All
	if len(names) > 0 {
		chosen = nil
		for _, name := range names {
			i := slices.IndexFunc(All, func(s Scenario) bool { return s.Name == name })
			if i < 0 {
				return nil, fmt.Errorf("no scenario is called %q", name)
			}
			chosen = append(chosen, All[i])
		}
	}
	if len(b.Nodes) == 0 {
		return nil, errors.New("the inventory holds no node")
	}
	for _, n := range b.Nodes {
		if n.Kind != "lima" {
			return nil, fmt.Errorf("%s is not declared target_kind: lima; scenarios run on a bench only", n.Name)
		}
	}
	var results []Result
	for _, s := range chosen {
		r := s.run(w, b)
		fmt.Fprintf(w, "== %s: %s (%s)\n", s.Name, r.Verdict, r.Took)
		results = append(results, r)
	}
	return results, nil
}
