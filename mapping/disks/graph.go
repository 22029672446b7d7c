package disks

import (
	"slices"
	"strconv"
	"strings"

	"github.com/nestor-tools/nestor/mapping/bluestore"
	"github.com/nestor-tools/nestor/mapping/fact"
	"github.com/nestor-tools/nestor/mapping/lsblk"
	"github.com/nestor-tools/nestor/mapping/sysfs"
	"github.com/nestor-tools/nestor/mapping/wipefs"
)

// node is one block device, as all sources together know it.
type node struct {
	lsblk.Device               // what lsblk said; filled from sysfs where it said nothing
	sys          *sysfs.Device // nil: the kernel was not asked, or does not list it
	inLsblk      bool          //
	children     []*node       //
	mounts       []string      // from lsblk and mountinfo
	swap         bool          //
	signatures   fact.Observed[[]wipefs.Signature]
	labels       fact.Observed[[]bluestore.Label]
}

// graph is the devices of a node and how they are built on each other.
type graph struct {
	in        Input
	byKName   map[string]*node
	order     []*node
	rootFound bool // the device that carries "/" is one of them, or it has none
}

func build(in Input) *graph {
	g := &graph{in: in, byKName: map[string]*node{}}
	for _, d := range in.Lsblk.Value.Devices {
		g.add(&node{Device: d, inLsblk: true})
	}
	g.addSysfs()
	for _, n := range g.order {
		for _, p := range n.Parents {
			if parent := g.byKName[p]; parent != nil && !slices.Contains(parent.children, n) && parent != n {
				parent.children = append(parent.children, n)
			}
		}
		n.mounts = append(n.mounts, n.Mounts...)
		n.signatures = fact.Unknown[[]wipefs.Signature]("wipefs was not run")
		if in.Signatures != nil {
			n.signatures = in.Signatures(n.KName)
		}
		n.labels = fact.Unknown[[]bluestore.Label]("they were not looked for")
		if in.Labels != nil {
			n.labels = in.Labels(n.KName)
		}
	}
	for _, n := range g.order {
		slices.SortFunc(n.children, func(a, b *node) int { return natural(a.Name, b.Name) })
	}
	g.placeMounts()
	g.placeSwaps()
	return g
}

func (g *graph) add(n *node) {
	g.byKName[n.KName] = n
	g.order = append(g.order, n)
}

// addSysfs adds what the kernel knows, and the devices that lsblk did not
// list.
func (g *graph) addSysfs() {
	byDev := map[string]string{}
	for i := range g.in.Sysfs.Value {
		s := &g.in.Sysfs.Value[i]
		byDev[s.Dev] = s.Name
	}
	delete(byDev, "") // a device without a number is nobody's parent
	for i := range g.in.Sysfs.Value {
		s := &g.in.Sysfs.Value[i]
		n := g.byKName[s.Name]
		if n == nil {
			n = &node{Device: lsblk.Device{Name: s.Name, KName: s.Name, SizeBytes: s.SizeBytes, Type: sysfsType(s), Model: s.Model, Serial: s.Serial, WWN: s.WWID}}
			if s.DMName != "" {
				n.Name = s.DMName
			}
			g.add(n)
		}
		n.sys = s
		n.Dev = s.Dev
		n.ReadOnly = n.ReadOnly || s.ReadOnly
		n.Removable = n.Removable || s.Removable
		if n.SizeBytes < 0 {
			n.SizeBytes = s.SizeBytes
		}
		if n.Rotational == nil {
			n.Rotational = s.Rotational
		}
		for _, parent := range append(slices.Clone(s.Slaves), byDev[s.ParentDev]) {
			if parent != "" && !slices.Contains(n.Parents, parent) {
				n.Parents = append(n.Parents, parent)
			}
		}
	}
}

