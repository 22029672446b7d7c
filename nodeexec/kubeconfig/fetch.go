package kubeconfig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// Files are the places where a distribution leaves the administrator's
// kubeconfig on a control plane: kubeadm's, k3s', rke2's, k0s' and microk8s'.
// They are looked for in this order.
var files = []string{
	"/etc/kubernetes/admin.conf",
	"/etc/rancher/k3s/k3s.yaml",
	"/etc/rancher/rke2/rke2.yaml",
	"/var/lib/k0s/pki/admin.conf",
	"/var/snap/microk8s/current/credentials/client.config",
}

// groups are the names that inventories give their control planes: the
// bench's own, kubeadm playbooks', kubespray's, older ones'.
var groups = []string{"control", "control_plane", "kube_control_plane", "masters"}

// maxSize is far above any kubeconfig: one with fifty clusters is 300 KB.
const maxSize = 1 << 20

// What makes a node or its kubeconfig of no use. Each error that matches one
// names the node and the file, and never what the file holds.
var (
	// ErrNone: no node that was asked holds a kubeconfig.
	ErrNone = errors.New("no kubeconfig found")
	// ErrSeveral: the nodes hold kubeconfigs of different clusters.
	ErrSeveral = errors.New("kubeconfigs of different clusters")
)

// Options say how nodes are asked. The zero value is right.
type Options struct {
	// Timeout ends each call to a node; 0 means 30 seconds.
	Timeout time.Duration
	// Parallel is how many nodes Locate asks at once; 0 means 32.
	Parallel int
	// Now is when certificates have to be valid; zero means now.
	Now time.Time
}

func (o Options) timeout() time.Duration {
	if o.Timeout <= 0 {
		return 30 * time.Second
	}
	return o.Timeout
}

func (o Options) now() time.Time {
	if o.Now.IsZero() {
		return time.Now()
	}
	return o.Now
}

// Candidates names the nodes that may hold the kubeconfig: cp where it is
// given; else the hosts of the inventory's group control, control_plane,
// kube_control_plane or masters; else every node of the default selection.
func Candidates(inv *inventory.Inventory, cp string) ([]string, error) {
	if cp != "" {
		if !slices.Contains(inv.Hosts(), cp) {
			_, err := inv.Target(cp, "") // knows what the name is near to
			return nil, err
		}
		return []string{cp}, nil
	}
	for _, group := range groups {
		if _, _, ok := inv.Members(group); !ok {
			continue
		}
		if names, err := inv.Select(group); err == nil {
			return names, nil
		} // an empty group names nobody
	}
	return inv.Select("")
}

// Holder is a node that holds a kubeconfig.
type Holder struct {
	Node  nodeexec.Runner
	Files []string // the first is the one that Fetch takes

	root bool // the login user is root: sudo may well be missing
}

// locate prints the files that are there, each behind a sum of its
// certificate authority, which is no secret.
const locate = `for f do
  [ -f "$f" ] || continue
  printf '%s %s\n' "$(sed -n 's/^ *certificate-authority-data: *//p' "$f" | cksum | tr ' ' -)" "$f"
done`

// Locate asks the nodes, as root, which of them holds a kubeconfig, and gives
// the first in their order. Root is "sudo -n", or the login user where that is
// root and there is no sudo. Nodes that cannot be asked are of no account as
// long as one holds it. ErrSeveral where the nodes that do belong to different
// clusters: which one is meant is then for the caller to say.
func Locate(ctx context.Context, nodes []nodeexec.Runner, o Options) (Holder, error) {
	argv := append([]string{"sh", "-c", locate, "nestor-locate"}, files...)
	fleet := nodeexec.Fleet{Nodes: nodes, Forks: o.Parallel}
	var found Holder
	var foundSum string
	var failures []error
	for _, outcome := range fleet.RunAll(ctx, func(int) nodeexec.Command {
		return nodeexec.Command{Argv: argv, Sudo: true, Timeout: o.timeout()}
	}) {
		node, root := nodes[outcome.Index], false
		if nodeexec.KindOf(outcome.Err) == nodeexec.KindSudo {
			argv := append([]string{"sh", "-c", "[ \"$(id -u)\" = 0 ] || exit 77\n" + locate, "nestor-locate"}, files...)
			res, err := node.Run(ctx, nodeexec.Command{Argv: argv, Timeout: o.timeout()})
			if root = err == nil && res.ExitCode == 0; root {
				outcome.Result, outcome.Err = res, nil
			} // else what sudo said counts
		}
		if code := outcome.Result.ExitCode; outcome.Err == nil && code != 0 {
			outcome.Err = fmt.Errorf("%s: the search for a kubeconfig ended with exit code %d", outcome.Node, code)
		}
		if outcome.Err != nil {
			failures = append(failures, outcome.Err)
			continue
		}
		sum, held := located(outcome.Result.Stdout.String())
		switch {
		case len(held) == 0:
		case found.Node == nil:
			found, foundSum = Holder{node, held, root}, sum
		case sum != foundSum:
			return Holder{}, fmt.Errorf("%s and %s hold %w: name the control plane that you mean", found.Node.Name(), outcome.Node, ErrSeveral)
		}
	}
	if found.Node != nil {
		return found, nil
	}
	return Holder{}, &NoneError{Asked: len(nodes), Failures: failures}
}

