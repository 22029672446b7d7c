package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker for a release; without it the module's own
// version is used.
var version string

func newVersionCmd(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := c.format("text", "json"); err != nil {
				return err
			}
			v := version
			if info, ok := debug.ReadBuildInfo(); v == "" && ok {
				v = info.Main.Version
			}
			if c.output == "json" {
				return json.NewEncoder(c.out).Encode(map[string]string{"version": v, "go": runtime.Version()})
			}
			_, err := fmt.Fprintf(c.out, "nestor %s (%s, %s/%s)\n", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
