// Package nodeexec runs a command on a node and tells the truth about it.
//
//	inv, err := inventory.Load(os.DirFS("."), "hosts.yaml", os.LookupEnv)
//	target, err := inv.Target("node1", inventory.Lima)
//	node := nodeexec.Open(target, nodeexec.Options{})
//	res, err := node.Run(ctx, nodeexec.Command{Argv: []string{"hostname"}})
//
// The argv arrives byte for byte, whatever the node's login shell is. A
// command that exits with a code of its own is a [Result]; an [*Error] means
// that no trustworthy exit code exists, and says what the caller can do about
// it. A deadline or a cancelled context ends the command on the node, not
// only the local ssh.
//
// The package refuses, before any process starts, a target whose words could
// become options of ssh and an argument holding a NUL byte; and, before
// anything is sent, a command line that is too long for the node. It never retries a command that may have
// started, and never reads a password.
//
// How a node is reached is known to shims/node-exec.sh alone; this package
// starts that shim with bash and nothing else.
package nodeexec
