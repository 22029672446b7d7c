// Package aptconf reads "apt-config dump".
//
//	APT::Periodic::Unattended-Upgrade "1";
//	Unattended-Upgrade::Origins-Pattern:: "origin=Debian";
//
// A line of another form is refused. Nothing at all is what apt prints for a
// part that is not set.
package aptconf

import (
	"fmt"
	"regexp"
	"strings"
)

var setting = regexp.MustCompile(`^([^" ]+) "(.*)";$`)

// Parse gives the values by name; of a list the last.
func Parse(b []byte) (map[string]string, error) {
	values := map[string]string{}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		m := setting.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("apt-config line is not name \"value\";: %.80q", line)
		}
		values[m[1]] = m[2]
	}
	return values, nil
}
