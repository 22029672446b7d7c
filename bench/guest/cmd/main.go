// Command cmd makes a real Debian guest to try things on, as package guest
// does for tests.
//
//	go run ./bench/guest/cmd up --dir D [--disk NAME[:BUS]:MIB]... start it (the image is built first)
//	go run ./bench/guest/cmd ssh D [-- ARGV...]                   log in, or run one command
//	go run ./bench/guest/cmd status D                             does it run, and with which disks
//	go run ./bench/guest/cmd reset D                              system and disks as new
//	go run ./bench/guest/cmd down D
//	go run ./bench/guest/cmd build                                only the image, booted once
//
// up prints the path of the inventory. Exit codes: 0 good; 1 failed; 2 usage;
// 3 something is missing on this machine, named in one line on stderr; ssh
// gives the command's own.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/nestor-tools/nestor/bench/guest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	err := newCommand().ExecuteContext(ctx)
	if err == nil {
		return
	}
	if exit, ok := err.(*exec.ExitError); ok { // ssh's
		os.Exit(exit.ExitCode())
	}
	fmt.Fprintln(os.Stderr, "guest:", err)
	var missing *guest.MissingError
	var failed failure
	switch {
	case errors.As(err, &missing), errors.Is(err, guest.ErrNeedsRoot):
		os.Exit(3)
	case errors.As(err, &failed):
		os.Exit(1)
	}
	os.Exit(2)
}

// failure is what went wrong after the command line was understood.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

func newCommand() *cobra.Command {
	root := &cobra.Command{Use: "guest", Short: "Make a real Debian guest to try things on", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(newUp(), newSSH(), newStatus(),
		onGuest("reset D", "System and disks as new", (*guest.Guest).Reset),
		onGuest("down D", "End the guest and remove its files", (*guest.Guest).Down),
		&cobra.Command{Use: "build", Short: "Build the image, unless it is there", Args: cobra.NoArgs,
			RunE: func(c *cobra.Command, _ []string) error {
				if err := guest.Build(c.Context()); err != nil {
					return failure{err}
				}
				return nil
			}})
	return root
}

func newUp() *cobra.Command {
	var dir string
	var disks []string
	var spec guest.Spec
	c := &cobra.Command{Use: "up --dir D", Short: "Start a guest", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			for _, text := range disks {
				d, err := parseDisk(text)
				if err != nil {
					return err
				}
				spec.Disks = append(spec.Disks, d)
			}
			began := time.Now()
			g, err := guest.Up(c.Context(), dir, spec)
			if err != nil {
				return failure{err}
			}
			fmt.Fprintf(os.Stderr, "up after %.1f s; log in: go run ./bench/guest/cmd ssh %s\n", time.Since(began).Seconds(), g.Dir)
			fmt.Println(g.InventoryPath)
			return nil
		}}
	c.Flags().StringVar(&dir, "dir", "", "folder of the guest: absent, empty, or this guest's")
	c.Flags().StringArrayVar(&disks, "disk", nil, "NAME[:virtio|scsi|nvme|cdrom]:MIB, repeated")
	c.Flags().StringVar(&spec.Name, "name", "", "its name in the inventory (guest1)")
	c.Flags().StringVar(&spec.Hostname, "hostname", "", "what it calls itself (its name)")
	c.Flags().StringVar(&spec.User, "user", "", "whom the inventory logs in as: root or debian (root)")
	c.Flags().StringVar(&spec.Kind, "kind", "", "target_kind in the inventory (lima)")
	c.Flags().IntVar(&spec.MemoryMiB, "memory", 0, "memory in MiB (1536)")
	c.Flags().IntSliceVar(&spec.Forward, "forward", nil, "ports of the guest to reach on 127.0.0.1")
	c.Flags().BoolVar(&spec.Cold, "cold", false, "boot it instead of going on from the booted image")
	cobra.CheckErr(c.MarkFlagRequired("dir"))
	return c
}

func parseDisk(text string) (guest.Disk, error) {
	f := strings.Split(text, ":")
	if len(f) == 2 {
		f = []string{f[0], "", f[1]}
	}
	if len(f) != 3 {
		return guest.Disk{}, fmt.Errorf("disk %q: want NAME:MIB or NAME:BUS:MIB", text)
	}
	size, err := strconv.Atoi(f[2])
	if err != nil {
		return guest.Disk{}, fmt.Errorf("disk %q: size %q is no number of MiB", text, f[2])
	}
	d := guest.Disk{Name: f[0], Bus: guest.Bus(f[1]), SizeMiB: size}
	if d.Bus == guest.SCSI {
		d.Serial = d.Name
	}
	return d, nil
}

func newSSH() *cobra.Command {
	return &cobra.Command{Use: "ssh D [-- ARGV...]", Short: "Log in, or run one command, with plain ssh", Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			g, err := guest.Open(args[0])
			if err != nil {
				return failure{err}
			}
			ssh := exec.Command("ssh", append(g.SSHArgs(), args[1:]...)...)
			ssh.Stdin, ssh.Stdout, ssh.Stderr = os.Stdin, os.Stdout, os.Stderr
			return ssh.Run()
		}}
}

func newStatus() *cobra.Command {
	return &cobra.Command{Use: "status D", Short: "Say whether it runs, and with which disks", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			g, err := guest.Open(args[0])
			if err != nil {
				return failure{err}
			}
			if !g.Running() {
				return failure{fmt.Errorf("%s does not run", g.Spec.Name)}
			}
			fmt.Printf("%s runs; ssh on 127.0.0.1:%d; inventory %s\n", g.Spec.Name, g.Port, g.InventoryPath)
			devices, err := g.Devices(c.Context())
			if err != nil {
				return failure{err}
			}
			for _, d := range g.Disks() {
				fmt.Printf("disk %s: %s in the guest, %s here\n", d.Name, devices[d.Name], g.DiskFile(d.Name))
			}
			return nil
		}}
}

func onGuest(use, short string, do func(*guest.Guest, context.Context) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			g, err := guest.Open(args[0])
			if err == nil {
				err = do(g, c.Context())
			}
			if err != nil {
				return failure{err}
			}
			return nil
		}}
}
