// Package ufw reads "ufw status verbose".
//
//	Status: active
//	Default: deny (incoming), allow (outgoing), disabled (routed)
//
// An answer without a status is refused.
package ufw

import (
	"errors"
	"strings"
)

// Status is whether ufw is on, and what it does with what comes in.
type Status struct {
	Active   bool
	Incoming string // deny, reject or allow
}

// Parse reads the answer.
func Parse(b []byte) (Status, error) {
	s, known := Status{}, false
	for line := range strings.Lines(string(b)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "Status":
			s.Active, known = value == "active", value == "active" || value == "inactive"
		case "Default":
			for part := range strings.SplitSeq(value, ", ") {
				if word, ok := strings.CutSuffix(part, " (incoming)"); ok {
					s.Incoming = word
				}
			}
		}
	}
	if !known {
		return Status{}, errors.New("ufw does not tell its status")
	}
	return s, nil
}

// Closed says whether what no rule takes is refused.
func (s Status) Closed() bool { return s.Active && (s.Incoming == "deny" || s.Incoming == "reject") }
