package cluster

import (
	"cmp"
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/mapping/fact"
)

// Storage is where the cluster keeps data.
type Storage struct {
	// Backend is what stands behind the default class; without a default,
	// behind all classes.
	Backend Observed[string]  `json:"backend"` // ceph, local-path, nfs, ...
	Default Observed[string]  `json:"default"` // the class of claims that name none
	Classes Observed[[]Class] `json:"classes"`
}

// Class is a StorageClass.
type Class struct {
	Name        string           `json:"name"`
	Provisioner string           `json:"provisioner"`
	Backend     Observed[string] `json:"backend"`
	Default     bool             `json:"default"` // it is marked so
	Reclaim     string           `json:"reclaim,omitempty"`
	Binding     string           `json:"binding,omitempty"`
	Expandable  bool             `json:"expandable"`
}

// backends are what stands behind a provisioner, by its name or the ending of
// it: Rook puts the namespace of its operator in front.
var backends = map[string]string{
	"rbd.csi.ceph.com":                "ceph",
	"cephfs.csi.ceph.com":             "ceph",
	"nfs.csi.ceph.com":                "ceph",
	"ceph.rook.io/bucket":             "ceph",
	"rancher.io/local-path":           "local-path",
	"nfs.csi.k8s.io":                  "nfs",
	"nfs-subdir-external-provisioner": "nfs",
	"driver.longhorn.io":              "longhorn",
	"local.csi.openebs.io":            "openebs-lvm",
	"zfs.csi.openebs.io":              "openebs-zfs",
	"openebs.io/local":                "openebs-hostpath",
	"io.openebs.csi-mayastor":         "openebs-mayastor",
	"topolvm.io":                      "topolvm",
	"topolvm.cybozu.com":              "topolvm",
	"linstor.csi.linbit.com":          "linstor",
	"csi.seaweedfs.com":               "seaweedfs",
	"directpv-min-io":                 "directpv",
	"smb.csi.k8s.io":                  "smb",
	"hostpath.csi.k8s.io":             "hostpath",
	"k8s.io/minikube-hostpath":        "hostpath",
	"microk8s.io/hostpath":            "hostpath",
	"docker.io/hostpath":              "hostpath",
	"kubernetes.io/no-provisioner":    "local",
	"org.democratic-csi.nfs":          "nfs",
	"org.democratic-csi.iscsi":        "iscsi",
	"csi.vsphere.vmware.com":          "vsphere",
	"csi.proxmox.sinextra.dev":        "proxmox",
	"cinder.csi.openstack.org":        "cinder",
}

// backendOf is what stands behind a provisioner, "" for one that this package
// does not know.
func backendOf(provisioner string) string {
	if b := backends[provisioner]; b != "" {
		return b
	}
	for known, b := range backends {
		if strings.HasSuffix(provisioner, "."+known) || strings.HasSuffix(provisioner, "/"+known) {
			return b
		}
	}
	return ""
}

func storage(classes Observed[[]StorageClass]) Storage {
	all, ok := classes.Get()
	if !ok {
		unread := fact.Then(classes, func([]StorageClass) (string, error) { return "", nil })
		return Storage{Backend: unread, Default: unread, Classes: Observed[[]Class]{State: unread.State, Why: unread.Why}}
	}
	list := make([]Class, 0, len(all))
	for _, c := range all {
		class := Class{Name: c.Name, Provisioner: c.Provisioner, Default: c.Default, Reclaim: c.Reclaim, Binding: c.Binding, Expandable: c.Expandable}
		if b := backendOf(c.Provisioner); b != "" {
			class.Backend = fact.Present(b)
		} else {
			class.Backend = fact.Unknown[string]("nestor does not know the provisioner " + c.Provisioner)
		}
		list = append(list, class)
	}
	slices.SortFunc(list, func(a, b Class) int { return strings.Compare(a.Name, b.Name) })
	s := Storage{Classes: fact.Present(list), Default: defaultClass(all)}
	s.Backend = backend(list, s.Default)
	return s
}

// defaultClass is the class of claims that name none: of several that are
// marked the newest, as the API server's admission has it.
func defaultClass(all []StorageClass) Observed[string] {
	var chosen *StorageClass
	for i, c := range all {
		if c.Default && (chosen == nil || cmp.Or(chosen.Created.Compare(c.Created), strings.Compare(c.Name, chosen.Name)) < 0) {
			chosen = &all[i]
		}
	}
	if chosen == nil {
		return fact.Absent[string]("no class is marked as the default")
	}
	return fact.Present(chosen.Name)
}

func backend(all []Class, name Observed[string]) Observed[string] {
	if len(all) == 0 {
		return fact.Absent[string]("there is no storage class")
	}
	var seen []string
	for _, c := range all {
		if name.State == fact.IsPresent && c.Name == name.Value {
			return c.Backend
		}
		text := c.Backend.Value
		if c.Backend.State != fact.IsPresent {
			text = c.Provisioner
		}
		if !slices.Contains(seen, text) {
			seen = append(seen, text)
		}
	}
	if len(seen) > 1 {
		return fact.Unknown[string]("no class is the default, and they have several: " + strings.Join(seen, ", "))
	}
	return all[0].Backend
}
