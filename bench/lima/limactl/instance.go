package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/nestor-tools/nestor/bench/lima"
)

const configFile = "standin.json"

func limaHome() (string, error) {
	if dir := os.Getenv("LIMA_HOME"); dir != "" {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".lima"), err
}

// inspect reads an instance; the error matches fs.ErrNotExist without one.
func inspect(name string) (vm lima.VM, dir string, err error) {
	home, err := limaHome()
	if err != nil {
		return vm, "", err
	}
	dir = filepath.Join(home, name)
	content, err := os.ReadFile(filepath.Join(dir, configFile))
	if err != nil {
		return vm, dir, err
	}
	if err := json.Unmarshal(content, &vm); err != nil {
		return vm, dir, fmt.Errorf("%s: %w", configFile, err)
	}
	return vm, dir, nil
}

func newList() *cobra.Command {
	var asJSON, quiet bool
	var format string
	c := &cobra.Command{Use: "list [flags] [INSTANCE]...", Aliases: []string{"ls"}}
	c.Flags().BoolVar(&asJSON, "json", false, "")
	c.Flags().BoolVarP(&quiet, "quiet", "q", false, "")
	c.Flags().StringVarP(&format, "format", "f", "", "")
	c.RunE = func(c *cobra.Command, args []string) error {
		home, err := limaHome()
		if err != nil {
			return err
		}
		found, err := filepath.Glob(filepath.Join(home, "*", configFile)) // sorted
		if err != nil {
			return err
		}
		var names []string
		for _, file := range found {
			names = append(names, filepath.Base(filepath.Dir(file)))
		}
		if len(names) == 0 && len(args) == 0 {
			logLine("warning", "No instance found. Run `limactl create` to create an instance.", "")
			return nil
		}
		unmatched := false
		if len(args) > 0 {
			all := names
			names = nil
			for _, arg := range args {
				before := len(names)
				for _, name := range all {
					if name == arg {
						names = append(names, name)
					}
				}
				if len(names) == before {
					logLine("warning", fmt.Sprintf("No instance matching %s found.", arg), "")
					unmatched = true
				}
			}
		}
		if err := printInstances(names, asJSON, quiet, format); err != nil {
			return err
		}
		if unmatched {
			return errors.New("unmatched instances")
		}
		return nil
	}
	return c
}

func printInstances(names []string, asJSON, quiet bool, format string) error {
	line, err := template.New("format").Parse(format)
	if err != nil {
		return fmt.Errorf("invalid go template: %w", err)
	}
	table := tabwriter.NewWriter(os.Stdout, 4, 8, 4, ' ', 0)
	if !asJSON && !quiet && format == "" {
		fmt.Fprintln(table, "NAME\tSTATUS\tSSH\tVMTYPE\tARCH\tCPUS\tMEMORY\tDISK\tDIR")
	}
	for _, name := range names {
		if quiet {
			fmt.Println(name)
			continue
		}
		vm, dir, err := inspect(name)
		if err != nil {
			return fmt.Errorf("unable to load instance %s: %w", name, err)
		}
		if len(vm.Errors) > 0 {
			logLine("warning", fmt.Sprintf("instance `%s` has errors", name),
				" errors="+logQuote("["+strings.Join(vm.Errors, " ")+"]"))
		}
		port := 0
		if vm.Status == "Running" {
			port = sshPort
		}
		if format != "" {
			if err := line.Execute(os.Stdout, map[string]any{
				"Name": name, "Hostname": "lima-" + name, "Status": vm.Status, "Dir": dir, "SSHLocalPort": port,
				"SSHConfigFile": filepath.Join(dir, "ssh.config"),
			}); err != nil {
				return err
			}
			fmt.Println()
			continue
		}
		if !asJSON {
			fmt.Fprintf(table, "%s\t%s\t127.0.0.1:%d\tqemu\tx86_64\t1\t512MiB\t4GiB\t%s\n", name, vm.Status, port, dir)
			continue
		}
		// One object a line, not an array.
		line, err := json.Marshal(map[string]any{
			"name": name, "hostname": "lima-" + name, "status": vm.Status, "dir": dir, "vmType": "qemu", "arch": "x86_64",
			"cpus": 1, "memory": 512 << 20, "disk": 4 << 30, "sshLocalPort": port, "sshAddress": "127.0.0.1",
			"sshConfigFile": filepath.Join(dir, "ssh.config"), "protected": false, "limaVersion": "2.2.0",
			"errors": vm.Errors, "HostOS": "linux", "LimaHome": filepath.Dir(dir),
		})
		if err != nil {
			return err
		}
		fmt.Println(string(line))
	}
	return table.Flush()
}

// sshPort is what a running instance is said to listen on.
const sshPort = 60022

func newStart() *cobra.Command {
	c := &cobra.Command{Use: "start INSTANCE", Args: cobra.ExactArgs(1), RunE: func(_ *cobra.Command, args []string) error {
		vm, _, err := inspect(args[0])
		if err == nil && vm.Status == "Running" {
			logLine("info", fmt.Sprintf("Using the existing instance `%s`", args[0]), "")
			logLine("info", fmt.Sprintf("The instance `%[1]s` is already running. Run `limactl shell %[1]s` to open the shell.", args[0]), "")
			return nil
		}
		if err := setStatus(args[0], "Running"); err != nil {
			return err
		}
		logLine("info", fmt.Sprintf("READY. Run `limactl shell %s` to open the shell.", args[0]), "")
		return nil
	}}
	c.Flags().Duration("timeout", 0, "")
	return c
}

func newStop() *cobra.Command {
	return &cobra.Command{Use: "stop INSTANCE", Args: cobra.ExactArgs(1), RunE: func(_ *cobra.Command, args []string) error {
		switch vm, dir, err := inspect(args[0]); {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("open %s: no such file or directory", filepath.Join(dir, "lima.yaml"))
		case err != nil:
			return err
		case vm.Status != "Running":
			return fmt.Errorf("expected status `Running`, got `%s` (maybe use `limactl stop -f`?)", vm.Status)
		}
		return setStatus(args[0], "Stopped")
	}}
}

func setStatus(name, status string) error {
	vm, dir, err := inspect(name)
	if errors.Is(err, fs.ErrNotExist) {
		return notThere(name)
	}
	if err != nil {
		return err
	}
	vm.Status = status
	content, err := json.MarshalIndent(vm, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, configFile), content, 0o600)
}

func notThere(name string) error {
	return fmt.Errorf("instance `%s` does not exist, run `limactl create %s` to create a new instance", name, name)
}