// sysfsType gives lsblk's word for a device that only the kernel listed.
func sysfsType(s *sysfs.Device) string {
	owner, _, _ := strings.Cut(s.DMUUID, "-")
	switch {
	case s.Partition || strings.HasPrefix(owner, "part"):
		return "part"
	case s.MDLevel != "":
		return s.MDLevel
	case owner == "LVM":
		return "lvm"
	case owner == "CRYPT":
		return "crypt"
	case owner == "mpath":
		return "mpath"
	case s.DMName != "":
		return "dm"
	case strings.HasPrefix(s.Name, "loop"):
		return "loop"
	case strings.HasPrefix(s.Name, "sr"):
		return "rom"
	}
	return "disk"
}

// placeMounts ties each mount to its device, by number or, where the file
// system has a number of its own (btrfs), by the name it was mounted from.
func (g *graph) placeMounts() {
	mounts, ok := g.in.Mounts.Get()
	if !ok { // lsblk's word is all there is
		for _, n := range g.order {
			g.rootFound = g.rootFound || slices.Contains(n.mounts, "/") || slices.Contains(n.mounts, "/sysroot")
		}
		return
	}
	byDev, byName := map[string]*node{}, map[string]*node{}
	for _, n := range g.order {
		byName[n.Name], byName[n.KName] = n, n
		if n.Dev != "" {
			byDev[n.Dev] = n
		}
	}
	for _, m := range mounts {
		n := byDev[m.Device]
		if n == nil && strings.HasPrefix(m.Source, "/dev/") {
			n = byName[strings.TrimPrefix(strings.TrimPrefix(m.Source, "/dev/"), "mapper/")]
		}
		if n != nil && !slices.Contains(n.mounts, m.Target) {
			n.mounts = append(n.mounts, m.Target)
		}
		if m.Target == "/" {
			switch m.FSType { // a later "/" covers an earlier one
			case "nfs", "nfs4", "tmpfs", "ramfs":
				g.rootFound = true
			case "rootfs": // what the kernel boots with, always covered
			default:
				g.rootFound = n != nil
			}
		}
	}
}

func (g *graph) placeSwaps() {
	for _, s := range g.in.Swaps.Value {
		name := strings.TrimPrefix(strings.TrimPrefix(s.Path, "/dev/"), "mapper/")
		for _, n := range g.order {
			if s.Type == "partition" && (n.KName == name || n.Name == name) {
				n.swap = true
			}
		}
	}
	for _, n := range g.order {
		if i := slices.Index(n.mounts, "[SWAP]"); i >= 0 {
			n.swap = true
			n.mounts = slices.Delete(n.mounts, i, i+1)
		}
	}
}

// disks gives the whole disks, each multipath device in place of its paths.
func (g *graph) disks() []*node {
	var disks []*node
	for _, n := range g.order {
		switch {
		case n.Type == "mpath":
		case n.Type == "loop" && g.in.Loops && n.SizeBytes > 0:
		case n.Type != "disk" || noDisk(n) || slices.ContainsFunc(n.children, isMultipath):
			continue
		}
		disks = append(disks, n)
	}
	slices.SortFunc(disks, func(a, b *node) int { return natural(a.Name, b.Name) })
	return disks
}

func isMultipath(n *node) bool { return n.Type == "mpath" }

// noDisk tells what lsblk calls a disk and is none: memory, floppies, and
// network block devices that are not connected.
func noDisk(n *node) bool {
	kind := strings.TrimRight(n.KName, "0123456789")
	switch kind {
	case "ram", "zram", "fd", "loop", "sr":
		return true
	case "nbd", "rbd":
		return n.SizeBytes <= 0
	}
	return false
}

// natural orders sda2 before sda10.
func natural(a, b string) int {
	for a != "" && b != "" {
		na, ra := leadingNumber(a)
		nb, rb := leadingNumber(b)
		switch {
		case na >= 0 && nb >= 0 && na != nb:
			return na - nb
		case na >= 0 && nb >= 0:
			a, b = ra, rb
		case a[0] != b[0]:
			return int(a[0]) - int(b[0])
		default:
			a, b = a[1:], b[1:]
		}
	}
	return len(a) - len(b)
}

func leadingNumber(s string) (int, string) {
	i := 0
	for i < len(s) && i < 9 && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	n, err := strconv.Atoi(s[:i])
	if err != nil {
		return -1, s
	}
	return n, s[i:]
}
