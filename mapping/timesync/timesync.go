// Package timesync reads whether the clock follows others: what "timedatectl
// show" says for the kernel, and what chronyc says for chrony.
//
//	NTP=yes
//	NTPSynchronized=yes
//
// An answer that does not tell is refused.
package timesync

import (
	"errors"
	"strings"
)

// Parse reads the answer of "timedatectl show".
func Parse(b []byte) (synchronized bool, err error) {
	for line := range strings.Lines(string(b)) {
		switch strings.TrimSpace(line) {
		case "NTPSynchronized=yes":
			return true, nil
		case "NTPSynchronized=no":
			return false, nil
		}
	}
	return false, errors.New("timedatectl does not tell whether the clock is synchronised")
}

// ParseChrony reads the answer of "chronyc -n tracking".
func ParseChrony(b []byte) (synchronized bool, err error) {
	for line := range strings.Lines(string(b)) {
		if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == "Leap status" {
			return strings.TrimSpace(value) != "Not synchronised", nil
		}
	}
	return false, errors.New("chronyc does not tell whether the clock is synchronised")
}
