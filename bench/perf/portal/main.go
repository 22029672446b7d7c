// Command portal measures "nestor portal serve" in front of a real API server
// with a large cluster on it: how long to the first snapshot, how fast it
// answers under load, and how much memory it holds.
//
//	make controlplane-build
//	CGO_ENABLED=0 go build -o bin/nestor ./cmd/nestor
//	go run ./bench/perf/portal -services 5000 -nodes 1000 -rate 200 -for 60s
//
// It starts the server of bench/controlplane and seeds it (a minute or more),
// with EndpointSlices, a NodePort for every 25th, and a
// contract that promises half of those. While it measures, a Service changes
// each second. Seventeen requests of twenty ask whether the page changed, as
// open pages do; the others fetch the whole page, its JSON, or /livez, to
// compare. A request's time runs from when it was due, not from when it could
// be sent.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

type options struct {
	services, slices, nodes, rate int
	length                        time.Duration
	nestor, controlplane          string
	memory                        bool
}

func main() {
	var o options
	flag.IntVar(&o.services, "services", 5000, "how many Services")
	flag.IntVar(&o.slices, "slices", 5000, "how many of them have an EndpointSlice")
	flag.IntVar(&o.nodes, "nodes", 1000, "how many Nodes")
	flag.IntVar(&o.rate, "rate", 200, "requests a second")
	flag.DurationVar(&o.length, "for", time.Minute, "how long to measure")
	flag.StringVar(&o.nestor, "nestor", "bin/nestor", "the binary, built without the race detector")
	flag.StringVar(&o.controlplane, "controlplane", "bin/controlplane", "the API server's binary")
	flag.BoolVar(&o.memory, "memory", false, "ask a stand-in that answers from memory, not a real API server")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := measure(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "portal:", err)
		os.Exit(1)
	}
}

