package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/contract/manifest"
)

// contractFlags is where the contract and its manifests are.
type contractFlags struct {
	contract string
	root     string
	today    string
}

func (f *contractFlags) add(p *pflag.FlagSet) {
	p.StringVar(&f.contract, "contract", "contract/endpoints.yaml", "the contract, a file or the folder that holds it")
	p.StringVar(&f.root, "root", ".", "the folder of the manifests, that the contract's paths start from")
	p.StringVar(&f.today, "today", "", "the day, such as 2027-01-31, that decides which accept entries are over (default: today)")
}

// day is the day that accept entries are judged by.
func (f *contractFlags) day() (time.Time, error) {
	if f.today == "" {
		return time.Now(), nil
	}
	day, err := time.Parse(time.DateOnly, f.today)
	if err != nil {
		return day, fmt.Errorf("--today %q is not a date such as 2027-01-31", f.today)
	}
	return day, nil
}

// readContract reads the contract name and the files beside it.
func readContract(name string) (*contract.Set, []contract.Finding, error) {
	// "contract/" and ".." name folders too
	dir, base := filepath.Split(filepath.Clean(name))
	if base == ".." {
		dir, base = filepath.Join(dir, base), "."
	}
	if dir == "" {
		dir = "."
	}
	return contract.Load(os.DirFS(dir), base, prefixOf(dir))
}

func newContractCmd(c *cli) *cobra.Command {
	f := &contractFlags{}
	cmd := &cobra.Command{
		Use:   "contract",
		Short: "Compare what is promised with what the manifests expose, both ways",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	f.add(cmd.PersistentFlags())
	cmd.AddCommand(newContractCheckCmd(c, f), newContractNodePortsCmd(c, f), newContractAllowlistCmd(c, f),
		newContractAdoptCmd(c, f), newContractExplainCmd(c, f), newContractRuleCmd(c))
	return cmd
}

// loaded is the contract and the tree, read.
type loaded struct {
	set      *contract.Set
	findings []contract.Finding // of the contract's own files
	tree     *manifest.Tree
	options  contract.Options
	lacks    bool // there is no contract yet, and set is an empty one
}

// load reads both. A contract that is not YAML leaves set.Contract nil.
// Without a contract, and where that is allowed, an empty one is taken; so it
// is for a file without a byte, which "adopt > FILE" has the shell make first.
func (c *cli) load(cmd *cobra.Command, f *contractFlags, mayLack bool) (*loaded, error) {
	name := f.contract
	if !cmd.Flags().Changed("contract") && f.root != "." {
		name = filepath.Join(f.root, name)
	}
	today, err := f.day()
	if err != nil {
		return nil, err
	}
	l := &loaded{options: contract.Options{Root: os.DirFS(f.root), Prefix: prefixOf(f.root), Today: today}}
	l.set, l.findings, err = readContract(name)
	lacks := errors.Is(err, fs.ErrNotExist) && !cmd.Flags().Changed("contract")
	if info, statErr := os.Stat(name); statErr == nil && info.Mode().IsRegular() && info.Size() == 0 {
		lacks = true
	}
	switch {
	case lacks && mayLack:
		l.findings, l.lacks = nil, true
		l.set = &contract.Set{Contract: &contract.Contract{File: filepath.ToSlash(name)}}
	case err != nil:
		return nil, fmt.Errorf("read the contract: %w; name it with --contract", err)
	}
	if info, err := os.Stat(f.root); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("--root %s is not a folder that can be read", f.root)
	}
	l.tree, err = manifest.Read(cmd.Context(), l.options.Root, manifest.Options{Prefix: l.options.Prefix, Skip: l.contractFiles(), Progress: c.progress("manifests")})
	if err != nil {
		return nil, fmt.Errorf("read the manifests: %w", err)
	}
	return l, nil
}

// prefixOf is what names of files under dir start with.
func prefixOf(dir string) string {
	if p := filepath.ToSlash(filepath.Clean(dir)); p != "." {
		return p
	}
	return ""
}

// contractFiles gives the contract's files as the tree names them: they are
// no manifests.
func (l *loaded) contractFiles() []string {
	var names []string
	add := func(file string) {
		if rel, err := filepath.Rel(filepath.FromSlash(path.Clean(l.options.Prefix)), filepath.FromSlash(file)); err == nil {
			names = append(names, filepath.ToSlash(rel))
		}
	}
	if l.set.Contract != nil {
		add(l.set.File)
	}
	if l.set.Platform != nil {
		add(l.set.Platform.File)
	}
	if l.set.Storage != nil {
		add(l.set.Storage.File)
	}
	return names
}

