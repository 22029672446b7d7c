// Package swaps reads /proc/swaps.
//
//	Filename                                Type            Size            Used            Priority
//	/dev/dm-1                               partition       974844          0               -2
//	/swap\040file                           file            1048572         0               -3
//
// A node without swap has the first line only. A file without it is refused,
// as is a line that does not fit.
package swaps

import (
	"fmt"
	"strconv"
	"strings"
)

// Swap is one active swap area.
type Swap struct {
	Path      string `json:"path"`
	Type      string `json:"type"` // partition (any block device, zram too) or file
	SizeBytes int64  `json:"size_bytes"`
}

// Parse reads the file. How much is used, and which comes first, is left out:
// it changes by itself.
func Parse(b []byte) ([]Swap, error) {
	header, rest, _ := strings.Cut(string(b), "\n")
	if !strings.HasPrefix(header, "Filename") {
		return nil, fmt.Errorf("/proc/swaps does not start with its header: %.80q", header)
	}
	swaps := []Swap{}
	for line := range strings.Lines(rest) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if len(f) != 5 {
			return nil, fmt.Errorf("/proc/swaps has a line of %d fields, not 5: %.80q", len(f), line)
		}
		kib, err := strconv.ParseInt(f[2], 10, 53)
		if err != nil || kib < 0 {
			return nil, fmt.Errorf("/proc/swaps has a size that is no number: %.80q", line)
		}
		swaps = append(swaps, Swap{Path: unescape(f[0]), Type: f[1], SizeBytes: kib * 1024})
	}
	return swaps, nil
}

// unescape undoes the octal escapes of blanks and backslashes in a path.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace
