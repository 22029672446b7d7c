package shims

import _ "embed" // the scripts are part of the binary

//go:embed probe.sh
var probe string

// Probe is probe.sh without its comments: it travels to every node that is
// discovered.
var Probe = stripComments(probe)
