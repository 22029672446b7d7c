// Package meminfo reads /proc/meminfo.
//
//	MemTotal:        8112776 kB
//
// Only what does not change by itself is read. A file without MemTotal is
// refused.
package meminfo

import (
	"errors"
	"strconv"
	"strings"
)

// Memory is what the kernel has to give; the firmware's share is not in it.
type Memory struct {
	TotalBytes int64 `json:"total_bytes"`
}

// Parse reads the file.
func Parse(b []byte) (Memory, error) {
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) == 3 && f[0] == "MemTotal:" && f[2] == "kB" {
			if kib, err := strconv.ParseInt(f[1], 10, 53); err == nil && kib > 0 {
				return Memory{TotalBytes: kib * 1024}, nil
			}
		}
	}
	return Memory{}, errors.New("/proc/meminfo does not tell MemTotal in kB")
}