// located reads the answer to locate: the files, and the sum of the first.
func located(answer string) (sum string, held []string) {
	for line := range strings.Lines(answer) {
		s, file, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !ok || !slices.Contains(files, file) {
			continue
		}
		if held = append(held, file); len(held) == 1 {
			sum = s
		}
	}
	return sum, held
}

// NoneError says that no node gave a kubeconfig. It matches ErrNone where all
// could be asked, and the errors of those that could not.
type NoneError struct {
	Asked    int
	Failures []error
}

func (e *NoneError) Error() string {
	switch {
	case len(e.Failures) == 0:
		return fmt.Sprintf("%v: %d nodes hold none of %s", ErrNone, e.Asked, strings.Join(files, ", "))
	case e.Asked == 1:
		return e.Failures[0].Error()
	}
	return fmt.Sprintf("%v: of %d nodes, %d could not be asked, first %v", ErrNone, e.Asked, len(e.Failures), e.Failures[0])
}

// Unwrap gives the failures.
func (e *NoneError) Unwrap() []error {
	if len(e.Failures) == 0 {
		return []error{ErrNone}
	}
	return e.Failures
}

// Fetched is a kubeconfig as a node holds it.
type Fetched struct {
	Node   string
	File   string   // on the node
	Also   []string // the other kubeconfigs there, which were not read
	Config *Config
}

// Fetch reads the kubeconfig of a node, as root through "sudo -n".
//
// Errors: an *nodeexec.Error where the node could not be asked (its kind is
// KindSudo without the right), *NoneError, and those of Parse with the node
// and the file in front.
func Fetch(ctx context.Context, node nodeexec.Runner, o Options) (Fetched, error) {
	holder, err := Locate(ctx, []nodeexec.Runner{node}, o)
	if err != nil {
		return Fetched{}, err
	}
	return holder.Fetch(ctx, o)
}

// Fetch reads the kubeconfig that was located.
func (h Holder) Fetch(ctx context.Context, o Options) (Fetched, error) {
	file := h.Files[0]
	where := h.Node.Name() + ": " + file
	var out bounded
	res, err := h.Node.Run(ctx, nodeexec.Command{Argv: []string{"cat", "--", file}, Sudo: !h.root, Stdout: &out, Timeout: o.timeout()})
	switch {
	case out.full:
		return Fetched{}, fmt.Errorf("%s: %w: it is larger than %d bytes", where, ErrInvalid, maxSize)
	case err != nil:
		return Fetched{}, err
	case res.ExitCode != 0:
		return Fetched{}, fmt.Errorf("%s: cannot be read%s", where, why(res.Stderr.String(), file))
	}
	config, err := Parse(out.Bytes(), o.now())
	if err != nil {
		return Fetched{}, fmt.Errorf("%s: %w", where, err)
	}
	return Fetched{Node: h.Node.Name(), File: file, Also: h.Files[1:], Config: config}, nil
}

// why is what cat said about the file; nothing else of its stderr is shown.
func why(stderr, file string) string {
	for line := range strings.Lines(stderr) {
		if _, reason, ok := strings.Cut(line, file+": "); ok && len(reason) < 80 {
			return ": " + strings.TrimSpace(reason)
		}
	}
	return ""
}

// bounded holds what a node prints, up to maxSize.
type bounded struct {
	bytes.Buffer
	full bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxSize {
		b.full = true
		return 0, errors.New("more than a kubeconfig can be")
	}
	return b.Buffer.Write(p)
}
