// Package sysctl reads kernel settings, one "key = value" a line, as "sysctl
// -a" prints them and shims/probe.sh does for the keys that nestor needs.
//
//	kernel.randomize_va_space = 2
//	net.ipv4.ip_local_port_range = 32768	60999
//	denied kernel.perf_event_paranoid
//
// A key that this kernel does not have is not among them; one that may not be
// read has a line of its own.
package sysctl

import (
	"fmt"
	"strings"

	"github.com/nestor-tools/nestor/mapping/fact"
)

// Settings are the values by key, as the kernel has them.
type Settings map[string]fact.Observed[string]

// Parse reads the lines. Of a key with several lines (dev.cdrom.info) they
// are kept as lines.
func Parse(b []byte) (Settings, error) {
	s := Settings{}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimRight(line, "\r\n")
		if key, ok := strings.CutPrefix(line, "denied "); ok {
			s[key] = fact.Denied[string](key + " may not be read by this user")
			continue
		}
		key, value, ok := strings.Cut(line, " =")
		if key = strings.TrimSpace(key); !ok || key == "" || strings.ContainsAny(key, " \t") {
			return nil, fmt.Errorf("sysctl line is not key = value: %.80q", line)
		}
		value = strings.TrimSpace(value)
		if known, ok := s[key]; ok {
			value = known.Value + "\n" + value
		}
		s[key] = fact.Present(value)
	}
	return s, nil
}

// Get gives one setting. Absent: this kernel does not have it.
func (s Settings) Get(key string) fact.Observed[string] {
	if v, ok := s[key]; ok {
		return v
	}
	return fact.Absent[string]("this kernel has no " + key)
}
