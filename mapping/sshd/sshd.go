// Package sshd reads the effective configuration that "sshd -T" or "sshd -G"
// prints.
//
//	port 22
//	permitrootlogin without-password
//	hostkey /etc/ssh/ssh_host_ed25519_key
//	hostkey /etc/ssh/ssh_host_rsa_key
//
// Keys are compared without regard to case: OpenSSH 10.4 prints them in
// CamelCase. It refuses what holds no setting, such as the complaint of a
// version that cannot print one connection's settings without being told
// which.
package sshd

import (
	"fmt"
	"strings"
)

// Config is the settings by lower-case key, each with its values in order.
type Config map[string][]string

// Parse reads the output.
func Parse(b []byte) (Config, error) {
	c := Config{}
	for line := range strings.Lines(string(b)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !isKey(key) {
			return nil, fmt.Errorf("sshd printed no setting but %.120q", strings.TrimSpace(line))
		}
		key = strings.ToLower(key)
		c[key] = append(c[key], strings.TrimSpace(value))
	}
	if len(c["permitrootlogin"]) == 0 { // every version prints it
		return nil, fmt.Errorf("sshd printed no settings")
	}
	return c, nil
}

func isKey(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// Get gives a setting's first value, in lower case, with the words that
// OpenSSH kept for old times' sake in their present form. "" where the
// version has no such setting.
func (c Config) Get(key string) string {
	values := c[strings.ToLower(key)]
	if len(values) == 0 {
		return ""
	}
	value := strings.ToLower(values[0])
	if value == "without-password" {
		value = "prohibit-password"
	}
	return value
}
