package lsblk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// jsonDevice is a row of lsblk -J. Before util-linux 2.33 every value is a
// string, since then numbers and booleans are not, and vendors' builds mix.
type jsonDevice struct {
	Name        text         `json:"name"`
	KName       text         `json:"kname"`
	Path        text         `json:"path"`
	Dev         text         `json:"maj:min"`
	Type        text         `json:"type"`
	Size        text         `json:"size"`
	RO          text         `json:"ro"`
	RM          text         `json:"rm"`
	Rota        text         `json:"rota"`
	Mountpoint  text         `json:"mountpoint"`
	Mountpoints []text       `json:"mountpoints"`
	FSType      text         `json:"fstype"`
	Label       text         `json:"label"`
	UUID        text         `json:"uuid"`
	PTType      text         `json:"pttype"`
	PartType    text         `json:"parttype"`
	PKName      text         `json:"pkname"`
	Serial      text         `json:"serial"`
	WWN         text         `json:"wwn"`
	Model       text         `json:"model"`
	Tran        text         `json:"tran"`
	Children    []jsonDevice `json:"children"`
}

// text is a JSON string, number, boolean or null, as text. null is "".
type text string

func (t *text) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case '"':
		if inner := b[1 : len(b)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
			*t = text(inner) // nearly all of them, and much faster
			return nil
		}
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		*t = text(s)
	case 'n':
		*t = ""
	case '{', '[':
		return fmt.Errorf("a value is a list or an object")
	default:
		*t = text(b)
	}
	return nil
}

func parseJSON(b []byte) (Listing, error) {
	var doc struct {
		Devices *[]jsonDevice `json:"blockdevices"`
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at := b[max(0, min(syntax.Offset-12, int64(len(b)))):min(syntax.Offset+4, int64(len(b)))]
			return Listing{}, fmt.Errorf("lsblk wrote JSON that is not valid near %q (ask it for bytes and for fewer columns)", at)
		}
		return Listing{}, fmt.Errorf("lsblk wrote JSON that nestor cannot read: %w", err)
	}
	if doc.Devices == nil {
		return Listing{}, errors.New("lsblk wrote JSON without blockdevices")
	}
	var c collector
	for _, d := range *doc.Devices {
		c.addJSON(d, "")
	}
	return c.done(), nil
}

func (c *collector) addJSON(j jsonDevice, parent string) {
	d := Device{
		Name: string(j.Name), KName: string(j.KName), Path: string(j.Path), Dev: strings.TrimSpace(string(j.Dev)),
		Type: string(j.Type), SizeBytes: parseSize(string(j.Size)),
		ReadOnly: truth(j.RO), Removable: truth(j.RM),
		FSType: string(j.FSType), Label: string(j.Label), UUID: string(j.UUID),
		PTType: string(j.PTType), PartType: string(j.PartType),
		Serial: strings.TrimSpace(string(j.Serial)), WWN: string(j.WWN),
		Model: strings.TrimSpace(string(j.Model)), Transport: string(j.Tran),
	}
	if j.Rota != "" {
		rotational := truth(j.Rota)
		d.Rotational = &rotational
	}
	for _, m := range append(j.Mountpoints, j.Mountpoint) { // the list may hold nulls
		if m != "" {
			d.Mounts = union(d.Mounts, []string{string(m)})
		}
	}
	if j.PKName != "" {
		parent = string(j.PKName)
	}
	if parent != "" {
		d.Parents = []string{parent}
	}
	c.add(d)
	self := d.KName
	if self == "" {
		self = d.Name
	}
	for _, child := range j.Children {
		c.addJSON(child, self)
	}
}

func truth(t text) bool { return t == "1" || t == "true" }

// parseSize reads bytes, or the rounded form of a run without --bytes
// ("465.8G", with a comma in some locales). What cannot be read is -1.
func parseSize(s string) int64 {
	s = strings.ReplaceAll(strings.TrimSpace(s), ",", ".")
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && n >= 0 {
		return n
	}
	if s == "" {
		return -1
	}
	unit := strings.IndexByte("BKMGTPE", s[len(s)-1])
	n, err := strconv.ParseFloat(s[:len(s)-1], 64)
	if unit < 0 || err != nil || n < 0 || n >= 1<<20 {
		return -1
	}
	if bytes := n * float64(int64(1)<<(10*unit)); bytes < 1<<62 {
		return int64(bytes)
	}
	return -1
}
