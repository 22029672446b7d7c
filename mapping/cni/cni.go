// Package cni says which network configuration a container runtime would
// load from its folder.
//
//	{"cniVersion": "0.3.1", "name": "cilium", "plugins": [{"type": "cilium-cni"}]}
//
// [Parse] reads one file by the rules of libcni and refuses what libcni
// refuses: no name, no plugin, a plugin without a type. [Select] then applies
// the rule of the runtime, which is not the same for all.
package cni

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Config is one network configuration.
type Config struct {
	Network    string   `json:"network"`
	CNIVersion string   `json:"cni_version,omitempty"`
	Plugins    []string `json:"plugins"`             // their types, in the order of the chain
	Delegates  []string `json:"delegates,omitempty"` // of a meta plugin (multus): what it hands over to
}

// Parse reads a configuration: a list of plugins, or a single one.
func Parse(b []byte) (Config, error) {
	var doc struct {
		Name           string
		CNIVersion     string `json:"cniVersion"`
		Type           string
		Plugins        *[]json.RawMessage
		ClusterNetwork string `json:"clusterNetwork"`
		Delegates      []struct{ Name, Type string }
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		return Config{}, fmt.Errorf("not valid JSON: %w", err)
	}
	c := Config{Network: doc.Name, CNIVersion: doc.CNIVersion}
	switch {
	case doc.Name == "":
		return Config{}, errors.New("no network name")
	case doc.Plugins == nil && doc.Type == "":
		return Config{}, errors.New("no plugin type")
	case doc.Plugins == nil:
		c.Plugins = []string{doc.Type}
	case len(*doc.Plugins) == 0:
		return Config{}, errors.New("an empty list of plugins")
	default:
		for i, raw := range *doc.Plugins {
			var plugin struct{ Type string }
			if err := json.Unmarshal(raw, &plugin); err != nil || plugin.Type == "" {
				return Config{}, fmt.Errorf("plugin %d has no type", i+1)
			}
			c.Plugins = append(c.Plugins, plugin.Type)
		}
	}
	if doc.ClusterNetwork != "" {
		c.Delegates = append(c.Delegates, path.Base(doc.ClusterNetwork))
	}
	for _, d := range doc.Delegates {
		if d.Name == "" {
			d.Name = d.Type
		}
		c.Delegates = append(c.Delegates, d.Name)
	}
	return c, nil
}

// File is one entry of the folder.
type File struct {
	Name    string
	Content []byte
	Why     string // why there is no content; "" when there is
}

// Selection is what a runtime makes of its folder.
type Selection struct {
	Folder string `json:"folder"`
	File   string `json:"file,omitempty"` // what is loaded; empty: nothing
	Config
	Error     string   `json:"error,omitempty"`     // why the network is not ready
	Leftovers []string `json:"leftovers,omitempty"` // further files there, which nobody loads
}

// IsCandidate tells a name that runtimes read: the ending decides, a dot in
// front does not matter.
func IsCandidate(name string) bool {
	switch path.Ext(name) {
	case ".conf", ".conflist", ".json":
		return true
	}
	return false
}

// Rule is how a runtime chooses.
type Rule struct {
	Runtime  string   // containerd, cri-o; any other chooses as containerd does
	Network  string   // the network that CRI-O was told to use; "" for the first
	Binaries []string // the plugins found on the node; nil: not known
}

// Select applies the runtime's rule to the files of its folder. containerd
// takes the first name, bytewise, and has no network when that file is
// broken; CRI-O takes the first that is sound and whose plugins are
// installed, or the one it was told to.
//
// Rules read in containerd/go-cni (opts.go), cri-o/ocicni (ocicni.go) and
// containernetworking/cni (libcni/conf.go).
func Select(rule Rule, folder string, files []File) Selection {
	s := Selection{Folder: folder}
	skips := rule.Runtime == "cri-o"
	files = slices.SortedFunc(slices.Values(files), func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range files {
		if !IsCandidate(f.Name) || s.File != "" || s.Error != "" && !skips {
			s.Leftovers = append(s.Leftovers, f.Name)
			continue
		}
		c, err := load(f)
		if err == nil && skips {
			err = rule.accept(c)
		}
		if err == nil {
			s.File, s.Config, s.Error = f.Name, c, ""
			continue
		}
		s.Error = fmt.Sprintf("%s: %v", f.Name, err)
		if skips {
			s.Leftovers = append(s.Leftovers, f.Name)
		}
	}
	if s.File == "" && s.Error == "" {
		s.Error = "no network configuration in " + folder
	}
	return s
}

func load(f File) (Config, error) {
	if f.Why != "" {
		return Config{}, errors.New(f.Why)
	}
	c, err := Parse(f.Content)
	if err != nil {
		return Config{}, err
	}
	var form struct{ Plugins *json.RawMessage }
	_ = json.Unmarshal(f.Content, &form) // Parse has read it
	switch isList := form.Plugins != nil; {
	case isList && path.Ext(f.Name) != ".conflist":
		return Config{}, fmt.Errorf("a list of plugins in a %s file", path.Ext(f.Name))
	case !isList && path.Ext(f.Name) == ".conflist":
		return Config{}, errors.New("no list of plugins in a .conflist file")
	}
	return c, nil
}

// accept says why CRI-O would pass over a sound configuration.
func (r Rule) accept(c Config) error {
	if r.Network != "" && c.Network != r.Network {
		return fmt.Errorf("network %s is not %s", c.Network, r.Network)
	}
	for _, p := range c.Plugins {
		if r.Binaries != nil && !slices.Contains(r.Binaries, p) {
			return fmt.Errorf("plugin %s is not installed", p)
		}
	}
	return nil
}