// check gives all findings, sorted by the writers.
func (l *loaded) check() []contract.Finding {
	if l.set.Contract == nil {
		return l.findings
	}
	return append(slices.Clone(l.findings), contract.Check(l.set, l.tree, l.options)...)
}

// needContract refuses to go on without a contract that could be read.
func (l *loaded) needContract() error {
	if l.set.Contract != nil {
		return nil
	}
	f := l.findings[0]
	return fmt.Errorf("%s:%d: %s", f.File, f.Line, f.Message)
}

// progress draws a counter on a terminal, and nothing elsewhere.
func (c *cli) progress(what string) func(done, total int) {
	if !isTerminal(c.err) {
		return nil
	}
	last := time.Time{}
	return func(done, total int) {
		if done == total {
			fmt.Fprintf(c.err, "\r\033[K")
		} else if now := time.Now(); now.Sub(last) > 100*time.Millisecond {
			last = now
			fmt.Fprintf(c.err, "\r%s: %d of %d", what, done, total)
		}
	}
}

// isTerminal tells whether w is a character device.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func newContractNodePortsCmd(c *cli, f *contractFlags) *cobra.Command {
	var check, dryRun bool
	cmd := &cobra.Command{
		Use:   "nodeports",
		Short: "Write the NodePort Services that exposed endpoints lack",
		Long: `Write, beside the manifest of each exposed endpoint's ClusterIP Service, the
NodePort Service that it lacks. No file that exists is touched, and nothing is
written where one of them cannot be.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := c.load(cmd, f, false)
			if err == nil {
				err = l.needContract()
			}
			if err != nil {
				return err
			}
			files, left := contract.NodePorts(l.set, l.tree, l.options)
			if !check && !dryRun {
				if err := writable(files); err != nil {
					return err
				}
			}
			for _, file := range files {
				switch name := filepath.FromSlash(file.Path); {
				case check:
					fmt.Fprintf(c.out, "missing %s (%s)\n", name, strings.Join(file.Endpoints, ", "))
				case dryRun:
					fmt.Fprintf(c.out, "---\n# %s\n%s", name, file.Text)
				default:
					if err := writeNew(name, file.Text); err != nil {
						return err
					}
					fmt.Fprintf(c.out, "wrote %s (%s)\n", name, strings.Join(file.Endpoints, ", "))
				}
			}
			for _, u := range left {
				fmt.Fprintf(c.err, "nestor: %s: %s\n", u.Endpoint, u.Reason)
			}
			if len(left) > 0 || (check && len(files) > 0) {
				return fail(exitFindings, nil)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "write nothing; exit 1 where something is missing")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print the manifests, write nothing")
	cmd.MarkFlagsMutuallyExclusive("check", "dry-run")
	return cmd
}

// writable tells, before anything is written, what would stop the writing of
// one of the files half way.
func writable(files []contract.File) error {
	for _, file := range files {
		name := filepath.FromSlash(file.Path)
		wanted := fmt.Sprintf("nothing is written: %s is to expose %s, and ", name, strings.Join(file.Endpoints, ", "))
		if info, err := os.Stat(filepath.Dir(name)); err != nil || !info.IsDir() {
			return fmt.Errorf("%s%s is not a folder that can be read; make it, or mend source: in the contract", wanted, filepath.Dir(name))
		}
		if _, err := os.Lstat(name); err == nil {
			return fmt.Errorf("%sthat file exists; move it, or name another Service in the field exposure", wanted)
		}
	}
	return nil
}

// writeNew creates a file and never replaces one.
func writeNew(name string, b []byte) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(b)
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(name)) // half a manifest is worse than none
	}
	return nil
}

func newContractAllowlistCmd(c *cli, f *contractFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "allowlist",
		Short: "Print the Services and hostPorts that the contract allows",
		Long: `Print what may be exposed, one a line, for scripts that look for drift: the
kind, namespace/name, and for a HostPort its port. Text is separated by tabs.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := c.load(cmd, f, false)
			if err == nil {
				err = l.needContract()
			}
			if err != nil {
				return err
			}
			allowed := contract.Allowlist(l.set, l.tree, l.options)
			switch c.output {
			case "json":
				if allowed == nil {
					allowed = []contract.Allowed{}
				}
				return json.NewEncoder(c.out).Encode(map[string]any{"schema": "nestor.allowlist/v1", "allowed": allowed})
			case "text":
				for _, a := range allowed {
					fmt.Fprintf(c.out, "%s\t%s/%s", a.Kind, a.Namespace, a.Name)
					if a.Port != 0 {
						fmt.Fprintf(c.out, "\t%d/%s", a.Port, a.Protocol)
					}
					fmt.Fprintln(c.out)
				}
				return nil
			}
			return fmt.Errorf("--output %q: use text or json", c.output)
		},
	}
}

