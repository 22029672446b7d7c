// Command limactl is a stand-in for limactl v2.2.0, for tests. See package
// bench/lima for what it keeps and where it differs.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func main() {
	if filepath.Base(os.Args[0]) == "ssh" {
		os.Exit(guest(os.Args[len(os.Args)-1]))
	}
	err := newApp().Execute()
	if err == nil {
		return
	}
	// The guest's own exit code passes through; a signal's death is -1 here,
	// which the kernel cuts to 255.
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		os.Exit(exit.ExitCode())
	}
	logLine("fatal", err.Error(), "")
	os.Exit(1)
}

func newApp() *cobra.Command {
	root := &cobra.Command{Use: "limactl", Version: "2.2.0", SilenceUsage: true, SilenceErrors: true}
	global := root.PersistentFlags()
	global.String("log-level", "", "")
	global.String("log-format", "text", "")
	global.Bool("debug", false, "")
	global.Bool("tty", isTerminal(os.Stdout), "")
	global.BoolP("yes", "y", false, "")
	root.AddCommand(newShell(), newList(), newStart(), newStop(), newCreate(), newDelete(), newDisk())
	return root
}

// logLine writes one line as limactl's logger does: for a person at a
// terminal, and in words everywhere else. fields is " key=value" or empty.
func logLine(level, message, fields string) {
	if isTerminal(os.Stderr) {
		color := map[string]int{"fatal": 31, "warning": 33, "info": 36}[level]
		fmt.Fprintf(os.Stderr, "\x1b[%dm%s\x1b[0m[0000] %-44s%s\n", color, strings.ToUpper(level[:4]), message, fields)
		return
	}
	fmt.Fprintf(os.Stderr, "time=%q level=%s msg=%s%s\n", time.Now().Format(time.RFC3339), level, logQuote(message), fields)
}

// logQuote quotes a value that holds more than plain characters.
func logQuote(s string) string {
	for _, r := range s {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._/@^+", r) {
			return strconv.Quote(s)
		}
	}
	return s
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
