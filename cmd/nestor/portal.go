package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/contract/printable"
	"github.com/nestor-tools/nestor/portal"
)

// portalFlags is what the view is made from.
type portalFlags struct {
	clusterFlags
	contractFlags
	from        []string
	profile     string
	accessHosts []string
	out         string
}

func newPortalCmd(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "portal",
		Short: "Show each promised UI's true address, and what became of each promise",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPortalServeCmd(c), newPortalRenderCmd(c), newPortalSnapshotCmd(c))
	return cmd
}

const portalFrom = "a snapshot, or what kubectl get svc,endpointslices,nodes,pods -A -o yaml (or json) wrote; - for standard input; may be given several times"

func newPortalRenderCmd(c *cli) *cobra.Command {
	f := &portalFlags{}
	var lang string
	cmd := &cobra.Command{
		Use:   "render",
		Short: "Write the portal's page from a snapshot or from dumps of kubectl",
		Long: `Write the portal's page, whole in one file that opens without a server, from a
snapshot or from dumps of kubectl. --output json is the view for programs,
--output text a line for each entry.

It shows and does not check: whatever the verdicts, its exit code is 0.`,
		Example: `  kubectl get svc,endpointslices,nodes,pods -A -o yaml | nestor portal render --from - --out portal.html
  nestor portal render --from snapshot.json --output json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			output := "html"
			if cmd.Flags().Changed("output") {
				output = c.output
			}
			if !slices.Contains([]string{"html", "json", "text"}, output) {
				return fmt.Errorf("--output %q: use html, json or text", output)
			}
			if !slices.Contains(portal.Languages(), portal.Lang(lang)) {
				return fmt.Errorf("--lang %q: use en or fr", lang)
			}
			options, promised, err := c.portalOptions(cmd, f)
			if err != nil {
				return err
			}
			snapshot, err := c.portalSnapshot(cmd, f)
			if err != nil {
				return err
			}
			view := portal.Judge(promised, snapshot, options)
			var b strings.Builder
			switch output {
			case "html":
				err = portal.Page(&b, &view, portal.PageOptions{Lang: portal.Lang(lang), Inline: true})
			case "json":
				err = json.NewEncoder(&b).Encode(view)
			case "text":
				err = portal.WriteText(&b, &view, portal.Lang(lang))
			}
			if err != nil {
				return err
			}
			return c.writeOut(f.out, b.String())
		},
	}
	p := cmd.Flags()
	f.contractFlags.add(p)
	f.clusterFlags.add(cmd)
	p.StringArrayVar(&f.from, "from", nil, portalFrom)
	p.StringVar(&f.profile, "profile", "", "the profile that runs here: endpoints of others are not expected ($PORTAL_PROFILE)")
	p.StringArrayVar(&f.accessHosts, "access-host", nil, "the host to put in every address, or ENDPOINT=HOST for one endpoint; may be given several times ($PORTAL_ACCESS_HOST)")
	p.StringVar(&lang, "lang", "en", "the language of html and text: en or fr")
	p.StringVar(&f.out, "out", "", "the file to write, at once and whole (default: standard output)")
	f.exclude(cmd, "from")
	return cmd
}

func newPortalSnapshotCmd(c *cli) *cobra.Command {
	f := &portalFlags{}
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: "Write down what the portal knows of a cluster, for bug reports and tests",
		Long: `Write down what the portal knows of a cluster: its Services, EndpointSlices,
Nodes, and the pods that hold ports of their node. It holds names, labels and
addresses, and no annotation, environment, Secret or image.`,
		Example: "  kubectl get svc,endpointslices,nodes,pods -A -o json | nestor portal snapshot --from - --out snapshot.json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			snapshot, err := c.portalSnapshot(cmd, f)
			if err != nil {
				return err
			}
			b, err := json.MarshalIndent(snapshot, "", "  ")
			if err != nil {
				return err
			}
			return c.writeOut(f.out, string(b)+"\n")
		},
	}
	f.clusterFlags.add(cmd)
	cmd.Flags().StringArrayVar(&f.from, "from", nil, portalFrom)
	f.exclude(cmd, "from")
	cmd.Flags().StringVar(&f.out, "out", "", "the file to write, at once and whole (default: standard output)")
	return cmd
}

// writeOut writes to a file, or to standard output where none is named.
func (c *cli) writeOut(name, text string) error {
	if name == "" {
		_, err := io.WriteString(c.out, text)
		return err
	}
	return writeWhole(name, []byte(text))
}

// portalOptions reads the contract and the flags that the verdicts depend on.
// Where --root is given, the manifests' findings put their doubts on the links.
func (c *cli) portalOptions(cmd *cobra.Command, f *portalFlags) (portal.Options, *contract.Contract, error) {
	o := portal.Options{Profile: f.profile}
	if o.Profile == "" {
		o.Profile, _ = c.env("PORTAL_PROFILE")
	}
	var err error
	if o.AccessHosts, err = c.hosts(f.accessHosts); err != nil {
		return o, nil, err
	}
	l, err := c.loadPromises(cmd, f)
	if err != nil {
		return o, nil, err
	}
	o.Today, o.Findings = l.options.Today, l.findings
	for _, finding := range l.findings {
		if finding.Severity == contract.Error && finding.File == l.set.File {
			fmt.Fprintf(c.err, "nestor: %s\n", printable.Line(fmt.Sprintf("%s:%d: %s", finding.File, finding.Line, finding.Message)))
		}
	}
	for id := range o.AccessHosts {
		if id != "" && !slices.ContainsFunc(l.set.Endpoints, func(e contract.Endpoint) bool { return e.ID == id }) {
			return o, nil, fmt.Errorf("--access-host %s=...: the contract has no endpoint of that id", id)
		}
	}
	return o, l.set.Contract, nil
}

// hosts reads HOST and ENDPOINT=HOST of --access-host, or of
// $PORTAL_ACCESS_HOST, between blanks, where the flag is not given.
func (c *cli) hosts(stated []string) (map[string]string, error) {
	if len(stated) == 0 {
		fromEnv, _ := c.env("PORTAL_ACCESS_HOST")
		stated = strings.Fields(fromEnv)
	}
	hosts := map[string]string{}
	for _, text := range stated {
		id, host, ok := strings.Cut(text, "=")
		if !ok {
			id, host = "", text
		}
		clean, ok := portal.Host(host)
		if !ok {
			return nil, fmt.Errorf("--access-host %q: %q is no address or DNS name that others can reach; give it without scheme, port or path, and localhost for ports that are forwarded here", text, host)
		}
		hosts[id] = clean
	}
	return hosts, nil
}

// loadPromises reads the contract, and what the manifests say against it where
// --root names them. What is wrong in the contract itself is said on stderr:
// the rest of it is shown all the same.
func (c *cli) loadPromises(cmd *cobra.Command, f *portalFlags) (*loaded, error) {
	if cmd.Flags().Changed("root") {
		l, err := c.load(cmd, &f.contractFlags, false)
		if err == nil {
			err = l.needContract()
		}
		if err == nil {
			l.findings = l.check()
		}
		return l, err
	}
	today, err := f.day()
	if err != nil {
		return nil, err
	}
	l := &loaded{options: contract.Options{Today: today}}
	if l.set, l.findings, err = readContract(f.contract); err != nil {
		return nil, fmt.Errorf("read the contract: %w; name it with --contract", err)
	}
	return l, l.needContract()
}

// portalSnapshot reads the files of --from, or the live cluster where there
// are none.
func (c *cli) portalSnapshot(cmd *cobra.Command, f *portalFlags) (*portal.Snapshot, error) {
	if len(f.from) == 0 {
		return c.liveSnapshot(cmd.Context(), f.clusterFlags)
	}
	files, at, err := c.readFiles(f.from)
	if err != nil {
		return nil, err
	}
	return portal.ReadDump(at, files...)
}

// readFiles reads the files of --from, and says when they were true.
func (c *cli) readFiles(names []string) ([]portal.File, time.Time, error) {
	var files []portal.File
	at := time.Now()
	for _, name := range names {
		if name == "-" {
			text, err := io.ReadAll(c.in)
			if err != nil {
				return nil, at, fmt.Errorf("read standard input: %w", err)
			}
			files = append(files, portal.File{Name: "standard input", Text: text})
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, at, err
		}
		// a dump was true when it was written, not when it is read
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() && info.ModTime().Before(at) {
			at = info.ModTime()
		}
		files = append(files, portal.File{Name: filepath.ToSlash(name), Text: text})
	}
	return files, at.UTC().Truncate(time.Second), nil
}
