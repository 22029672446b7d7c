// Package mountinfo reads /proc/self/mountinfo.
//
//	27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
//	159 27 0:41 / /mnt/tab\011and\134back rw - tmpfs src\040with\040space rw
//
// The format is proc(5)'s: fields by position up to the lone "-", blanks and
// backslashes of a path in octal. A line that does not fit is refused, with
// its number: a mount that nobody saw could be a disk in use. The kernel
// writes "//deleted" after a path whose bind source is gone; it is kept.
package mountinfo

import (
	"fmt"
	"strings"
)

// Mount is one mount. Paths are as the kernel has them, unescaped; they need
// not be UTF-8.
type Mount struct {
	Device  string // major:minor; 0:N where the file system has no block device
	Root    string // what of the file system is mounted; not "/": a bind mount or a subvolume
	Target  string // where it is mounted
	Options []string
	FSType  string
	Source  string // /dev/sda1, server:/path, or a word that means nothing ("tmpfs")
}

// Parse reads the file. Mounts come in the kernel's order; of two at one
// target the later covers the earlier.
func Parse(b []byte) ([]Mount, error) {
	var mounts []Mount
	number := 0
	for line := range strings.Lines(string(b)) {
		number++
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			continue
		}
		m, ok := parseLine(line)
		if !ok {
			return nil, fmt.Errorf("mountinfo line %d is not a mount: %.80q", number, line)
		}
		mounts = append(mounts, m)
	}
	return mounts, nil
}

func parseLine(line string) (Mount, bool) {
	// Not Fields: an empty source leaves two blanks in a row.
	fields := strings.Split(line, " ")
	dash := -1
	for i := 6; i < len(fields); i++ { // any number of optional fields before it
		if fields[i] == "-" {
			dash = i
			break
		}
	}
	if dash < 0 || len(fields) < dash+3 || !strings.Contains(fields[2], ":") {
		return Mount{}, false
	}
	return Mount{
		Device:  fields[2],
		Root:    unescape(fields[3]),
		Target:  unescape(fields[4]),
		Options: strings.Split(fields[5], ","),
		FSType:  unescape(fields[dash+1]),
		Source:  unescape(fields[dash+2]),
	}, true
}

// unescape undoes the kernel's octal escapes: "\040" is a blank.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) && octal(s[i+1]) && octal(s[i+2]) && octal(s[i+3]) && s[i+1] < '4' {
			out.WriteByte((s[i+1]-'0')<<6 | (s[i+2]-'0')<<3 | (s[i+3] - '0'))
			i += 3
			continue
		}
		out.WriteByte(s[i])
	}
	return out.String()
}

func octal(c byte) bool { return c >= '0' && c <= '7' }
