package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/nestor-tools/nestor/contract/printable"
	"github.com/nestor-tools/nestor/nodeexec/inventory"
)

func newResolveCmd(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "resolve NODE",
		Short: "Print how a node is reached",
		Long: `Print the target that the inventory gives a node: its kind, its transport and
the coordinates for ssh. Empty values are left to ssh and its configuration.
With --output shim, the lines that shims/node-exec.sh reads.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: c.completeNodes(false),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := c.format("text", "json", "shim"); err != nil {
				return err
			}
			if c.hostKeys != "strict" && c.hostKeys != "accept-new" {
				return fmt.Errorf("--host-keys %q is neither strict nor accept-new", c.hostKeys)
			}
			inv, err := c.openInventory()
			if err != nil {
				return err
			}
			t, err := c.target(inv, args[0])
			if err != nil {
				return err
			}
			switch c.output {
			case "json":
				return json.NewEncoder(c.out).Encode(targetJSON(t))
			case "shim":
				_, err = io.WriteString(c.out, shimLines(t, c.hostKeys))
				return err
			}
			return printTarget(c.out, t)
		},
	}
}

// targetV1 is nestor.target/v1. Port 0 and empty strings are left to ssh.
type targetV1 struct {
	Schema       string              `json:"schema"`
	Node         string              `json:"node"`
	TargetKind   inventory.Kind      `json:"target_kind"`
	Transport    inventory.Transport `json:"transport"`
	Host         string              `json:"host"`
	Port         int                 `json:"port"`
	User         string              `json:"user"`
	IdentityFile string              `json:"identity_file"`
	SSHArgs      []string            `json:"ssh_args"`
}

func targetJSON(t inventory.Target) targetV1 {
	return targetV1{
		Schema: "nestor.target/v1", Node: t.Node, TargetKind: t.Kind, Transport: t.Transport, Host: t.Host,
		Port: t.Port, User: t.User, IdentityFile: t.IdentityFile, SSHArgs: append([]string{}, t.SSHArgs...),
	}
}

// shimLines writes a target as the KEY=VALUE lines that shims/node-exec.sh
// reads, each once and NODE_EXEC_SSH_ARG once per argument. No value holds a
// newline: Target.Check refuses control characters.
func shimLines(t inventory.Target, hostKeys string) string {
	var b strings.Builder
	line := func(key, value string) { fmt.Fprintf(&b, "NODE_EXEC_%s=%s\n", key, value) }
	line("NODE", t.Node)
	line("TARGET_KIND", string(t.Kind))
	line("TRANSPORT", string(t.Transport))
	line("HOST", t.Host)
	line("USER", t.User)
	line("PORT", portText(t.Port))
	line("IDENTITY", t.IdentityFile)
	for _, arg := range t.SSHArgs {
		line("SSH_ARG", arg)
	}
	line("HOST_KEYS", hostKeys)
	return b.String()
}

func portText(port int) string {
	if port == 0 {
		return ""
	}
	return strconv.Itoa(port)
}

func printTarget(w io.Writer, t inventory.Target) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(tw, "%s\t%s\n", name, printable.Line(value))
		}
	}
	row("node", t.Node)
	row("target_kind", orElse(string(t.Kind), "(undeclared)"))
	row("transport", string(t.Transport))
	row("host", t.Host)
	row("port", portText(t.Port))
	row("user", t.User)
	row("identity_file", t.IdentityFile)
	for _, arg := range t.SSHArgs {
		row("ssh_arg", arg)
	}
	return tw.Flush()
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
