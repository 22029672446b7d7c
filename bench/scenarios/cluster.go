package scenarios

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/bitfield/script"
)

// patience is how long a scenario waits for what should be there in seconds:
// the VM may be emulated.
const patience = 3 * time.Minute

// uis are what the scenarios expose, in a namespace of their own.
var uis = []string{"grafana", "argocd"}

// forwarded is where this workstation finds the NodePorts of a Lima bench: its
// VMs have addresses that only they know. (nestor takes the name, and no
// loopback address.)
const forwarded = "localhost"

// cluster is what the scenarios of the exposure make on the API.
type cluster struct {
	*Bench
	kubeconfig, namespace, contract string
	serves                          string // the address of the node that answers on the NodePorts
}

// expose makes a namespace with a NodePort Service for each UI, its contract,
// and the Nodes where the API has none (there is no kubelet on some benches).
func expose(l *Log, b *Bench, purpose string) cluster {
	c := cluster{Bench: b, kubeconfig: b.fetch(l), namespace: fmt.Sprintf("nestor-%s-%d", purpose, time.Now().Unix())}
	cp := b.Control(l)
	known, err := b.kubectl(c.kubeconfig, "get", "nodes", "-o", "name").text()
	l.Must(err, "the API's nodes")
	address, err := b.node(cp, "sh", "-c", "ip -4 -o addr show scope global | awk '{ split($4, a, \"/\"); print a[1]; exit }'").text()
	l.Must(err, "the address of "+cp)
	if c.serves = strings.TrimSpace(address); c.serves == "" {
		l.NotRun("%s has no address that an endpoint may have", cp)
	}
	if known == "" {
		l.See("EMULATED: the API has no Node; %s is written as Ready at %s", cp, c.serves)
		c.apply(l, fmt.Sprintf("apiVersion: v1\nkind: Node\nmetadata: {name: %s}\n", cp))
		_, err := b.kubectl(c.kubeconfig, "patch", "node", cp, "--subresource=status", "--type=merge", "--patch", fmt.Sprintf(
			`{"status":{"addresses":[{"type":"InternalIP","address":%q}],"conditions":[{"type":"Ready","status":"True","reason":"Bench"}]}}`, c.serves)).text()
		l.Must(err, "the Node's status")
	}
	c.apply(l, "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+c.namespace+"}\n")
	contract := "contract_version: \"1.0\"\nendpoints:\n"
	for i, ui := range uis {
		c.service(l, i)
		contract += fmt.Sprintf("  - {id: %s, service: %s, namespace: %s, port: 80, protocol: http, auth: none, layer: monitoring, exposed: true}\n", ui, ui, c.namespace)
	}
	c.contract, err = b.write("endpoints.yaml", contract)
	l.Must(err, "the contract")
	return c
}

// targetPort is where the UI of that index listens on the node.
func targetPort(i int) int { return 18080 + i }

// service makes the NodePort Service of a UI, without selector, and its
// endpoint: a server on the node itself. Kubernetes chooses the nodePort.
func (c cluster) service(l *Log, i int) {
	c.apply(l, fmt.Sprintf(`apiVersion: v1
kind: Service
metadata: {name: %[1]s, namespace: %[2]s}
spec:
  type: NodePort
  ports: [{name: http, port: 80, targetPort: %[3]d}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %[1]s-1, namespace: %[2]s, labels: {kubernetes.io/service-name: %[1]s}}
addressType: IPv4
ports: [{name: http, port: %[3]d}]
endpoints: [{addresses: [%[4]s], nodeName: %[5]s, conditions: {ready: true}}]
`, uis[i], c.namespace, targetPort(i), c.serves, c.Control(l)))
}

func (c cluster) apply(l *Log, yaml string) {
	k := c.kubectl(c.kubeconfig, "apply", "-f", "-")
	k.stdin = yaml
	_, err := k.text()
	l.Must(err, "kubectl apply")
}

// nodePort is the one that Kubernetes chose.
func (c cluster) nodePort(l *Log, ui string) string {
	port, err := c.kubectl(c.kubeconfig, "get", "service", ui, "-n", c.namespace, "-o", "jsonpath={.spec.ports[0].nodePort}").text()
	l.Must(err, "the nodePort of "+ui)
	return strings.TrimSpace(port)
}

// remove takes the scenario's objects away.
func (c cluster) remove() {
	_, _ = c.kubectl(c.kubeconfig, "delete", "namespace", c.namespace, "--wait=false").text()
	for _, ui := range uis {
		_, _ = c.kubectl(c.kubeconfig, "delete", "service,endpointslice", "-n", c.namespace, ui, ui+"-1", "--ignore-not-found").text()
	}
}

// background starts a nestor that serves, and returns what ends it.
func (b *Bench) background(log string, args ...string) (end func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	c := b.nestor(args...)
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append(os.Environ(), c.env...)
	out, err := os.Create(filepath.Join(b.Work, log))
	if err != nil {
		cancel()
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		cancel()
		out.Close()
		return nil, err
	}
	return func() {
		cancel()
		_ = cmd.Wait() // it was told to end
		out.Close()
	}, nil
}

// await asks until the answer is good, and returns the last one.
func await(within time.Duration, ask func() (answer string, good bool)) (string, time.Duration, bool) {
	began := time.Now()
	for {
		answer, good := ask()
		if took := time.Since(began); good || took > within {
			return answer, took.Round(100 * time.Millisecond), good
		}
		time.Sleep(200 * time.Millisecond)
	}
}

var client = &http.Client{
	Timeout:       30 * time.Second,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// get is the body of a page, and its Location; the code is in the error.
func get(url string) (body, location string, err error) {
	response, err := client.Get(url)
	if err != nil {
		return "", "", err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= 400 {
		err = fmt.Errorf("HTTP %d", response.StatusCode)
	}
	return string(content), response.Header.Get("Location"), err
}

// value is what jq finds in a text.
func value(text, query string) string {
	out, err := script.Echo(text).JQ(query).String()
	if err != nil {
		return err.Error()
	}
	return strings.Trim(strings.TrimSpace(out), `"`)
}
