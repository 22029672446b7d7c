package scenarios

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// adminConf is what kubeadm leaves on a control plane.
const adminConf = "/etc/kubernetes/admin.conf"

func kubeconfig(l *Log, b *Bench) {
	cp := b.Control(l)
	needControlPlane(l, b, cp)
	home, err := os.UserHomeDir()
	l.Must(err, "the home")
	own := filepath.Join(home, ".kube", "config")
	before := digest(own)

	there, err := b.node(cp, "sudo", "-n", "cat", adminConf).text()
	l.Must(err, adminConf)
	l.See("on %s, %s names the server %s", cp, adminConf, field(there, "server:"))

	file := filepath.Join(b.Work, "fetched.kubeconfig")
	l.See("KUBECONFIG names no file; nestor kubeconfig --cp %s --context bench", cp)
	out, err := b.nestor("kubeconfig", "--cp", cp, "--context", "bench", "--out", file).text()
	l.Must(err, "nestor kubeconfig")
	l.See("%s", out)
	content, err := os.ReadFile(file)
	l.Must(err, "what was fetched")
	l.Check(field(string(content), "certificate-authority-data:") == field(there, "certificate-authority-data:"), "its CA is the control plane's own")
	server := field(string(content), "server:")
	l.Check(strings.HasPrefix(server, "https://127.0.0.1:"), "its server is %s, the forwarded port of this workstation", server)
	info, err := os.Stat(file)
	l.Must(err, "what was fetched")
	l.Check(info.Mode().Perm() == 0o600, "its mode is %#o", info.Mode().Perm())
	l.Check(digest(own) == before, "%s is as it was", own)

	names, err := b.kubectl(file, "get", "namespaces", "-o", "name").text()
	l.Must(err, "reading the API")
	l.Check(strings.Contains(names, "namespace/kube-system\n"), "kubectl get namespaces, with it:\n%s", names)

	// The same cluster, not merely one that answers on this port.
	mark := fmt.Sprintf("nestor-%x", sha256.Sum256([]byte(b.Work)))[:20]
	_, err = b.kubectl(file, "create", "namespace", mark).text()
	l.Must(err, "making a namespace")
	topology, err := b.nestor("discover", cp, "--cp", cp, "--sudo", "--timeout", "10m", "--output", "json").text()
	l.Check(strings.Contains(topology, mark), "nestor discover --cp %s, without a kubeconfig, reads the API: it knows of the namespace %s: %v", cp, mark, err)

	// As a script of the bench has always done it, before there is an inventory.
	again := filepath.Join(b.Work, "old-way.kubeconfig")
	port := server[strings.LastIndex(server, ":")+1:]
	shell := call{
		argv: []string{"bash", "-c", `set -eu; . "$1/shims/bench-compat.sh"; fetch_kubeconfig_node "$2" "$3" "$4" bench`, "bash", b.Root, cp, again, port},
		env:  []string{"NESTOR_BIN=" + b.Nestor, "NESTOR_INVENTORY=/nonexistent", "KUBECONFIG=/nonexistent"},
	}
	_, err = shell.text()
	l.Must(err, "fetch_kubeconfig_node")
	names, err = b.kubectl(again, "get", "namespace", mark, "-o", "name").text()
	l.Must(err, "reading the API")
	l.Check(names == "namespace/"+mark+"\n", "fetch_kubeconfig_node %s FILE %s bench, without an inventory, reaches the same cluster", cp, port)
}

// needControlPlane ends the scenario where the node has no kubeconfig.
func needControlPlane(l *Log, b *Bench, cp string) {
	code, _, stderr, err := b.node(cp, "sudo", "-n", "test", "-e", adminConf).code()
	l.Must(err, cp)
	switch code {
	case 0:
	case 1:
		l.NotRun("%s has no %s: bench/lima/controlplane.sh up %s makes one", cp, adminConf, cp)
	default:
		l.Failf("%s: exit code %d: %s", cp, code, stderr)
		panic(stop{})
	}
}

// kubectl is the bench's own kubectl, else the workstation's.
func (b *Bench) kubectl(kubeconfig string, args ...string) call {
	program := filepath.Join(b.Root, "bin", "kubectl")
	if _, err := os.Stat(program); err != nil {
		program = "kubectl"
	}
	return call{
		argv: append([]string{program, "--kubeconfig", kubeconfig, "--request-timeout", "1m"}, args...),
		env:  []string{"KUBECACHEDIR=" + filepath.Join(b.Work, "kubectl-cache"), "KUBERC=off"},
	}
}

// fetch is a kubeconfig of the bench's cluster, for scenarios that prove
// something else.
func (b *Bench) fetch(l *Log) string {
	cp := b.Control(l)
	needControlPlane(l, b, cp)
	file := filepath.Join(b.Work, "kubeconfig")
	_, err := b.nestor("kubeconfig", "--cp", cp, "--context", "bench", "--out", file).text()
	l.Must(err, "nestor kubeconfig")
	return file
}

// field is what follows a key in YAML, where it is alone on its line.
func field(yaml, key string) string {
	for line := range strings.Lines(yaml) {
		if value, ok := strings.CutPrefix(strings.TrimLeft(line, " -"), key); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func digest(file string) string {
	content, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%x", sha256.Sum256(content))
}
