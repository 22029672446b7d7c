// Package bluestore reads the labels that shims/probe.sh found on a device.
//
//	0 aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee 11111111-2222-3333-4444-555555555555 3
//	10 aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee 11111111-2222-3333-4444-555555555555 3
//
// Ceph keeps a label at the start of an OSD's device and, since 19.2.1, copies
// at 1, 10, 100 and 1000 GiB. One copy that survives a wipe makes Rook take
// the disk for another cluster's. A line of another form is refused.
package bluestore

import (
	"fmt"
	"strconv"
	"strings"
)

// Label is what a device says of the OSD on it.
type Label struct {
	OSDUUID     string `json:"osd_uuid"`
	ClusterFSID string `json:"cluster_fsid,omitempty"` // empty: the label does not tell
	OSDID       string `json:"osd_id,omitempty"`
	AtGiB       []int  `json:"at_gib"` // where its copies are
}

// Parse gives the labels of a device: none, one, or several where an OSD was
// made over another and copies of the old one stayed.
func Parse(b []byte) ([]Label, error) {
	labels := []Label{}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		gib, err := strconv.Atoi(f[0])
		if err != nil || len(f) != 4 {
			return nil, fmt.Errorf("label line is not GIB OSD CLUSTER ID: %.120q", line)
		}
		for i := range f {
			f[i] = strings.TrimPrefix(f[i], "-")
		}
		found := false
		for i := range labels {
			if l := &labels[i]; l.OSDUUID == f[1] && l.ClusterFSID == f[2] && l.OSDID == f[3] {
				l.AtGiB = append(l.AtGiB, gib)
				found = true
			}
		}
		if !found {
			labels = append(labels, Label{OSDUUID: f[1], ClusterFSID: f[2], OSDID: f[3], AtGiB: []int{gib}})
		}
	}
	return labels, nil
}
