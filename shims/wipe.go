package shims

import _ "embed" // the scripts are part of the binary

//go:embed wipe.sh
var wipe string

// Wipe is wipe.sh without its comments: it travels to every node whose disks
// are looked at or wiped.
var Wipe = stripComments(wipe)