func newContractAdoptCmd(c *cli, f *contractFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "adopt",
		Short: "Print accept entries for what is exposed and not promised",
		Long: `Print entries for accept: in the contract, for whatever is exposed and not
promised, left of the way through a gateway, or not to be evaluated. Each waits
for its reason. Without a contract a whole new one is printed; with one, standard
error says where in it the entries go.`,
		Example: "  nestor contract adopt > contract/endpoints.yaml     # there was none\n  nestor contract adopt >> contract/endpoints.yaml    # it has no accept:, or ends with its list",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := c.load(cmd, f, true)
			if err == nil {
				err = l.needContract()
			}
			if err != nil {
				return err
			}
			entries, unnamed := contract.Adopt(l.set, l.tree, l.options)
			for _, at := range unnamed {
				fmt.Fprintf(c.err, "nestor: %q line %d: what has only a generateName is exposed, and no entry can name it; give it a name\n", at.File, at.Line)
			}
			switch {
			case len(entries) > 0:
			case len(unnamed) > 0:
				return nil
			default:
				fmt.Fprintln(c.err, "nestor: nothing to adopt: each exposure is promised, or an accept entry speaks of it")
				return nil
			}
			header, where, indent := adoptInto(l)
			_, err = fmt.Fprintf(c.out, "%s%s", header, contract.AcceptText(entries, indent))
			fmt.Fprintf(c.err, "nestor: %d to adopt%s; write a reason in place of each TODO, or end the exposure\n", len(entries), where)
			return err
		},
	}
}

// adoptInto tells what to write before accept entries, where they go in the
// contract that is there, and how far to the right. A second accept: would
// make the contract one that cannot be read.
func adoptInto(l *loaded) (header, where string, indent int) {
	list := l.set.AcceptList
	place := fmt.Sprintf("accept:, line %d of %s", list.At.Line, l.set.File)
	switch {
	case l.lacks:
		return "contract_version: \"1.0\"\n\nendpoints: []\n\naccept:\n", "", 2
	case list == contract.AcceptList{}:
		return "accept:\n", " at the end of " + l.set.File, 2
	case list.Block:
		return "", " below the last entry of " + place, list.Indent
	case list.Empty:
		return "", " below " + place + ", with nothing else after the colon", 2
	}
	return "", " below " + place + ", whose own entries must each start with a dash on a line of its own first", 2
}

func newContractExplainCmd(c *cli, f *contractFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "explain ID",
		Short: "Tell the whole story of one endpoint",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := c.load(cmd, f, false)
			if err == nil {
				err = l.needContract()
			}
			if err != nil {
				return err
			}
			story, err := contract.Explain(l.set, l.tree, l.options, l.check(), args[0])
			if err != nil {
				return err
			}
			switch c.output {
			case "json":
				return json.NewEncoder(c.out).Encode(struct {
					Schema string `json:"schema"`
					*contract.Story
				}{"nestor.story/v1", story})
			case "text":
			default:
				return fmt.Errorf("--output %q: use text or json", c.output)
			}
			for _, step := range story.Steps {
				fmt.Fprintf(c.out, "- %s\n", step.Text)
				if step.File != "" {
					fmt.Fprintf(c.out, "    %s:%d\n", step.File, step.Line)
				}
			}
			for _, finding := range story.Findings {
				fmt.Fprintf(c.out, "! %s: %s (%s)\n    %s:%d\n    %s\n", finding.Severity, finding.Message, finding.Rule, finding.File, finding.Line, finding.Remedy)
			}
			return nil
		},
	}
}

func newContractRuleCmd(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "rule [RULE]",
		Short: "Print the page of a rule, or list the rules",
		Args:  cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var ids []string
			for _, r := range contract.Rules() {
				ids = append(ids, r.ID+"\t"+r.Summary)
			}
			return ids, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			for _, r := range contract.Rules() {
				switch {
				case len(args) == 0:
					fmt.Fprintf(c.out, "%-26s %-8s %s\n", r.ID, r.Severity, r.Summary)
				case r.ID == args[0]:
					_, err := io.WriteString(c.out, r.Doc)
					return err
				}
			}
			if len(args) == 1 {
				return fmt.Errorf("no rule is called %q; nestor contract rule lists them", args[0])
			}
			return nil
		},
	}
}
