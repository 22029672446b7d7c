// Package audit reads what auditctl says of the kernel's audit system.
//
//	enabled 1
//	failure 1
//	pid 612
//
// An answer without "enabled" is refused.
package audit

import (
	"errors"
	"strconv"
	"strings"
)

// Status is whether events are recorded.
type Status struct {
	Enabled int // 0: off, 1: on, 2: on until the next boot
	PID     int // of auditd; 0: nobody listens
}

// Parse reads the answer of "auditctl -s".
func Parse(b []byte) (Status, error) {
	s := Status{Enabled: -1}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		n, err := strconv.Atoi(f[1])
		switch {
		case err != nil:
		case f[0] == "enabled":
			s.Enabled = n
		case f[0] == "pid":
			s.PID = n
		}
	}
	if s.Enabled < 0 {
		return Status{}, errors.New("auditctl does not tell whether it is enabled")
	}
	return s, nil
}

// CountRules counts the rules in the answer of "auditctl -l".
func CountRules(b []byte) int {
	n := 0
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "-") {
			n++
		}
	}
	return n
}
