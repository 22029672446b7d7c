// Package nodes makes real nodes to test against: sshds with a key, a host
// key and an inventory of their own.
//
// Two kinds:
//
//   - Namespaced nodes (Start, Up; root on Linux). Each has its own network,
//     pid, mount, UTS and IPC namespaces, hostname, machine-id, users, /root,
//     /home, /run and /tmp. Its root is an overlay over the machine's, so
//     that every program of the machine is there and nothing that a node
//     writes reaches the machine. It sees no disk, and /sys and /proc/sys are
//     read-only.
//   - Loopback nodes (Loopback, UpLoopback; no root, Linux and macOS): plain
//     sshds of the current user on 127.0.0.1. Host name, files and processes
//     are the machine's.
//
// In a test:
//
//	b := nodes.Start(t, nodes.Spec{Nodes: []nodes.Node{
//		{Name: "node1"},
//		{Name: "node2", Shell: "fish", User: "debian", Sudo: nodes.SudoFree},
//	}})
//	// b.InventoryPath is an Ansible inventory of them.
//	ps, err := b.Exec(ctx, "node1", "ps", "-e") // an oracle, without ssh
//
// By hand: go run ./bench/nodes/cmd/bench-nodes up --dir /tmp/bench --count 3
//
// # What it leaves alone
//
// All that a namespaced bench makes lives in one set of namespaces held by
// one process, the hub, and goes when the hub goes. The machine itself gets
// one network interface (the uplink, nb and eight hex digits, with a /22 that
// no other interface or route uses) and the folder of the bench. A bench that
// a test started also ends when the test's process ends, however it ends.
// Down ends only the processes whose pid and start time the state file
// names, and removes only the files that the state file names.
//
// # What it refuses
//
// A folder that holds something else, or whose path needs quoting in an ssh
// option; names that are no host names; a bench for which a program is
// missing (a *MissingError says which, and the Debian package).
package nodes
