package main

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/contract/printable"
	"github.com/nestor-tools/nestor/contract/report"
	"github.com/nestor-tools/nestor/portal/observe"
	"github.com/nestor-tools/nestor/portal/state"
)

// stateFlags is what the state is judged by.
type stateFlags struct {
	clusterFlags
	contractFlags
	from    []string
	profile string
	timeout time.Duration
	outputs []string
}

func newStateCmd(c *cli) *cobra.Command {
	f := &stateFlags{}
	cmd := &cobra.Command{
		Use:   "state",
		Short: "Compare what runs with the contract, and see that node ports are the only way in",
		Long: `Compare what runs in the cluster with the contract: each promise, each NodePort,
LoadBalancer, external address and port of a node, what is left of gateways and
load balancers, and Cilium's configuration. It reads and changes nothing.

Each line is ok, drift, cohabitation (accepted until a day), not applicable, or
unknown (not read). Drift comes with the command that ends it; a cohabitation
with none. Exit 0: nothing drifts; 1: drift; 2: a part was not read, whatever
the rest says.`,
		Example: `  nestor state
  nestor state --contract contract/endpoints.yaml --context production
  nestor state --output text --output sarif=state.sarif
  nestor state --from dump.yaml        # docs/state.md says how to make one`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.state(cmd, f) },
	}
	f.clusterFlags.add(cmd)
	p := cmd.Flags()
	p.StringVar(&f.contract, "contract", "contract/endpoints.yaml", "the contract, a file or the folder that holds it")
	p.StringVar(&f.today, "today", "", "the day, such as 2027-01-31, that decides which accept entries are over (default: today)")
	p.StringArrayVar(&f.from, "from", nil, "a dump of kubectl, in place of the cluster; - for standard input; may be given several times")
	p.StringVar(&f.profile, "profile", "", "the profile that runs here: endpoints of others are not expected ($PORTAL_PROFILE)")
	p.DurationVar(&f.timeout, "timeout", 15*time.Second, "how long one request to the API server may take")
	p.StringArrayVarP(&f.outputs, "output", "o", []string{"text"}, "text, json, sarif, github, junit or markdown, for a file FORMAT=FILE; may be repeated")
	var formats []string
	for _, format := range report.Formats() {
		formats = append(formats, string(format))
	}
	// Its only error is a flag that there is not, or is there twice.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	cmd.MarkFlagsMutuallyExclusive("from", "kubeconfig")
	cmd.MarkFlagsMutuallyExclusive("from", "context")
	return cmd
}

func (c *cli) state(cmd *cobra.Command, f *stateFlags) error {
	targets, err := parseOutputs(f.outputs)
	if err != nil {
		return err
	}
	o := state.Options{Profile: f.profile}
	if o.Profile == "" {
		o.Profile, _ = c.env("PORTAL_PROFILE")
	}
	if o.Today, err = f.day(); err != nil {
		return err
	}
	set, remarks, err := readContract(f.contract)
	if err != nil {
		return fmt.Errorf("read the contract: %w; name it with --contract", err)
	}
	l := &loaded{set: set, findings: remarks}
	if err := l.needContract(); err != nil {
		return err
	}
	snapshot, err := c.stateSnapshot(cmd, f)
	if err != nil {
		return err
	}
	r := state.Judge(set.Contract, snapshot, o)
	findings := r.Findings()
	for _, remark := range remarks { // a promise that cannot be read is none that was kept
		if remark.Severity == contract.Error {
			findings = append(findings, remark)
			fmt.Fprintf(c.err, "nestor: %s\n", printable.Line(fmt.Sprintf("%s:%d: %s (%s)", remark.File, remark.Line, remark.Message, remark.Rule)))
		}
	}
	if err := c.writeState(targets, r, findings, l); err != nil {
		return err
	}
	switch {
	case contract.Unevaluated(findings):
		return fail(exitUnevaluated, nil)
	case report.Count(findings).Error > 0:
		return fail(exitFindings, nil)
	}
	return nil
}

func (c *cli) stateSnapshot(cmd *cobra.Command, f *stateFlags) (*state.Snapshot, error) {
	if len(f.from) > 0 {
		files, at, err := c.readFiles(f.from)
		if err != nil {
			return nil, err
		}
		return state.ReadDump(at, files...)
	}
	config, err := c.clusterConfig(f.clusterFlags)
	if err != nil {
		return nil, err
	}
	return observe.ReadState(cmd.Context(), config, observe.Options{Timeout: f.timeout})
}

// writeState writes the report for people, and the findings for all others.
func (c *cli) writeState(targets []output, r state.Report, findings []contract.Finding, l *loaded) error {
	for _, t := range targets {
		var err error
		switch {
		case t.format != report.Text:
			err = c.write([]output{t}, findings, l, contract.Error)
		case t.file == "":
			_, noColor := c.env("NO_COLOR")
			err = writeStateText(c.out, r, !noColor && isTerminal(c.out))
		default:
			var b strings.Builder
			if err = writeStateText(&b, r, false); err == nil {
				err = writeWhole(t.file, []byte(b.String()))
			}
		}
		if err != nil {
			return fmt.Errorf("--output %s: %w", t.format, err)
		}
	}
	return nil
}

var stateColours = map[state.Status]string{state.OK: "\x1b[32m", state.Drift: "\x1b[31m", state.Unknown: "\x1b[35m", state.Cohabitation: "\x1b[33m", state.NotApplicable: "\x1b[2m"}

func writeStateText(w io.Writer, r state.Report, color bool) error {
	paint := func(code, s string) string {
		if !color {
			return s
		}
		return code + s + "\x1b[0m"
	}
	var b strings.Builder
	for _, g := range r.Groups {
		fmt.Fprintln(&b, paint("\x1b[1m", g.Name))
		width := 0
		for _, l := range g.Lines {
			width = min(max(width, utf8.RuneCountInString(printable.Line(l.Subject))), 40)
		}
		for _, l := range g.Lines {
			fmt.Fprintf(&b, "  %s  %-*s  %s\n", paint(stateColours[l.Status], fmt.Sprintf("%-14s", l.Status)), width, printable.Line(l.Subject), printable.Line(l.Text))
			if l.Command != "" {
				fmt.Fprintf(&b, "%18s$ %s\n", "", printable.Line(l.Command))
			}
			if l.Remedy != "" {
				fmt.Fprintf(&b, "%18s%s\n", "", printable.Line(l.Remedy))
			}
		}
		fmt.Fprintln(&b)
	}
	var counts []string
	for _, s := range []state.Status{state.Unknown, state.Drift, state.Cohabitation, state.NotApplicable, state.OK} {
		if n := r.Count(s); n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, s))
		}
	}
	fmt.Fprintf(&b, "%s\nnext: %s\n", paint("\x1b[1m", strings.Join(counts, ", ")), printable.Line(r.Next))
	_, err := io.WriteString(w, b.String())
	return err
}
