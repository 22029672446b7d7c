package inventory

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// maxRange bounds how many hosts one pattern may stand for.
const maxRange = 100_000

// maxHostName bounds a host's name, ranges included. A name in the DNS has at
// most 253 bytes.
const maxHostName = 1024

// A host pattern may end in a port: "name:2222", "[2001:db8::1]:2222". A bare
// IPv6 address has none. The word before the port must look like a host, or
// the whole is taken as a name, which is what Ansible does.
var (
	bracketedPort = regexp.MustCompile(`^\[(.+)\]:([0-9]+)$`)
	plainPort     = regexp.MustCompile(`^((?:[^:\[\]]|\[[^\]]*\])*):([0-9]+)$`)

	rangeWord  = `\[(?:[a-z]:[a-z]|[0-9]+:[0-9]+)(?::[0-9]+)?\]`
	hostLabel  = `(?:[\pL\pN_]|` + rangeWord + `)(?:[\pL\pN_-]|` + rangeWord + `)*`
	hostName   = regexp.MustCompile(`(?i)^` + hostLabel + `(?:\.` + hostLabel + `)*$`)
	ipv6Digits = regexp.MustCompile(`(?i)^(?:[0-9a-f:.]|\[[0-9a-f]+:[0-9a-f]+(?::[0-9]+)?\])+$`)
)

// splitPort takes the port off a host pattern.
func splitPort(pattern string) (host, port string) {
	host = pattern
	if m := bracketedPort.FindStringSubmatch(host); m != nil {
		host, port = m[1], m[2]
	}
	if m := plainPort.FindStringSubmatch(host); m != nil {
		host, port = m[1], m[2]
	}
	if !looksLikeHost(host) {
		return pattern, ""
	}
	port = strings.TrimLeft(port, "0")
	return host, port
}

// looksLikeHost accepts names, addresses and ranges of them. A label may not
// end in "-" or "_".
func looksLikeHost(s string) bool {
	if strings.Contains(s, ":") && ipv6Digits.MatchString(s) && strings.Count(s, ":") >= 2 {
		return true
	}
	if !hostName.MatchString(s) {
		return false
	}
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '[':
			depth++
		case ']':
			depth--
		case '-', '_':
			if depth == 0 && (i+1 == len(s) || s[i+1] == '.') {
				return false
			}
		}
	}
	return true
}

// expandHost gives the host names that a pattern of the inventory stands for:
// itself, or every combination of its ranges [from:to:step]. Numbers keep
// leading zeros when the first bound has them.
func expandHost(pattern string) ([]string, error) {
	if len(pattern) > maxHostName {
		return nil, fmt.Errorf("the host name %.40q... is longer than %d bytes", pattern, maxHostName)
	}
	return expandRanges("", pattern, maxRange)
}

func expandRanges(head, pattern string, room int) ([]string, error) {
	before, rest, ok := strings.Cut(pattern, "[")
	if !ok {
		return []string{head + pattern}, nil
	}
	body, tail, ok := strings.Cut(rest, "]")
	if !ok || strings.ContainsAny(before+body+tail, "|") {
		return nil, fmt.Errorf("the range in %q is not closed", head+pattern)
	}
	steps, err := rangeSteps(body, room)
	if err != nil {
		return nil, fmt.Errorf("the range [%s] in %q: %w", body, head+pattern, err)
	}
	var names []string
	for _, step := range steps {
		more, err := expandRanges(head+before+step, tail, room-len(names))
		if err != nil {
			return nil, err
		}
		names = append(names, more...)
	}
	return names, nil
}

func rangeSteps(body string, room int) ([]string, error) {
	bounds := strings.Split(body, ":")
	if len(bounds) != 2 && len(bounds) != 3 {
		return nil, fmt.Errorf("write [from:to] or [from:to:step]")
	}
	from, to, step := bounds[0], bounds[1], 1
	if from == "" {
		from = "0"
	}
	if to == "" {
		return nil, fmt.Errorf("the end is missing")
	}
	if len(bounds) == 3 {
		var err error
		if step, err = strconv.Atoi(bounds[2]); err != nil || step < 1 {
			return nil, fmt.Errorf("the step is not a positive number")
		}
	}
	width := 0
	if len(from) > 1 && from[0] == '0' {
		if width = len(from); width != len(to) {
			return nil, fmt.Errorf("with leading zeros both bounds need the same length")
		}
	}
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	first, last, show := strings.Index(letters, from), strings.Index(letters, to), func(i int) string { return letters[i : i+1] }
	if first < 0 || last < 0 {
		var err1, err2 error
		first, err1 = strconv.Atoi(from)
		last, err2 = strconv.Atoi(to)
		if err1 != nil || err2 != nil || first < 0 || last < 0 {
			return nil, fmt.Errorf("the bounds are neither two numbers nor two letters")
		}
		show = func(i int) string { return fmt.Sprintf("%0*d", width, i) }
	} else if len(from) > 1 || len(to) > 1 {
		return nil, fmt.Errorf("the bounds are neither two numbers nor two letters")
	}
	if first > last {
		return nil, fmt.Errorf("it is empty: the first bound is above the last")
	}
	if (last-first)/step >= room {
		return nil, fmt.Errorf("more than %d hosts", maxRange)
	}
	var out []string
	for i := first; i <= last; i += step {
		out = append(out, show(i))
	}
	return out, nil
}
