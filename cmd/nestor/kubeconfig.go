package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/nestor-tools/nestor/contract/printable"
	"github.com/nestor-tools/nestor/nodeexec"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
	"github.com/nestor-tools/nestor/nodeexec/kubeconfig"
)

// accessFlags say where the control plane is and how its API is reached.
type accessFlags struct {
	cp       string
	lima     string
	server   string
	apiPort  int
	noVerify bool
	timeout  time.Duration // of each call to a node
}

// kubeconfigFlags are the flags of "nestor kubeconfig".
type kubeconfigFlags struct {
	accessFlags
	out     string
	context string
	merge   bool
	replace bool
	check   bool
}

func newKubeconfigCmd(c *cli) *cobra.Command {
	var f kubeconfigFlags
	cmd := &cobra.Command{
		Use:   "kubeconfig",
		Short: "Fetch the cluster's kubeconfig from its control plane",
		Long: `Read the administrator's kubeconfig on the control plane, through "sudo -n",
make it work from here, try it against the API, and write it to a file of mode
0600 that is never left half-written.

The control plane is --cp, else the inventory's group control, control_plane,
kube_control_plane or masters, else whichever node holds the kubeconfig of
kubeadm, k3s, rke2, k0s or microk8s.

The file is --out, else STACK_ID.kubeconfig, else nestor.kubeconfig, and is
replaced as a whole. With --merge the entries go into ~/.kube/config (or --out)
and the rest of it stays as it is; $KUBECONFIG is not looked at. What was there
is kept beside it as FILE.nestor-backup.

--check prints what would change, without secrets, and writes nothing; the exit
code is then 1.`,
		Example: `  nestor kubeconfig
  nestor kubeconfig --cp cp1 --out bench.kubeconfig --context bench
  nestor kubeconfig --merge --context bench
  nestor kubeconfig --merge --context bench --check
  nestor kubeconfig --server vip.example.org:6443
  nestor kubeconfig --lima cp1 --api-port 6443 --out bench.kubeconfig`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, flag := range []string{"cp", "lima", "out", "server", "context"} { // an empty variable of a script's must not mean the default
				if cmd.Flags().Changed(flag) && cmd.Flag(flag).Value.String() == "" {
					return fmt.Errorf("--%s is empty", flag)
				}
			}
			if f.timeout <= 0 {
				return fmt.Errorf("--timeout %s: want a positive one, such as 30s", f.timeout)
			}
			if f.out == "-" {
				return errors.New("--out: a kubeconfig goes to a file, never to stdout")
			}
			if f.context != "" && !contextName(f.context) {
				return fmt.Errorf("--context %q is no name", f.context)
			}
			return c.kubeconfig(cmd.Context(), f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.cp, "cp", "", "the control plane's name in the inventory")
	fl.StringVar(&f.lima, "lima", "", "a Lima instance; no inventory is read then")
	fl.StringVar(&f.server, "server", "", "where the API answers: a URL, or a host with or without a port")
	fl.IntVar(&f.apiPort, "api-port", 0, "the port of the API from here (default: the inventory's api_port, else the kubeconfig's own, 6443 with Lima)")
	fl.DurationVar(&f.timeout, "timeout", 30*time.Second, "what each look at a node may take")
	fl.BoolVar(&f.noVerify, "no-verify", false, "write it without having tried it against the API")
	fl.StringVar(&f.out, "out", "", "the file to write (default: STACK_ID.kubeconfig, else nestor.kubeconfig)")
	fl.StringVar(&f.context, "context", "", "name the context and the cluster so, and the user NAME-admin; and make it the current context")
	fl.BoolVar(&f.merge, "merge", false, "put it into ~/.kube/config, or --out, and leave the rest of that file as it is")
	fl.BoolVar(&f.replace, "replace", false, "take over a name that another cluster has in the file")
	fl.BoolVar(&f.check, "check", false, "print what would change, and write nothing")
	cmd.MarkFlagsMutuallyExclusive("cp", "lima")
	// Its only error is a flag that there is not.
	_ = cmd.RegisterFlagCompletionFunc("cp", c.completeNodes(false))
	for _, flag := range []string{"lima", "server", "api-port", "context", "timeout"} {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.NoFileCompletions)
	}
	return cmd
}

