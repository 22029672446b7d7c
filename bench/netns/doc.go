// Package netns gives a test a network of its own: a network namespace with
// the addresses of nodes that are none of this machine, reached over a real
// link, with real forwarding from node ports and real ways to fail.
//
//	n := netns.New(t, 2)
//	pod := n.Listen(t, ":0")        // a server of the test, inside
//	go http.Serve(pod, handler)
//	n.Forward(t, 30080, pod)        // http://<n.Nodes[0]>:30080 leads there, and on n.Nodes[1]
//	n.Filter(t, 30081, "drop")      // and there packets vanish
//
// It needs root on Linux, and the programs ip, nsenter and nft. Without them
// the test fails in CI and is skipped, loudly, elsewhere. All that it makes
// goes with the test, or with the test's process.
package netns
