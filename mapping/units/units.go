// Package units reads what "systemctl show" says of several units.
//
//	Id=auditd.service
//	LoadState=loaded
//	ActiveState=active
//	UnitFileState=enabled
//
//	Id=fail2ban.service
//	LoadState=not-found
//	ActiveState=inactive
//
// The words decide, not exit codes: systemctl returns 0 for a unit that does
// not exist, and what is-failed returns changed over time. A block without Id
// is refused.
package units

import (
	"fmt"
	"strings"
)

// Unit is one unit.
type Unit struct {
	Load    string `json:"load"`    // loaded, not-found, masked, ...
	Active  string `json:"active"`  // active, inactive, failed, activating, ...
	Enabled string `json:"enabled"` // enabled, disabled, static, masked, alias, ...; empty without a file
}

// Parse reads the blocks, by Id. A name that is an alias appears under the
// name of its unit.
func Parse(b []byte) (map[string]Unit, error) {
	units := map[string]Unit{}
	for block := range strings.SplitSeq(strings.ReplaceAll(string(b), "\r", ""), "\n\n") {
		values := map[string]string{}
		for line := range strings.Lines(block) {
			key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
			if line = strings.TrimSpace(line); line != "" && !ok {
				return nil, fmt.Errorf("systemctl line is not Key=value: %.80q", line)
			}
			values[key] = value
		}
		if strings.TrimSpace(block) == "" {
			continue
		}
		if values["Id"] == "" {
			return nil, fmt.Errorf("systemctl printed a unit without Id: %.80q", block)
		}
		units[values["Id"]] = Unit{Load: values["LoadState"], Active: values["ActiveState"], Enabled: values["UnitFileState"]}
	}
	if len(units) == 0 {
		return nil, fmt.Errorf("systemctl printed no unit")
	}
	return units, nil
}

// IsActive says whether the unit runs now.
func (u Unit) IsActive() bool {
	return u.Active == "active" || u.Active == "reloading" || u.Active == "refreshing"
}

// Exists says whether there is such a unit at all.
func (u Unit) Exists() bool { return u.Load != "" && u.Load != "not-found" }
