package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/nestor-tools/nestor/bench/lima"
)

// newCreate makes an instance that is stopped; of its template it keeps the
// text alone.
func newCreate() *cobra.Command {
	var name string
	c := &cobra.Command{Use: "create FILE.yaml", Args: cobra.ExactArgs(1)}
	c.Flags().StringVar(&name, "name", "", "")
	c.RunE = func(_ *cobra.Command, args []string) error {
		template, err := os.ReadFile(args[0])
		if err != nil {
			return err
		}
		_, dir, err := inspect(name)
		if err == nil {
			return fmt.Errorf("instance `%s` already exists", name)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		content, err := json.Marshal(lima.VM{Status: "Stopped", Shell: "/bin/bash"})
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Join(dir, "home"), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "lima.yaml"), template, 0o600); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, configFile), content, 0o600); err != nil {
			return err
		}
		logLine("info", fmt.Sprintf("Run `limactl start %s` to start the instance.", name), "")
		return nil
	}
	return c
}

func newDelete() *cobra.Command {
	var force bool
	c := &cobra.Command{Use: "delete INSTANCE...", Args: cobra.MinimumNArgs(1)}
	c.Flags().BoolVarP(&force, "force", "f", false, "")
	c.RunE = func(_ *cobra.Command, args []string) error {
		for _, name := range args {
			vm, dir, err := inspect(name)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				logLine("warning", fmt.Sprintf("Ignoring non-existent instance `%s`", name), "")
				continue
			case err != nil:
				return err
			case vm.Status == "Running" && !force:
				return fmt.Errorf("failed to delete instance `%s`: expected status `Stopped`, got `Running`", name)
			}
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
			logLine("info", fmt.Sprintf("Deleted `%s` (`%s`)", name, dir), "")
		}
		return nil
	}
	return c
}

// newDisk keeps of a disk its name and its size.
func newDisk() *cobra.Command {
	disk := &cobra.Command{Use: "disk"}
	file := func(name string) (string, error) {
		home, err := limaHome()
		return filepath.Join(home, "_disks", name), err
	}
	var size string
	create := &cobra.Command{Use: "create DISK", Args: cobra.ExactArgs(1), RunE: func(_ *cobra.Command, args []string) error {
		name, err := file(args[0])
		if err != nil {
			return err
		}
		if _, err := os.Stat(name); err == nil {
			return fmt.Errorf("disk `%s` already exists (`%s`)", args[0], name)
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		return os.WriteFile(name, []byte(size), 0o600)
	}}
	create.Flags().StringVar(&size, "size", "", "")
	list := &cobra.Command{Use: "list", Aliases: []string{"ls"}, RunE: func(*cobra.Command, []string) error {
		pattern, err := file("*")
		if err != nil {
			return err
		}
		found, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		for _, name := range found {
			line, err := json.Marshal(map[string]string{"name": filepath.Base(name), "dir": name})
			if err != nil {
				return err
			}
			fmt.Println(string(line))
		}
		return nil
	}}
	list.Flags().Bool("json", false, "")
	remove := &cobra.Command{Use: "delete DISK...", Args: cobra.MinimumNArgs(1), RunE: func(_ *cobra.Command, args []string) error {
		for _, arg := range args {
			name, err := file(arg)
			if err != nil {
				return err
			}
			if err := os.Remove(name); errors.Is(err, fs.ErrNotExist) {
				logLine("warning", fmt.Sprintf("Ignoring non-existent disk `%s`", arg), "")
			} else if err != nil {
				return err
			}
		}
		return nil
	}}
	disk.AddCommand(create, list, remove)
	return disk
}
