package kubeconfig

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// mayTake says whether c's names are free in a user's file, or c's own. A
// cluster with another certificate authority is another cluster, whatever its
// name; so is one whose authority cannot be read. replaced overrides that, but
// never takes the user of a cluster that stays.
func (c *Config) mayTake(path string, h held, replaced bool) error {
	if h.cluster && !replaced {
		theirs, why := h.authority(path)
		if same, err := SameCA(c.ca, theirs); err != nil || !same {
			if why == "" {
				why = fingerprints(theirs)
			}
			return fmt.Errorf("%w: its cluster %q (%s) has another certificate authority: there %s, here %s; --replace takes its place, --context NAME gives another name",
				ErrHeld, c.cluster, h.server, why, fingerprints(c.ca))
		}
	}
	used := false
	for _, b := range h.contexts {
		if b.user == c.user && b.cluster != c.cluster {
			return fmt.Errorf("%w: its user %q is also that of cluster %q (context %q); --context NAME gives other names", ErrHeld, c.user, b.cluster, b.name)
		}
		if b.name == c.context && b.cluster != c.cluster && !replaced {
			return fmt.Errorf("%w: its context %q is of cluster %q; --replace takes its place, --context NAME gives another name", ErrHeld, c.context, b.cluster)
		}
		used = used || b.user == c.user
	}
	if h.user && !used && !h.cluster && !replaced {
		return fmt.Errorf("%w: it has a user %q of no cluster that is known; --replace takes its place, --context NAME gives other names", ErrHeld, c.user)
	}
	return nil
}

// authority gives the certificate authority of the cluster's entry, or why
// there is none.
func (h held) authority(path string) (ca []byte, why string) {
	if len(h.ca) > 0 || h.caFile == "" {
		if len(h.ca) == 0 {
			return nil, "none"
		}
		return h.ca, ""
	}
	file := h.caFile
	if !filepath.IsAbs(file) {
		file = filepath.Join(filepath.Dir(path), file)
	}
	ca, err := os.ReadFile(file)
	if err != nil {
		return nil, "one that cannot be read (" + file + ")"
	}
	return ca, ""
}

func fingerprints(ca []byte) string {
	sums, err := Fingerprints(ca)
	if err != nil {
		return "one that is damaged"
	}
	return strings.Join(sums, " and ")
}
