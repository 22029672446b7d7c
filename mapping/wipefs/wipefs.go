// Package wipefs reads what "wipefs --no-act" lists of one device, as JSON or
// in the parsable form of versions that have no JSON.
//
//	{"signatures": [{"device":"vdc","offset":"0x438","type":"ext4","uuid":"...","label":null}]}
//
//	# offset,uuid,label,type
//	0x438,e419eca6-1280-4c1b-9034-adda46c76833,,ext4
//
// Nothing at all means no signature: wipefs opened the device and found none.
// Whether it could open it is for its exit code to say, not for this package.
package wipefs

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Signature is one mark of a file system, RAID, volume manager or partition
// table on a device.
type Signature struct {
	Type   string `json:"type"`   // ext4, LVM2_member, gpt, ceph_bluestore, ...
	Offset int64  `json:"offset"` // in bytes
	UUID   string `json:"uuid,omitempty"`
	Label  string `json:"label,omitempty"`
}

// Parse reads the list.
func Parse(b []byte) ([]Signature, error) {
	text := strings.TrimSpace(string(b))
	if strings.HasPrefix(text, "{") {
		return parseJSON([]byte(text))
	}
	signatures := []Signature{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		// The label may hold commas; offset, uuid and type do not.
		offset, rest, ok1 := strings.Cut(line, ",")
		uuid, rest, ok2 := strings.Cut(rest, ",")
		i := strings.LastIndexByte(rest, ',')
		if !ok1 || !ok2 || i < 0 {
			return nil, fmt.Errorf("wipefs line is not offset,uuid,label,type: %.80q", line)
		}
		s, err := signature(offset, uuid, rest[:i], rest[i+1:])
		if err != nil {
			return nil, err
		}
		signatures = append(signatures, s)
	}
	return signatures, nil
}

func parseJSON(b []byte) ([]Signature, error) {
	var doc struct {
		Signatures *[]struct{ Offset, Type, UUID, Label string }
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		return nil, fmt.Errorf("wipefs wrote JSON that is not valid: %w", err)
	}
	if doc.Signatures == nil {
		return nil, fmt.Errorf("wipefs wrote JSON without signatures")
	}
	signatures := []Signature{}
	for _, s := range *doc.Signatures {
		s, err := signature(s.Offset, s.UUID, s.Label, s.Type)
		if err != nil {
			return nil, err
		}
		signatures = append(signatures, s)
	}
	return signatures, nil
}

func signature(offset, uuid, label, kind string) (Signature, error) {
	n, err := strconv.ParseInt(offset, 0, 64)
	if err != nil || n < 0 {
		return Signature{}, fmt.Errorf("wipefs gives the offset %.40q", offset)
	}
	if kind == "" {
		return Signature{}, fmt.Errorf("wipefs gives a signature without a type at %s", offset)
	}
	return Signature{Type: kind, Offset: n, UUID: uuid, Label: label}, nil
}
