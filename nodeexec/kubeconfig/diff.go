package kubeconfig

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/diff"
)

// difference shows what differs between two kubeconfigs, line by line, and no
// secret: certificates as their names and ends, and of the rest whether it
// changed.
func difference(old, now []byte) string {
	var known map[string]bool // the secrets that stand in both
	show := func(text []byte, mark string) string {
		shown, err := masked(text, func(key, value string) string {
			switch {
			case key == "certificate-authority-data" || key == "client-certificate-data":
				return certificateText(value)
			case known[value]:
				return "***"
			}
			return "*** " + mark
		})
		if err != nil {
			return ""
		}
		return shown
	}
	secrets := func(text []byte) map[string]bool {
		found := map[string]bool{}
		_, _ = masked(text, func(_, value string) string { found[value] = true; return "" })
		return found
	}
	known = secrets(old)
	kept := secrets(now)
	maps.DeleteFunc(known, func(value string, _ bool) bool { return !kept[value] })
	a, b := show(old, "(before)"), show(now, "(after)")
	if a == b {
		return "the layout or comments alone\n"
	}
	text := string(diff.Diff("before", []byte(a), "after", []byte(b)))
	if _, rest, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(text, "diff ") {
		text = rest
	}
	return text
}

func certificateText(value string) string {
	pem, err := decode64(value)
	if err != nil {
		return "(damaged)"
	}
	certs, err := certificates(pem)
	if err != nil {
		return "(damaged)"
	}
	sums, _ := Fingerprints(pem) // they are certificates
	return fmt.Sprintf("(%s, until %s, %s)", certs[0].Subject, certs[0].NotAfter.UTC().Format(time.DateOnly), strings.Join(sums, " and "))
}
