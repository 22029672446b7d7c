package plan

import (
	"fmt"
	"strings"
)

// Text tells a plan to people.
func Text(p Plan) string {
	var b strings.Builder
	for i, n := range p.Nodes {
		if i > 0 {
			b.WriteString("\n")
		}
		n.text(&b)
	}
	if p.Reboot {
		b.WriteString("\nEach node that is clean at the end is restarted.\n")
	}
	return b.String()
}

func (n Node) text(b *strings.Builder) {
	fmt.Fprintf(b, "%s at %s, machine-id %s\n", n.Node, n.Identity.Address, n.Identity.MachineID)
	for _, k := range n.Identity.HostKeys {
		fmt.Fprintf(b, "  host key %s\n", k)
	}
	for _, d := range n.Disks {
		fmt.Fprintf(b, "  %s %s, %s, %s\n    %s\n", d.Role, d.Path, size(d.SizeBytes), d.identity(), d.Why)
		for _, what := range d.OnIt {
			fmt.Fprintf(b, "    on it: %s\n", what)
		}
		for _, o := range d.OSDs {
			fmt.Fprintf(b, "    on it: OSD %s of cluster %s (%s)\n", o.UUID, o.FSID, o.Device)
		}
	}
	if n.Rook.State == "present" {
		fmt.Fprintf(b, "  /var/lib/rook: %s\n", strings.Join(n.Rook.Entries, " "))
	}
	for _, l := range n.LeftAlone {
		fmt.Fprintf(b, "  left alone: %s: %s\n", l.Name, l.Why)
	}
	if len(n.Steps) == 0 {
		b.WriteString("  nothing to do\n")
	}
	for _, s := range n.Steps {
		fmt.Fprintf(b, "  %s\n", s)
	}
}

func (d Disk) identity() string {
	var words []string
	for _, w := range []struct{ what, value string }{
		{"serial", d.Serial}, {"WWN", d.WWN}, {"file", d.LoopFile}, {"inode", d.LoopInode}, {"ends", d.Ends},
	} {
		if w.value != "" {
			words = append(words, w.what+" "+w.value)
		}
	}
	return strings.Join(append(words, d.ByID...), ", ")
}

func size(bytes int64) string {
	for _, unit := range []struct {
		name  string
		bytes int64
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}} {
		if bytes >= unit.bytes {
			return fmt.Sprintf("%.4g %s", float64(bytes)/float64(unit.bytes), unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", bytes)
}