// contextName says whether s can name a context on a command line.
func contextName(s string) bool {
	return strings.TrimSpace(s) == s && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

func (c *cli) kubeconfig(ctx context.Context, f kubeconfigFlags) error {
	if err := c.format("text", "json"); err != nil {
		return err
	}
	access, err := c.fetchAccess(ctx, f.accessFlags)
	if err != nil {
		return err
	}
	file, err := c.kubeconfigFile(f, access.target.StackID)
	if err != nil {
		return err
	}
	config := access.config
	if f.context != "" {
		config = config.Named(f.context)
	}
	o := kubeconfig.WriteOptions{Merge: f.merge, Current: f.context != "", Replace: f.replace}
	var w kubeconfig.Written
	if f.check {
		w, err = config.Check(file, o)
	} else {
		w, err = config.Write(ctx, file, o)
	}
	if err != nil {
		return fail(kubeconfigExit(err), err)
	}
	for _, remark := range append(w.Remarks, c.remarks(f, access, w, file)...) {
		fmt.Fprintf(c.err, "nestor: %s: %s\n", file, printable.Line(remark))
	}
	if err := c.printKubeconfig(f, access, config, w); err != nil {
		return err
	}
	if f.check && w.Changed {
		return fail(exitFindings, nil)
	}
	return nil
}

// access is a cluster's API as it is reached from here.
type access struct {
	target  inventory.Target // of the control plane
	fetched kubeconfig.Fetched
	config  *kubeconfig.Config // at its address here
}

// fetchAccess finds the control plane, fetches its kubeconfig and, unless that
// is not wanted, tries it.
func (c *cli) fetchAccess(ctx context.Context, f accessFlags) (access, error) {
	a, servers, err := c.fetchKubeconfig(ctx, f)
	if err == nil && f.noVerify {
		a.config = a.fetched.Config.Unverified(servers[0])
	} else if err == nil {
		a.config, err = kubeconfig.Reach(ctx, a.fetched.Config, servers)
		if err != nil && len(a.fetched.Also) > 0 { // the first one may be left from an earlier cluster
			err = fmt.Errorf("%w (with %s of %s, which also holds %s)", err, a.fetched.File, a.fetched.Node, strings.Join(a.fetched.Also, ", "))
		}
	}
	if err != nil {
		if _, ok := errors.AsType[*exitError](err); !ok {
			err = fail(kubeconfigExit(err), err)
		}
		return access{}, err
	}
	return a, nil
}

func (c *cli) fetchKubeconfig(ctx context.Context, f accessFlags) (access, []string, error) {
	targets, place, err := c.controlPlanes(f)
	if err != nil {
		return access{}, nil, err
	}
	var nodes []nodeexec.Runner
	for _, t := range targets {
		nodes = append(nodes, t.runner)
	}
	holder, err := kubeconfig.Locate(ctx, nodes, kubeconfig.Options{Timeout: f.timeout})
	if err != nil {
		return access{}, nil, err
	}
	target := targets[slices.Index(nodes, holder.Node)].target
	p, err := place(ctx, target)
	if err != nil {
		return access{}, nil, err
	}
	fetched, err := holder.Fetch(ctx, kubeconfig.Options{Timeout: f.timeout})
	if err != nil {
		return access{}, nil, err
	}
	servers, err := fetched.Servers(p)
	return access{target: target, fetched: fetched}, servers, err
}

// candidate is a node that may be the control plane.
type candidate struct {
	target inventory.Target
	runner nodeexec.Runner
}

// controlPlanes are the nodes to ask, and what gives the place of the one that
// holds the kubeconfig.
func (c *cli) controlPlanes(f accessFlags) ([]candidate, func(context.Context, inventory.Target) (kubeconfig.Place, error), error) {
	if f.lima != "" {
		if kind, err := c.kind(); err != nil {
			return nil, nil, err
		} else if kind == inventory.Prod {
			return nil, nil, fail(exitRefused, errors.New("--lima reaches a bench, and the kind stated is prod"))
		}
		t := inventory.Target{Node: f.lima, Kind: inventory.Lima, Transport: inventory.TransportLima, Host: f.lima}
		place := func(context.Context, inventory.Target) (kubeconfig.Place, error) {
			return kubeconfig.Place{Server: f.server, Transport: t.Transport, APIPort: f.apiPort}, nil
		}
		return []candidate{{t, c.open(t)}}, place, nil
	}
	inv, err := c.openInventory()
	if err != nil {
		return nil, nil, err
	}
	names, err := kubeconfig.Candidates(inv, f.cp)
	if err != nil {
		return nil, nil, err
	}
	var list []candidate
	for _, name := range names {
		switch t, err := c.target(inv, name); {
		case err == nil:
			list = append(list, candidate{t, c.open(t)})
		case refused(err) || len(names) == 1:
			return nil, nil, err
		default:
			list = append(list, candidate{inventory.Target{Node: name}, unresolved{name, err}})
		}
	}
	return list, func(ctx context.Context, t inventory.Target) (kubeconfig.Place, error) {
		return c.place(ctx, inv, t, f)
	}, nil
}

// place says where the API of a control plane is to be found.
func (c *cli) place(ctx context.Context, inv *inventory.Inventory, t inventory.Target, f accessFlags) (kubeconfig.Place, error) {
	p := kubeconfig.Place{Server: f.server, Transport: t.Transport, Host: t.Host, APIPort: f.apiPort}
	vars, err := inv.Vars(t.Node)
	if err != nil {
		return p, err
	}
	for _, v := range vars {
		switch {
		case v.Name != "cluster_endpoint" && v.Name != "api_port" || f.server != "" || v.Value.Type() == inventory.Null:
			continue
		case v.Value.Type() == inventory.Vault || strings.Contains(v.Value.String(), "{{"):
			return p, fmt.Errorf("%s: %s is no plain value; give --server", v.Value.Origin(), v.Name)
		case v.Name == "cluster_endpoint":
			p.ClusterEndpoint = v.Value.String()
		case p.APIPort == 0:
			if p.APIPort, err = strconv.Atoi(v.Value.String()); err != nil {
				return p, fmt.Errorf("%s: api_port is no port number", v.Value.Origin())
			}
		}
	}
	if t.Transport == inventory.TransportSSH && p.Server == "" && p.ClusterEndpoint == "" {
		// The name may be one that only ssh's own configuration knows.
		text, err := c.open(t).Effective(ctx)
		if err != nil {
			return p, err
		}
		for line := range strings.Lines(text) {
			if host, ok := strings.CutPrefix(strings.TrimSpace(line), "hostname "); ok {
				p.Host = host
			}
		}
	}
	return p, nil
}

// kubeconfigExit gives the exit code of an error about a kubeconfig.
func kubeconfigExit(err error) int {
	switch {
	case errors.Is(err, kubeconfig.ErrHeld), errors.Is(err, kubeconfig.ErrOtherCluster):
		return exitRefused
	case unreachable(err), errors.Is(err, kubeconfig.ErrNoAnswer):
		return exitUnreachable
	}
	return exitUnevaluated
}

var fileName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)

