// Package cri reads what container runtimes say of themselves.
//
//	RuntimeName:  containerd
//	RuntimeVersion:  v1.7.24
//
// is crictl's answer, read by [Parse], and
//
//	containerd github.com/containerd/containerd v1.7.24 88bf19b2105c8b17560993bee28a01ddc2f97182
//
// one of many forms of a --version line, read by [ParseVersion]. Versions are
// kept as written (distributions add "~ds1" and the like). An answer without
// a version is refused; that crictl prints "Version: 0.1.0" is the API's, not
// the runtime's.
package cri

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// Version is a runtime and its version.
type Version struct {
	Name string `json:"name"` // containerd, cri-o
	Raw  string `json:"version"`
}

// Parse reads the answer of "crictl version".
func Parse(b []byte) (Version, error) {
	values := map[string]string{}
	for line := range strings.Lines(string(b)) {
		if key, value, ok := strings.Cut(line, ":"); ok {
			values[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	v := Version{Name: values["RuntimeName"], Raw: values["RuntimeVersion"]}
	if v.Name == "" || v.Raw == "" {
		line, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
		return Version{}, fmt.Errorf("crictl names no runtime and version: %.120q", line)
	}
	return v, nil
}

// ParseDriver reads the cgroup driver in the answer of "crictl
// runtime-config": "systemd" or "cgroupfs".
func ParseDriver(b []byte) (string, error) {
	for line := range strings.Lines(string(b)) {
		key, value, ok := strings.Cut(line, ":")
		if ok && strings.EqualFold(strings.TrimSpace(key), "cgroup driver") {
			switch driver := strings.ToLower(strings.TrimSpace(value)); driver {
			case "systemd", "cgroupfs":
				return driver, nil
			}
		}
	}
	return "", errors.New("crictl does not tell the cgroup driver")
}

// number is the start of a version: "v1.7.24", "1.6.20~ds1".
var number = regexp.MustCompile(`^v?[0-9]+\.[0-9]+`)

// ParseVersion reads the answer of "TOOL --version". Its words differ by
// vendor and by year, so the first that looks like a version is taken.
func ParseVersion(b []byte) (string, error) {
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "time=") { // a log line before the answer
			continue
		}
		for _, word := range strings.Fields(line) {
			if word = strings.Trim(word, ",()"); number.MatchString(word) {
				return word, nil
			}
		}
	}
	return "", errors.New("no word of the answer is a version")
}

// Number gives the numbers of a raw version, for comparing: "1.6.20" of
// "v1.6.20~ds1". What a distribution appended is left out: "v2.1.5-k3s1" is
// no pre-release of 2.1.5.
func Number(raw string) (string, error) {
	v, err := version.ParseGeneric(raw)
	if err != nil {
		return "", fmt.Errorf("%q is not a version: %w", raw, err)
	}
	var parts []string
	for _, n := range v.Components() {
		parts = append(parts, fmt.Sprint(n))
	}
	return strings.Join(parts, "."), nil
}
