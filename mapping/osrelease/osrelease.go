// Package osrelease reads /etc/os-release.
//
//	PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
//	VERSION_ID="12"
//	ID=debian
//
// The file is a shell's, as os-release(5) says: values may be quoted and
// escaped. What it does not name stays empty (rolling distributions have no
// VERSION_ID), except ID, which is then "linux". A file without a single
// assignment is refused.
package osrelease

import (
	"errors"
	"regexp"
	"strings"
)

// Release is what the distribution calls itself.
type Release struct {
	ID         string   `json:"id"`
	IDLike     []string `json:"id_like,omitempty"`
	VersionID  string   `json:"version_id,omitempty"`
	Codename   string   `json:"codename,omitempty"`
	PrettyName string   `json:"pretty_name,omitempty"`
}

var assignment = regexp.MustCompile(`^([A-Z][A-Z0-9_]*)=(.*)$`)

// Parse reads the file. The last assignment of a name counts, as in a shell.
func Parse(b []byte) (Release, error) {
	values := map[string]string{}
	for line := range strings.Lines(string(b)) {
		if m := assignment.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			values[m[1]] = unquote(m[2])
		}
	}
	if len(values) == 0 {
		return Release{}, errors.New("os-release has no assignment")
	}
	r := Release{
		ID:         values["ID"],
		IDLike:     strings.Fields(values["ID_LIKE"]),
		VersionID:  values["VERSION_ID"],
		Codename:   values["VERSION_CODENAME"],
		PrettyName: values["PRETTY_NAME"],
	}
	if r.ID == "" {
		r.ID = "linux"
	}
	return r, nil
}

// unquote undoes a shell's quoting, as far as os-release(5) allows it: one
// word, single quotes, double quotes, backslashes.
func unquote(s string) string {
	var out strings.Builder
	var quote byte
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\' && quote != '\'' && i+1 < len(s) && (quote == 0 || strings.IndexByte("\"\\$`", s[i+1]) >= 0):
			i++
			out.WriteByte(s[i])
		case quote == 0 && (c == ' ' || c == '\t'): // the word ends
			return out.String()
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}