// kubeconfigFile is the file to write.
func (c *cli) kubeconfigFile(f kubeconfigFlags, stackID string) (string, error) {
	if f.out != "" {
		return f.out, nil
	}
	if f.merge {
		home, _ := c.env("HOME")
		if !filepath.IsAbs(home) {
			return "", errors.New("--merge: HOME names no folder; name the file with --out")
		}
		dir := filepath.Join(home, ".kube")
		if !f.check {
			if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
				return "", err
			}
		}
		return filepath.Join(dir, "config"), nil
	}
	if stackID == "" {
		var err error
		if stackID, err = c.stack(); err != nil {
			return "", err
		}
	}
	if stackID == "" {
		stackID = "nestor"
	}
	if !fileName.MatchString(stackID) {
		return "", fmt.Errorf("stack_id %q makes no file name; name the file with --out", stackID)
	}
	return stackID + ".kubeconfig", nil
}

// remarks are what the caller should know and no error is.
func (c *cli) remarks(f kubeconfigFlags, a access, w kubeconfig.Written, file string) (remarks []string) {
	if len(a.fetched.Also) > 0 {
		remarks = append(remarks, fmt.Sprintf("%s also holds %s, which was not read", a.fetched.Node, strings.Join(a.fetched.Also, ", ")))
	}
	if until := a.config.Expires(); !until.IsZero() && time.Until(until) < 30*24*time.Hour {
		remarks = append(remarks, fmt.Sprintf("its client certificate expires soon, on %s", until.UTC().Format(time.DateOnly)))
	}
	list, _ := c.env("KUBECONFIG")
	if files := filepath.SplitList(list); list != "" && f.merge && !slices.Contains(files, w.Path) && !slices.Contains(files, file) {
		remarks = append(remarks, "KUBECONFIG is set and does not name it: kubectl will not read it here")
	}
	return remarks
}

