// Package registries reads registries.conf, which says for CRI-O, podman and
// skopeo where images really come from.
//
//	[[registry]]
//	prefix = "docker.io"
//	location = "docker.io"
//	[[registry.mirror]]
//	location = "mirror.example.org/dockerhub"
//
// The format is version 2 of containers-registries.conf(5). What is no TOML is
// refused, and so is an entry that names no registry. The tables of version 1
// have no mirrors and are ignored.
package registries

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pelletier/go-toml/v2"
)

// Registry is one [[registry]] table.
type Registry struct {
	Prefix  string   `json:"prefix"`            // of the images that it is about: docker.io, *.example.org
	Mirrors []string `json:"mirrors,omitempty"` // tried in this order, then the registry itself
}

// Parse reads one file.
func Parse(b []byte) ([]Registry, error) {
	var doc struct {
		Registry []struct {
			Prefix   string `toml:"prefix"`
			Location string `toml:"location"`
			Mirror   []struct {
				Location string `toml:"location"`
			} `toml:"mirror"`
		} `toml:"registry"`
	}
	if err := toml.Unmarshal(b, &doc); err != nil {
		if decode, ok := errors.AsType[*toml.DecodeError](err); ok {
			row, _ := decode.Position()
			return nil, fmt.Errorf("registries.conf, line %d: %w", row, err)
		}
		return nil, fmt.Errorf("registries.conf: %w", err)
	}
	all := []Registry{}
	for i, r := range doc.Registry {
		registry := Registry{Prefix: r.Prefix}
		if registry.Prefix == "" { // the manual's default
			registry.Prefix = r.Location
		}
		if registry.Prefix == "" {
			return nil, fmt.Errorf("registries.conf: registry %d has neither prefix nor location", i+1)
		}
		for _, m := range r.Mirror {
			if m.Location == "" {
				return nil, fmt.Errorf("registries.conf: a mirror of %s has no location", registry.Prefix)
			}
			registry.Mirrors = append(registry.Mirrors, m.Location)
		}
		all = append(all, registry)
	}
	return all, nil
}

// Merge adds the registries of a further file, in the order in which the
// library reads them: one with the same prefix replaces the earlier one whole.
func Merge(all, further []Registry) []Registry {
	for _, r := range further {
		all = append(slices.DeleteFunc(slices.Clone(all), func(o Registry) bool { return o.Prefix == r.Prefix }), r)
	}
	return all
}
