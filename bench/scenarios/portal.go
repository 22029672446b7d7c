package scenarios

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func portal(l *Log, b *Bench) {
	needVerb(l, b, "portal", "serve")
	c := expose(l, b, "portal")
	defer c.remove()
	listener, err := net.Listen("tcp", "127.0.0.1:0") // a port that is free; nestor takes it next
	l.Must(err, "a free port")
	address := listener.Addr().String()
	l.Must(listener.Close(), "a free port")
	end, err := b.background("portal.log", "portal", "serve", "--contract", c.contract, "--kubeconfig", c.kubeconfig, "--listen", address, "--access-host", forwarded)
	l.Must(err, "nestor portal serve")
	defer end()

	const id = "grafana"
	_, _, up := await(patience, func() (string, bool) { _, _, err := get("http://" + address + "/livez"); return "", err == nil })
	if !up {
		log, _ := os.ReadFile(filepath.Join(b.Work, "portal.log"))
		l.Failf("the portal does not answer: %s", log)
		return
	}
	link := func() string {
		view, _, err := get("http://" + address + "/api/v1/view")
		if err != nil {
			return err.Error()
		}
		return value(view, fmt.Sprintf(`.layers[].entries[] | select(.id == %q) | .url // .`, id))
	}
	right := func(port string) func() (string, bool) {
		return func() (string, bool) {
			l := link()
			return l, strings.HasSuffix(l, ":"+port) || strings.HasSuffix(l, ":"+port+"/")
		}
	}
	port := c.nodePort(l, id)
	at, took, good := await(patience, right(port))
	l.Check(good, "Kubernetes gave %s the nodePort %s; the portal's link is %s (after %s)", id, port, at, took)

	for round := range 3 {
		_, err := c.kubectl(c.kubeconfig, "delete", "service", id, "-n", c.namespace).text()
		l.Must(err, "deleting the Service")
		c.service(l, 0)
		again := c.nodePort(l, id)
		// The figure is 2 s; five times that, on an emulated machine too.
		at, took, good := await(10*time.Second, right(again))
		l.Check(good, "round %d: recreated with the nodePort %s (before: %s): the link is %s, %s later", round+1, again, port, at, took)
		_, location, err := get("http://" + address + "/go/" + id)
		l.Check(err == nil && strings.Contains(location, ":"+again), "/go/%s leads to %s: %v", id, location, err)
		port = again
	}
}

// needVerb ends the scenario where this nestor has no such verb.
func needVerb(l *Log, b *Bench, words ...string) {
	out, err := b.nestor(append(words, "--help")...).text()
	if err != nil || !strings.Contains(out, "nestor "+strings.Join(words, " ")+" ") {
		l.NotRun("this nestor has no verb %q", strings.Join(words, " "))
	}
}

func uiReachable(l *Log, b *Bench) {
	needVerb(l, b, "probe")
	c := expose(l, b, "ui")
	defer c.remove()
	cp := b.Control(l)
	// Where no kube-proxy serves the NodePorts, the UI itself listens there.
	proxied, err := b.node(cp, "sh", "-c", "pgrep -x kube-proxy || pgrep -x cilium-agent || true").text()
	l.Must(err, cp)
	for i, ui := range uis {
		port := c.nodePort(l, ui)
		if proxied == "" {
			l.See("EMULATED: no kube-proxy and no Cilium on %s; %s itself listens on its nodePort %s", cp, ui, port)
		} else {
			port = fmt.Sprint(targetPort(i))
		}
		_, err := b.node(cp, "sudo", "-n", "systemd-run", "-q", "--collect", "--unit", "nestor-ui-"+ui, "--property=DynamicUser=yes",
			"python3", "-m", "http.server", port, "--bind", "0.0.0.0", "--directory", "/usr/share/doc/bash").text()
		l.Must(err, "a server on "+cp)
		defer func() { _, _ = b.node(cp, "sudo", "-n", "systemctl", "stop", "nestor-ui-"+ui).text() }()
	}
	probe := func() (int, string) {
		code, out, stderr, err := b.nestor("probe", "--contract", c.contract, "--kubeconfig", c.kubeconfig, "--access-host", forwarded, "--strict").code()
		l.Must(err, "nestor probe")
		return code, out + stderr
	}
	all, took, good := await(patience, func() (string, bool) { code, out := probe(); return out, code == 0 })
	l.Check(good, "nestor probe --strict, all UIs up (%s):\n%s", took, all)

	_, err = b.node(cp, "sudo", "-n", "systemctl", "stop", "nestor-ui-argocd").text()
	l.Must(err, "stopping a UI")
	less, _, good := await(patience, func() (string, bool) { code, out := probe(); return out, code != 0 })
	l.Check(good && strings.Contains(less, "argocd"), "with argocd stopped it says so:\n%s", less)
}