func measure(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp("", "nestor-perf-portal-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ctx, cancel := context.WithCancel(ctx)
	var children sync.WaitGroup
	defer children.Wait()
	defer cancel()

	kubeconfig := filepath.Join(dir, "kubeconfig")
	if o.memory {
		err = memory(ctx, o, kubeconfig)
	} else {
		err = cluster(ctx, &children, o, dir, kubeconfig)
	}
	if err != nil {
		return err
	}
	fmt.Printf("load at the start: %s\n", load())

	contract := filepath.Join(dir, "endpoints.yaml")
	if err := os.WriteFile(contract, []byte(promises(o.services)), 0o600); err != nil {
		return err
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(dir, "portal.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	portal := exec.CommandContext(ctx, o.nestor, "portal", "serve", "--contract", contract, "--kubeconfig", kubeconfig, "--listen", address)
	portal.Stderr = log
	began := time.Now()
	if err := start(portal, &children); err != nil {
		return err
	}
	url := "http://" + address
	if err := until(ctx, 2*time.Minute, func() bool { return status(url+"/readyz") == http.StatusOK }); err != nil {
		return fmt.Errorf("the portal is not ready: %w", err)
	}
	fmt.Printf("from the start of the process to the first snapshot shown: %v\n", time.Since(began).Round(time.Millisecond))

	if !o.memory {
		go churn(ctx, kubeconfig)
	}
	first := sample(portal.Process.Pid)
	times, failed := press(ctx, url, o)
	fmt.Printf("%d requests in %v, %d failed; a Service changed each second; load at the end: %s\n", len(times.all())+failed, o.length, failed, load())
	for _, kind := range []string{"asks whether it changed", "whole page", "JSON", alive} {
		fmt.Printf("  %-24s %s\n", kind, quantiles(times[kind]))
	}
	fmt.Printf("  %-24s %s\n", "all", quantiles(times.all()))
	last := sample(portal.Process.Pid)
	fmt.Printf("memory: RSS %s MB before, %s MB after, peak %s MB; CPU of the portal meanwhile %.0f%% of a core\n",
		first.rss, last.rss, last.peak, 100*(last.cpu-first.cpu).Seconds()/o.length.Seconds())
	return ctx.Err()
}

// start runs a command that ends with the context, by SIGTERM.
func start(c *exec.Cmd, children *sync.WaitGroup) error {
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = time.Minute
	if err := c.Start(); err != nil {
		return err
	}
	children.Go(func() { _ = c.Wait() })
	return nil
}

// cluster starts the API server and waits until it is seeded.
func cluster(ctx context.Context, children *sync.WaitGroup, o options, dir, kubeconfig string) error {
	seed := filepath.Join(dir, "seed.yaml")
	if err := os.WriteFile(seed, []byte(objects(o.services, o.slices, o.nodes)), 0o600); err != nil {
		return err
	}
	ready := filepath.Join(dir, "ready.json")
	server := exec.CommandContext(ctx, o.controlplane, "--dir", filepath.Join(dir, "cp"), "--kubeconfig", kubeconfig, "--ready-file", ready, "--seed", seed)
	began := time.Now()
	if err := start(server, children); err != nil {
		return fmt.Errorf("%w; make controlplane-build makes it", err)
	}
	err := until(ctx, 30*time.Minute, func() bool { _, err := os.Stat(ready); return err == nil })
	if err != nil {
		return fmt.Errorf("the API server is not ready: %w", err)
	}
	fmt.Printf("seeded %d Services, %d EndpointSlices and %d Nodes in %v\n", o.services, min(o.slices, o.services), o.nodes, time.Since(began).Round(time.Second))
	return nil
}

func objects(services, slices, nodes int) string {
	var y strings.Builder
	y.WriteString("apiVersion: v1\nkind: Namespace\nmetadata: {name: large}\n")
	for i := range nodes {
		fmt.Fprintf(&y, "---\napiVersion: v1\nkind: Node\nmetadata: {name: n%d}\nstatus:\n  addresses: [{type: InternalIP, address: 10.9.%d.%d}, {type: Hostname, address: n%d}]\n  conditions: [{type: Ready, status: %q}]\n  images: [{names: [%q], sizeBytes: 1000000}]\n",
			i, i/250, i%250+1, i, []string{"True", "True", "True", "False"}[i%4], strings.Repeat("registry.example.org/some/image/of/a/long/name", 100))
	}
	for i := range services {
		kind := "ClusterIP"
		if i%25 == 0 {
			kind = "NodePort"
		}
		fmt.Fprintf(&y, "---\napiVersion: v1\nkind: Service\nmetadata: {name: s%d, namespace: large}\nspec: {type: %s, selector: {app: s%d}, ports: [{name: http, port: 80, targetPort: 8080}]}\n", i, kind, i)
		if i >= slices {
			continue
		}
		fmt.Fprintf(&y, "---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: s%d-1, namespace: large, labels: {kubernetes.io/service-name: s%d}}\naddressType: IPv4\nports: [{name: http, port: 8080, protocol: TCP}]\nendpoints: [{addresses: [10.1.%d.%d], conditions: {ready: true}, nodeName: n%d}, {addresses: [10.2.%d.%d], conditions: {ready: true}, nodeName: n%d}]\n",
			i, i, i/250, i%250+1, i%max(nodes, 1), i/250, i%250+1, (i+1)%max(nodes, 1))
	}
	return y.String()
}

// promises is a contract for half of the NodePort Services.
func promises(services int) string {
	var y strings.Builder
	y.WriteString("contract_version: \"1.0\"\nendpoints:\n")
	for i := 0; i < services; i += 50 {
		fmt.Fprintf(&y, "  - {id: ui-%d, layer: dataops, service: s%d, namespace: large, port: 80, protocol: http, auth: none, exposed: true, source: apps/s%d.yaml}\n", i, i, i)
	}
	return y.String()
}

// churn changes a Service that is shown each second.
func churn(ctx context.Context, kubeconfig string) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return
	}
	for i := 0; ctx.Err() == nil; i++ {
		patch := fmt.Sprintf(`{"spec":{"externalTrafficPolicy":%q}}`, []string{"Local", "Cluster"}[i%2])
		if _, err := client.CoreV1().Services("large").Patch(ctx, "s0", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "portal: change a Service:", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// alive is a request that costs nothing: what it takes is the machine's doing.
const alive = "/livez, to compare"

type durations map[string][]time.Duration

func (d durations) all() (all []time.Duration) {
	for _, some := range d {
		all = append(all, some...)
	}
	return all
}

// press sends requests at a fixed rate, whether or not answers come.
func press(ctx context.Context, url string, o options) (durations, int) {
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	defer client.CloseIdleConnections()
	times, failed := durations{}, 0
	var mu sync.Mutex
	var under sync.WaitGroup
	tag := ""
	interval := time.Second / time.Duration(o.rate)
	began := time.Now()
	for i := range int(o.length / interval) {
		due := began.Add(time.Duration(i) * interval)
		time.Sleep(time.Until(due))
		if ctx.Err() != nil {
			break
		}
		kind, target := "asks whether it changed", url+"/"
		switch i % 20 {
		case 7:
			kind = "whole page"
		case 17:
			kind, target = "JSON", url+"/api/v1/view"
		case 3:
			kind, target = alive, url+"/livez"
		}
		under.Go(func() {
			mu.Lock()
			known := tag
			mu.Unlock()
			got, err := fetch(ctx, client, target, map[bool]string{true: known}[kind == "asks whether it changed"])
			took := time.Since(due)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed++
				return
			}
			if got != "" && kind != "JSON" {
				tag = got
			}
			times[kind] = append(times[kind], took)
		})
	}
	under.Wait()
	return times, failed
}

func fetch(ctx context.Context, client *http.Client, target, tag string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return "", err
	}
	if tag != "" {
		r.Header.Set("If-None-Match", tag)
	}
	answer, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return "", err
	}
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusNotModified {
		return "", fmt.Errorf("HTTP %d", answer.StatusCode)
	}
	return answer.Header.Get("ETag"), nil
}

func quantiles(all []time.Duration) string {
	if len(all) == 0 {
		return "none"
	}
	slices.Sort(all)
	at := func(q float64) time.Duration { return all[int(q*float64(len(all)-1))].Round(10 * time.Microsecond) }
	return fmt.Sprintf("p50 %v, p99 %v, most %v (%d)", at(0.5), at(0.99), at(1), len(all))
}

type usage struct {
	rss, peak string // in MB
	cpu       time.Duration
}

func sample(pid int) (u usage) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(b)) {
		var kib int
		if _, err := fmt.Sscanf(line, "VmRSS: %d kB", &kib); err == nil {
			u.rss = fmt.Sprintf("%.0f", float64(kib)*1024/1e6)
		}
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kib); err == nil {
			u.peak = fmt.Sprintf("%.0f", float64(kib)*1024/1e6)
		}
	}
	b, _ = os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if _, rest, ok := strings.Cut(string(b), ") "); ok {
		fields := strings.Fields(rest)
		var user, system int64
		_, _ = fmt.Sscan(fields[11], &user)
		_, _ = fmt.Sscan(fields[12], &system)
		u.cpu = time.Duration(user+system) * 10 * time.Millisecond
	}
	return u
}

func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil || len(b) == 0 {
		return "unknown"
	}
	return strings.Fields(string(b))[0]
}

func status(url string) int {
	r, err := http.Get(url)
	if err != nil {
		return 0
	}
	defer r.Body.Close()
	return r.StatusCode
}

func freeAddress(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

func until(ctx context.Context, most time.Duration, is func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for !is() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}