// kubeconfigV1 is nestor.kubeconfig/v1.
type kubeconfigV1 struct {
	Schema        string   `json:"schema"`
	Path          string   `json:"path"`
	Changed       bool     `json:"changed"`
	Backup        string   `json:"backup"` // "" where nothing was replaced
	Context       string   `json:"context"`
	Cluster       string   `json:"cluster"`
	User          string   `json:"user"`
	Server        string   `json:"server"`
	TLSServerName string   `json:"tls_server_name"` // "" where the server's own name will do
	Verified      bool     `json:"verified"`
	Node          string   `json:"node"`
	Source        string   `json:"source"` // the file on the node
	CA            []string `json:"ca"`     // sha256:<hex> of each public key
	Expires       *string  `json:"expires"`
	Diff          string   `json:"diff,omitempty"` // with --check
}

func (c *cli) printKubeconfig(f kubeconfigFlags, a access, config *kubeconfig.Config, w kubeconfig.Written) error {
	sums, err := kubeconfig.Fingerprints(config.CA())
	if err != nil {
		return err
	}
	v := kubeconfigV1{
		Schema: "nestor.kubeconfig/v1", Path: w.Path, Changed: w.Changed, Backup: w.Backup,
		Context: config.Context(), Cluster: config.Cluster(), User: config.User(),
		Server: config.Server(), TLSServerName: config.TLSServerName(), Verified: !f.noVerify,
		Node: a.fetched.Node, Source: a.fetched.File, CA: sums,
	}
	if until := config.Expires(); !until.IsZero() {
		text := until.UTC().Format(time.RFC3339)
		v.Expires = &text
	}
	if f.check {
		v.Diff = w.Diff
	}
	if c.output == "json" {
		return json.NewEncoder(c.out).Encode(v)
	}
	if f.check {
		_, err := fmt.Fprint(c.out, printable.Lines(w.Diff))
		return err
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(tw, "%s\t%s\n", name, printable.Line(value))
		}
	}
	row("file", w.Path+map[bool]string{false: " (unchanged)"}[w.Changed])
	row("backup", w.Backup)
	row("context", v.Context)
	row("server", v.Server+map[bool]string{false: " (not tried)"}[v.Verified])
	row("tls_server_name", v.TLSServerName)
	row("source", v.Node+":"+v.Source)
	row("ca", strings.Join(v.CA, " "))
	if v.Expires != nil {
		row("certificate_until", *v.Expires)
	} else {
		row("credentials", "a token")
	}
	return tw.Flush()
}
