// Package apparmor reads the profiles that the kernel has loaded.
//
//	/usr/sbin/chronyd (enforce)
//	man_groff (complain)
//
// A line without a mode is refused.
package apparmor

import (
	"fmt"
	"strings"
)

// Profiles counts the loaded profiles by mode: enforce, complain, kill,
// unconfined, prompt.
type Profiles map[string]int

// Parse reads /sys/kernel/security/apparmor/profiles.
func Parse(b []byte) (Profiles, error) {
	p := Profiles{}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		i := strings.LastIndex(line, " (")
		if i < 0 || !strings.HasSuffix(line, ")") {
			return nil, fmt.Errorf("apparmor profile without a mode: %.80q", line)
		}
		p[line[i+2:len(line)-1]]++
	}
	return p, nil
}
