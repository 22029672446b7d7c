package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nestor-tools/nestor/contract/printable"
	"github.com/nestor-tools/nestor/nodeexec/guard"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

// shimView is what the shim makes of a target, without reaching the node: the
// argv that it would run, and the effective configuration as "ssh -G" prints
// it. Both are empty where the transport has no such thing.
type shimView func(ctx context.Context, t inventory.Target) (argv []string, effective string, err error)

// newExplainCmd takes a nil view where the shim cannot be asked.
func newExplainCmd(c *cli, view shimView) *cobra.Command {
	return &cobra.Command{
		Use:   "explain NODE",
		Short: "Tell where a node's target comes from",
		Long: `Tell where each field of a node's target was written, which values it beat,
what is remarkable about it, the command that nestor would run, and what ssh's
own configuration makes of it.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: c.completeNodes(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.format("text", "json"); err != nil {
				return err
			}
			inv, err := c.openInventory()
			if err != nil {
				return err
			}
			x, err := inv.Explain(args[0])
			if err != nil {
				return err
			}
			s := story{Explanation: x}
			if x.Err == nil {
				// Under what the caller stated, which may refuse it.
				_, s.Err = c.target(inv, args[0])
				if view != nil {
					s.argv, s.effective, s.viewErr = view(cmd.Context(), x.Target)
					s.Warnings = append(s.Warnings, renamed(x.Target, s.effective)...)
				}
			}
			if c.output == "json" {
				err = json.NewEncoder(c.out).Encode(s.v1())
			} else {
				err = s.print(c.out)
			}
			if err == nil && s.Err != nil {
				err = s.Err
			}
			return err
		},
	}
}

// story is an explanation together with the shim's view.
type story struct {
	inventory.Explanation
	argv      []string
	effective string
	viewErr   error
}

// renamed tells of a host that ssh's configuration sends to this machine. An
// answer that cannot be read is shown as it is, and told nothing of.
func renamed(t inventory.Target, effective string) []inventory.Warning {
	ssh, err := guard.ParseSSH(effective)
	if t.Transport != inventory.TransportSSH || err != nil || !guard.ThisMachine(ssh.Hostname) || guard.ThisMachine(t.Host) {
		return nil
	}
	return []inventory.Warning{{
		Origin: t.Origins["ansible_host"], Code: inventory.WarnRenamed,
		Message: fmt.Sprintf("ssh's configuration sends %s to %s, which is this machine", t.Host, ssh.Hostname),
	}}
}

// explainV1 is nestor.explain/v1.
type explainV1 struct {
	Schema    string              `json:"schema"`
	Node      string              `json:"node"`
	Inventory string              `json:"inventory"`
	Groups    []string            `json:"groups"`
	Fields    []fieldV1           `json:"fields"`
	Warnings  []inventory.Warning `json:"warnings"`
	Target    *targetV1           `json:"target"` // null: see error
	Error     string              `json:"error,omitempty"`
	Argv      []string            `json:"argv,omitempty"`
	Effective string              `json:"effective,omitempty"`
}

type fieldV1 struct {
	Name     string            `json:"name"`
	Value    string            `json:"value"`
	Why      string            `json:"why,omitempty"`
	Variable string            `json:"variable,omitempty"`
	Written  string            `json:"written,omitempty"`
	Origin   *inventory.Origin `json:"origin,omitempty"`
	Beat     []beatenV1        `json:"beat"`
	Error    string            `json:"error,omitempty"`
}

type beatenV1 struct {
	Variable string           `json:"variable"`
	Written  string           `json:"written"`
	Origin   inventory.Origin `json:"origin"`
}

func (s story) v1() explainV1 {
	v := explainV1{
		Schema: "nestor.explain/v1", Node: s.Node, Inventory: s.Inventory,
		Groups: append([]string{}, s.Groups...), Fields: []fieldV1{}, Warnings: append([]inventory.Warning{}, s.Warnings...),
		Argv: s.argv, Effective: s.effective,
	}
	for _, f := range s.Fields {
		field := fieldV1{Name: f.Name, Value: f.Value, Why: f.Why, Variable: f.Variable, Written: f.Written, Beat: []beatenV1{}, Error: errText(f.Err)}
		if f.Variable != "" {
			field.Origin = &f.Origin
		}
		for _, b := range f.Beat {
			field.Beat = append(field.Beat, beatenV1(b))
		}
		v.Fields = append(v.Fields, field)
	}
	if s.Err == nil {
		t := targetJSON(s.Target)
		v.Target = &t
	}
	if v.Error = errText(s.Err); v.Error == "" {
		v.Error = errText(s.viewErr)
	}
	return v
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// telling are the keywords of ssh_config that say where a connection goes, as
// whom, and whom it trusts.
var telling = []string{
	"hostname", "port", "user", "proxyjump", "proxycommand", "identityfile", "identityagent", "identitiesonly", "certificatefile",
	"hostkeyalias", "userknownhostsfile", "stricthostkeychecking", "localforward", "remoteforward", "dynamicforward",
	"forwardagent", "localcommand", "permitlocalcommand", "remotecommand", "bindaddress", "bindinterface",
}

// print tells the story to people.
func (s story) print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, from %s\n", printable.Line(s.Node), printable.Line(s.Inventory))
	if len(s.Groups) > 0 {
		fmt.Fprintf(&b, "groups, the later override the earlier: all, %s\n", printable.Line(strings.Join(s.Groups, ", ")))
	}
	b.WriteString("\n")
	for _, f := range s.Fields {
		printField(&b, f)
	}
	for i, w := range s.Warnings {
		if i == 0 {
			b.WriteString("\nremarks:\n")
		}
		fmt.Fprintf(&b, "  %s\n", printable.Line(w.String()))
	}
	if len(s.argv) > 0 {
		b.WriteString("\nwhat nestor runs:\n")
		for _, word := range s.argv {
			fmt.Fprintf(&b, "  %s\n", printable.Line(word))
		}
	}
	if s.effective != "" {
		b.WriteString("\nwhat ssh makes of it (from ssh -G; all of it with --output json):\n")
		for line := range strings.Lines(s.effective) {
			if keyword, _, _ := strings.Cut(line, " "); slices.Contains(telling, strings.ToLower(keyword)) {
				fmt.Fprintf(&b, "  %s\n", printable.Line(strings.TrimRight(line, "\r\n")))
			}
		}
	}
	if s.viewErr != nil {
		fmt.Fprintf(&b, "\nthe shim could not be asked: %s\n", printable.Line(s.viewErr.Error()))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func printField(b *strings.Builder, f inventory.Field) {
	const pad = "                " // under the value
	value := orElse(f.Value, "-")
	switch {
	case f.Err != nil:
		value = "cannot be used"
	case f.Why != "":
		value += "  (" + f.Why + ")"
	}
	fmt.Fprintf(b, "%-15s %s\n", f.Name, printable.Line(value))
	if f.Variable != "" {
		fmt.Fprintf(b, "%sfrom %s  %s", pad, printable.Line(f.Origin.String()), f.Variable)
		if f.Written != f.Value {
			fmt.Fprintf(b, ": %s", printable.Line(f.Written))
		}
		b.WriteString("\n")
	}
	for _, beaten := range f.Beat {
		fmt.Fprintf(b, "%sover %s  %s: %s\n", pad, printable.Line(beaten.Origin.String()), beaten.Variable, printable.Line(beaten.Written))
	}
	if f.Err != nil {
		fmt.Fprintf(b, "%serror: %s\n", pad, printable.Line(f.Err.Error()))
	}
}
