package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/nestor-tools/nestor/bench/lima"
)

func newShell() *cobra.Command {
	var workdir, shell string
	c := &cobra.Command{Use: "shell [flags] INSTANCE [COMMAND...]"}
	c.Flags().SetInterspersed(false) // what follows the name is the command's
	c.Flags().StringVar(&workdir, "workdir", "", "")
	c.Flags().StringVar(&shell, "shell", "", "")
	c.Flags().Bool("start", false, "")
	c.Flags().Bool("reconnect", false, "")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New("requires instance name as first argument")
		}
		name, command := args[0], args[1:]
		if len(command) > 0 && command[0] == "--" {
			command = command[1:] // this one only
		}
		vm, dir, err := inspect(name)
		if errors.Is(err, fs.ErrNotExist) {
			return notThere(name)
		}
		if err != nil {
			return err
		}
		if vm.Status == "Stopped" {
			if start, err := c.Flags().GetBool("start"); err != nil || !start {
				return fmt.Errorf("instance `%s` is stopped, run `limactl start %s` to start the instance", name, name)
			}
			if err := setStatus(name, "Running"); err != nil {
				return err
			}
		}
		if shell == "" {
			shell = vm.Shell
		}
		fmt.Fprint(os.Stderr, vm.Stderr)
		switch vm.Fault {
		case lima.NothingRun:
			return nil
		case lima.Hang:
			time.Sleep(time.Hour)
		case lima.Unreachable:
			fmt.Fprintf(os.Stderr, "ssh: connect to host 127.0.0.1 port %d: Connection refused\n", sshPort)
			os.Exit(255)
		}
		return runSSH(vm, dir, script(vm, workdir, shell, command))
	}
	return c
}

// script is the one line that the guest's login shell gets.
func script(vm lima.VM, workdir, shell string, command []string) string {
	chdir := "false"
	cwd, err := os.Getwd()
	if err != nil {
		logLine("warning", "failed to get the current directory", " error="+logQuote(err.Error()))
	}
	home, _ := os.UserHomeDir()
	switch {
	case workdir != "":
		chdir = "cd " + quote(workdir) + " || exit 1"
	case err == nil && shared(vm.Mounts, cwd):
		chdir = "cd " + quote(cwd)
		if home != "" {
			chdir += " || cd " + quote(home)
		}
	case home != "" && shared(vm.Mounts, home):
		chdir = "cd " + quote(home)
	}
	line := chdir + " ; exec " + quote(shell) + " -l"
	if len(command) == 0 {
		return line
	}
	words := make([]string, len(command))
	leading := true
	for i, word := range command {
		name, value, isEnv := strings.Cut(word, "=")
		if leading = leading && isEnv; leading {
			words[i] = name + "=" + quote(value)
		} else {
			words[i] = quote(word)
		}
	}
	return line + " -c " + quote(strings.Join(words, " "))
}

func shared(mounts []string, dir string) bool {
	for _, m := range mounts {
		if dir == m || m == "/" || strings.HasPrefix(dir, m+"/") {
			return true
		}
	}
	return false
}

func quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_@%+=:,./-", r)
	}
	if s != "" && strings.TrimFunc(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'"
}

// runSSH runs ssh as a child, as limactl does: killed alone, it leaves the
// child behind. Without a real node, the child is this program again.
func runSSH(vm lima.VM, dir, script string) error {
	args := []string{"-F", "/dev/null", "-o", "LogLevel=ERROR", "-p", fmt.Sprint(sshPort), "127.0.0.1"}
	program := "ssh"
	if len(vm.SSH) > 0 {
		args = append([]string{"-o", "LogLevel=ERROR"}, vm.SSH...)
		if isTerminal(os.Stdout) {
			args = append([]string{"-t"}, args...)
		}
	} else {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		program = self
		args = append(args, "--")
	}
	cmd := exec.Command(program, append(args, script)...)
	cmd.Args[0] = "ssh"
	cmd.Env = append(os.Environ(), "LIMACTL_STANDIN_DIR="+dir, "LIMACTL_STANDIN_SHELL="+vm.Shell)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}

// guest plays ssh and the guest's sshd: it gives the script to the login
// shell, in a session and an environment of its own, with pipes between. When
// this process dies the pipes close and the command lives on, as on a node.
func guest(script string) int {
	me, err := user.Current()
	if err != nil {
		fmt.Fprintln(os.Stderr, "ssh:", err)
		return 255
	}
	shell := os.Getenv("LIMACTL_STANDIN_SHELL")
	home := filepath.Join(os.Getenv("LIMACTL_STANDIN_DIR"), "home")
	cmd := exec.Command(shell, "-c", script)
	cmd.Dir = home
	cmd.Env = []string{
		"HOME=" + home, "USER=" + me.Username, "LOGNAME=" + me.Username, "SHELL=" + shell, "LANG=C.UTF-8",
		"PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin", "SSH_CONNECTION=127.0.0.1 1 127.0.0.1 22",
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdin, err := cmd.StdinPipe()
	if err == nil {
		// A writer of another type than *os.File puts a pipe between.
		cmd.Stdout, cmd.Stderr = struct{ io.Writer }{os.Stdout}, struct{ io.Writer }{os.Stderr}
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ssh:", err)
		return 255
	}
	go func() {
		io.Copy(stdin, os.Stdin) // ends early when the command does not read
		stdin.Close()
	}()
	var exit *exec.ExitError
	switch err := cmd.Wait(); {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.Exited():
		return exit.ExitCode()
	}
	return 255 // a signal, which ssh does not pass on either
}
