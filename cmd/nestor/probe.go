package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/contract/printable"
	"github.com/nestor-tools/nestor/portal"
	"github.com/nestor-tools/nestor/portal/observe"
	"github.com/nestor-tools/nestor/portal/probe"
)

// probeFlags is what is probed, and how.
type probeFlags struct {
	portalFlags
	clusterFlags
	allNodes bool
	strict   bool
	parallel int
	timeout  time.Duration
}

func newProbeCmd(c *cli) *cobra.Command {
	f := &probeFlags{}
	cmd := &cobra.Command{
		Use:   "probe",
		Short: "See whether each promised UI answers on its real http://<node-ip>:<nodePort>",
		Long: `Ask each exposed UI for its page, from here, at the address that the portal
shows: a node's own, and the nodePort that the cluster chose. TCP first, then
HTTP with the promised scheme. No port-forward, no proxy, no credentials;
certificates are told and not checked, redirects told and not followed.

A UI that is not deployed is skipped. Exit 0: each one that is deployed answers;
1: one gives no good answer; 2: what to try is not known; 3: an address does not
answer at all.`,
		Example: `  nestor probe
  nestor probe --all-nodes --timeout 2s
  nestor probe --strict --output json
  nestor probe --access-host cluster.example.org --root .    # --root: name the policy that may block`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.probe(cmd, f) },
	}
	p := cmd.Flags()
	f.contractFlags.add(p)
	f.clusterFlags.add(cmd)
	p.StringArrayVar(&f.from, "from", nil, portalFrom)
	p.StringVar(&f.profile, "profile", "", "the profile that runs here: endpoints of others are not expected ($PORTAL_PROFILE)")
	p.StringArrayVar(&f.accessHosts, "access-host", nil, "the host to try in place of a node's, or ENDPOINT=HOST for one endpoint; may be given several times ($PORTAL_ACCESS_HOST)")
	p.BoolVar(&f.allNodes, "all-nodes", false, "try the address of every Ready node, not of one")
	p.BoolVar(&f.strict, "strict", false, "a UI that is not deployed is a failure")
	p.IntVar(&f.parallel, "parallel", 16, "how many to try at once")
	p.DurationVar(&f.timeout, "timeout", 5*time.Second, "how long one try may take")
	f.exclude(cmd, "from")
	cmd.MarkFlagsMutuallyExclusive("all-nodes", "access-host")
	return cmd
}

func (c *cli) probe(cmd *cobra.Command, f *probeFlags) error {
	switch {
	case c.output != "text" && c.output != "json":
		return fmt.Errorf("--output %q: use text or json", c.output)
	case f.parallel < 1:
		return fmt.Errorf("--parallel %d: at least one at a time", f.parallel)
	case f.timeout <= 0:
		return fmt.Errorf("--timeout %s: give it some time, such as 5s", f.timeout)
	}
	options, promised, err := c.portalOptions(cmd, &f.portalFlags)
	if err != nil {
		return err
	}
	snapshot, err := c.probeSnapshot(cmd, f, promised)
	if err != nil {
		return err
	}
	targets := probe.Plan(promised, snapshot, probe.PlanOptions{Judge: options, AllNodes: f.allNodes, Strict: f.strict})
	results := probe.Run(cmd.Context(), targets, probe.Options{Parallel: f.parallel, Timeout: f.timeout, Progress: c.progress("probed")})
	r := probe.NewReport(snapshot.ObservedAt, results)
	if c.output == "json" {
		encoder := json.NewEncoder(c.out)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(r)
	} else {
		err = writeProbe(c.out, r)
	}
	if err != nil {
		return err
	}
	return probed(results)
}

// probed is the exit code of the results.
func probed(results []probe.Result) error {
	of := func(test func(probe.Result) bool) bool { return slices.ContainsFunc(results, test) }
	switch {
	case of(func(r probe.Result) bool { return r.State == probe.Unknown || r.Kind == probe.Stopped }):
		return fail(exitUnevaluated, nil)
	case of(func(r probe.Result) bool { return r.State == probe.Failed && r.Kind.Unreachable() }):
		return fail(exitUnreachable, nil)
	case of(func(r probe.Result) bool { return r.State == probe.Failed }):
		return fail(exitFindings, nil)
	}
	return nil
}

// probeSnapshot reads what the portal reads, and Pods only where a UI is on a
// port of its pods' nodes.
func (c *cli) probeSnapshot(cmd *cobra.Command, f *probeFlags, promised *contract.Contract) (*portal.Snapshot, error) {
	if len(f.from) > 0 {
		return c.portalSnapshot(cmd, &f.portalFlags)
	}
	config, err := c.clusterConfig(f.clusterFlags)
	if err != nil {
		return nil, err
	}
	pods := slices.ContainsFunc(promised.Endpoints, func(e contract.Endpoint) bool { return e.Exposed && e.Exposure.HostPort != 0 })
	return observe.Read(cmd.Context(), config, observe.Options{Pods: pods})
}

func writeProbe(w io.Writer, r probe.Report) error {
	var b strings.Builder
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "ENDPOINT\tRESULT\tHTTP\tTIME\tADDRESS\tNODE")
	for _, one := range r.Results {
		status, took := "-", "-"
		if one.Status != 0 {
			status = strconv.Itoa(one.Status)
		}
		if one.TotalMS != 0 {
			took = fmt.Sprintf("%.0f ms", one.TotalMS)
		}
		result := string(one.State)
		if one.Kind != "" {
			result += " (" + string(one.Kind) + ")"
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\n", printable.Line(one.Endpoint), result, status, took, printable.Line(orElse(one.URL, "-")), printable.Line(orElse(one.Node, "-")))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, one := range r.Results {
		lines := remarksOf(one)
		if len(lines) == 0 {
			continue
		}
		name := one.Endpoint
		if one.Node != "" {
			name += " on " + one.Node
		}
		fmt.Fprintf(&b, "\n%s\n", printable.Line(name))
		for _, line := range lines {
			fmt.Fprintf(&b, "  %s\n", printable.Line(line))
		}
	}
	s := r.Summary
	fmt.Fprintf(&b, "\n%d reachable, %d failed, %d skipped, %d unknown\n", s.Reachable, s.Failed, s.Skipped, s.Unknown)
	_, err := io.WriteString(w, b.String())
	return err
}

// remarksOf is what a person wants to know of a result beside its line.
func remarksOf(r probe.Result) []string {
	var lines []string
	if r.Message != "" && r.State != probe.Reachable {
		lines = append(lines, r.Message)
	}
	lines = append(lines, r.Hints...)
	if r.Redirect != "" {
		lines = append(lines, "redirects to "+r.Redirect)
	}
	if t := r.TLS; t != nil && len(t.Problems) > 0 {
		var problems []string
		for _, p := range t.Problems {
			problems = append(problems, string(p))
		}
		lines = append(lines, fmt.Sprintf("certificate: %s; browsers warn of it (%s, until %s)", strings.Join(problems, ", "), t.Subject, t.NotAfter.Format(time.DateOnly)))
	}
	return lines
}
