package inventory

import (
	"errors"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A plain YAML scalar as Ansible's reader, PyYAML, takes it: YAML 1.1 with
// PyYAML's own departures (no plain 1e3, no y/n). https://yaml.org/type/ has
// the types; the expressions are checked against PyYAML by a test.
var (
	yamlBool  = regexp.MustCompile(`^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$`)
	yamlInt   = regexp.MustCompile(`^[-+]?(?:0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|[1-9][0-9_]*(?::[0-5]?[0-9])+)$`)
	yamlFloat = regexp.MustCompile(`^(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)
	yamlDate  = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)
	yamlTime  = regexp.MustCompile(`^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?$`)
)

var errScalar = errors.New("YAML 1.1 gives it no value")

// plainScalar reads an untagged, unquoted scalar.
func plainScalar(s string, o Origin) (Value, error) {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return Value{origin: o}, nil
	case "=", "<<":
		return Value{}, errScalar // PyYAML has types for them and no way to build one
	}
	if c := s[0]; c != '.' && c != '-' && c != '+' && (c < '0' || c > '9') {
		if yamlBool.MatchString(s) {
			return boolValue(isTrue(s), o), nil
		}
		return stringValue(s, o), nil
	}
	switch {
	case yamlInt.MatchString(s):
		return intScalar(s, o)
	case yamlFloat.MatchString(s):
		return floatScalar(s, o)
	case yamlDate.MatchString(s):
		if _, err := time.Parse(time.DateOnly, s); err != nil {
			return Value{}, errScalar
		}
		return Value{typ: Date, text: s, origin: o}, nil
	case yamlTime.MatchString(s):
		return Value{typ: Opaque, text: s, origin: o}, nil
	}
	return stringValue(s, o), nil
}

func isTrue(s string) bool {
	switch strings.ToLower(s) {
	case "yes", "true", "on":
		return true
	}
	return false
}

// intScalar reads the bases of YAML 1.1: 0b binary, 0x hexadecimal, a leading
// 0 octal, colons base 60.
func intScalar(s string, o Origin) (Value, error) {
	s = strings.ReplaceAll(s, "_", "")
	sign := ""
	if s[0] == '-' || s[0] == '+' {
		if s[0] == '-' {
			sign = "-"
		}
		s = s[1:]
	}
	n := new(big.Int)
	ok := true
	switch {
	case strings.HasPrefix(s, "0b"):
		_, ok = n.SetString(s[2:], 2)
	case strings.HasPrefix(s, "0x"):
		_, ok = n.SetString(s[2:], 16)
	case len(s) > 1 && s[0] == '0':
		_, ok = n.SetString(s, 8)
	case strings.Contains(s, ":"):
		for digits := range strings.SplitSeq(s, ":") {
			part, good := new(big.Int).SetString(digits, 10)
			if !good {
				return Value{}, errScalar
			}
			n.Mul(n, big.NewInt(60)).Add(n, part)
		}
	default:
		_, ok = n.SetString(s, 10)
	}
	if !ok {
		return Value{}, errScalar
	}
	text := n.String()
	if text != "0" {
		text = sign + text
	}
	return Value{typ: Int, text: text, origin: o}, nil
}

func floatScalar(s string, o Origin) (Value, error) {
	s = strings.ToLower(strings.ReplaceAll(s, "_", ""))
	sign := 1.0
	if s[0] == '-' || s[0] == '+' {
		if s[0] == '-' {
			sign = -1
		}
		s = s[1:]
	}
	switch s {
	case ".inf":
		return floatValue(math.Inf(int(sign)), o), nil
	case ".nan":
		return floatValue(math.NaN(), o), nil
	}
	total := 0.0
	for part := range strings.SplitSeq(s, ":") {
		f, err := strconv.ParseFloat(part, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return Value{}, errScalar
		}
		total = total*60 + f
	}
	return floatValue(sign*total, o), nil
}
