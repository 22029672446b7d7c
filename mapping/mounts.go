package mapping

import (
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/mapping/fact"
	"github.com/nestor-tools/nestor/mapping/mountinfo"
)

// Mount is a mounted file system that holds data.
type Mount struct {
	Target   string `json:"target"`
	Source   string `json:"source"`
	FSType   string `json:"fs_type"`
	Root     string `json:"root,omitempty"` // what of it is mounted, where not all: a bind mount, a subvolume
	ReadOnly bool   `json:"read_only,omitempty"`
}

// listMounts keeps what holds data and stays: no kernel interface, no memory,
// no image of a snap, nothing that a pod or a container brings, nothing that is
// mounted on first use.
func listMounts(mounts []mountinfo.Mount) ([]Mount, error) {
	list := []Mount{}
	automounts := []string{}
	for _, m := range mounts {
		if m.FSType == "autofs" {
			automounts = append(automounts, m.Target)
		}
	}
	for _, m := range mounts {
		// A file system with a block device or a remote source. The kernel's
		// own and memory have neither, and a device number of major 0.
		real := !strings.HasPrefix(m.Device, "0:") || strings.HasPrefix(m.Source, "/dev/") || isRemote(m.FSType)
		if !real || m.FSType == "squashfs" || Volatile(m.Target) || within(m.Target, automounts) {
			continue
		}
		mount := Mount{
			Target: fact.Text(m.Target), Source: fact.Text(m.Source), FSType: m.FSType,
			ReadOnly: slices.Contains(m.Options, "ro"),
		}
		if m.Root != "/" {
			mount.Root = fact.Text(m.Root)
		}
		list = append(list, mount)
	}
	slices.SortStableFunc(list, func(a, b Mount) int { return strings.Compare(a.Target, b.Target) })
	return list, nil
}

func isRemote(fsType string) bool {
	switch fsType {
	case "nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "virtiofs", "glusterfs", "lustre", "zfs", "overlay":
		return true
	}
	return strings.HasPrefix(fsType, "fuse.") && fsType != "fuse.lxcfs" && fsType != "fuse.gvfsd-fuse" && fsType != "fuse.portal"
}

// volatileFolders hold mounts that come and go with pods, containers, logins
// and snaps.
var volatileFolders = []string{
	"/var/lib/kubelet/pods", "/var/lib/kubelet/plugins", "/var/lib/containerd", "/var/lib/docker", "/var/lib/containers",
	"/var/lib/rancher/k3s/agent/containerd", "/var/lib/rancher/rke2/agent/containerd",
	"/run", "/var/run", "/snap", "/var/snap", "/proc", "/sys", "/dev",
}

// Volatile says of a mount point that it comes and goes by itself. Kubelets and
// container engines may be given another folder, so that some parts of a path
// count anywhere.
func Volatile(target string) bool {
	for _, part := range []string{"/kubelet/pods/", "/containers/storage/overlay", "/docker/overlay2/"} {
		if strings.Contains(target, part) {
			return true
		}
	}
	for _, folder := range volatileFolders {
		if strings.HasPrefix(target, folder+"/") {
			return true
		}
	}
	return false
}

// within says whether the path is one of the folders or lies below one.
func within(path string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return path == f || strings.HasPrefix(path, f+"/") })
}
