package main

import "github.com/spf13/cobra"

func newPortalCmd(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "portal",
		Short: "Show where each web UI really is",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPortalServeCmd(c))
	return cmd
}
