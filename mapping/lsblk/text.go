package lsblk

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// pair is one KEY="value" of lsblk -P. A quote within a value is \x22.
var pair = regexp.MustCompile(`([A-Z][A-Z0-9:%_-]*)="([^"]*)"`)

func parseText(s string) (Listing, error) {
	var c collector
	var table *table
	for line := range strings.Lines(s) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.TrimSpace(line) == "":
			if table != nil { // another command's output follows
				return c.done(), nil
			}
		case strings.HasPrefix(line, "lsblk: "): // stderr in the same stream
			c.listing.Warnings = append(c.listing.Warnings, line)
		case table != nil:
			if err := table.row(&c, line); err != nil {
				return Listing{}, err
			}
		case strings.HasPrefix(line, "NAME "):
			t, err := newTable(line)
			if err != nil {
				return Listing{}, err
			}
			table = t
		default:
			if err := c.addPairs(line); err != nil {
				return Listing{}, err
			}
		}
	}
	if table == nil && len(c.listing.Devices) == 0 {
		return Listing{}, fmt.Errorf("lsblk printed no device")
	}
	return c.done(), nil
}

func (c *collector) addPairs(line string) error {
	values := map[string]string{}
	for _, m := range pair.FindAllStringSubmatch(line, -1) {
		values[m[1]] = unescape(m[2])
	}
	if values["NAME"] == "" || strings.TrimSpace(pair.ReplaceAllString(line, "")) != "" {
		return fmt.Errorf("lsblk line is not KEY=\"value\" pairs with a NAME: %.80q", line)
	}
	d := fromColumns(values)
	if _, asked := values["PKNAME"]; !asked && d.Type != "disk" && d.Type != "part" && d.Type != "rom" && d.Type != "loop" && d.Type != "md" && c.member != "" {
		// Rows come in the tree's order: what is built on others stands
		// below the row that says it is a member.
		d.Parents = []string{c.member}
	}
	if strings.HasSuffix(d.FSType, "_member") || d.FSType == "crypto_LUKS" {
		c.member = baseName(cmp.Or(d.KName, d.Name))
	}
	c.add(d)
	return nil
}

// fromColumns makes a device of lsblk's columns.
func fromColumns(v map[string]string) Device {
	d := Device{
		Name: v["NAME"], KName: v["KNAME"], Path: v["PATH"], Dev: v["MAJ:MIN"], Type: v["TYPE"],
		SizeBytes: parseSize(v["SIZE"]), ReadOnly: v["RO"] == "1", Removable: v["RM"] == "1",
		FSType: v["FSTYPE"], Label: v["LABEL"], UUID: v["UUID"], PTType: v["PTTYPE"], PartType: v["PARTTYPE"],
		Serial: strings.TrimSpace(v["SERIAL"]), WWN: v["WWN"], Model: strings.TrimSpace(v["MODEL"]), Transport: v["TRAN"],
	}
	if r := v["ROTA"]; r != "" {
		rotational := r == "1"
		d.Rotational = &rotational
	}
	for _, m := range append(strings.Split(v["MOUNTPOINTS"], "\n"), v["MOUNTPOINT"]) {
		if m != "" {
			d.Mounts = union(d.Mounts, []string{m})
		}
	}
	if p := v["PKNAME"]; p != "" {
		d.Parents = []string{p}
	}
	return d
}

// unescape undoes \xNN, lsblk's way to print a byte that is not safe.
func unescape(s string) string {
	if !strings.Contains(s, `\x`) {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if strings.HasPrefix(s[i:], `\x`) && i+4 <= len(s) {
			if n, err := strconv.ParseUint(s[i+2:i+4], 16, 8); err == nil {
				out.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		out.WriteByte(s[i])
	}
	return out.String()
}

// table reads the columns that lsblk lines up for people. Those up to TYPE
// are never empty and hold no blank; those behind it are found by the place
// of their header.
type table struct {
	fixed  []string // after NAME, up to TYPE
	behind []column
	path   []string // KNames from the root to the last row
	depths []int    // their indentation
}

type column struct {
	name  string
	start int // in runes
}

func newTable(header string) (*table, error) {
	names := strings.Fields(header)
	t := &table{}
	for i, name := range names {
		if i == 0 {
			continue
		}
		if len(t.behind) == 0 && (len(t.fixed) == 0 || t.fixed[len(t.fixed)-1] != "TYPE") {
			t.fixed = append(t.fixed, name)
			continue
		}
		t.behind = append(t.behind, column{name, strings.Index(header, " "+name) + 1})
	}
	if len(t.fixed) == 0 || t.fixed[len(t.fixed)-1] != "TYPE" {
		return nil, fmt.Errorf("lsblk table has no TYPE column: %.80q", header)
	}
	return t, nil
}

// rowStart splits a row: the tree's lines, the name, and maybe the kernel's
// name in brackets.
var rowStart = regexp.MustCompile("^((?:[ |`\u2502\u251c\u2514]|-|\u2500)*)(\\S+)(?: \\((dm-[0-9]+)\\))?")

func (t *table) row(c *collector, line string) error {
	m := rowStart.FindStringSubmatch(line)
	if m == nil {
		return fmt.Errorf("lsblk row without a name: %.80q", line)
	}
	values := map[string]string{"NAME": m[2], "KNAME": m[3]}
	fields := strings.Fields(line[len(m[0]):])
	if len(fields) < len(t.fixed) {
		return fmt.Errorf("lsblk row is shorter than its header: %.80q", line)
	}
	for i, name := range t.fixed {
		values[name] = fields[i]
	}
	runes := []rune(line)
	for i, col := range t.behind {
		end := len(runes)
		if i+1 < len(t.behind) {
			end = min(end, t.behind[i+1].start)
		}
		if col.start < end {
			values[col.name] = strings.TrimSpace(string(runes[col.start:end]))
		}
	}
	depth := len([]rune(m[1]))
	for len(t.depths) > 0 && t.depths[len(t.depths)-1] >= depth {
		t.depths, t.path = t.depths[:len(t.depths)-1], t.path[:len(t.path)-1]
	}
	d := fromColumns(values)
	if len(t.path) > 0 {
		d.Parents = []string{t.path[len(t.path)-1]}
	}
	c.add(d)
	self := d.KName
	if self == "" {
		self = baseName(d.Name)
	}
	t.path, t.depths = append(t.path, self), append(t.depths, depth)
	return nil
}
